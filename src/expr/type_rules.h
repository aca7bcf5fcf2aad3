// PostgreSQL's rules about types: categories, preferred types, implicit casts and the common type of several
// inputs.
//
// Source: PostgreSQL 15 documentation, chapter 10 "Type Conversion".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "data/types.h"
#include "expr/expr.h"

namespace wrackline::expr {

// A type without its modifiers, as overloads see it. kUnknown is a string literal or NULL that nothing has
// fixed yet.
enum class TypeId : uint8_t {
  kUnknown,
  kBoolean,
  kInt2,
  kInt4,
  kInt8,
  kNumeric,
  kFloat4,
  kFloat8,
  kText,
  kTimestamp,
  kTimestamptz,
  kDate,
  kInterval,
  kJson,
};
inline constexpr size_t kTypeIdCount = 14;

enum class TypeCategory : uint8_t { kUnknown, kBoolean, kNumber, kString, kDateTime, kTimespan, kUser };

TypeId type_id(const Type& type);
TypeId type_id(const Expr& expr);  // kUnknown for make_unknown and make_null
Type type_of(TypeId id);           // without modifiers; text for kUnknown
std::string_view type_name(TypeId id);

TypeCategory category(TypeId id);
bool is_preferred(TypeId id);

// True if PostgreSQL converts `from` to `to` without being asked. A type converts to itself; kUnknown to
// everything.
bool converts_implicitly(TypeId from, TypeId to);

// The type that CASE, COALESCE, IN, GREATEST and LEAST give to inputs of these types; text if all are
// unknown; nullopt if two of them are of different categories.
std::optional<TypeId> common_type(std::span<const TypeId> inputs);

}  // namespace wrackline::expr
