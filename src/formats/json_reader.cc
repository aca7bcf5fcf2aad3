#include "formats/json_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::formats {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

constexpr size_t kUnknownNamesMax = 64;
constexpr size_t kUnknownRecordsMax = 1000;  // records whose keys are looked at for unknown names

std::string_view without_blanks_behind(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The key of a field. Most keys hold no escape; those are not copied.
error_code read_key(ondemand::field& field, std::string_view& key) {
  const char* const begin = field.key().raw();
  const char* end = begin;
  while (*end != '"' && *end != '\\') ++end;  // stage one has seen a closing quote
  key = {begin, static_cast<size_t>(end - begin)};
  return *end == '"' ? simdjson::SUCCESS : field.unescaped_key().get(key);
}

// Walks a value and everything in it, so that nothing in the document stays unchecked.
class Walker {
 public:
  explicit Walker(ondemand::document& document) : document_(document) {}

  error_code walk(ondemand::value value, int depth, JsonValue& out) {
    ondemand::json_type type{};
    if (const error_code error = value.type().get(type)) return error;
    out.escaped = false;
    switch (type) {
      case ondemand::json_type::array:
        return walk_array(value, depth, out);
      case ondemand::json_type::object:
        return walk_object(value, depth, out);
      case ondemand::json_type::string:
        return walk_string(value, out);
      case ondemand::json_type::number:
        return walk_number(value, out);
      case ondemand::json_type::boolean:
        return walk_word(value, JsonKind::kBoolean, out);
      case ondemand::json_type::null:
        return walk_word(value, JsonKind::kNull, out);
    }
    return simdjson::TAPE_ERROR;
  }

 private:
  static error_code walk_string(ondemand::value& value, JsonValue& out) {
    out.kind = JsonKind::kString;
    out.token = without_blanks_behind(value.raw_json_token());
    // Stage one has found the closing quote; a token that does not end with it has something behind it.
    if (out.token.size() < 2 || out.token.back() != '"') return simdjson::STRING_ERROR;
    out.content = out.token.substr(1, out.token.size() - 2);
    out.escaped = std::memchr(out.content.data(), '\\', out.content.size()) != nullptr;
    // The string is taken, not left to be skipped: simdjson takes one that it skips for a key where a colon
    // follows, in an array, too.
    if (!out.escaped) return value.get_raw_json_string().error();
    if (const error_code error = value.get_string().get(out.content)) return error;
    return is_utf8(out.content) ? simdjson::SUCCESS : simdjson::STRING_ERROR;  // a lone surrogate
  }

  static error_code walk_number(ondemand::value& value, JsonValue& out) {
    out.kind = JsonKind::kNumber;
    out.token = without_blanks_behind(value.raw_json_token());
    return is_json_number(out.token) ? simdjson::SUCCESS : simdjson::NUMBER_ERROR;
  }

  static error_code walk_word(ondemand::value& value, JsonKind kind, JsonValue& out) {
    out.kind = kind;
    out.token = without_blanks_behind(value.raw_json_token());
    const bool known =
        kind == JsonKind::kNull ? out.token == "null" : out.token == "true" || out.token == "false";
    if (known) return simdjson::SUCCESS;
    switch (out.token.front()) {
      case 't':
        return simdjson::T_ATOM_ERROR;
      case 'f':
        return simdjson::F_ATOM_ERROR;
      default:
        return simdjson::N_ATOM_ERROR;
    }
  }

  error_code walk_array(ondemand::value& value, int depth, JsonValue& out) {
    if (depth >= kJsonDepthMax) return simdjson::DEPTH_ERROR;
    const char* const begin = value.raw_json_token().data();
    ondemand::array array;
    if (const error_code error = value.get_array().get(array)) return error;
    for (auto result : array) {
      ondemand::value element;
      if (const error_code error = result.get(element)) return error;
      if (const error_code error = walk(element, depth + 1, out)) return error;
    }
    return end_container(begin, out);
  }

  error_code walk_object(ondemand::value& value, int depth, JsonValue& out) {
    if (depth >= kJsonDepthMax) return simdjson::DEPTH_ERROR;
    const char* const begin = value.raw_json_token().data();
    ondemand::object object;
    if (const error_code error = value.get_object().get(object)) return error;
    for (auto result : object) {
      ondemand::field field;
      if (const error_code error = std::move(result).get(field)) return error;
      std::string_view key;
      if (const error_code error = read_key(field, key)) return error;
      if (const error_code error = walk(field.value(), depth + 1, out)) return error;
    }
    return end_container(begin, out);
  }

  // The container's text ends before the next token; there always is one, the root's closing brace at the
  // latest.
  error_code end_container(const char* begin, JsonValue& out) {
    const char* next = nullptr;
    if (const error_code error = document_.current_location().get(next)) return error;
    out.kind = JsonKind::kContainer;
    out.escaped = false;
    out.token = without_blanks_behind({begin, static_cast<size_t>(next - begin)});
    return simdjson::SUCCESS;
  }

  ondemand::document& document_;
};

std::string_view meaning(error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR:
      return "invalid UTF-8";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed; the line may be cut";
    case simdjson::UNESCAPED_CHARS:
      return "a control character inside a string";
    case simdjson::STRING_ERROR:
      return "an invalid escape in a string";
    case simdjson::NUMBER_ERROR:
      return "an invalid number";
    case simdjson::DEPTH_ERROR:
      return "nested too deep";
    case simdjson::OUT_OF_BOUNDS:
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "an object or array is not closed; the line may be cut";
    case simdjson::EMPTY:
      return "nothing there";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "a word that is not true, false or null";
    default:
      return "a value, comma or brace is out of place";
  }
}

