// Conversions between types: every cast that PostgreSQL has for the types we have, as kernels over columns.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "expr/functions.h"
#include "expr/type_rules.h"

namespace wrackline::expr {

struct Cast {
  Kernel kernel = nullptr;  // reads Call::out's type for precision, scale and length
  bool total = false;       // no row can fail
};

// The cast to `to` from `from`, or a null kernel if PostgreSQL has none. `explicit_cast` matters for text
// with a length: asked for, it cuts; not asked for, what is too long is an error.
Cast find_cast(TypeId from, const Type& to, bool explicit_cast);

// The value that `text` means as `type`; the reading of string literals.
// Errors: kInvalid with PostgreSQL's message ('invalid input syntax for type integer: "abc"').
Result<Value> parse_literal(std::string_view text, const Type& type);

}  // namespace wrackline::expr
