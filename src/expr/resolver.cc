// Typed trees out of names and arguments: overloads, implicit casts, and what string literals mean.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "expr/casts.h"
#include "expr/expr.h"
#include "expr/functions.h"
#include "expr/overload.h"
#include "expr/type_rules.h"

namespace wrackline::expr {
namespace {

std::vector<TypeId> types_of(std::span<const ExprPtr> args) {
  std::vector<TypeId> types;
  for (const ExprPtr& argument : args) types.push_back(type_id(*argument));
  return types;
}

// A literal that takes the type its context wants.
Result<ExprPtr> literal_as(const Expr& literal, const Type& type, int64_t position) {
  if (literal.literal.is_null()) return make_literal({type, std::monostate{}}, position);
  WRACKLINE_ASSIGN(Value value, parse_literal(std::get<std::string>(literal.literal.data), type));
  value.type = type;
  return make_literal(std::move(value), position);
}

ExprPtr cast_node(ExprPtr argument, const Type& type, bool explicit_cast, int64_t position) {
  auto expr = std::make_unique<Expr>();
  expr->kind = ExprKind::kCast;
  expr->type = type;
  expr->explicit_cast = explicit_cast;
  expr->position = position;
  expr->args.push_back(std::move(argument));
  return expr;
}

ExprPtr call_node(const Function& function, std::vector<ExprPtr> args, int64_t position) {
  auto expr = std::make_unique<Expr>();
  expr->kind = ExprKind::kCall;
  expr->type = type_of(function.result);
  expr->function = &function;
  expr->args = std::move(args);
  expr->position = position;
  return expr;
}

ExprPtr form_node(ExprKind kind, const Type& type, std::vector<ExprPtr> args, int64_t position) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->type = type;
  expr->args = std::move(args);
  expr->position = position;
  return expr;
}

// Coerces to a type without modifiers; what has the type already keeps its modifiers.
Result<ExprPtr> coerce_to(ExprPtr argument, TypeId id) {
  if (type_id(*argument) == id) return argument;
  const int64_t position = argument->position;
  return coerce(std::move(argument), type_of(id), position);
}

Status coerce_all(std::span<ExprPtr> args, TypeId id) {
  for (ExprPtr& argument : args) {
    WRACKLINE_ASSIGN(argument, coerce_to(std::move(argument), id));
  }
  return {};
}

Result<ExprPtr> call_overload(const Function& function, std::vector<ExprPtr> args, int64_t position) {
  for (size_t i = 0; i < args.size(); ++i) {
    WRACKLINE_ASSIGN(args[i], coerce_to(std::move(args[i]), parameter_type(function, i)));
  }
  if (function.check != nullptr) WRACKLINE_TRY(function.check(args));
  return call_node(function, std::move(args), position);
}

Result<const Function*> find_overload(std::string_view name, std::span<const TypeId> types) {
  const OverloadChoice choice = choose_overload(name, types);
  if (choice.function != nullptr) return choice.function;
  if (!choice.ambiguous) return fail(no_such_call(name, types));
  return fail(
      ErrorCode::kInvalid,
      format("{} is not unique: {}", is_operator(name) ? "operator" : "function", call_text(name, types)), {},
      "Say which type is meant: CAST('...' AS type).");
}

// The form in which concat() writes a value: as text, but a boolean is t or f.
Result<ExprPtr> output_text(ExprPtr argument) {
  const int64_t position = argument->position;
  if (type_id(*argument) == TypeId::kUnknown) return settle_unknown(std::move(argument));
  if (type_id(*argument) != TypeId::kBoolean) return make_cast(std::move(argument), Type::text(), position);
  std::vector<ExprPtr> args;
  args.push_back(std::move(argument));
  return make_call("boolout", std::move(args), position);
}

// text || anything, anything || text: PostgreSQL writes the other operand as text.
Status concatenate_as_text(std::span<ExprPtr> args) {
  const std::vector<TypeId> types = types_of(args);
  const bool has_json = std::ranges::find(types, TypeId::kJson) != types.end();
  const bool has_text = std::ranges::find(types, TypeId::kText) != types.end();
  const bool has_unknown = std::ranges::find(types, TypeId::kUnknown) != types.end();
  if (!has_text && (has_json || !has_unknown)) return {};  // no such operator; the caller will say so
  for (ExprPtr& argument : args) {
    const int64_t position = argument->position;
    WRACKLINE_ASSIGN(argument, make_cast(std::move(argument), Type::text(), position));
  }
  return {};
}

Result<TypeId> common_type_of(std::string_view what, std::span<const ExprPtr> args) {
  const std::vector<TypeId> types = types_of(args);
  if (const auto type = common_type(types)) return *type;
  const TypeId first = *std::ranges::find_if(types, [](TypeId id) { return id != TypeId::kUnknown; });
  const TypeId other = *std::ranges::find_if(
      types, [&](TypeId id) { return id != TypeId::kUnknown && category(id) != category(first); });
  return fail(ErrorCode::kInvalid,
              format("{} types {} and {} cannot be matched", what, type_name(first), type_name(other)), {},
              format("Cast one of them: CAST(... AS {}), for one.", type_name(first)));
}

// The type of a form whose inputs all are of `id`: their modifiers too, if all have the same.
Type unified_type(std::span<const ExprPtr> args, TypeId id) {
  const Type first = args[0]->type;
  const bool all_same = std::ranges::all_of(args, [&](const ExprPtr& e) { return e->type == first; });
  return all_same && type_id(first) == id ? first : type_of(id);
}

Result<ExprPtr> make_extreme(std::string_view name, std::vector<ExprPtr> args, int64_t position) {
  if (args.empty()) return fail(no_such_call(name, {}));
  WRACKLINE_ASSIGN(const TypeId type, common_type_of(name == "greatest" ? "GREATEST" : "LEAST", args));
  WRACKLINE_ASSIGN(const Function* function, find_overload(name, std::vector<TypeId>(args.size(), type)));
  return call_overload(*function, std::move(args), position);
}

// PostgreSQL's functions that are casts by another name: date(x), int8(x).
std::optional<TypeId> cast_function(std::string_view name) {
  struct Named {
    std::string_view name;
    TypeId type;
  };
  static constexpr auto kNames = std::to_array<Named>({{"bool", TypeId::kBoolean},
                                                       {"date", TypeId::kDate},
                                                       {"float4", TypeId::kFloat4},
                                                       {"float8", TypeId::kFloat8},
                                                       {"int2", TypeId::kInt2},
                                                       {"int4", TypeId::kInt4},
                                                       {"int8", TypeId::kInt8},
                                                       {"interval", TypeId::kInterval},
                                                       {"numeric", TypeId::kNumeric},
                                                       {"text", TypeId::kText},
                                                       {"timestamp", TypeId::kTimestamp},
                                                       {"timestamptz", TypeId::kTimestamptz}});
  const auto* found = std::ranges::find(kNames, name, &Named::name);
  return found == kNames.end() ? std::nullopt : std::optional(found->type);
}

Status expect_booleans(std::string_view what, std::span<ExprPtr> args) {
  for (ExprPtr& argument : args) {
    const TypeId type = type_id(*argument);
    if (type != TypeId::kBoolean && type != TypeId::kUnknown) {
      return fail(
          ErrorCode::kInvalid,
          format("argument of {} must be type boolean, not type {}", what, type_name(type)), {},
          category(type) == TypeCategory::kNumber ? "Compare the number: x <> 0." : "Write a comparison.");
    }
    WRACKLINE_ASSIGN(argument, coerce_to(std::move(argument), TypeId::kBoolean));
  }
  return {};
}

std::string no_cast_hint(TypeId from, TypeId to) {
  if (to == TypeId::kBoolean && category(from) == TypeCategory::kNumber) return "Compare the number: x <> 0.";
  if (from == TypeId::kBoolean) return "Write CASE WHEN x THEN 1 ELSE 0 END, or cast to integer.";
  if (category(to) == TypeCategory::kDateTime && category(from) == TypeCategory::kNumber) {
    return "Use to_timestamp(seconds), or declare the column as timestamptz with the option time_unit.";
  }
  if (category(from) == TypeCategory::kDateTime && category(to) == TypeCategory::kNumber) {
    return "Use extract(epoch FROM x).";
  }
  return format("Cast through text if its text reads as {}.", type_name(to));
}

}  // namespace

