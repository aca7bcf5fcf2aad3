#include "expr/type_rules.h"

namespace wrackline::expr {

TypeId type_id(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      return TypeId::kBoolean;
    case TypeKind::kInteger:
      return type.bits == 16 ? TypeId::kInt2 : type.bits == 32 ? TypeId::kInt4 : TypeId::kInt8;
    case TypeKind::kNumeric:
      return TypeId::kNumeric;
    case TypeKind::kDouble:
      return type.bits == 32 ? TypeId::kFloat4 : TypeId::kFloat8;
    case TypeKind::kText:
      return TypeId::kText;
    case TypeKind::kTimestamp:
      return type.with_zone ? TypeId::kTimestamptz : TypeId::kTimestamp;
    case TypeKind::kDate:
      return TypeId::kDate;
    case TypeKind::kInterval:
      return TypeId::kInterval;
    case TypeKind::kJson:
      return TypeId::kJson;
  }
  return TypeId::kUnknown;
}

TypeId type_id(const Expr& expr) {
  return expr.unknown ? TypeId::kUnknown : type_id(expr.type);
}

Type type_of(TypeId id) {
  switch (id) {
    case TypeId::kUnknown:
    case TypeId::kText:
      return Type::text();
    case TypeId::kBoolean:
      return Type::boolean();
    case TypeId::kInt2:
      return {.kind = TypeKind::kInteger, .bits = 16};
    case TypeId::kInt4:
      return Type::integer();
    case TypeId::kInt8:
      return Type::bigint();
    case TypeId::kNumeric:
      return Type::numeric();
    case TypeId::kFloat4:
      return {.kind = TypeKind::kDouble, .bits = 32};
    case TypeId::kFloat8:
      return Type::real64();
    case TypeId::kTimestamp:
      return Type::timestamp();
    case TypeId::kTimestamptz:
      return Type::timestamptz();
    case TypeId::kDate:
      return Type::date();
    case TypeId::kInterval:
      return Type::interval();
    case TypeId::kJson:
      return Type::json();
  }
  return Type::text();
}

std::string_view type_name(TypeId id) {
  switch (id) {
    case TypeId::kUnknown:
      return "unknown";
    case TypeId::kBoolean:
      return "boolean";
    case TypeId::kInt2:
      return "smallint";
    case TypeId::kInt4:
      return "integer";
    case TypeId::kInt8:
      return "bigint";
    case TypeId::kNumeric:
      return "numeric";
    case TypeId::kFloat4:
      return "real";
    case TypeId::kFloat8:
      return "double precision";
    case TypeId::kText:
      return "text";
    case TypeId::kTimestamp:
      return "timestamp without time zone";
    case TypeId::kTimestamptz:
      return "timestamp with time zone";
    case TypeId::kDate:
      return "date";
    case TypeId::kInterval:
      return "interval";
    case TypeId::kJson:
      return "jsonb";
  }
  return "unknown";
}

TypeCategory category(TypeId id) {
  switch (id) {
    case TypeId::kUnknown:
      return TypeCategory::kUnknown;
    case TypeId::kBoolean:
      return TypeCategory::kBoolean;
    case TypeId::kInt2:
    case TypeId::kInt4:
    case TypeId::kInt8:
    case TypeId::kNumeric:
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return TypeCategory::kNumber;
    case TypeId::kText:
      return TypeCategory::kString;
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
    case TypeId::kDate:
      return TypeCategory::kDateTime;
    case TypeId::kInterval:
      return TypeCategory::kTimespan;
    case TypeId::kJson:
      return TypeCategory::kUser;
  }
  return TypeCategory::kUnknown;
}

bool is_preferred(TypeId id) {
  return id == TypeId::kBoolean || id == TypeId::kFloat8 || id == TypeId::kText ||
         id == TypeId::kTimestamptz || id == TypeId::kInterval;
}

bool converts_implicitly(TypeId from, TypeId to) {
  if (from == to || from == TypeId::kUnknown) return true;
  // The numbers stand in the enumeration in the order in which PostgreSQL widens them.
  if (category(from) == TypeCategory::kNumber && category(to) == TypeCategory::kNumber) return from < to;
  if (from == TypeId::kDate) return to == TypeId::kTimestamp || to == TypeId::kTimestamptz;
  return from == TypeId::kTimestamp && to == TypeId::kTimestamptz;
}

std::optional<TypeId> common_type(std::span<const TypeId> inputs) {
  TypeId chosen = TypeId::kUnknown;
  for (const TypeId next : inputs) {
    if (next == TypeId::kUnknown || next == chosen) continue;
    if (chosen == TypeId::kUnknown) {
      chosen = next;
    } else if (category(next) != category(chosen)) {
      return std::nullopt;
    } else if (!is_preferred(chosen) && converts_implicitly(chosen, next) &&
               !converts_implicitly(next, chosen)) {
      chosen = next;
    }
  }
  return chosen == TypeId::kUnknown ? TypeId::kText : chosen;
}

}  // namespace wrackline::expr
