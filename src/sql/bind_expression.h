// Expressions of the job's syntax to typed expressions of the expr room.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "expr/expr.h"
#include "sql/job.h"
#include "sql/job_text.h"
#include "sql/syntax.h"

namespace wrackline::sql {

// What names mean in one clause of a view. Columns of the bound expression are numbered: the source's fields,
// then window_start and window_end, then the aggregates.
struct Scope {
  const std::vector<Field>* fields = nullptr;
  std::vector<std::string> qualifiers;  // what may stand before a column: the alias, or the source
  std::string clause;                   // "WHERE", for messages
  bool windows = false;                 // window_start and window_end may be used
  std::vector<AggregateCall>* aggregates = nullptr;  // where aggregates are gathered; null: not allowed

  size_t window_start() const { return fields->size(); }
  size_t window_end() const { return fields->size() + 1; }
  size_t first_aggregate() const { return fields->size() + 2; }
};

class ExpressionBinder {
 public:
  ExpressionBinder(const JobText& text, Scope scope) : text_(text), scope_(std::move(scope)) {}

  // Errors: kInvalid and kUnsupported with their place.
  Result<expr::ExprPtr> bind(const Syntax& syntax);
  // The same, as a condition.
  Result<expr::ExprPtr> bind_condition(const Syntax& syntax);

 private:
  Result<expr::ExprPtr> column(const Syntax& syntax) const;
  Result<expr::ExprPtr> number(const Syntax& syntax) const;
  Result<expr::ExprPtr> call(const Syntax& syntax);
  Result<expr::ExprPtr> aggregate(const Syntax& syntax);
  Status check_argument_count(const Syntax& syntax) const;
  Status bind_modifiers(const Syntax& syntax, AggregateCall& made);
  Result<Value> constant(const Syntax& syntax, const expr::Expr& expression) const;
  Result<expr::ExprPtr> cast(const Syntax& syntax);
  Result<expr::ExprPtr> truth_test(const Syntax& syntax);
  Result<expr::ExprPtr> like(const Syntax& syntax);
  Result<expr::ExprPtr> between(const Syntax& syntax);
  Result<expr::ExprPtr> within(const Syntax& syntax, expr::ExprPtr value, expr::ExprPtr low,
                               expr::ExprPtr high);
  Result<expr::ExprPtr> case_of(const Syntax& syntax);
  Result<std::vector<expr::ExprPtr>> args(const Syntax& syntax);
  Result<expr::ExprPtr> negated(bool negate, Result<expr::ExprPtr> made, const Syntax& syntax) const;
  Result<expr::ExprPtr> copy(const expr::Expr& original, const Syntax& syntax);

  // `made` with the place of `syntax` in its error.
  template <class T>
  Result<T> placed(const Syntax& syntax, Result<T> made) const {
    if (!made && !made.error().where.column)
      return fail(text_.placed(syntax.position, std::move(made).error()));
    return made;
  }
  std::unexpected<Error> invalid(const Syntax& syntax, std::string message, std::string hint = {}) const {
    return fail(text_.error(syntax.position, ErrorCode::kInvalid, std::move(message), std::move(hint)));
  }

  const JobText& text_;
  Scope scope_;
  size_t copied_nodes_ = 0;
};

// Calls `visit` for each column that the expression reads.
void for_each_column(const expr::Expr& expression, const std::function<void(size_t)>& visit);

}  // namespace wrackline::sql
