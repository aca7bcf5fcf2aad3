// Calls of aggregates: what stands in them beside the argument, and which calls are one.
#include <algorithm>

#include "base/text.h"
#include "data/value.h"
#include "expr/aggregate.h"
#include "sql/bind_expression.h"

namespace wrackline::sql {
namespace {

using expr::ExprPtr;

bool same_or_null(const ExprPtr& a, const ExprPtr& b) {
  return a == nullptr || b == nullptr ? a == b : expr::same(*a, *b);
}

bool same_each(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  return std::ranges::equal(a, b, [](const ExprPtr& x, const ExprPtr& y) { return expr::same(*x, *y); });
}

// Computed once for both.
bool same_call(const AggregateCall& a, const AggregateCall& b) {
  return a.name == b.name && a.distinct == b.distinct && same_or_null(a.argument, b.argument) &&
         same_or_null(a.filter, b.filter) && same_each(a.constants, b.constants) &&
         same_each(a.sort_keys, b.sort_keys) && a.sort_order == b.sort_order;
}

int64_t at(const Syntax& syntax) {
  return static_cast<int64_t>(syntax.position);
}

}  // namespace

Result<ExprPtr> ExpressionBinder::aggregate(const Syntax& syntax) {
  if (scope_.aggregates == nullptr) {
    return invalid(
        syntax, format("aggregate \"{}\" cannot be used in {}", syntax.text, scope_.clause),
        "Aggregates stand in the SELECT list and in HAVING; what they add up is chosen with FILTER "
        "(WHERE ...).");
  }
  WRACKLINE_TRY(check_argument_count(syntax));
  AggregateCall made;
  made.name = syntax.text;
  made.distinct = syntax.distinct;
  Scope inside = scope_;
  inside.aggregates = nullptr;
  inside.windows = false;
  inside.clause = "an aggregate";
  ExpressionBinder binder(text_, inside);
  if (!syntax.star) {
    WRACKLINE_ASSIGN(made.argument, binder.bind(*syntax.args[0]));
    made.argument = expr::settle_unknown(std::move(made.argument));
  }
  if (syntax.filter) {
    inside.clause = "FILTER (WHERE)";
    ExpressionBinder condition(text_, inside);
    WRACKLINE_ASSIGN(made.filter, condition.bind_condition(*syntax.filter));
  }
  WRACKLINE_TRY(binder.bind_modifiers(syntax, made));

  auto& calls = *scope_.aggregates;
  const auto known =
      std::ranges::find_if(calls, [&](const AggregateCall& other) { return same_call(other, made); });
  const auto index = static_cast<size_t>(known - calls.begin());
  const Type type = made.aggregate->result_type();
  if (known == calls.end()) calls.push_back(std::move(made));
  return expr::make_column(scope_.first_aggregate() + index, type, at(syntax));
}

Status ExpressionBinder::check_argument_count(const Syntax& syntax) const {
  if (syntax.star && syntax.text != "count") {
    return invalid(syntax, format("{}(*) does not exist", syntax.text), "Only count(*) takes a star.");
  }
  const size_t wanted = expr::aggregate_arguments(syntax.text);
  if (syntax.star || syntax.args.size() == wanted) return {};
  return invalid(syntax,
                 format("aggregate \"{}\" takes {}, not {}", syntax.text,
                        wanted == 1 ? "one argument" : "two arguments", syntax.args.size()),
                 syntax.text == "count"        ? "Write count(*) to count records."
                 : syntax.text == "string_agg" ? "Write string_agg(page, ', ')."
                 : wanted == 2                 ? format("Write {}(x, 0.95).", syntax.text)
                                               : "");
}

// What stands in a call beside its first argument, and then the aggregate itself.
Status ExpressionBinder::bind_modifiers(const Syntax& syntax, AggregateCall& made) {
  expr::AggregateOptions options{.distinct = made.distinct};
  for (size_t i = 1; i < syntax.args.size(); ++i) {
    WRACKLINE_ASSIGN(ExprPtr bound, bind(*syntax.args[i]));
    made.constants.push_back(expr::settle_unknown(std::move(bound)));
    WRACKLINE_ASSIGN(Value value, constant(*syntax.args[i], *made.constants.back()));
    options.constants.push_back(std::move(value));
  }
  for (size_t i = 0; i < syntax.sort.size(); ++i) {
    WRACKLINE_ASSIGN(ExprPtr key, bind(*syntax.sort[i]));
    key = expr::settle_unknown(std::move(key));
    if (made.distinct && (made.argument == nullptr || !expr::same(*key, *made.argument))) {
      return invalid(*syntax.sort[i], "with DISTINCT an aggregate can be ordered by its argument only",
                     "A value that occurs twice has several of anything else.");
    }
    options.order.push_back({.type = key->type,
                             .descending = syntax.sort_directions[i].descending,
                             .nulls_first = syntax.sort_directions[i].nulls_first});
    made.sort_keys.push_back(std::move(key));
  }
  const Type* argument = made.argument ? &made.argument->type : nullptr;
  WRACKLINE_ASSIGN(made.aggregate, placed(syntax, expr::make_aggregate(syntax.text, argument, options)));
  if (made.aggregate->sort_key_count() == 0) {  // an order that cannot change the result
    made.sort_keys.clear();
    options.order.clear();
  }
  made.sort_order = std::move(options.order);
  return {};
}

// The value of an argument that must be the same for every record.
Result<Value> ExpressionBinder::constant(const Syntax& syntax, const expr::Expr& expression) const {
  bool reads_record = false;
  for_each_column(expression, [&](size_t) { reads_record = true; });
  if (reads_record) {
    return invalid(syntax, "this argument must be a constant",
                   "It is read once, when the job starts: a column differs from record to record.");
  }
  expr::RowErrors errors;
  expr::Evaluator evaluator(expression);
  const Column& result = evaluator.evaluate({}, 1, errors);
  if (!errors.empty()) return invalid(syntax, errors[0].message);
  return value_at(result, 0);
}

}  // namespace wrackline::sql
