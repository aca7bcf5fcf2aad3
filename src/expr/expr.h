// Scalar expressions: typed trees made by a resolver, evaluated over batches column by column.
//
// Meaning: PostgreSQL 15's, for every operator and function offered; what is not offered fails to resolve
// with a hint. tests/data/expressions.tsv holds PostgreSQL's answers. Different on purpose: a numeric has at
// most 38 digits and no NaN; a timestamp's text form is RFC 3339; the session's time zone is UTC; text
// compares by its bytes; AND, OR, CASE and COALESCE look at their arguments strictly from left to right.
//
// Errors of a row (overflow, division by zero, a cast that fails) do not stop a batch: the row's
// result is null and the row is listed in RowErrors with a reason, for the ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "data/column.h"
#include "data/types.h"
#include "data/value.h"

namespace wrackline::expr {

struct Function;  // one overload of a function or operator; expr/functions.h

enum class ExprKind : uint8_t {
  kColumn,   // `column` of the input
  kLiteral,  // `literal`
  kCall,     // `function` over `args`: operators are functions named "+", "=", "||", "~", "like", ...
  kCast,     // args[0] to `type`; explicit_cast says which rule of PostgreSQL holds
  kAnd,
  kOr,  // three-valued, over two or more args; an argument that cannot matter raises no error
  kNot,
  kIsNull,
  kIsNotNull,
  kIsDistinct,
  kIsNotDistinct,
  kCase,  // args: when1, then1, when2, then2, ..., [else]; `has_else`; branches not taken raise no error
  kCoalesce,
  kNullIf,
  kIn,  // args[0] in (args[1..])
};

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  Type type;
  size_t column = 0;
  Value literal;
  const Function* function = nullptr;
  bool has_else = false;
  bool explicit_cast = true;
  bool unknown = false;  // a literal (make_unknown, make_null) whose type its context still decides
  std::vector<std::unique_ptr<Expr>> args;
  int64_t position = 0;  // byte offset in the job text, for messages

  std::unique_ptr<Expr> clone() const;
};
using ExprPtr = std::unique_ptr<Expr>;

// Makers. Each checks types, finds the overload, adds PostgreSQL's implicit casts and folds nothing. An error
// has a message that names the operator or function and the argument types, and a hint with what would work;
// the caller adds line and column from `position`. An untyped string literal ('abc' in SQL) is given as
// make_unknown: it takes the type that its context wants, as in PostgreSQL.
ExprPtr make_column(size_t index, Type type, int64_t position);
ExprPtr make_literal(Value value, int64_t position);
ExprPtr make_unknown(std::string text,
                     int64_t position);  // a literal of type text that may still become another type
ExprPtr make_null(int64_t position);
Result<ExprPtr> make_call(std::string_view name, std::vector<ExprPtr> args, int64_t position);
Result<ExprPtr> make_cast(ExprPtr argument, Type type, int64_t position);
Result<ExprPtr> make_logical(ExprKind kind, std::vector<ExprPtr> args, int64_t position);  // kAnd, kOr, kNot
Result<ExprPtr> make_null_test(ExprKind kind, ExprPtr argument, int64_t position);  // kIsNull, kIsNotNull
Result<ExprPtr> make_distinct(ExprKind kind, ExprPtr left, ExprPtr right, int64_t position);
Result<ExprPtr> make_case(std::vector<ExprPtr> when_then_else, bool has_else, int64_t position);
Result<ExprPtr> make_variadic(ExprKind kind, std::vector<ExprPtr> args,
                              int64_t position);  // kCoalesce, kNullIf, kIn
// Coerces to what a context wants: a boolean for WHERE, the type of an unknown literal that nothing else
// fixed (text).
Result<ExprPtr> coerce(ExprPtr argument, Type type, int64_t position);
ExprPtr settle_unknown(ExprPtr argument);

// Names of every function and operator offered, for hints and `--help`.
std::vector<std::string_view> function_names();

// Same tree: same shape, columns, literals and functions (positions ignored). For matching GROUP BY
// expressions.
bool same(const Expr& a, const Expr& b);

struct RowError {
  uint32_t row = 0;
  Reason reason =
      Reason::kOutOfRange;  // kOutOfRange (overflow, division by zero) or kUnparseable (a cast of text)
  std::string message;
};
// Errors of the rows of one batch; at most one (the first) per row.
using RowErrors = std::vector<RowError>;

// Evaluates one expression again and again. Keeps scratch columns, so a steady stream does not allocate.
class Evaluator {
 public:
  explicit Evaluator(const Expr& expr);  // borrows: the tree must outlive the evaluator
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;

  // Result column with `rows` rows, valid until the next call; columns[i] is the input column of Expr::column
  // i. A bare column reference returns the input column itself. Errors are appended in row order.
  const Column& evaluate(std::span<const Column> columns, size_t rows, RowErrors& errors);

 private:
  struct Node;
  std::unique_ptr<Node> root_;
};

}  // namespace wrackline::expr
