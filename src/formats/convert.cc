#include "formats/convert.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "data/decimal.h"
#include "data/time_text.h"

namespace wrackline::formats {
namespace {

// What PostgreSQL's isspace() sees around an input text.
constexpr bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Conversion from_code(ErrorCode code) {
  return code == ErrorCode::kOutOfRange ? Conversion::kOutOfRange : Conversion::kMalformed;
}

// from_chars takes no plus sign, PostgreSQL does. A second sign stays and is refused.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

template <class T>
Conversion read_number(std::string_view text, T& value) {
  text = without_plus(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return Conversion::kMalformed;
  return error == std::errc{} ? Conversion::kOk : Conversion::kOutOfRange;
}

Conversion put_integer(int64_t value, Column& column, size_t row) {
  if (!fits_bits(value, column.type().bits)) return Conversion::kOutOfRange;
  column.values<int64_t>()[row] = value;
  return Conversion::kOk;
}

Conversion convert_integer(std::string_view text, Column& column, size_t row) {
  int64_t value = 0;
  const Conversion read = read_number(text, value);
  return read == Conversion::kOk ? put_integer(value, column, row) : read;
}

template <class T>
Conversion convert_floating(std::string_view text, Column& column, size_t row) {
  if (text.find('(') != std::string_view::npos) return Conversion::kMalformed;  // nan(payload)
  T value = 0;
  const Conversion read = read_number(text, value);
  if (read == Conversion::kOk) column.values<double>()[row] = static_cast<double>(value);
  return read;
}

Conversion convert_double(std::string_view text, Column& column, size_t row) {
  return column.type().bits == 32 ? convert_floating<float>(text, column, row)
                                  : convert_floating<double>(text, column, row);
}

Conversion convert_numeric(std::string_view text, Column& column, size_t row) {
  Result<Decimal> parsed = parse_decimal(text);
  if (!parsed) return from_code(parsed.error().code);
  const Type& type = column.type();
  if (type.precision >= 0) {
    const std::optional<Decimal> rounded = rescale(*parsed, std::max<int>(type.scale, 0));
    if (!rounded) return Conversion::kOutOfRange;
    const __int128 limit = power_of_ten(type.precision);
    if (rounded->unscaled >= limit || rounded->unscaled <= -limit) return Conversion::kOutOfRange;
    *parsed = *rounded;
  }
  column.values<Decimal>()[row] = *parsed;
  return Conversion::kOk;
}

// PostgreSQL's boolean input: any unique beginning of true, false, yes, no, on, off, or a digit 1 or 0.
Conversion convert_boolean(std::string_view text, Column& column, size_t row) {
  struct Word {
    std::string_view word;
    size_t length_min;
    bool value;
  };
  static constexpr std::array<Word, 8> kWords = {{{"true", 1, true},
                                                  {"false", 1, false},
                                                  {"yes", 1, true},
                                                  {"no", 1, false},
                                                  {"on", 2, true},
                                                  {"off", 2, false},
                                                  {"1", 1, true},
                                                  {"0", 1, false}}};
  for (const Word& word : kWords) {
    if (text.size() < word.length_min || text.size() > word.word.size()) continue;
    const bool same = std::equal(text.begin(), text.end(), word.word.begin(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
    });
    if (!same) continue;
    column.values<uint8_t>()[row] = word.value ? 1 : 0;
    return Conversion::kOk;
  }
  return Conversion::kMalformed;
}

// Bytes of the first `characters` characters, or all of `text` if it has no more.
size_t prefix_bytes(std::string_view text, size_t characters) {
  size_t at = 0;
  while (at < text.size()) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts && characters-- == 0) break;
    ++at;
  }
  return at;
}

// Blanks beyond the length are cut, anything else is an error: the rule of the SQL standard that PostgreSQL
// follows.
Conversion convert_varchar(std::string_view text, Column& column, size_t row) {
  const int16_t length = column.type().precision;
  if (length >= 0 && text.size() > static_cast<size_t>(length)) {
    const size_t kept = prefix_bytes(text, static_cast<size_t>(length));
    if (text.find_first_not_of(' ', kept) != std::string_view::npos) return Conversion::kTooLong;
    text = text.substr(0, kept);
  }
  column.values<std::string_view>()[row] = text;
  return Conversion::kOk;
}

Conversion from_time_parse(TimeParse parse) {
  switch (parse) {
    case TimeParse::kOk:
      return Conversion::kOk;
    case TimeParse::kMalformed:
      return Conversion::kMalformed;
    case TimeParse::kNoZone:
      return Conversion::kNoZone;
    case TimeParse::kOutOfRange:
      return Conversion::kOutOfRange;
  }
  return Conversion::kMalformed;
}

Conversion convert_timestamp(std::string_view text, const TimeZone* zone, Column& column, size_t row) {
  int64_t& micros = column.values<int64_t>()[row];
  const TimeParse parse =
      column.type().with_zone ? parse_timestamp(text, zone, micros) : parse_local_timestamp(text, micros);
  if (parse == TimeParse::kMalformed && is_json_number(text)) return Conversion::kEpochNumber;
  return from_time_parse(parse);
}

Conversion convert_interval(std::string_view text, Column& column, size_t row) {
  Result<Interval> parsed = parse_interval(text);
  if (!parsed) return from_code(parsed.error().code);
  column.values<Interval>()[row] = *parsed;
  return Conversion::kOk;
}

Conversion convert_json_number(const JsonValue& value, Column& column, size_t row) {
  switch (column.type().kind) {
    case TypeKind::kInteger: {
      int64_t integer = 0;
      const Conversion read = integer_from_json_number(value.token, integer);
      return read == Conversion::kOk ? put_integer(integer, column, row) : read;
    }
    case TypeKind::kNumeric:
      return convert_numeric(value.token, column, row);
    case TypeKind::kDouble:
      return convert_double(value.token, column, row);
    case TypeKind::kText:
      return convert_varchar(value.token, column, row);
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return Conversion::kEpochNumber;
    case TypeKind::kBoolean:
    case TypeKind::kInterval:
    case TypeKind::kJson:
      return Conversion::kWrongKind;
  }
  return Conversion::kWrongKind;
}

Conversion convert_json_string(const JsonValue& value, const TimeZone* zone, Column& column, size_t row,
                               Arena& arena) {
  if (value.escaped && value.content.find('\0') != std::string_view::npos) return Conversion::kNulCharacter;
  const bool kept = value.escaped && column.type().kind == TypeKind::kText;
  return convert_text(kept ? arena.copy(value.content) : value.content, zone, column, row);
}

}  // namespace

