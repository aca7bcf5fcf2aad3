// Paths into JSON, as #> and #>> take them: PostgreSQL's text form of an array, {a,"b c",0}.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "expr/json_text.h"

namespace wrackline::expr {

struct JsonPath {
  std::vector<std::string> steps;
  bool has_null = false;  // a step is NULL, and so is every result
};
// nullopt: not an array's text form, or an array of arrays.
std::optional<JsonPath> parse_json_path(std::string_view text);

// Goes down one step: a member of an object, or an element of an array if the step is a whole number.
JsonLookup json_step(const JsonPart& part, std::string_view step, JsonPart& found);

}  // namespace wrackline::expr
