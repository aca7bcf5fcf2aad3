#include <algorithm>
#include <utility>

#include "expr/casts.h"
#include "expr/evaluator_step.h"
#include "expr/expr.h"
#include "expr/functions.h"
#include "expr/in_list.h"

namespace wrackline::expr {
namespace {

class ColumnStep : public Step {
 public:
  explicit ColumnStep(size_t column) : column_(column) {}
  const Column& run(const InputRows& rows, RowErrors&) override {
    WRACKLINE_CHECK(column_ < rows.columns.size(),
                    "an expression reads a column that its input does not have");
    return rows.columns[column_];
  }

 private:
  size_t column_;
};

class LiteralStep : public Step {
 public:
  explicit LiteralStep(const Value& value) : out_(value.type) {
    out_.resize(1);
    set_value(out_, 0, value, arena_);
  }
  // Always one row: a ConstantStep stands around it.
  const Column& run(const InputRows&, RowErrors&) override { return out_; }

 private:
  Column out_;
  Arena arena_;
};

// Computes an expression without columns once and repeats its value, or its error, in every row.
class ConstantStep : public Step {
 public:
  explicit ConstantStep(std::unique_ptr<Step> step) : step_(std::move(step)) {}

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    if (one_ == nullptr) one_ = &step_->run({{}, 1}, one_errors_);
    if (out_.size() != rows.count || out_.type() != one_->type()) fill(rows.count);
    if (!one_errors_.empty()) {
      for (uint32_t row = 0; row < rows.count; ++row)
        errors.push_back({row, one_errors_[0].reason, one_errors_[0].message});
    }
    return out_;
  }

 private:
  void fill(size_t count) {
    first_.assign(count, 0);
    gather(*one_, first_, out_);
  }

  std::unique_ptr<Step> step_;
  const Column* one_ = nullptr;
  RowErrors one_errors_;
  std::vector<uint32_t> first_;
  Column out_;
};

// Marks in `out` the rows where an argument is null.
void combine_nulls(std::span<const Column* const> args, Column& out) {
  for (const Column* argument : args) {
    if (!argument->has_nulls()) continue;
    const auto from = argument->valid();
    const auto to = out.make_validity();
    for (size_t i = 0; i < to.size(); ++i) to[i] &= from[i];
  }
}

class CallStep : public Step {
 public:
  CallStep(Kernel kernel, bool strict, const Type& type, std::span<const ExprPtr> args)
      : kernel_(kernel), strict_(strict), type_(type) {
    for (const ExprPtr& argument : args) args_.push_back(make_step(*argument));
    columns_.resize(args_.size());
  }

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    for (size_t i = 0; i < args_.size(); ++i) columns_[i] = &args_[i]->run(rows, errors);
    return run_over(columns_, rows.count, errors);
  }

  // The call with its arguments already computed.
  const Column& run_over(std::span<const Column* const> columns, size_t count, RowErrors& errors) {
    out_.reset(type_);
    out_.resize(count);
    if (strict_) combine_nulls(columns, out_);
    arena_.clear();
    Call call{columns, count, out_, arena_, errors};
    kernel_(call);
    return out_;
  }

 private:
  Kernel kernel_;
  bool strict_;
  Type type_;
  std::vector<std::unique_ptr<Step>> args_;
  std::vector<const Column*> columns_;
  Column out_;
  Arena arena_;
};

bool negate(bool value) {
  return !value;
}

class NullTestStep : public Step {
 public:
  explicit NullTestStep(const Expr& expr)
      : argument_(make_step(*expr.args[0])), if_null_(expr.kind == ExprKind::kIsNull ? 1 : 0) {}

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    const Column& argument = argument_->run(rows, errors);
    out_.reset(Type::boolean());
    out_.resize(rows.count);
    const auto out = out_.values<uint8_t>();
    std::ranges::fill(out, static_cast<uint8_t>(1 - if_null_));
    if (!argument.has_nulls()) return out_;
    const auto valid = argument.valid();
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(valid[i] ^ if_null_);
    return out_;
  }

 private:
  std::unique_ptr<Step> argument_;
  uint8_t if_null_;
  Column out_;
};

// IS DISTINCT FROM and NULLIF: an equality, and what it means where something is null.
class EqualityStep : public Step {
 public:
  explicit EqualityStep(const Expr& expr)
      : kind_(expr.kind),
        left_(make_step(*expr.args[0])),
        right_(make_step(*expr.args[1])),
        equal_(expr.function->kernel, true, Type::boolean(), {}) {}

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    const Column& left = left_->run(rows, errors);
    const Column& right = right_->run(rows, errors);
    const Column* both[] = {&left, &right};
    const Column& equal = equal_.run_over(both, rows.count, errors);
    if (kind_ == ExprKind::kNullIf) return null_if(left, equal);
    return distinct(left, right, equal);
  }

 private:
  const Column& null_if(const Column& left, const Column& equal) {
    copy_column(left, out_);
    const auto values = equal.values<uint8_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!equal.is_null(i) && values[i] != 0) out_.set_null(i);
    }
    return out_;
  }
  const Column& distinct(const Column& left, const Column& right, const Column& equal) {
    out_.reset(Type::boolean());
    out_.resize(equal.size());
    const auto out = out_.values<uint8_t>();
    const auto values = equal.values<uint8_t>();
    const bool wanted = kind_ == ExprKind::kIsDistinct;
    for (size_t i = 0; i < out.size(); ++i) {
      const bool same = equal.is_null(i) ? left.is_null(i) && right.is_null(i) : values[i] != 0;
      out[i] = same != wanted ? 1 : 0;
    }
    return out_;
  }

  ExprKind kind_;
  std::unique_ptr<Step> left_;
  std::unique_ptr<Step> right_;
  CallStep equal_;
  Column out_;
};

