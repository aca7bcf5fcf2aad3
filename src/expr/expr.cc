#include "expr/expr.h"

#include <algorithm>

#include "data/decimal.h"
#include "expr/functions.h"

namespace wrackline::expr {
namespace {

bool same_data(const ValueData& a, const ValueData& b) {
  if (a.index() != b.index()) return false;
  if (const auto* decimal = std::get_if<Decimal>(&a)) {
    const auto& other = std::get<Decimal>(b);
    return decimal->unscaled == other.unscaled && decimal->scale == other.scale;
  }
  return std::visit(
      [&](const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Decimal>) {
          return false;  // compared above
        } else {
          return value == std::get<T>(b);
        }
      },
      a);
}

}  // namespace

std::unique_ptr<Expr> Expr::clone() const {
  auto copy = std::make_unique<Expr>();
  copy->kind = kind;
  copy->type = type;
  copy->column = column;
  copy->literal = literal;
  copy->function = function;
  copy->has_else = has_else;
  copy->explicit_cast = explicit_cast;
  copy->unknown = unknown;
  copy->position = position;
  for (const auto& argument : args) copy->args.push_back(argument->clone());
  return copy;
}

bool same(const Expr& a, const Expr& b) {
  const bool heads = a.kind == b.kind && a.type == b.type && a.function == b.function &&
                     a.has_else == b.has_else && a.explicit_cast == b.explicit_cast &&
                     a.unknown == b.unknown && a.args.size() == b.args.size();
  if (!heads) return false;
  if (a.kind == ExprKind::kColumn && a.column != b.column) return false;
  if (a.kind == ExprKind::kLiteral && !same_data(a.literal.data, b.literal.data)) return false;
  return std::ranges::equal(a.args, b.args, [](const ExprPtr& x, const ExprPtr& y) { return same(*x, *y); });
}

ExprPtr make_column(size_t index, Type type, int64_t position) {
  auto expr = std::make_unique<Expr>();
  expr->kind = ExprKind::kColumn;
  expr->type = type;
  expr->column = index;
  expr->position = position;
  return expr;
}

ExprPtr make_literal(Value value, int64_t position) {
  auto expr = std::make_unique<Expr>();
  expr->kind = ExprKind::kLiteral;
  expr->type = value.type;
  expr->literal = std::move(value);
  expr->position = position;
  return expr;
}

ExprPtr make_unknown(std::string text, int64_t position) {
  ExprPtr expr = make_literal({Type::text(), std::move(text)}, position);
  expr->unknown = true;
  return expr;
}

ExprPtr make_null(int64_t position) {
  ExprPtr expr = make_literal({Type::text(), std::monostate{}}, position);
  expr->unknown = true;
  return expr;
}

ExprPtr settle_unknown(ExprPtr argument) {
  argument->unknown = false;
  return argument;
}

}  // namespace wrackline::expr
