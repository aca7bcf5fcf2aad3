#include "state/key_codec.h"

#include <bit>
#include <cstring>
#include <string>

#include "base/check.h"
#include "state/group_table.h"

// The encoding of several columns, column after column:
//   flag        0x00 value, 0x01 NULL (nothing follows), so that NULL sorts last
//   integers    8 bytes big-endian with the sign bit flipped
//   doubles     8 bytes big-endian, IEEE order made unsigned (Lamport's trick); -0.0 is 0.0, every NaN is one
//   NaN, last text        the bytes with 00 written as 00 FF, then 00 00 numeric     sign 0/1/2; for values
//   other than 0: exponent, then 38 decimal digits; all flipped when negative interval    16 bytes: its
//   length in microseconds with months of 30 days, then the three parts to tell equals apart

namespace wrackline::state {
namespace {

bool is_integer_like(TypeKind kind) {
  return kind == TypeKind::kBoolean || kind == TypeKind::kInteger || kind == TypeKind::kTimestamp ||
         kind == TypeKind::kDate;
}

int64_t integer_at(const Column& column, size_t row) {
  return column.type().kind == TypeKind::kBoolean ? column.values<uint8_t>()[row]
                                                  : column.values<int64_t>()[row];
}

void set_integer(Column& column, size_t row, int64_t value) {
  if (column.type().kind == TypeKind::kBoolean) {
    column.values<uint8_t>()[row] = value != 0;
  } else {
    column.values<int64_t>()[row] = value;
  }
}

constexpr uint64_t kSignBit = uint64_t{1} << 63;

void put_u64(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

uint64_t take_u64(const char*& at) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(*at++);
  return value;
}

uint64_t ordered_bits(double value) {
  if (value != value) return ~uint64_t{0};
  if (value == 0) value = 0;  // -0.0
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits & kSignBit ? ~bits : bits | kSignBit;
}

double from_ordered_bits(uint64_t bits) {
  if (bits == ~uint64_t{0}) return std::bit_cast<double>(uint64_t{0x7FF8} << 48);
  return std::bit_cast<double>(bits & kSignBit ? bits ^ kSignBit : ~bits);
}

constexpr int kDigits = 38;
constexpr int kExponentBias = 64;

void put_decimal(std::string& out, Decimal value) {
  if (value.unscaled == 0) {
    out += '\x01';
    return;
  }
  const bool negative = value.unscaled < 0;
  unsigned __int128 magnitude = negative ? -static_cast<unsigned __int128>(value.unscaled)
                                         : static_cast<unsigned __int128>(value.unscaled);
  char digits[kDigits + 2];
  int count = 0;
  for (; magnitude != 0; magnitude /= 10) digits[count++] = static_cast<char>(magnitude % 10);
  // 0.d1d2d3... * 10^exponent, padded with zeros on the right: trailing zeros of the scale vanish.
  const int exponent = count - value.scale;
  const char flip = negative ? '\xFF' : '\0';
  out += negative ? '\x00' : '\x02';
  out += static_cast<char>(static_cast<char>(exponent + kExponentBias) ^ flip);
  for (int i = 0; i < kDigits; ++i)
    out += static_cast<char>((i < count ? digits[count - 1 - i] : '\0') ^ flip);
}

Decimal take_decimal(const char*& at) {
  const char sign = *at++;
  if (sign == '\x01') return {};
  const char flip = sign == '\x00' ? '\xFF' : '\0';
  const int exponent = static_cast<unsigned char>(*at++ ^ flip) - kExponentBias;
  unsigned __int128 magnitude = 0;
  int significant = 0;
  for (int i = 0; i < kDigits; ++i) {
    if ((at[i] ^ flip) != 0) significant = i + 1;
  }
  for (int i = 0; i < significant; ++i) magnitude = magnitude * 10 + static_cast<unsigned char>(at[i] ^ flip);
  at += kDigits;
  int scale = significant - exponent;
  for (; scale < 0; ++scale) magnitude *= 10;
  const auto unscaled = static_cast<__int128>(magnitude);
  return {flip != 0 ? -unscaled : unscaled, scale};
}

void put_interval(std::string& out, const Interval& value) {
  const __int128 length =
      (static_cast<__int128>(value.months) * 30 + value.days) * 86400000000 + value.micros;
  const unsigned __int128 ordered =
      static_cast<unsigned __int128>(length) ^ (static_cast<unsigned __int128>(1) << 127);
  put_u64(out, static_cast<uint64_t>(ordered >> 64));
  put_u64(out, static_cast<uint64_t>(ordered));
}

// Equal intervals ("1 day", "24 hours") are one key; it is shown in hours.
Interval take_interval(const char*& at) {
  const uint64_t high = take_u64(at) ^ kSignBit;
  const uint64_t low = take_u64(at);
  const auto length = static_cast<__int128>(static_cast<unsigned __int128>(high) << 64 | low);
  if (length >= INT64_MIN && length <= INT64_MAX) return {0, 0, static_cast<int64_t>(length)};
  const __int128 days = length / 86400000000;
  return {static_cast<int32_t>(days / 30), static_cast<int32_t>(days % 30),
          static_cast<int64_t>(length % 86400000000)};
}

void put_text(std::string& out, std::string_view text) {
  for (const char byte : text) {
    out += byte;
    if (byte == '\0') out += '\xFF';
  }
  out.append(2, '\0');
}

std::string_view take_text(const char*& at, Arena& arena) {
  const char* end = at;
  size_t size = 0;
  while (!(end[0] == '\0' && end[1] == '\0')) {
    end += *end == '\0' ? 2 : 1;
    ++size;
  }
  char* text = arena.allocate(size);
  for (size_t i = 0; i < size; ++i) {
    text[i] = *at;
    at += *at == '\0' ? 2 : 1;
  }
  at = end + 2;
  return {text, size};
}

void put_value(std::string& out, const Column& column, size_t row) {
  if (column.is_null(row)) {
    out += '\x01';
    return;
  }
  out += '\x00';
  switch (column.type().kind) {
    case TypeKind::kBoolean:
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      put_u64(out, static_cast<uint64_t>(integer_at(column, row)) ^ kSignBit);
      return;
    case TypeKind::kDouble:
      put_u64(out, ordered_bits(column.values<double>()[row]));
      return;
    case TypeKind::kNumeric:
      put_decimal(out, column.values<Decimal>()[row]);
      return;
    case TypeKind::kInterval:
      put_interval(out, column.values<Interval>()[row]);
      return;
    case TypeKind::kText:
    case TypeKind::kJson:
      put_text(out, column.values<std::string_view>()[row]);
      return;
  }
}

void take_value(const char*& at, Column& column, size_t row, Arena& arena) {
  if (*at++ == '\x01') {
    column.set_null(row);
    return;
  }
  switch (column.type().kind) {
    case TypeKind::kBoolean:
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      set_integer(column, row, static_cast<int64_t>(take_u64(at) ^ kSignBit));
      return;
    case TypeKind::kDouble:
      column.values<double>()[row] = from_ordered_bits(take_u64(at));
      return;
    case TypeKind::kNumeric:
      column.values<Decimal>()[row] = take_decimal(at);
      return;
    case TypeKind::kInterval:
      column.values<Interval>()[row] = take_interval(at);
      return;
    case TypeKind::kText:
    case TypeKind::kJson:
      column.values<std::string_view>()[row] = take_text(at, arena);
      return;
  }
}

// ---- The same without reading outside: drops what one value takes from the front of `bytes`.

bool skip(std::string_view& bytes, size_t size) {
  if (bytes.size() < size) return false;
  bytes.remove_prefix(size);
  return true;
}

bool skip_decimal(std::string_view& bytes) {
  if (bytes.empty()) return false;
  const char sign = bytes[0];
  bytes.remove_prefix(1);
  if (sign == '\x01') return true;
  if ((sign != '\x00' && sign != '\x02') || bytes.size() < 1 + kDigits) return false;
  const char flip = sign == '\x00' ? '\xFF' : '\0';
  const auto byte_at = [&](size_t i) { return static_cast<unsigned char>(bytes[i] ^ flip); };
  const int exponent = byte_at(0) - kExponentBias;
  int significant = 0;
  for (int i = 1; i <= kDigits; ++i) {
    const unsigned char digit = byte_at(static_cast<size_t>(i));
    if (digit > 9 || (i == 1 && digit == 0)) return false;
    if (digit != 0) significant = i;
  }
  bytes.remove_prefix(1 + kDigits);
  return exponent <= kDigits && significant - exponent <= kDigits;
}

bool skip_text(std::string_view& bytes) {
  while (bytes.size() >= 2) {
    const bool is_escape = bytes[0] == '\0';
    if (is_escape && bytes[1] == '\0') return skip(bytes, 2);
    if (is_escape && bytes[1] != '\xFF') return false;
    bytes.remove_prefix(is_escape ? 2 : 1);
  }
  return false;
}

bool skip_value(std::string_view& bytes, TypeKind kind) {
  if (bytes.empty() || (bytes[0] != '\x00' && bytes[0] != '\x01')) return false;
  const bool is_null = bytes[0] == '\x01';
  bytes.remove_prefix(1);
  if (is_null) return true;
  switch (kind) {
    case TypeKind::kBoolean:
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
    case TypeKind::kDouble:
      return skip(bytes, sizeof(uint64_t));
    case TypeKind::kNumeric:
      return skip_decimal(bytes);
    case TypeKind::kInterval:
      return skip(bytes, 2 * sizeof(uint64_t));
    case TypeKind::kText:
    case TypeKind::kJson:
      return skip_text(bytes);
  }
  return false;
}

KeyShape shape_of(const std::vector<Type>& types) {
  if (types.empty()) return KeyShape::kNone;
  if (types.size() == 1 && is_integer_like(types[0].kind)) return KeyShape::kInteger;
  return KeyShape::kBytes;
}

bool is_plain_text(const std::vector<Type>& types) {
  return types.size() == 1 && (types[0].kind == TypeKind::kText || types[0].kind == TypeKind::kJson);
}

void mark_nulls(const Column& column, std::span<const uint32_t> rows, EncodedKeys& out) {
  if (!column.has_nulls()) return;
  out.nulls.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) out.nulls[i] = column.valid()[rows[i]] == 0;
}

}  // namespace

