#include "sql/bind_expression.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <span>
#include <utility>

#include "base/text.h"
#include "data/decimal.h"
#include "expr/aggregate.h"
#include "sql/bind_type.h"

namespace wrackline::sql {
namespace {

using expr::ExprKind;
using expr::ExprPtr;

// BETWEEN and CASE x WHEN write an operand out more than once; nested in each other they would grow without
// bound.
constexpr size_t kCopiedNodesMax = 20'000;

constexpr std::string_view kClockFunctions[] = {
    "now",       "clock_timestamp", "statement_timestamp", "transaction_timestamp",
    "timeofday", "random",          "gen_random_uuid"};

std::string list_of(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::vector<ExprPtr> pair_of(ExprPtr left, ExprPtr right) {
  std::vector<ExprPtr> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  return args;
}

ExprPtr boolean_literal(bool value, size_t position) {
  return expr::make_literal({Type::boolean(), value}, static_cast<int64_t>(position));
}

size_t count_nodes(const expr::Expr& expression) {
  size_t count = 1;
  for (const ExprPtr& arg : expression.args) count += count_nodes(*arg);
  return count;
}

int64_t at(const Syntax& syntax) {
  return static_cast<int64_t>(syntax.position);
}

}  // namespace

void for_each_column(const expr::Expr& expression, const std::function<void(size_t)>& visit) {
  if (expression.kind == ExprKind::kColumn) visit(expression.column);
  for (const ExprPtr& arg : expression.args) for_each_column(*arg, visit);
}

Result<ExprPtr> ExpressionBinder::bind_condition(const Syntax& syntax) {
  WRACKLINE_ASSIGN(ExprPtr made, bind(syntax));
  if (!made->unknown && made->type.kind != TypeKind::kBoolean) {
    return invalid(syntax, format("{} must be of type boolean, not {}", scope_.clause, to_string(made->type)),
                   "Write a comparison: x > 0, x IS NOT NULL.");
  }
  return placed(syntax, expr::coerce(std::move(made), Type::boolean(), at(syntax)));
}

Result<ExprPtr> ExpressionBinder::bind(const Syntax& syntax) {
  switch (syntax.kind) {
    case SyntaxKind::kColumn:
      return column(syntax);
    case SyntaxKind::kStar:
      return invalid(syntax, "\"*\" cannot stand here", "Name the columns; count(*) alone takes a star.");
    case SyntaxKind::kNumber:
      return number(syntax);
    case SyntaxKind::kString:
      return expr::make_unknown(syntax.text, at(syntax));
    case SyntaxKind::kBoolean:
      return boolean_literal(syntax.flag, syntax.position);
    case SyntaxKind::kNull:
      return expr::make_null(at(syntax));
    case SyntaxKind::kCall:
      return call(syntax);
    case SyntaxKind::kCast:
      return cast(syntax);
    case SyntaxKind::kIsTrue:
    case SyntaxKind::kIsFalse:
    case SyntaxKind::kIsUnknown:
      return truth_test(syntax);
    case SyntaxKind::kLike:
    case SyntaxKind::kILike:
      return like(syntax);
    case SyntaxKind::kBetween:
      return between(syntax);
    case SyntaxKind::kCase:
      return case_of(syntax);
    default:
      break;
  }
  WRACKLINE_ASSIGN(std::vector<ExprPtr> args, this->args(syntax));
  switch (syntax.kind) {
    case SyntaxKind::kOperator:
      return placed(syntax, expr::make_call(syntax.text, std::move(args), at(syntax)));
    case SyntaxKind::kAnd:
      return placed(syntax, expr::make_logical(ExprKind::kAnd, std::move(args), at(syntax)));
    case SyntaxKind::kOr:
      return placed(syntax, expr::make_logical(ExprKind::kOr, std::move(args), at(syntax)));
    case SyntaxKind::kNot:
      return placed(syntax, expr::make_logical(ExprKind::kNot, std::move(args), at(syntax)));
    case SyntaxKind::kIsNull:
      return placed(syntax, expr::make_null_test(ExprKind::kIsNull, std::move(args[0]), at(syntax)));
    case SyntaxKind::kIsNotNull:
      return placed(syntax, expr::make_null_test(ExprKind::kIsNotNull, std::move(args[0]), at(syntax)));
    case SyntaxKind::kIsDistinct:
    case SyntaxKind::kIsNotDistinct: {
      const auto kind =
          syntax.kind == SyntaxKind::kIsDistinct ? ExprKind::kIsDistinct : ExprKind::kIsNotDistinct;
      return placed(syntax, expr::make_distinct(kind, std::move(args[0]), std::move(args[1]), at(syntax)));
    }
    case SyntaxKind::kCoalesce:
      return placed(syntax, expr::make_variadic(ExprKind::kCoalesce, std::move(args), at(syntax)));
    case SyntaxKind::kNullIf:
      return placed(syntax, expr::make_variadic(ExprKind::kNullIf, std::move(args), at(syntax)));
    case SyntaxKind::kIn:
      return negated(syntax.negated,
                     placed(syntax, expr::make_variadic(ExprKind::kIn, std::move(args), at(syntax))), syntax);
    default:
      break;
  }
  return invalid(syntax, "this kind of expression is not supported");
}

Result<std::vector<ExprPtr>> ExpressionBinder::args(const Syntax& syntax) {
  std::vector<ExprPtr> made;
  for (const SyntaxPtr& arg : syntax.args) {
    WRACKLINE_ASSIGN(ExprPtr bound, bind(*arg));
    made.push_back(std::move(bound));
  }
  return made;
}

Result<ExprPtr> ExpressionBinder::negated(bool negate, Result<ExprPtr> made, const Syntax& syntax) const {
  if (!negate || !made) return made;
  std::vector<ExprPtr> args;
  args.push_back(std::move(*made));
  return placed(syntax, expr::make_logical(ExprKind::kNot, std::move(args), at(syntax)));
}

Result<ExprPtr> ExpressionBinder::copy(const expr::Expr& original, const Syntax& syntax) {
  copied_nodes_ += count_nodes(original);
  if (copied_nodes_ > kCopiedNodesMax) {
    return fail(text_.error(
        syntax.position, ErrorCode::kOutOfRange, "expression too large once it is written out",
        "BETWEEN and CASE x WHEN use an operand several times; do not nest them in their operands."));
  }
  return original.clone();
}

// ---- names and constants

Result<ExprPtr> ExpressionBinder::column(const Syntax& syntax) const {
  const std::string& name = syntax.names.back();
  if (syntax.names.size() == 2 &&
      std::ranges::find(scope_.qualifiers, syntax.names[0]) == scope_.qualifiers.end()) {
    return invalid(syntax, format("there is no table \"{}\" in FROM", printable(syntax.names[0])),
                   format("Write {}.{}, or {} alone.", scope_.qualifiers[0], name, name));
  }
  const auto& fields = *scope_.fields;
  const auto field = std::ranges::find(fields, name, &Field::name);
  if (field != fields.end()) {
    return expr::make_column(static_cast<size_t>(field - fields.begin()), field->type, at(syntax));
  }
  if (name == "window_start" || name == "window_end") {
    if (!scope_.windows) {
      return invalid(
          syntax, format("\"{}\" cannot be used in {}", name, scope_.clause),
          "There a record stands alone, before it is in a window; in the SELECT list the window is known.");
    }
    return expr::make_column(name == "window_start" ? scope_.window_start() : scope_.window_end(),
                             Type::timestamptz(), at(syntax));
  }
  std::vector<std::string_view> known;
  for (const Field& candidate : fields) known.push_back(candidate.name);
  known.push_back("window_start");
  known.push_back("window_end");
  const std::string nearest = nearest_name(name, known);
  std::string hint = nearest.empty() ? format("The columns are: {}.", list_of(known))
                                     : format("did you mean \"{}\"?", nearest);
  return fail(text_.error(syntax.position, ErrorCode::kNotFound,
                          format("column \"{}\" does not exist", printable(name)), std::move(hint)));
}

Result<ExprPtr> ExpressionBinder::number(const Syntax& syntax) const {
  int64_t value = 0;
  const char* end = syntax.text.data() + syntax.text.size();
  const auto [stop, error] = std::from_chars(syntax.text.data(), end, value);
  if (error == std::errc() && stop == end) {
    const bool small = value >= INT32_MIN && value <= INT32_MAX;
    return expr::make_literal({small ? Type::integer() : Type::bigint(), value}, at(syntax));
  }
  WRACKLINE_ASSIGN(const Decimal decimal, placed(syntax, parse_decimal(syntax.text)));
  return expr::make_literal({Type::numeric(), decimal}, at(syntax));
}

// ---- calls and casts

Result<ExprPtr> ExpressionBinder::call(const Syntax& syntax) {
  if (expr::is_aggregate(syntax.text)) return aggregate(syntax);
  if (expr::is_aggregate_elsewhere(syntax.text)) {
    return fail(text_.placed(syntax.position, expr::make_aggregate(syntax.text, nullptr).error()));
  }
  if (syntax.distinct || !syntax.sort.empty()) {
    return invalid(syntax,
                   format("{} in a call is for aggregates, and \"{}\" is none",
                          syntax.distinct ? "DISTINCT" : "ORDER BY", printable(syntax.text)),
                   "Leave it out.");
  }
  if (syntax.filter) {
    return invalid(*syntax.filter,
                   format("FILTER is for aggregates, and \"{}\" is none", printable(syntax.text)),
                   "Write CASE WHEN ... THEN ... END.");
  }
  if (syntax.star)
    return invalid(syntax, format("{}(*) does not exist", printable(syntax.text)),
                   "Only count(*) takes a star.");
  if (std::ranges::find(kClockFunctions, syntax.text) != std::end(kClockFunctions)) {
    return fail(text_.error(
        syntax.position, ErrorCode::kUnsupported, format("function {}() is not supported", syntax.text),
        "A result must not depend on when or how often it is computed. Use a column: the event time, or "
        "the arrival time."));
  }
  WRACKLINE_ASSIGN(std::vector<ExprPtr> args, this->args(syntax));
  return placed(syntax, expr::make_call(syntax.text, std::move(args), at(syntax)));
}

Result<ExprPtr> ExpressionBinder::cast(const Syntax& syntax) {
  const Syntax& operand = *syntax.args[0];
  if (syntax.type.name == "interval" && operand.kind == SyntaxKind::kString && !syntax.type.array) {
    WRACKLINE_ASSIGN(std::string text, interval_text(text_, syntax.type, operand.text));
    return placed(operand, expr::make_cast(expr::make_unknown(std::move(text), at(operand)), Type::interval(),
                                           at(syntax)));
  }
  WRACKLINE_ASSIGN(const Type type, bind_type(text_, syntax.type));
  WRACKLINE_ASSIGN(ExprPtr made, bind(operand));
  return placed(syntax, expr::make_cast(std::move(made), type, at(syntax)));
}

// ---- forms that are written with others

// x IS TRUE is x IS NOT DISTINCT FROM true; x IS UNKNOWN is x IS NULL of a boolean.
Result<ExprPtr> ExpressionBinder::truth_test(const Syntax& syntax) {
  WRACKLINE_ASSIGN(ExprPtr made, bind(*syntax.args[0]));
  WRACKLINE_ASSIGN(made, placed(syntax, expr::coerce(std::move(made), Type::boolean(), at(syntax))));
  if (syntax.kind == SyntaxKind::kIsUnknown) {
    const auto kind = syntax.negated ? ExprKind::kIsNotNull : ExprKind::kIsNull;
    return placed(syntax, expr::make_null_test(kind, std::move(made), at(syntax)));
  }
  const auto kind = syntax.negated ? ExprKind::kIsDistinct : ExprKind::kIsNotDistinct;
  ExprPtr truth = boolean_literal(syntax.kind == SyntaxKind::kIsTrue, syntax.position);
  return placed(syntax, expr::make_distinct(kind, std::move(made), std::move(truth), at(syntax)));
}

Result<ExprPtr> ExpressionBinder::like(const Syntax& syntax) {
  WRACKLINE_ASSIGN(std::vector<ExprPtr> args, this->args(syntax));
  const std::string_view name = syntax.kind == SyntaxKind::kLike ? "like" : "ilike";
  return negated(syntax.negated, placed(syntax, expr::make_call(name, std::move(args), at(syntax))), syntax);
}

// x BETWEEN a AND b is x >= a AND x <= b; SYMMETRIC also tries the bounds the other way round.
Result<ExprPtr> ExpressionBinder::between(const Syntax& syntax) {
  WRACKLINE_ASSIGN(std::vector<ExprPtr> args, this->args(syntax));
  ExprPtr swapped;
  if (syntax.flag) {
    WRACKLINE_ASSIGN(ExprPtr value, copy(*args[0], syntax));
    WRACKLINE_ASSIGN(ExprPtr low, copy(*args[2], syntax));
    WRACKLINE_ASSIGN(ExprPtr high, copy(*args[1], syntax));
    WRACKLINE_ASSIGN(swapped, within(syntax, std::move(value), std::move(low), std::move(high)));
  }
  WRACKLINE_ASSIGN(ExprPtr made, within(syntax, std::move(args[0]), std::move(args[1]), std::move(args[2])));
  if (swapped) {
    auto both = pair_of(std::move(made), std::move(swapped));
    WRACKLINE_ASSIGN(made, placed(syntax, expr::make_logical(ExprKind::kOr, std::move(both), at(syntax))));
  }
  return negated(syntax.negated, std::move(made), syntax);
}

Result<ExprPtr> ExpressionBinder::within(const Syntax& syntax, ExprPtr value, ExprPtr low, ExprPtr high) {
  WRACKLINE_ASSIGN(ExprPtr again, copy(*value, syntax));
  auto from = pair_of(std::move(value), std::move(low));
  auto to = pair_of(std::move(again), std::move(high));
  WRACKLINE_ASSIGN(ExprPtr above, placed(syntax, expr::make_call(">=", std::move(from), at(syntax))));
  WRACKLINE_ASSIGN(ExprPtr below, placed(syntax, expr::make_call("<=", std::move(to), at(syntax))));
  auto both = pair_of(std::move(above), std::move(below));
  return placed(syntax, expr::make_logical(ExprKind::kAnd, std::move(both), at(syntax)));
}

// CASE x WHEN a THEN ... is CASE WHEN x = a THEN ...
Result<ExprPtr> ExpressionBinder::case_of(const Syntax& syntax) {
  WRACKLINE_ASSIGN(std::vector<ExprPtr> args, this->args(syntax));
  if (syntax.flag) {
    const ExprPtr operand = std::move(args[0]);
    args.erase(args.begin());
    for (size_t i = 0; i + 1 < args.size(); i += 2) {
      WRACKLINE_ASSIGN(ExprPtr again, copy(*operand, syntax));
      WRACKLINE_ASSIGN(
          args[i],
          placed(syntax, expr::make_call("=", pair_of(std::move(again), std::move(args[i])), at(syntax))));
    }
  }
  return placed(syntax, expr::make_case(std::move(args), syntax.has_else, at(syntax)));
}

}  // namespace wrackline::sql
