#include <algorithm>

#include "expr/functions.h"

namespace wrackline::expr {

void Call::fail(size_t row, Reason reason, std::string message) {
  errors.push_back({static_cast<uint32_t>(row), reason, std::move(message)});
  out.set_null(row);
}

namespace {

FunctionTable build() {
  FunctionTable table;
  add_comparison_functions(table);
  add_numeric_functions(table);
  add_text_functions(table);
  add_time_functions(table);
  add_json_functions(table);
  std::ranges::stable_sort(table, {}, &Function::name);
  return table;
}

}  // namespace

std::span<const Function> all_functions() {
  static const FunctionTable table = build();
  return table;
}

std::span<const Function> overloads_of(std::string_view name) {
  const auto range = std::ranges::equal_range(all_functions(), name, {}, &Function::name);
  return {range.begin(), range.end()};
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const Function& function : all_functions()) {
    if (function.is_refused() || function.name == "boolout") continue;
    if (names.empty() || names.back() != function.name) names.push_back(function.name);
  }
  return names;
}

}  // namespace wrackline::expr
