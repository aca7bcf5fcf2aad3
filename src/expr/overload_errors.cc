// What a job's author is told when a function or operator is not offered.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "expr/overload.h"

namespace wrackline::expr {
namespace {

struct Advice {
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view kClockHint =
    "No result may depend on when it is computed: use the record's event time or arrival time column.";
constexpr std::string_view kChanceHint =
    "No result may depend on chance: the same input gives the same output. Use a column of the record.";
constexpr std::string_view kRegexHint =
    "Regular expressions are not offered; LIKE, starts_with, position and split_part are.";

// PostgreSQL's functions that people will try, and what to do instead.
constexpr auto kAdvice = std::to_array<Advice>({
    {"age", "Subtract the timestamps: the result is an interval in days, hours, minutes and seconds."},
    {"clock_timestamp", kClockHint},
    {"current_date", kClockHint},
    {"current_time", kClockHint},
    {"current_timestamp", kClockHint},
    {"gen_random_uuid", kChanceHint},
    {"getdate", kClockHint},
    {"if", "Write CASE WHEN condition THEN a ELSE b END."},
    {"ifnull", "Write coalesce(a, b)."},
    {"iif", "Write CASE WHEN condition THEN a ELSE b END."},
    {"isnull", "Write a IS NULL, or coalesce(a, b)."},
    {"len", "Write length(text)."},
    {"localtime", kClockHint},
    {"localtimestamp", kClockHint},
    {"now", kClockHint},
    {"nvl", "Write coalesce(a, b)."},
    {"random", kChanceHint},
    {"regexp_count", kRegexHint},
    {"regexp_like", kRegexHint},
    {"regexp_match", kRegexHint},
    {"regexp_matches", kRegexHint},
    {"regexp_replace", kRegexHint},
    {"regexp_split_to_array", kRegexHint},
    {"setseed", kChanceHint},
    {"similar_to_escape", kRegexHint},
    {"statement_timestamp", kClockHint},
    {"timeofday", kClockHint},
    {"to_char", "Use CAST(x AS text), extract(...) and lpad(...)."},
    {"to_date", "Use CAST(text AS date) for ISO dates, or make_date(year, month, day)."},
    {"to_number", "Use CAST(text AS numeric)."},
    {"transaction_timestamp", kClockHint},
    {"uuid_generate_v4", kChanceHint},
});

std::string signature_list(std::string_view name) {
  constexpr size_t kShown = 6;
  std::string text;
  size_t count = 0;
  for (const Function& overload : overloads_of(name)) {
    if (overload.is_refused() || ++count > kShown) continue;
    if (count > 1) text += "; ";
    text += call_text(name, overload.params);
    if (overload.is_variadic()) text.insert(text.size() - 1, ", ...");
  }
  if (count > kShown) text += format("; and {} more", count - kShown);
  return text;
}

std::string unknown_name_hint(std::string_view name) {
  const auto advice = std::ranges::find(kAdvice, name, &Advice::name);
  if (advice != kAdvice.end()) return std::string(advice->hint);
  const std::vector<std::string_view> names = function_names();
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) return format("Did you mean \"{}\"? It takes {}.", nearest, signature_list(nearest));
  std::string hint = "Offered:";
  for (const std::string_view offered : names) {
    if (!is_operator(offered)) hint += format(" {}", offered);
  }
  return hint + ".";
}

std::string wrong_types_hint(std::string_view name, std::span<const TypeId> arguments) {
  const std::string signatures = signature_list(name);
  if (signatures.empty()) return std::string(kRegexHint);  // all its overloads are refused
  std::string hint = format("Offered: {}.", signatures);
  const bool has_text = std::ranges::find(arguments, TypeId::kText) != arguments.end();
  const bool has_other =
      std::ranges::any_of(arguments, [](TypeId id) { return id != TypeId::kText && id != TypeId::kUnknown; });
  if (has_text && has_other)
    hint += " Text does not become another type by itself: write CAST(x AS bigint), for one.";
  if ((name == "round" || name == "trunc") && arguments.size() == 2 && arguments[0] >= TypeId::kFloat4 &&
      arguments[0] <= TypeId::kFloat8) {
    hint += format(" Write {}(CAST(x AS numeric), n).", name);
  }
  if (arguments.size() == 2 && arguments[0] == TypeId::kTimestamp &&
      category(arguments[1]) == TypeCategory::kNumber) {
    hint += " Add an interval: INTERVAL '1 second' * n.";
  }
  return hint;
}

}  // namespace

std::string call_text(std::string_view name, std::span<const TypeId> arguments) {
  if (is_operator(name) && arguments.size() == 1) return format("{} {}", name, type_name(arguments[0]));
  if (is_operator(name) && arguments.size() == 2) {
    return format("{} {} {}", type_name(arguments[0]), name, type_name(arguments[1]));
  }
  std::string text = std::string(name) + "(";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) text += ", ";
    text += type_name(arguments[i]);
  }
  return text + ")";
}

Error no_such_call(std::string_view name, std::span<const TypeId> arguments) {
  Error error;
  const bool known = !overloads_of(name).empty();
  error.code = known ? ErrorCode::kInvalid : ErrorCode::kUnsupported;
  error.message = is_operator(name) ? format("operator does not exist: {}", call_text(name, arguments))
                                    : format("function {} does not exist", call_text(name, arguments));
  error.hint = known ? wrong_types_hint(name, arguments) : unknown_name_hint(name);
  return error;
}

}  // namespace wrackline::expr
