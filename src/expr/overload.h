// Choosing one overload of a function for the types of its arguments.
//
// Source: PostgreSQL 15 documentation, sections 10.2 "Operators" and 10.3 "Functions", whose steps the code
// names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "expr/functions.h"
#include "expr/type_rules.h"

namespace wrackline::expr {

struct OverloadChoice {
  const Function* function = nullptr;  // null: none fits, or several fit equally well
  bool ambiguous = false;
};

OverloadChoice choose_overload(std::string_view name, std::span<const TypeId> arguments);

// The type of `function`'s parameter for its argument number `index`.
TypeId parameter_type(const Function& function, size_t index);

// True for "+", "->>" and the like; false for names.
bool is_operator(std::string_view name);

// "integer + text", "round(text, integer)", "- text".
std::string call_text(std::string_view name, std::span<const TypeId> arguments);

// Why there is no such function, and what would work instead.
Error no_such_call(std::string_view name, std::span<const TypeId> arguments);

}  // namespace wrackline::expr