Result<ExprPtr> make_call(std::string_view name, std::vector<ExprPtr> args, int64_t position) {
  if (name == "!=") name = "<>";
  if (name == "greatest" || name == "least") return make_extreme(name, std::move(args), position);
  if (const auto type = cast_function(name); type && args.size() == 1) {
    return make_cast(std::move(args[0]), type_of(*type), position);
  }
  if (name == "||" && args.size() == 2) WRACKLINE_TRY(concatenate_as_text(args));
  if (name == "concat" || name == "concat_ws") {
    for (ExprPtr& argument : args) {
      WRACKLINE_ASSIGN(argument, output_text(std::move(argument)));
    }
  }
  WRACKLINE_ASSIGN(const Function* function, find_overload(name, types_of(args)));
  return call_overload(*function, std::move(args), position);
}

Result<ExprPtr> make_cast(ExprPtr argument, Type type, int64_t position) {
  if (argument->unknown) return literal_as(*argument, type, position);
  if (argument->type == type) return argument;
  const TypeId from = type_id(*argument);
  if (find_cast(from, type, true).kernel != nullptr)
    return cast_node(std::move(argument), type, true, position);
  return fail(ErrorCode::kInvalid, format("cannot cast type {} to {}", type_name(from), to_string(type)), {},
              no_cast_hint(from, type_id(type)));
}