// x IN (a, b, ...): true if one equals, else null if x or one of them is null, else false.
class InStep : public Step {
 public:
  explicit InStep(const Expr& expr)
      : needle_(make_step(*expr.args[0])), equal_(expr.function->kernel, true, Type::boolean(), {}) {
    for (size_t i = 1; i < expr.args.size(); ++i) items_.push_back(make_step(*expr.args[i]));
    const bool constant =
        std::all_of(expr.args.begin() + 1, expr.args.end(), [](const ExprPtr& e) { return is_constant(*e); });
    if (constant) build_list(expr.args[0]->type.kind);
  }

  const Column& run(const InputRows& rows, RowErrors& errors) override {
    const Column& needle = needle_->run(rows, errors);
    out_.reset(Type::boolean());
    out_.resize(rows.count);
    if (list_.usable()) {
      list_.find(needle, out_);
      return out_;
    }
    std::ranges::fill(out_.values<uint8_t>(), uint8_t{0});
    for (const auto& item : items_) {
      const Column* both[] = {&needle, &item->run(rows, errors)};
      add_item(equal_.run_over(both, rows.count, errors));
    }
    return out_;
  }

 private:
  void build_list(TypeKind kind) {
    RowErrors errors;
    for (const auto& item : items_) list_.add(kind, item->run({{}, 1}, errors));
    if (errors.empty()) list_.seal(kind);
  }
  void add_item(const Column& equal) {
    const auto values = equal.values<uint8_t>();
    const auto out = out_.values<uint8_t>();
    for (size_t i = 0; i < out.size(); ++i) {
      if (equal.is_null(i)) {
        if (out[i] == 0) out_.set_null(i);
      } else if (values[i] != 0) {
        out[i] = 1;
        if (out_.has_nulls()) out_.valid()[i] = 1;
      }
    }
  }

  std::unique_ptr<Step> needle_;
  std::vector<std::unique_ptr<Step>> items_;
  CallStep equal_;
  InList list_;
  Column out_;
};

std::unique_ptr<Step> make_plain_step(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kColumn:
      return std::make_unique<ColumnStep>(expr.column);
    case ExprKind::kLiteral:
      return std::make_unique<LiteralStep>(expr.literal);
    case ExprKind::kCall:
      return std::make_unique<CallStep>(expr.function->kernel, expr.function->is_strict(), expr.type,
                                        expr.args);
    case ExprKind::kCast: {
      const Cast cast = find_cast(type_id(expr.args[0]->type), expr.type, expr.explicit_cast);
      WRACKLINE_CHECK(cast.kernel != nullptr, "an expression holds a cast that does not exist");
      return std::make_unique<CallStep>(cast.kernel, true, expr.type, expr.args);
    }
    case ExprKind::kNot:
      return std::make_unique<CallStep>(map<negate>, true, Type::boolean(), expr.args);
    case ExprKind::kIsNull:
    case ExprKind::kIsNotNull:
      return std::make_unique<NullTestStep>(expr);
    case ExprKind::kIsDistinct:
    case ExprKind::kIsNotDistinct:
    case ExprKind::kNullIf:
      return std::make_unique<EqualityStep>(expr);
    case ExprKind::kIn:
      return std::make_unique<InStep>(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kCase:
    case ExprKind::kCoalesce:
      break;
  }
  return make_branching_step(expr);
}

}  // namespace

std::unique_ptr<Step> make_step(const Expr& expr) {
  std::unique_ptr<Step> step = make_plain_step(expr);
  return is_constant(expr) ? std::make_unique<ConstantStep>(std::move(step)) : std::move(step);
}

bool is_constant(const Expr& expr) {
  return expr.kind != ExprKind::kColumn &&
         std::ranges::all_of(expr.args, [](const ExprPtr& e) { return is_constant(*e); });
}

bool is_total(const Expr& expr) {
  if (expr.function != nullptr && !expr.function->is_total()) return false;
  if (expr.kind == ExprKind::kCast &&
      !find_cast(type_id(expr.args[0]->type), expr.type, expr.explicit_cast).total) {
    return false;
  }
  return std::ranges::all_of(expr.args, [](const ExprPtr& e) { return is_total(*e); });
}

struct Evaluator::Node {
  std::unique_ptr<Step> step;
  RowErrors errors;
  Column patched;  // the result with its failed rows made null
};

Evaluator::Evaluator(const Expr& expr) : root_(std::make_unique<Node>()) {
  root_->step = make_step(expr);
}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

const Column& Evaluator::evaluate(std::span<const Column> columns, size_t rows, RowErrors& errors) {
  RowErrors& found = root_->errors;
  found.clear();
  const Column& result = root_->step->run({columns, rows}, found);
  if (found.empty()) return result;
  // Steps list errors argument by argument; of a row's errors the first to happen is the one that counts.
  std::ranges::stable_sort(found, {}, &RowError::row);
  const auto repeated = std::ranges::unique(found, {}, &RowError::row);
  found.erase(repeated.begin(), repeated.end());
  copy_column(result, root_->patched);
  for (RowError& error : found) {
    root_->patched.set_null(error.row);
    errors.push_back(std::move(error));
  }
  return root_->patched;
}

}  // namespace wrackline::expr
