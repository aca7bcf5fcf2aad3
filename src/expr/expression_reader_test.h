// Reads constant expressions in a small, fully parenthesised part of SQL, for tests: the same text goes to
// PostgreSQL.
//
//   ('12' || numeric '1.50')    round(numeric '2.5', 1)    CAST(int8 '5' AS text)    (a IN (1, 2))
//   "extract"('year', d)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "expr/expr.h"

namespace wrackline::expr {

// Columns can be named $0, $1, ...; `columns` are their types.
Result<ExprPtr> read_expression(std::string_view text, std::span<const Type> columns = {});

struct Evaluated {
  std::string type;   // PostgreSQL's name
  std::string text;   // the text form; "NULL"
  std::string error;  // of the resolver or of the row
  Reason reason = Reason::kOutOfRange;
};
// The value of a constant expression.
Evaluated evaluate_text(std::string_view text);

}  // namespace wrackline::expr
