#include "postgres/binary_array.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/text.h"
#include "data/decimal.h"
#include "wrackline/time.h"

namespace wrackline::postgres {
namespace {

// dimensions, has NULLs, type of the elements, length, lower bound
constexpr size_t kHeaderBytes = 20;
constexpr int64_t kEpochMicros = 946'684'800'000'000;  // 2000-01-01, where PostgreSQL counts from
constexpr int64_t kEpochDays = 10'957;

template <class Int>
void put(std::string& out, Int value) {
  const auto bits = static_cast<std::make_unsigned_t<Int>>(value);
  for (int shift = 8 * (static_cast<int>(sizeof(Int)) - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(bits >> shift & 0xFF);
}

template <class Int>
void put_at(std::string& out, size_t at, Int value) {
  std::string bytes;
  put(bytes, value);
  out.replace(at, sizeof(Int), bytes);
}

// The fixed numbers of pg_type.
int32_t type_number(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean:
      return 16;
    case TypeKind::kInteger:
      return type.bits == 16 ? 21 : type.bits == 32 ? 23 : 20;
    case TypeKind::kNumeric:
      return 1700;
    case TypeKind::kDouble:
      return type.bits == 32 ? 700 : 701;
    case TypeKind::kText:
      return 25;
    case TypeKind::kTimestamp:
      return type.with_zone ? 1184 : 1114;
    case TypeKind::kDate:
      return 1082;
    case TypeKind::kInterval:
      return 1186;
    case TypeKind::kJson:
      return 3802;
  }
  return 25;
}

// Both ends stand for the infinities on both sides. A time outside PostgreSQL's range is refused by the
// server.
int64_t postgres_micros(int64_t micros) {
  return micros == kMicrosMin || micros == kMicrosMax ? micros : saturating_subtract(micros, kEpochMicros);
}

int32_t postgres_days(int64_t days) {
  const int64_t shifted = saturating_subtract(days, kEpochDays);
  if (shifted >= std::numeric_limits<int32_t>::max()) return std::numeric_limits<int32_t>::max();
  if (shifted <= std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(shifted);
}

// Digits in base 10 000 around the decimal point, as numeric_recv takes them: 12345.678 is 1, 2345, 6780 with
// weight 1. Zeros at both ends are allowed there; the display scale is what keeps 1.50 from becoming 1.5.
std::string numeric_bytes(const Decimal& value) {
  std::string text = to_string(value);
  const bool negative = text.starts_with('-');
  if (negative) text.erase(0, 1);
  const size_t point = std::min(text.find('.'), text.size());
  std::string whole = text.substr(0, point);
  std::string fraction = point < text.size() ? text.substr(point + 1) : "";
  const size_t scale = fraction.size();
  whole.insert(0, (4 - whole.size() % 4) % 4, '0');
  fraction.append((4 - fraction.size() % 4) % 4, '0');
  const std::string digits = whole + fraction;
  std::string out;
  put(out, static_cast<int16_t>(digits.size() / 4));
  put(out, static_cast<int16_t>(whole.size() / 4 - 1));
  put(out, static_cast<int16_t>(negative ? 0x4000 : 0));
  put(out, static_cast<int16_t>(scale));
  for (size_t at = 0; at < digits.size(); at += 4) {
    int group = 0;
    for (size_t i = at; i < at + 4; ++i) group = group * 10 + (digits[i] - '0');
    put(out, static_cast<int16_t>(group));
  }
  return out;
}

}  // namespace

std::string array_type(const Type& type) {
  Type plain = type;
  plain.precision = plain.scale = -1;
  return to_string(plain) + "[]";
}

BinaryArray::BinaryArray(const Type& type) : type_(type) {
  clear();
}

void BinaryArray::clear() {
  bytes_.assign(kHeaderBytes, '\0');
  size_ = 0;
  has_nulls_ = false;
}

std::string_view BinaryArray::bytes() {
  WRACKLINE_CHECK(size_ <= INT32_MAX, format("{} elements", size_));
  put_at(bytes_, 0, int32_t{1});
  put_at(bytes_, 4, int32_t{has_nulls_});
  put_at(bytes_, 8, type_number(type_));
  put_at(bytes_, 12, static_cast<int32_t>(size_));
  put_at(bytes_, 16, int32_t{1});
  return bytes_;
}

void BinaryArray::begin(int32_t value_bytes) {
  put(bytes_, value_bytes);
  ++size_;
}

void BinaryArray::append_null() {
  begin(-1);
  has_nulls_ = true;
}

void BinaryArray::append_bigint(int64_t value) {
  begin(8);
  put(bytes_, value);
}

void BinaryArray::append_boolean(bool value) {
  begin(1);
  bytes_ += value ? '\1' : '\0';
}

void BinaryArray::append_text(std::string_view text) {
  WRACKLINE_CHECK(text.size() < INT32_MAX, "a text of more than 2 GiB");
  begin(static_cast<int32_t>(text.size()));
  bytes_ += text;
}

void BinaryArray::append(const Column& column, size_t row) {
  if (column.is_null(row)) return append_null();
  switch (type_.kind) {
    case TypeKind::kBoolean:
      return append_boolean(column.values<uint8_t>()[row] != 0);
    case TypeKind::kInteger: {
      const int64_t value = column.values<int64_t>()[row];
      if (type_.bits == 64) return append_bigint(value);
      begin(type_.bits / 8);
      return type_.bits == 32 ? put(bytes_, static_cast<int32_t>(value))
                              : put(bytes_, static_cast<int16_t>(value));
    }
    case TypeKind::kDouble: {
      const double value = column.values<double>()[row];
      begin(type_.bits / 8);
      return type_.bits == 32 ? put(bytes_, std::bit_cast<int32_t>(static_cast<float>(value)))
                              : put(bytes_, std::bit_cast<int64_t>(value));
    }
    case TypeKind::kNumeric: {
      const std::string number = numeric_bytes(column.values<Decimal>()[row]);
      begin(static_cast<int32_t>(number.size()));
      bytes_ += number;
      return;
    }
    case TypeKind::kText:
      return append_text(column.values<std::string_view>()[row]);
    case TypeKind::kTimestamp:
      return append_bigint(postgres_micros(column.values<int64_t>()[row]));
    case TypeKind::kDate:
      begin(4);
      return put(bytes_, postgres_days(column.values<int64_t>()[row]));
    case TypeKind::kInterval: {
      const Interval& value = column.values<Interval>()[row];
      begin(16);
      put(bytes_, value.micros);
      put(bytes_, value.days);
      return put(bytes_, value.months);
    }
    case TypeKind::kJson: {
      const std::string_view text = column.values<std::string_view>()[row];
      WRACKLINE_CHECK(text.size() < INT32_MAX - 1, "a text of more than 2 GiB");
      begin(static_cast<int32_t>(text.size()) + 1);
      bytes_ += '\1';  // jsonb's version
      bytes_ += text;
      return;
    }
  }
}

}  // namespace wrackline::postgres
