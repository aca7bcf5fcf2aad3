#include "data/types.h"

#include "base/text.h"

namespace wrackline {
namespace {

std::string integer_name(uint8_t bits) {
  if (bits == 16) return "smallint";
  return bits == 32 ? "integer" : "bigint";
}

std::string numeric_name(const Type& type) {
  if (type.precision < 0) return "numeric";
  return format("numeric({},{})", type.precision, type.scale < 0 ? 0 : type.scale);
}

}  // namespace

std::string to_string(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      return "boolean";
    case TypeKind::kInteger:
      return integer_name(type.bits);
    case TypeKind::kNumeric:
      return numeric_name(type);
    case TypeKind::kDouble:
      return type.bits == 32 ? "real" : "double precision";
    case TypeKind::kText:
      return type.precision < 0 ? "text" : format("character varying({})", type.precision);
    case TypeKind::kTimestamp:
      return type.with_zone ? "timestamp with time zone" : "timestamp without time zone";
    case TypeKind::kDate:
      return "date";
    case TypeKind::kInterval:
      return "interval";
    case TypeKind::kJson:
      return "jsonb";
  }
  return "text";
}

}  // namespace wrackline
