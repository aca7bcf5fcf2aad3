// The parts that an Evaluator is made of: one Step per node of the tree, each with its own scratch column.
//
// A step computes whole columns with plain loops. Where only some rows may be looked at (a branch of CASE,
// the right side of AND), a Branch copies those rows of the columns it reads together, runs its steps over
// the copy, and the caller spreads the result out again: so kernels never see a selection.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/column.h"
#include "expr/expr.h"

namespace wrackline::expr {

struct InputRows {
  std::span<const Column> columns;
  size_t count = 0;
};

// Threads: a step belongs to one evaluator. Its result is valid until it runs again.
class Step {
 public:
  virtual ~Step() = default;
  // Errors are appended in any order, and a row may have several.
  virtual const Column& run(const InputRows& rows, RowErrors& errors) = 0;
};

std::unique_ptr<Step> make_step(const Expr& expr);
std::unique_ptr<Step> make_branching_step(const Expr& expr);  // kAnd, kOr, kCase, kCoalesce

// True if no row of `expr` can fail, so that it may be computed for rows whose result nobody wants.
bool is_total(const Expr& expr);
// True if `expr` has the same value in every row.
bool is_constant(const Expr& expr);

// Copies the values of `from` at rows 0.. to rows `to_rows` of `to`; both have the same kind of type. Nulls
// are copied.
void scatter(const Column& from, std::span<const uint32_t> to_rows, Column& to);
// Makes `to` the rows `rows` of `from`.
void gather(const Column& from, std::span<const uint32_t> rows, Column& to);
// Makes `to` a copy of `from`; text is not copied.
void copy_column(const Column& from, Column& to);
// Copies the values of `from` at `rows` to the same rows of `to`.
void copy_rows(const Column& from, std::span<const uint32_t> rows, Column& to);

// An expression that is computed for some of the rows.
class Branch {
 public:
  explicit Branch(const Expr& expr);
  // `dense`: the column has a value per input row; else a value per selected row, in their order.
  struct Result {
    const Column& column;
    bool dense = false;
    size_t index(size_t selected, uint32_t row) const { return dense ? row : selected; }
  };
  // Requires: `selected` is ascending.
  Result run(const InputRows& rows, std::span<const uint32_t> selected, RowErrors& errors);
  // run(), with the values written to the selected rows of `out`.
  void run_into(const InputRows& rows, std::span<const uint32_t> selected, Column& out, RowErrors& errors);

 private:
  std::unique_ptr<Step> step_;
  bool total_ = false;
  std::vector<size_t> columns_;   // read by the expression, ascending
  std::vector<Column> gathered_;  // indexed as the input's columns
  RowErrors errors_;
};

}  // namespace wrackline::expr
