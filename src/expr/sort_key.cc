#include "expr/sort_key.h"

#include <bit>
#include <charconv>
#include <string_view>

#include "data/decimal.h"
#include "expr/ordering.h"
#include "expr/value_hash.h"

namespace wrackline::expr {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

template <class T>
void append_big_endian(std::string& out, T value) {
  for (int shift = 8 * static_cast<int>(sizeof(T)) - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(value >> shift & 0xFF);
  }
}

// Negative doubles in the order of their complements, positive ones above them; NaN is the greatest.
void append_value(std::string& out, double value) {
  const auto bits = std::bit_cast<uint64_t>(plain_double(value));
  append_big_endian(out, (bits & kSign) != 0 ? ~bits : bits | kSign);
}

// Zero bytes are doubled with 0xFF, and two end the text, so that a text comes before its continuations.
void append_value(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xFF';
  }
  out.append(2, '\0');
}

// Sign, exponent of the first digit, digits without zeros at the end; of negative numbers all complemented.
void append_value(std::string& out, const Decimal& value) {
  if (value.unscaled == 0) {
    out += '\x01';
    return;
  }
  const bool negative = value.unscaled < 0;
  std::string digits = to_string(Decimal{negative ? -value.unscaled : value.unscaled, 0});
  const auto exponent = static_cast<int>(digits.size()) - value.scale;
  digits.erase(digits.find_last_not_of('0') + 1);
  const size_t start = out.size();
  out += '\x02';
  out += static_cast<char>(exponent + 64);
  out += digits;
  out += '\0';
  if (!negative) return;
  out[start] = '\0';
  for (size_t i = start + 1; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

void append_value(std::string& out, const Interval& value) {
  const __int128 length = interval_length(value);
  append_big_endian(out, static_cast<uint64_t>(length >> 64) ^ kSign);
  append_big_endian(out, static_cast<uint64_t>(length));
}

void append_column_value(std::string& out, const Column& column, size_t row) {
  switch (column.type().kind) {
    case TypeKind::kBoolean:
      out += static_cast<char>(column.values<uint8_t>()[row]);
      return;
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return append_sorted(out, column.values<int64_t>()[row]);
    case TypeKind::kNumeric:
      return append_value(out, column.values<Decimal>()[row]);
    case TypeKind::kDouble:
      return append_value(out, column.values<double>()[row]);
    case TypeKind::kText:
    case TypeKind::kJson:
      return append_value(out, column.values<std::string_view>()[row]);
    case TypeKind::kInterval:
      return append_value(out, column.values<Interval>()[row]);
  }
}

}  // namespace

void append_sorted(std::string& out, int64_t value) {
  append_big_endian(out, static_cast<uint64_t>(value) ^ kSign);
}
void append_sorted(std::string& out, uint32_t value) {
  append_big_endian(out, value);
}

void append_sort_key(std::string& out, const Column& column, size_t row, const SortKey& key) {
  if (column.is_null(row)) {
    out += key.nulls_first ? '\0' : '\x02';
    return;
  }
  out += '\x01';
  const size_t start = out.size();
  append_column_value(out, column, row);
  if (!key.descending) return;
  for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

}  // namespace wrackline::expr