KeyCodec::KeyCodec(std::vector<Type> types) : types_(std::move(types)), shape_(shape_of(types_)) {}

void KeyCodec::encode(std::span<const Column* const> columns, std::span<const uint32_t> rows,
                      EncodedKeys& out) const {
  WRACKLINE_CHECK(columns.size() == types_.size());
  out.count = rows.size();
  out.nulls.clear();
  if (shape_ == KeyShape::kNone) return;
  if (shape_ == KeyShape::kInteger) {
    out.integers.resize(rows.size());
    if (types_[0].kind == TypeKind::kBoolean) {
      for (size_t i = 0; i < rows.size(); ++i) out.integers[i] = columns[0]->values<uint8_t>()[rows[i]];
    } else {
      const std::span<const int64_t> values = columns[0]->values<int64_t>();
      for (size_t i = 0; i < rows.size(); ++i) out.integers[i] = values[rows[i]];
    }
    mark_nulls(*columns[0], rows, out);
    return;
  }
  out.bytes.resize(rows.size());
  if (is_plain_text(types_)) {
    const std::span<const std::string_view> values = columns[0]->values<std::string_view>();
    for (size_t i = 0; i < rows.size(); ++i) out.bytes[i] = values[rows[i]];
    mark_nulls(*columns[0], rows, out);
    // The value of a null row is unspecified: for text it may point anywhere, and the table hashes all keys.
    for (size_t i = 0; i < out.nulls.size(); ++i) {
      if (out.nulls[i] != 0) out.bytes[i] = {};
    }
    return;
  }
  out.arena.clear();
  std::string key;  // keeps its memory over the rows of the call
  for (size_t i = 0; i < rows.size(); ++i) {
    key.clear();
    for (const Column* column : columns) put_value(key, *column, rows[i]);
    out.bytes[i] = out.arena.copy(key);
  }
}

