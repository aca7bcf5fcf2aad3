// Operators and functions of jsonb. A column holds JSON text in any spelling; what becomes text is written as
// jsonb writes it.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "expr/functions.h"
#include "expr/json_path.h"
#include "expr/json_text.h"

namespace wrackline::expr {
namespace {

using enum TypeId;

// What one call keeps from row to row.
struct Scratch {
  std::string text;
  // The path of #> and #>>, parsed again only when its text changes: nearly always it is a literal.
  std::string_view path_text;
  std::optional<JsonPath> path;
};

void fail_json(Row& row, std::string_view text) {
  row.fail(Reason::kUnparseable, format("invalid input syntax for type jsonb: \"{}\"", printable(text)));
}

// The value of the text, or false with an error.
bool root_of(Row& row, std::string_view text, JsonPart& root) {
  if (json_root(text, root) == JsonLookup::kFound) return true;
  fail_json(row, text);
  return false;
}

// What a lookup found, as jsonb; null if there is nothing.
std::string_view as_json(Row& row, JsonLookup lookup, const JsonPart& part) {
  if (lookup == JsonLookup::kFound) return part.text;
  row.null();
  return {};
}

// What a lookup found, as text; null if there is nothing or a JSON null.
std::string_view as_text(Row& row, Scratch& scratch, JsonLookup lookup, const JsonPart& part) {
  if (lookup != JsonLookup::kFound || part.kind == JsonKind::kNull) {
    row.null();
    return {};
  }
  if (part.kind == JsonKind::kBoolean) return part.text;
  scratch.text.clear();
  const bool writable = part.kind == JsonKind::kString ? append_json_string(scratch.text, part)
                                                       : append_json_canonical(scratch.text, part);
  if (writable) return row.arena().copy(scratch.text);
  row.fail(Reason::kUnparseable, format("a JSON value cannot be written as text: {}", printable(part.text)));
  return {};
}

JsonLookup member_of(Row& row, std::string_view json, std::string_view name, JsonPart& part) {
  JsonPart root;
  return root_of(row, json, root) ? json_member(root, name, part) : JsonLookup::kMissing;
}
JsonLookup element_of(Row& row, std::string_view json, int64_t index, JsonPart& part) {
  JsonPart root;
  if (!root_of(row, json, root)) return JsonLookup::kMissing;
  if (root.kind != JsonKind::kArray && root.kind != JsonKind::kObject && (index == 0 || index == -1)) {
    part = root;  // jsonb keeps a scalar as an array of one
    return JsonLookup::kFound;
  }
  return json_element(root, index, part);
}

std::string_view member(Row& row, std::string_view json, std::string_view name) {
  JsonPart part;
  const JsonLookup lookup = member_of(row, json, name, part);
  return as_json(row, lookup, part);
}
std::string_view member_text(Row& row, Scratch& scratch, std::string_view json, std::string_view name) {
  JsonPart part;
  const JsonLookup lookup = member_of(row, json, name, part);
  return as_text(row, scratch, lookup, part);
}
std::string_view element(Row& row, std::string_view json, int64_t index) {
  JsonPart part;
  const JsonLookup lookup = element_of(row, json, index, part);
  return as_json(row, lookup, part);
}
std::string_view element_text(Row& row, Scratch& scratch, std::string_view json, int64_t index) {
  JsonPart part;
  const JsonLookup lookup = element_of(row, json, index, part);
  return as_text(row, scratch, lookup, part);
}

JsonLookup at_path(Row& row, Scratch& scratch, std::string_view json, std::string_view path, JsonPart& part) {
  if (scratch.path_text.data() != path.data() || scratch.path_text.size() != path.size() || path.empty()) {
    scratch.path_text = path;
    scratch.path = parse_json_path(path);
  }
  if (!scratch.path) {
    row.fail(Reason::kUnparseable, format("malformed array literal: \"{}\"", printable(path)));
    return JsonLookup::kMissing;
  }
  if (!root_of(row, json, part) || scratch.path->has_null) return JsonLookup::kMissing;
  for (const std::string& step : scratch.path->steps) {
    JsonPart next;
    if (json_step(part, step, next) != JsonLookup::kFound) return JsonLookup::kMissing;
    part = next;
  }
  return JsonLookup::kFound;
}
std::string_view path(Row& row, Scratch& scratch, std::string_view json, std::string_view text) {
  JsonPart part;
  const JsonLookup lookup = at_path(row, scratch, json, text, part);
  return as_json(row, lookup, part);
}
std::string_view path_text(Row& row, Scratch& scratch, std::string_view json, std::string_view text) {
  JsonPart part;
  const JsonLookup lookup = at_path(row, scratch, json, text, part);
  return as_text(row, scratch, lookup, part);
}

// jsonb_extract_path(json, step, step, ...). Strict, so there is no null among the steps.
template <bool kText>
void extract_path(Call& call) {
  const auto out = call.out.values<std::string_view>();
  const auto json = call.args[0]->values<std::string_view>();
  Scratch scratch;
  Row row(call);
  for (; row.index < call.rows; ++row.index) {
    if (call.out.is_null(row.index)) continue;
    JsonPart part;
    JsonLookup lookup = root_of(row, json[row.index], part) ? JsonLookup::kFound : JsonLookup::kMissing;
    for (size_t i = 1; i < call.args.size() && lookup == JsonLookup::kFound; ++i) {
      JsonPart next;
      lookup = json_step(part, call.args[i]->values<std::string_view>()[row.index], next);
      part = next;
    }
    out[row.index] = kText ? as_text(row, scratch, lookup, part) : as_json(row, lookup, part);
  }
}

std::string_view type_of_json(Row& row, std::string_view json) {
  JsonPart root;
  return root_of(row, json, root) ? to_string(root.kind) : std::string_view();
}

int64_t array_length(Row& row, std::string_view json) {
  JsonPart root;
  if (!root_of(row, json, root)) return 0;
  if (root.kind == JsonKind::kArray) return json_length(root);
  row.fail(Reason::kUnparseable, root.kind == JsonKind::kObject ? "cannot get array length of a non-array"
                                                                : "cannot get array length of a scalar");
  return 0;
}

bool has(Row& row, std::string_view json, std::string_view name) {
  JsonPart root;
  return root_of(row, json, root) && json_has(root, name);
}

Status refuse_comparison(std::span<const ExprPtr>) {
  return fail(ErrorCode::kUnsupported, "jsonb values cannot be compared", {},
              "Compare a field, (x ->> 'field') = '...', or the text form, CAST(x AS text).");
}
Status refuse_json_change(std::span<const ExprPtr>) {
  return fail(ErrorCode::kUnsupported, "jsonb values cannot be changed", {},
              "Take the fields apart with ->> and write them as columns.");
}
Status check_path(std::span<const ExprPtr> args) {
  if (args[1]->kind != ExprKind::kLiteral) return {};
  const auto* text = std::get_if<std::string>(&args[1]->literal.data);
  if (text == nullptr || parse_json_path(*text)) return {};
  return fail(ErrorCode::kInvalid, format("malformed array literal: \"{}\"", printable(*text)), {},
              "Write the path as an array: '{items,0,price}'.");
}

}  // namespace

void add_json_functions(FunctionTable& table) {
  table.push_back({"->", {kJson, kText}, kJson, map<member>});
  table.push_back({"->", {kJson, kInt4}, kJson, map<element>});
  table.push_back({"->>", {kJson, kText}, kText, map_with<member_text>});
  table.push_back({"->>", {kJson, kInt4}, kText, map_with<element_text>});
  table.push_back({"#>", {kJson, kText}, kJson, map_with<path>, kPlain, check_path});
  table.push_back({"#>>", {kJson, kText}, kText, map_with<path_text>, kPlain, check_path});
  for (const std::string_view name : {"jsonb_extract_path", "json_extract_path"}) {
    table.push_back({name, {kJson, kText}, kJson, extract_path<false>, kVariadic});
  }
  for (const std::string_view name : {"jsonb_extract_path_text", "json_extract_path_text"}) {
    table.push_back({name, {kJson, kText}, kText, extract_path<true>, kVariadic});
  }
  for (const std::string_view name : {"jsonb_typeof", "json_typeof"}) {
    table.push_back({name, {kJson}, kText, map<type_of_json>});
  }
  for (const std::string_view name : {"jsonb_array_length", "json_array_length"}) {
    table.push_back({name, {kJson}, kInt4, map<array_length>});
  }
  for (const std::string_view name : {"?", "jsonb_exists"}) {
    table.push_back({name, {kJson, kText}, kBoolean, map<has>});
  }
  for (const std::string_view name : {"=", "<>", "<", "<=", ">", ">=", "@>", "<@"}) {
    table.push_back({name, {kJson, kJson}, kBoolean, nullptr, kRefused, refuse_comparison});
  }
  table.push_back({"||", {kJson, kJson}, kJson, nullptr, kRefused, refuse_json_change});
  table.push_back({"-", {kJson, kText}, kJson, nullptr, kRefused, refuse_json_change});
}

}  // namespace wrackline::expr
