#include "data/value.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "data/decimal.h"
#include "data/time_text.h"

namespace wrackline {
namespace {

// PostgreSQL's shortest form: the digits that read back as the value; plain between 10^-4 and the type's
// digits.
template <class Float>
void append_float(std::string& out, Float value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  constexpr double kPlainBelow = sizeof(Float) == 4 ? 1e6 : 1e15;
  const double size = std::abs(static_cast<double>(value));
  const bool plain = size == 0 || (size >= 1e-4 && size < kPlainBelow);
  std::array<char, 64> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     plain ? std::chars_format::fixed : std::chars_format::scientific);
  WRACKLINE_CHECK(written.ec == std::errc{}, "a float needs more than 64 characters");
  out.append(buffer.data(), written.ptr);
}

void append_integer(std::string& out, int64_t value) {
  std::array<char, 24> buffer;
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
}

void append_double(std::string& out, const Type& type, double value) {
  if (type.bits == 32) return append_float(out, static_cast<float>(value));
  append_float(out, value);
}

void append_time(std::string& out, const Type& type, int64_t micros) {
  type.with_zone ? append_timestamp(out, micros) : append_local_timestamp(out, micros);
}

}  // namespace

Value value_at(const Column& column, size_t row) {
  WRACKLINE_CHECK(row < column.size(), format("row {} of {}", row, column.size()));
  const Type& type = column.type();
  if (column.is_null(row)) return {type, {}};
  switch (type.kind) {
    case TypeKind::kBoolean:
      return {type, column.values<uint8_t>()[row] != 0};
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return {type, column.values<int64_t>()[row]};
    case TypeKind::kDouble:
      return {type, column.values<double>()[row]};
    case TypeKind::kNumeric:
      return {type, column.values<Decimal>()[row]};
    case TypeKind::kText:
    case TypeKind::kJson:
      return {type, std::string(column.values<std::string_view>()[row])};
    case TypeKind::kInterval:
      return {type, column.values<Interval>()[row]};
  }
  return {type, {}};
}

void set_value(Column& column, size_t row, const Value& value, Arena& arena) {
  WRACKLINE_CHECK(row < column.size(), format("row {} of {}", row, column.size()));
  if (value.is_null()) return column.set_null(row);
  if (column.has_nulls()) column.valid()[row] = 1;
  switch (column.type().kind) {
    case TypeKind::kBoolean:
      column.values<uint8_t>()[row] = std::get<bool>(value.data) ? 1 : 0;
      return;
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      column.values<int64_t>()[row] = std::get<int64_t>(value.data);
      return;
    case TypeKind::kDouble:
      column.values<double>()[row] = std::get<double>(value.data);
      return;
    case TypeKind::kNumeric:
      column.values<Decimal>()[row] = std::get<Decimal>(value.data);
      return;
    case TypeKind::kText:
    case TypeKind::kJson:
      column.values<std::string_view>()[row] = arena.copy(std::get<std::string>(value.data));
      return;
    case TypeKind::kInterval:
      column.values<Interval>()[row] = std::get<Interval>(value.data);
      return;
  }
}

void append_text(std::string& out, const Column& column, size_t row) {
  if (column.is_null(row)) return;
  const Type& type = column.type();
  switch (type.kind) {
    case TypeKind::kBoolean:
      out += column.values<uint8_t>()[row] != 0 ? 't' : 'f';
      return;
    case TypeKind::kInteger:
      return append_integer(out, column.values<int64_t>()[row]);
    case TypeKind::kDouble:
      return append_double(out, type, column.values<double>()[row]);
    case TypeKind::kNumeric:
      return append_decimal(out, column.values<Decimal>()[row]);
    case TypeKind::kText:
    case TypeKind::kJson:
      out += column.values<std::string_view>()[row];
      return;
    case TypeKind::kTimestamp:
      return append_time(out, type, column.values<int64_t>()[row]);
    case TypeKind::kDate:
      return append_date(out, column.values<int64_t>()[row]);
    case TypeKind::kInterval:
      return append_interval(out, column.values<Interval>()[row]);
  }
}

void append_json(std::string& out, const Column& column, size_t row) {
  if (column.is_null(row)) {
    out += "null";
    return;
  }
  switch (column.type().kind) {
    case TypeKind::kBoolean:
      out += column.values<uint8_t>()[row] != 0 ? "true" : "false";
      return;
    case TypeKind::kText:
      return append_json_quoted(out, column.values<std::string_view>()[row]);
    case TypeKind::kDouble:
      if (std::isfinite(column.values<double>()[row])) return append_text(out, column, row);
      break;
    case TypeKind::kInteger:
    case TypeKind::kNumeric:
    case TypeKind::kJson:
      return append_text(out, column, row);
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
    case TypeKind::kInterval:
      break;
  }
  out += '"';
  append_text(out, column, row);  // digits, letters and signs only: nothing to escape
  out += '"';
}

}  // namespace wrackline