bool KeyCodec::could_have_made(std::string_view bytes) const {
  if (shape_ != KeyShape::kBytes || is_plain_text(types_)) return true;
  for (const Type& type : types_) {
    if (!skip_value(bytes, type.kind)) return false;
  }
  return bytes.empty();
}

void KeyCodec::decode(const GroupTable& table, std::span<const uint32_t> groups, std::span<Column> columns,
                      size_t at, Arena& arena) const {
  WRACKLINE_CHECK(columns.size() == types_.size());
  if (shape_ == KeyShape::kInteger && types_[0].kind != TypeKind::kBoolean) {
    const std::span<int64_t> values = columns[0].values<int64_t>().subspan(at);
    for (size_t i = 0; i < groups.size(); ++i) values[i] = table.integer_key(groups[i]);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (table.is_null_key(groups[i])) columns[0].set_null(at + i);
    }
    return;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const uint32_t group = groups[i];
    if (shape_ == KeyShape::kNone) continue;
    if (table.is_null_key(group)) {
      columns[0].set_null(at + i);
    } else if (shape_ == KeyShape::kInteger) {
      set_integer(columns[0], at + i, table.integer_key(group));
    } else if (is_plain_text(types_)) {
      columns[0].values<std::string_view>()[at + i] = table.bytes_key(group);
    } else {
      const char* from = table.bytes_key(group).data();
      for (Column& column : columns) take_value(from, column, at + i, arena);
    }
  }
}

}  // namespace wrackline::state