Conversion convert_text(std::string_view text, const TimeZone* zone, Column& column, size_t row) {
  switch (column.type().kind) {
    case TypeKind::kBoolean:
      return convert_boolean(trimmed(text), column, row);
    case TypeKind::kInteger:
      return convert_integer(trimmed(text), column, row);
    case TypeKind::kNumeric:
      return convert_numeric(trimmed(text), column, row);
    case TypeKind::kDouble:
      return convert_double(trimmed(text), column, row);
    case TypeKind::kText:
      return convert_varchar(text, column, row);
    case TypeKind::kTimestamp:
      return convert_timestamp(trimmed(text), zone, column, row);
    case TypeKind::kDate:
      return from_time_parse(parse_date(trimmed(text), column.values<int64_t>()[row]));
    case TypeKind::kInterval:
      return convert_interval(trimmed(text), column, row);
    case TypeKind::kJson:
      column.values<std::string_view>()[row] = text;
      return Conversion::kOk;
  }
  return Conversion::kMalformed;
}

Conversion convert_json(const JsonValue& value, const TimeZone* zone, Column& column, size_t row,
                        Arena& arena) {
  if (value.kind == JsonKind::kMissing || value.kind == JsonKind::kNull) {
    column.set_null(row);
    return Conversion::kOk;
  }
  const TypeKind kind = column.type().kind;
  if (kind == TypeKind::kJson) return convert_text(value.token, zone, column, row);
  switch (value.kind) {
    case JsonKind::kString:
      return convert_json_string(value, zone, column, row, arena);
    case JsonKind::kNumber:
      return convert_json_number(value, column, row);
    case JsonKind::kBoolean:
      if (kind == TypeKind::kBoolean) return convert_boolean(value.token, column, row);
      [[fallthrough]];
    default:
      return kind == TypeKind::kText ? convert_varchar(value.token, column, row) : Conversion::kWrongKind;
  }
}

Conversion integer_from_json_number(std::string_view number, int64_t& value) {
  const bool plain = std::all_of(number.begin() + (number.starts_with('-') ? 1 : 0), number.end(), is_digit);
  if (plain) return read_number(number, value);
  const Result<Decimal> parsed = parse_decimal(number);
  if (!parsed) return from_code(parsed.error().code);
  const __int128 unit = power_of_ten(parsed->scale);
  if (parsed->unscaled % unit != 0) return Conversion::kFraction;
  const __int128 whole = parsed->unscaled / unit;
  value = static_cast<int64_t>(whole);
  return value == whole ? Conversion::kOk : Conversion::kOutOfRange;
}

bool is_json_number(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto eat_digits = [&] {
    const char* const begin = at;
    while (at != end && is_digit(*at)) ++at;
    return at != begin;
  };
  if (at != end && *at == '-') ++at;
  const char* const first = at;
  if (!eat_digits() || (*first == '0' && at - first > 1)) return false;
  if (at != end && *at == '.') {
    ++at;
    if (!eat_digits()) return false;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (!eat_digits()) return false;
  }
  return at == end;
}

Reason reason_of(Conversion conversion) {
  return conversion == Conversion::kOutOfRange || conversion == Conversion::kTooLong ? Reason::kOutOfRange
                                                                                     : Reason::kUnparseable;
}

std::string describe(Conversion conversion, const Field& field, std::string_view shown) {
  const std::string type = to_string(field.type);
  const bool vowel = std::string_view("aeiou").find(type.front()) != std::string_view::npos;
  const std::string start = format("column \"{}\": {}", field.name, printable(shown));
  switch (conversion) {
    case Conversion::kOk:
      break;
    case Conversion::kMalformed:
    case Conversion::kWrongKind:
      return format("{} is not {} {}", start, vowel ? "an" : "a", type);
    case Conversion::kOutOfRange:
      return format("{} is out of range for {}", start, type);
    case Conversion::kTooLong:
      return format("{} is too long for {}", start, type);
    case Conversion::kNoZone:
      return format("{} has no zone; name it with the option time_zone", start);
    case Conversion::kFraction:
      return format("{} is not {} {}: it has a fraction", start, vowel ? "an" : "a", type);
    case Conversion::kEpochNumber:
      return format(
          "{} is a number, not {} {}; declare the column as bigint and its unit with the option time_unit",
          start, vowel ? "an" : "a", type);
    case Conversion::kNulCharacter:
      return format("{} holds the character \\u0000, which text cannot", start);
  }
  return start;
}

}  // namespace wrackline::formats