std::string_view kind_of_line(char first) {
  switch (first) {
    case '[':
      return "an array";
    case '"':
      return "a string";
    default:
      return (first >= '0' && first <= '9') || first == '-' ? "a number" : "something else";
  }
}

}  // namespace

struct JsonReader::Impl {
  std::vector<std::string> names;
  std::vector<JsonValue> values;
  std::vector<std::string> unknown;
  size_t records = 0;
  size_t fields = 0;    // of the last line
  size_t expected = 0;  // keys mostly come in one order: the name after the last one found is tried first
  std::string fault;
  std::string copy;
  ondemand::parser parser;

  // Grows by doubling, so that lines of growing length do not allocate each.
  error_code reserve(size_t bytes) {
    if (bytes <= parser.capacity()) return simdjson::SUCCESS;
    return parser.allocate(std::bit_ceil(std::max<size_t>(bytes, 4096)));
  }

  error_code iterate(std::string_view text, ondemand::document& document) {
    if (const error_code error = reserve(text.size())) return error;
    return parser.iterate(text.data(), text.size(), text.size() + kJsonPaddingBytes).get(document);
  }

  // The place of `key` among the names, or names.size().
  size_t find(std::string_view key) {
    if (expected < names.size() && names[expected] == key) return expected++;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == key) {
        expected = i + 1;
        return i;
      }
    }
    if (records < kUnknownRecordsMax && unknown.size() < kUnknownNamesMax &&
        std::find(unknown.begin(), unknown.end(), key) == unknown.end()) {
      unknown.emplace_back(key);
    }
    return names.size();
  }

  error_code read_fields(ondemand::document& document, ondemand::object& object) {
    Walker walker(document);
    expected = 0;
    fields = 0;
    for (auto result : object) {
      ++fields;
      ondemand::field field;
      if (const error_code error = std::move(result).get(field)) return error;
      std::string_view key;
      if (const error_code error = read_key(field, key)) return error;
      JsonValue value;
      if (const error_code error = walker.walk(field.value(), 1, value)) return error;
      if (const size_t place = find(key); place < names.size()) values[place] = value;
    }
    return simdjson::SUCCESS;
  }

  bool fail_at(std::string_view line, ondemand::document* document, error_code error) {
    const char* at = nullptr;
    std::string place;
    if (document != nullptr && document->current_location().get(at) == simdjson::SUCCESS &&
        at >= line.data() && at <= line.data() + line.size()) {
      place = format(" at byte {}", at - line.data() + 1);
    }
    fault = format("not valid JSON{}: {}", place, meaning(error));
    return false;
  }

  bool read(std::string_view line) {
    std::fill(values.begin(), values.end(), JsonValue{});
    ++records;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] != '{') {
      fault =
          first == std::string_view::npos
              ? "not a JSON object: the line is blank"
              : format("not a JSON object but {}: one object a line is expected", kind_of_line(line[first]));
      return false;
    }
    ondemand::document document;
    if (const error_code error = iterate(line, document)) return fail_at(line, nullptr, error);
    ondemand::object object;
    if (const error_code error = document.get_object().get(object)) return fail_at(line, nullptr, error);
    if (const error_code error = read_fields(document, object)) return fail_at(line, &document, error);
    const char* behind = nullptr;
    if (document.current_location().get(behind) == simdjson::SUCCESS) {
      fault = format("not valid JSON at byte {}: text after the object", behind - line.data() + 1);
      return false;
    }
    return true;
  }
};

JsonReader::JsonReader(std::vector<std::string> names) : impl_(std::make_unique<Impl>()) {
  impl_->names = std::move(names);
  impl_->values.resize(impl_->names.size());
}
JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;

bool JsonReader::read(std::string_view line) {
  return impl_->read(line);
}
std::span<const JsonValue> JsonReader::values() const {
  return impl_->values;
}
const std::string& JsonReader::fault() const {
  return impl_->fault;
}
const std::vector<std::string>& JsonReader::unknown_names() const {
  return impl_->unknown;
}

// A value alone has no root object around it; with one it is read by the same code as any line.
bool JsonReader::is_valid(std::string_view text) {
  impl_->copy.assign("{\"\":");
  impl_->copy += text;
  impl_->copy += '}';
  const size_t size = impl_->copy.size();
  impl_->copy.append(kJsonPaddingBytes, ' ');
  return impl_->read(std::string_view(impl_->copy.data(), size)) && impl_->fields == 1;  // not '1,"":2'
}

struct JsonUnescaper::Impl {
  ondemand::parser parser;
  std::vector<uint8_t> room;
};

JsonUnescaper::JsonUnescaper() : impl_(std::make_unique<Impl>()) {
  WRACKLINE_CHECK(impl_->parser.allocate(kJsonPaddingBytes) == simdjson::SUCCESS,
                  "no memory for a JSON parser");
}
JsonUnescaper::~JsonUnescaper() = default;
JsonUnescaper::JsonUnescaper(JsonUnescaper&&) noexcept = default;
JsonUnescaper& JsonUnescaper::operator=(JsonUnescaper&&) noexcept = default;

bool JsonUnescaper::unescape(std::string_view text, std::string_view& content) {
  const size_t room = text.size() + kJsonPaddingBytes;
  if (impl_->room.size() < room) impl_->room.resize(2 * room);
  uint8_t* out = impl_->room.data();
  const ondemand::raw_json_string raw(reinterpret_cast<const uint8_t*>(text.data()));
  return impl_->parser.unescape(raw, out).get(content) == simdjson::SUCCESS && is_utf8(content);
}

bool is_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace wrackline::formats
