// The types of SQL values and how each one is laid out in a column.
#pragma once

#include <cstdint>
#include <string>

namespace wrackline {

enum class TypeKind : uint8_t {
  kBoolean,    // uint8_t, 0 or 1
  kInteger,    // int64_t; Type::bits narrows the range to 16, 32 or 64
  kNumeric,    // Decimal
  kDouble,     // double; Type::bits 32 means real (values are rounded to float)
  kText,       // std::string_view
  kTimestamp,  // int64_t microseconds since 1970; with_zone: an instant, else a local time read as if UTC
  kDate,       // int64_t days since 1970-01-01
  kInterval,   // Interval
  kJson,       // std::string_view holding JSON text (jsonb)
};

struct Type {
  TypeKind kind = TypeKind::kText;
  uint8_t bits = 64;       // kInteger: 16, 32, 64; kDouble: 32, 64
  bool with_zone = false;  // kTimestamp
  int16_t precision = -1;  // kNumeric, -1 is unlimited; kText: longest length in characters, -1 is unlimited
  int16_t scale = -1;      // kNumeric, -1 is unlimited

  friend bool operator==(const Type&, const Type&) = default;
  static constexpr Type boolean() { return {.kind = TypeKind::kBoolean}; }
  static constexpr Type bigint() { return {.kind = TypeKind::kInteger}; }
  static constexpr Type integer() { return {.kind = TypeKind::kInteger, .bits = 32}; }
  static constexpr Type numeric() { return {.kind = TypeKind::kNumeric}; }
  static constexpr Type real64() { return {.kind = TypeKind::kDouble}; }
  static constexpr Type text() { return {.kind = TypeKind::kText}; }
  static constexpr Type timestamptz() { return {.kind = TypeKind::kTimestamp, .with_zone = true}; }
  static constexpr Type timestamp() { return {.kind = TypeKind::kTimestamp}; }
  static constexpr Type date() { return {.kind = TypeKind::kDate}; }
  static constexpr Type interval() { return {.kind = TypeKind::kInterval}; }
  static constexpr Type json() { return {.kind = TypeKind::kJson}; }
};

// PostgreSQL's name of the type: "bigint", "numeric(10,2)", "timestamp with time zone".
std::string to_string(const Type& type);

// PostgreSQL's interval: months and days are not fixed lengths, so three parts.
struct Interval {
  int32_t months = 0;
  int32_t days = 0;
  int64_t micros = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Exact decimal: unscaled * 10^-scale. Invariants: |unscaled| < 10^38, 0 <= scale <= 38. Not normalised: 1.50
// keeps its scale of 2, as in PostgreSQL. Arithmetic lives in data/decimal.h.
struct Decimal {
  __int128 unscaled = 0;
  int32_t scale = 0;
};

}  // namespace wrackline
