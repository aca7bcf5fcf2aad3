// AND, OR, CASE and COALESCE: what is computed for some rows only.
#include <algorithm>
#include <numeric>

#include "expr/evaluator_step.h"

namespace wrackline::expr {
namespace {

// Calls move(T*) with a type of the size of the column's values.
template <class Move>
void by_width(TypeKind kind, Move move) {
  struct Wide {
    std::byte bytes[16];
  };
  switch (value_bytes(kind)) {
    case 1:
      return move(static_cast<uint8_t*>(nullptr));
    case 8:
      return move(static_cast<uint64_t*>(nullptr));
    case 16:
      return move(static_cast<Wide*>(nullptr));
    default:
      return move(static_cast<Decimal*>(nullptr));
  }
}

// to[to_row(i)] = from[from_row(i)] for i < count, nulls included.
template <class FromRow, class ToRow>
void move_values(const Column& from, Column& to, size_t count, FromRow from_row, ToRow to_row) {
  WRACKLINE_DCHECK(from.type().kind == to.type().kind);
  by_width(to.type().kind, [&]<class T>(T*) {
    const auto in = from.values<T>();
    const auto out = to.values<T>();
    for (size_t i = 0; i < count; ++i) out[to_row(i)] = in[from_row(i)];
  });
  if (!from.has_nulls()) return;
  for (size_t i = 0; i < count; ++i) {
    if (from.is_null(from_row(i))) to.set_null(to_row(i));
  }
}

void collect_columns(const Expr& expr, std::vector<size_t>& columns) {
  if (expr.kind == ExprKind::kColumn) columns.push_back(expr.column);
  for (const ExprPtr& argument : expr.args) collect_columns(*argument, columns);
}

// Keeps the rows of `rows` for which keep(i, rows[i]) is true.
template <class Keep>
void keep_rows(std::vector<uint32_t>& rows, Keep keep) {
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint32_t row = rows[i];
    rows[kept] = row;
    kept += keep(i, row) ? 1 : 0;
  }
  rows.resize(kept);
}

void select_all(std::vector<uint32_t>& rows, size_t count) {
  rows.resize(count);
  std::iota(rows.begin(), rows.end(), 0U);
}

class LogicalStep : public Step {
 public:
  explicit LogicalStep(const Expr& expr)
      : decides_(expr.kind == ExprKind::kOr ? 1 : 0), out_(Type::boolean()) {
    for (const ExprPtr& argument : expr.args) branches_.emplace_back(*argument);
  }

  // A row leaves as soon as one argument decides it: false for AND, true for OR. A null waits for a later
  // decision.
  const Column& run(const InputRows& rows, RowErrors& errors) override {
    out_.reset(Type::boolean());
    out_.resize(rows.count);
    const auto out = out_.values<uint8_t>();
    std::ranges::fill(out, static_cast<uint8_t>(1 - decides_));
    select_all(open_, rows.count);
    for (Branch& branch : branches_) {
      if (open_.empty()) break;
      const Branch::Result result = branch.run(rows, open_, errors);
      const auto values = result.column.values<uint8_t>();
      keep_rows(open_, [&](size_t i, uint32_t row) {
        const size_t at = result.index(i, row);
        if (result.column.is_null(at)) {
          out_.set_null(row);
          return true;
        }
        if (values[at] != decides_) return true;
        out[row] = decides_;
        if (out_.has_nulls()) out_.valid()[row] = 1;
        return false;
      });
    }
    return out_;
  }

 private:
  uint8_t decides_;
  std::vector<Branch> branches_;
  std::vector<uint32_t> open_;
  Column out_;
};

class CaseStep : public Step {
 public:
  explicit CaseStep(const Expr& expr) : type_(expr.type), has_else_(expr.has_else) {
    for (const ExprPtr& argument : expr.args) branches_.emplace_back(*argument);
  }

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    out_.reset(type_);
    out_.resize(rows.count);
    select_all(open_, rows.count);
    const size_t whens = branches_.size() / 2;
    for (size_t i = 0; i < whens && !open_.empty(); ++i) {
      const Branch::Result when = branches_[2 * i].run(rows, open_, errors);
      const auto values = when.column.values<uint8_t>();
      taken_.clear();
      keep_rows(open_, [&](size_t k, uint32_t row) {
        const size_t at = when.index(k, row);
        const bool taken = !when.column.is_null(at) && values[at] != 0;
        if (taken) taken_.push_back(row);
        return !taken;
      });
      branches_[2 * i + 1].run_into(rows, taken_, out_, errors);
    }
    if (has_else_) {
      branches_.back().run_into(rows, open_, out_, errors);
    } else {
      for (const uint32_t row : open_) out_.set_null(row);
    }
    return out_;
  }