Result<ExprPtr> coerce(ExprPtr argument, Type type, int64_t position) {
  if (argument->unknown) return literal_as(*argument, type, position);
  if (argument->type == type) return argument;
  const TypeId from = type_id(*argument);
  if (converts_implicitly(from, type_id(type))) return cast_node(std::move(argument), type, false, position);
  const bool castable = find_cast(from, type, true).kernel != nullptr;
  return fail(
      ErrorCode::kInvalid, format("{} is wanted here, not {}", to_string(type), type_name(from)), {},
      castable ? format("Write CAST(... AS {}).", to_string(type)) : no_cast_hint(from, type_id(type)));
}

Result<ExprPtr> make_logical(ExprKind kind, std::vector<ExprPtr> args, int64_t position) {
  WRACKLINE_CHECK(!args.empty(), "AND, OR and NOT have arguments");
  WRACKLINE_TRY(expect_booleans(kind == ExprKind::kAnd ? "AND" : kind == ExprKind::kOr ? "OR" : "NOT", args));
  return form_node(kind, Type::boolean(), std::move(args), position);
}

Result<ExprPtr> make_null_test(ExprKind kind, ExprPtr argument, int64_t position) {
  std::vector<ExprPtr> args;
  args.push_back(settle_unknown(std::move(argument)));
  return form_node(kind, Type::boolean(), std::move(args), position);
}

Result<ExprPtr> make_distinct(ExprKind kind, ExprPtr left, ExprPtr right, int64_t position) {
  std::vector<ExprPtr> args;
  args.push_back(std::move(left));
  args.push_back(std::move(right));
  WRACKLINE_ASSIGN(ExprPtr equality, make_call("=", std::move(args), position));
  equality->kind = kind;
  return equality;
}

Result<ExprPtr> make_case(std::vector<ExprPtr> when_then_else, bool has_else, int64_t position) {
  const size_t whens = when_then_else.size() / 2;
  WRACKLINE_CHECK(whens > 0 && when_then_else.size() % 2 == (has_else ? 1U : 0U),
                  "CASE has pairs of WHEN and THEN");
  // PostgreSQL looks at ELSE first, then at each THEN.
  std::vector<ExprPtr> results;
  if (has_else) results.push_back(std::move(when_then_else.back()));
  for (size_t i = 0; i < whens; ++i) {
    WRACKLINE_TRY(expect_booleans("CASE/WHEN", std::span(&when_then_else[2 * i], 1)));
    results.push_back(std::move(when_then_else[2 * i + 1]));
  }
  WRACKLINE_ASSIGN(const TypeId type, common_type_of("CASE", results));
  WRACKLINE_TRY(coerce_all(results, type));
  const Type unified = unified_type(results, type);
  for (size_t i = 0; i < whens; ++i) when_then_else[2 * i + 1] = std::move(results[i + (has_else ? 1 : 0)]);
  if (has_else) when_then_else.back() = std::move(results[0]);
  ExprPtr expr = form_node(ExprKind::kCase, unified, std::move(when_then_else), position);
  expr->has_else = has_else;
  return expr;
}

Result<ExprPtr> make_variadic(ExprKind kind, std::vector<ExprPtr> args, int64_t position) {
  if (kind == ExprKind::kNullIf) {
    WRACKLINE_CHECK(args.size() == 2, "NULLIF has two arguments");
    WRACKLINE_ASSIGN(ExprPtr equality, make_call("=", std::move(args), position));
    equality->kind = kind;
    equality->type = equality->args[0]->type;
    return equality;
  }
  WRACKLINE_CHECK(!args.empty(), "COALESCE and IN have arguments");
  WRACKLINE_ASSIGN(const TypeId type, common_type_of(kind == ExprKind::kIn ? "IN" : "COALESCE", args));
  if (kind == ExprKind::kCoalesce) {
    WRACKLINE_TRY(coerce_all(args, type));
    const Type unified = unified_type(args, type);
    return form_node(kind, unified, std::move(args), position);
  }
  const std::array<TypeId, 2> types = {type, type};
  WRACKLINE_ASSIGN(const Function* equal, find_overload("=", types));
  WRACKLINE_TRY(coerce_all(args, type));
  ExprPtr expr = form_node(kind, Type::boolean(), std::move(args), position);
  expr->function = equal;
  return expr;
}

}  // namespace wrackline::expr