 private:
  Type type_;
  bool has_else_;
  std::vector<Branch> branches_;
  std::vector<uint32_t> open_;
  std::vector<uint32_t> taken_;
  Column out_;
};

class CoalesceStep : public Step {
 public:
  explicit CoalesceStep(const Expr& expr) : type_(expr.type) {
    for (const ExprPtr& argument : expr.args) branches_.emplace_back(*argument);
  }

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    out_.reset(type_);
    out_.resize(rows.count);
    select_all(open_, rows.count);
    for (Branch& branch : branches_) {
      if (open_.empty()) break;
      const Branch::Result result = branch.run(rows, open_, errors);
      move_values(
          result.column, out_, open_.size(), [&](size_t i) { return result.index(i, open_[i]); },
          [&](size_t i) { return open_[i]; });
      if (!result.column.has_nulls()) {
        if (out_.has_nulls()) mark_valid();
        open_.clear();
        break;
      }
      settle(result);
    }
    return out_;
  }

 private:
  void mark_valid() {
    const auto valid = out_.valid();
    for (const uint32_t row : open_) valid[row] = 1;
  }
  // Rows that got a value are done; the others stay open and null.
  void settle(const Branch::Result& result) {
    keep_rows(open_, [&](size_t i, uint32_t row) {
      const bool null = result.column.is_null(result.index(i, row));
      if (!null && out_.has_nulls()) out_.valid()[row] = 1;
      return null;
    });
  }

  Type type_;
  std::vector<Branch> branches_;
  std::vector<uint32_t> open_;
  Column out_;
};

}  // namespace

void scatter(const Column& from, std::span<const uint32_t> to_rows, Column& to) {
  move_values(from, to, to_rows.size(), [](size_t i) { return i; }, [&](size_t i) { return to_rows[i]; });
}

void gather(const Column& from, std::span<const uint32_t> rows, Column& to) {
  to.reset(from.type());
  to.resize(rows.size());
  move_values(from, to, rows.size(), [&](size_t i) { return rows[i]; }, [](size_t i) { return i; });
}

void copy_column(const Column& from, Column& to) {
  to.reset(from.type());
  to.resize(from.size());
  move_values(from, to, from.size(), [](size_t i) { return i; }, [](size_t i) { return i; });
}

void copy_rows(const Column& from, std::span<const uint32_t> rows, Column& to) {
  move_values(from, to, rows.size(), [&](size_t i) { return rows[i]; }, [&](size_t i) { return rows[i]; });
}

Branch::Branch(const Expr& expr) : step_(make_step(expr)), total_(is_total(expr)) {
  collect_columns(expr, columns_);
  std::ranges::sort(columns_);
  columns_.erase(std::ranges::unique(columns_).begin(), columns_.end());
  if (!columns_.empty()) gathered_.resize(columns_.back() + 1);
}

Branch::Result Branch::run(const InputRows& rows, std::span<const uint32_t> selected, RowErrors& errors) {
  if (selected.size() == rows.count) return {step_->run(rows, errors), true};
  // Computing a value that nobody wants is cheaper than copying rows together, unless most rows are unwanted.
  if (total_ && selected.size() * 4 >= rows.count) return {step_->run(rows, errors), true};
  for (const size_t column : columns_) gather(rows.columns[column], selected, gathered_[column]);
  errors_.clear();
  const Column& result = step_->run({gathered_, selected.size()}, errors_);
  for (RowError& error : errors_) {
    error.row = selected[error.row];
    errors.push_back(std::move(error));
  }
  return {result, false};
}

void Branch::run_into(const InputRows& rows, std::span<const uint32_t> selected, Column& out,
                      RowErrors& errors) {
  if (selected.empty()) return;
  const Result result = run(rows, selected, errors);
  if (result.dense) {
    copy_rows(result.column, selected, out);
  } else {
    scatter(result.column, selected, out);
  }
}

std::unique_ptr<Step> make_branching_step(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return std::make_unique<LogicalStep>(expr);
    case ExprKind::kCase:
      return std::make_unique<CaseStep>(expr);
    case ExprKind::kCoalesce:
      return std::make_unique<CoalesceStep>(expr);
    default:
      break;
  }
  WRACKLINE_CHECK(false, "not an expression with branches");
  return nullptr;
}

}  // namespace wrackline::expr
