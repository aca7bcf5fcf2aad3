#include "expr/casts.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "data/decimal.h"
#include "data/value.h"
#include "expr/integer_math.h"
#include "expr/json_text.h"
#include "expr/text_input.h"
#include "expr/utf8.h"
#include "wrackline/time.h"

namespace wrackline::expr {
namespace {

using enum TypeId;

constexpr int64_t kDayMicros = int64_t{86400} * 1000000;

// Text to values
// ----------------------------------------------------------------------------------------------------

void fail_input(Call& call, size_t row, Input input, std::string_view text) {
  const std::string type = to_string(call.out.type());
  if (input == Input::kOutOfRange) {
    call.fail(row, Reason::kOutOfRange,
              format("value \"{}\" is out of range for type {}", printable(text), type));
  } else {
    call.fail(row, Reason::kUnparseable,
              format("invalid input syntax for type {}: \"{}\"", type, printable(text)));
  }
}

// Calls read(text, value) for each row that is not null.
template <class T, class Read>
void read_rows(Call& call, Read read) {
  const auto in = call.args[0]->values<std::string_view>();
  const auto out = call.out.values<Stored<T>>();
  for (size_t i = 0; i < call.rows; ++i) {
    if (call.out.is_null(i)) continue;
    T value{};
    const Input input = read(in[i], value);
    if (input != Input::kOk) fail_input(call, i, input, in[i]);
    out[i] = value;
  }
}

void text_to_boolean(Call& call) {
  read_rows<bool>(call, read_boolean);
}
void text_to_integer(Call& call) {
  const int bits = call.out.type().bits;
  read_rows<int64_t>(
      call, [bits](std::string_view text, int64_t& value) { return read_integer(text, bits, value); });
}
void text_to_float(Call& call) {
  const int bits = call.out.type().bits;
  read_rows<double>(call,
                    [bits](std::string_view text, double& value) { return read_float(text, bits, value); });
}
void text_to_timestamp(Call& call) {
  const bool with_zone = call.out.type().with_zone;
  read_rows<int64_t>(call, [with_zone](std::string_view text, int64_t& value) {
    return read_timestamp(text, with_zone, value);
  });
}
void text_to_date(Call& call) {
  read_rows<int64_t>(call, read_date);
}
void text_to_interval(Call& call) {
  read_rows<Interval>(call, read_interval);
}

// Decimals
// ----------------------------------------------------------------------------------------------------------

// Gives every row the scale and checks the precision that the type of the result asks for.
void apply_precision(Call& call) {
  const Type type = call.out.type();
  if (type.precision < 0) return;
  const int scale = type.scale < 0 ? 0 : type.scale;
  const __int128 limit = power_of_ten(type.precision);
  const auto out = call.out.values<Decimal>();
  for (size_t i = 0; i < call.rows; ++i) {
    if (call.out.is_null(i)) continue;
    const std::optional<Decimal> scaled = rescale(out[i], scale);
    if (scaled && scaled->unscaled < limit && scaled->unscaled > -limit) {
      out[i] = *scaled;
      continue;
    }
    call.fail(i, Reason::kOutOfRange,
              format("numeric field overflow: {} does not fit {}", to_string(out[i]), to_string(type)));
  }
}

void text_to_numeric(Call& call) {
  read_rows<Decimal>(call, read_decimal);
  apply_precision(call);
}

void integer_to_numeric(Call& call) {
  map<decimal_from_int>(call);
  apply_precision(call);
}

Decimal same_decimal(const Decimal& value) {
  return value;
}
void numeric_to_numeric(Call& call) {
  map<same_decimal>(call);
  apply_precision(call);
}

// 6 significant digits, as PostgreSQL converts a real; a double keeps 15.
std::optional<Decimal> decimal_from_float(double value) {
  std::array<char, 32> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::scientific, 5)
          .ptr;
  auto parsed = parse_decimal({digits.data(), static_cast<size_t>(end - digits.data())});
  if (!parsed) return std::nullopt;
  // "%.6g" has no zeros at the end: those are not digits of the value.
  while (parsed->scale > 0 && parsed->unscaled % 10 == 0) {
    parsed->unscaled /= 10;
    --parsed->scale;
  }
  return *parsed;
}

template <bool kReal>
Decimal float_to_decimal(Row& row, double value) {
  if (!std::isfinite(value)) {
    row.fail(Reason::kOutOfRange,
             std::isnan(value) ? "cannot convert NaN to numeric" : "cannot convert infinity to numeric");
    return {};
  }
  const std::optional<Decimal> result = kReal ? decimal_from_float(value) : decimal_from_double(value);
  if (result) return *result;
  row.out_of_range("numeric");
  return {};
}

template <bool kReal>
void float_to_numeric(Call& call) {
  map<float_to_decimal<kReal>>(call);
  apply_precision(call);
}

template <int kBits>
int64_t numeric_to_integer(Row& row, const Decimal& value) {
  const std::optional<int64_t> whole = decimal_to_int(value);
  if (whole && fits<kBits>(*whole)) return *whole;
  row.out_of_range(integer_name<kBits>());
  return 0;
}

double numeric_to_real(const Decimal& value) {
  const std::string digits = to_string(value);
  float result = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  return static_cast<double>(result);
}

// Numbers
// -----------------------------------------------------------------------------------------------------------

template <int kBits>
int64_t integer_to_integer(Row& row, int64_t value) {
  if (!fits<kBits>(value)) row.out_of_range(integer_name<kBits>());
  return value;
}
int64_t same_integer(int64_t value) {
  return value;
}
double same_float(double value) {
  return value;
}
double integer_to_double(int64_t value) {
  return static_cast<double>(value);
}
double integer_to_real(int64_t value) {
  return static_cast<double>(static_cast<float>(value));
}

double double_to_real(Row& row, double value) {
  const float result = static_cast<float>(value);
  if (std::isinf(result) && !std::isinf(value)) row.fail(Reason::kOutOfRange, "value out of range: overflow");
  if (result == 0 && value != 0) row.fail(Reason::kOutOfRange, "value out of range: underflow");
  return static_cast<double>(result);
}

template <int kBits>
int64_t float_to_integer(Row& row, double value) {
  const double whole = std::nearbyint(value);  // half to even, as PostgreSQL
  constexpr double kLimit = 9223372036854775808.0;
  if (whole >= -kLimit && whole < kLimit && fits<kBits>(static_cast<int64_t>(whole)))
    return static_cast<int64_t>(whole);
  row.out_of_range(integer_name<kBits>());
  return 0;
}

bool integer_to_boolean(int64_t value) {
  return value != 0;
}
int64_t boolean_to_integer(bool value) {
  return value ? 1 : 0;
}
bool same_boolean(bool value) {
  return value;
}

// Times
// -------------------------------------------------------------------------------------------------------------

int64_t date_to_timestamp(Row& row, int64_t days) {
  int64_t micros = 0;
  if (__builtin_mul_overflow(days, kDayMicros, &micros)) row.out_of_range("timestamp");
  return micros;
}
int64_t timestamp_to_date(Row& row, int64_t micros) {
  if (micros == kMicrosMin || micros == kMicrosMax) {
    row.fail(Reason::kOutOfRange, "an infinite timestamp has no date");
    return 0;
  }
  return floor_divide(micros, kDayMicros);
}
Interval same_interval(const Interval& value) {
  return value;
}

// Values to text
// ----------------------------------------------------------------------------------------------------

std::string_view boolean_to_text(bool value) {
  return value ? "true" : "false";
}
std::string_view same_text(std::string_view value) {
  return value;
}

void value_to_text(Call& call) {
  const auto out = call.out.values<std::string_view>();
  std::string text;
  for (size_t i = 0; i < call.rows; ++i) {
    if (call.out.is_null(i)) continue;
    text.clear();
    append_text(text, *call.args[0], i);
    out[i] = call.arena.copy(text);
  }
}

// JSON
// --------------------------------------------------------------------------------------------------------------

// Text to jsonb, and jsonb to text: both give jsonb's own spelling.
void to_canonical_json(Call& call) {
  const auto in = call.args[0]->values<std::string_view>();
  const auto out = call.out.values<std::string_view>();
  std::string text;
  for (size_t i = 0; i < call.rows; ++i) {
    if (call.out.is_null(i)) continue;
    JsonPart root;
    text.clear();
    if (json_root(in[i], root) == JsonLookup::kFound && append_json_canonical(text, root)) {
      out[i] = call.arena.copy(text);
    } else {
      call.fail(i, Reason::kUnparseable,
                format("invalid input syntax for type jsonb: \"{}\"", printable(in[i])));
    }
  }
}

// The scalar that the jsonb value is, or false with an error.
bool json_scalar(Call& call, size_t row, std::string_view json, JsonKind wanted, JsonPart& part) {
  if (json_root(json, part) != JsonLookup::kFound) {
    call.fail(row, Reason::kUnparseable,
              format("invalid input syntax for type jsonb: \"{}\"", printable(json)));
    return false;
  }
  if (part.kind == wanted) return true;
  call.fail(row, Reason::kUnparseable,
            format("cannot cast jsonb {} to type {}", to_string(part.kind), to_string(call.out.type())));
  return false;
}

void json_to_boolean(Call& call) {
  const auto in = call.args[0]->values<std::string_view>();
  const auto out = call.out.values<uint8_t>();
  for (size_t i = 0; i < call.rows; ++i) {
    JsonPart part;
    if (call.out.is_null(i) || !json_scalar(call, i, in[i], JsonKind::kBoolean, part)) continue;
    out[i] = part.text == "true" ? 1 : 0;
  }
}

Input read_json_number(std::string_view text, int, Decimal& value) {
  return read_decimal(text, value);
}
Input read_json_number(std::string_view text, int bits, double& value) {
  return read_float(text, bits, value);
}
// A fraction rounds half away from zero, as a numeric does.
Input read_json_number(std::string_view text, int bits, int64_t& value) {
  Decimal decimal;
  if (const Input input = read_decimal(text, decimal); input != Input::kOk) return input;
  const std::optional<int64_t> whole = decimal_to_int(decimal);
  const bool in_range = whole && (bits == 64 || (bits == 32 ? fits<32>(*whole) : fits<16>(*whole)));
  if (!in_range) return Input::kOutOfRange;
  value = *whole;
  return Input::kOk;
}

template <class T>
void json_to_number(Call& call) {
  const auto in = call.args[0]->values<std::string_view>();
  const auto out = call.out.values<T>();
  const int bits = call.out.type().bits;
  for (size_t i = 0; i < call.rows; ++i) {
    JsonPart part;
    if (call.out.is_null(i) || !json_scalar(call, i, in[i], JsonKind::kNumber, part)) continue;
    const Input input = read_json_number(part.text, bits, out[i]);
    if (input != Input::kOk) fail_input(call, i, input, part.text);
  }
}
void json_to_numeric(Call& call) {
  json_to_number<Decimal>(call);
  apply_precision(call);
}

// Applies the longest length of the result's type; `kCut` cuts what is longer, else only blanks may be cut.
template <bool kCut>
void limit_length(Call& call) {
  const int length_max = call.out.type().precision;
  if (length_max < 0) return;
  const auto out = call.out.values<std::string_view>();
  for (size_t i = 0; i < call.rows; ++i) {
    if (call.out.is_null(i)) continue;
    const std::string_view kept = utf8_prefix(out[i], static_cast<size_t>(length_max));
    const bool only_blanks = out[i].find_first_not_of(' ', kept.size()) == std::string_view::npos;
    if (kCut || only_blanks) {
      out[i] = kept;
    } else {
      call.fail(i, Reason::kOutOfRange, format("value too long for type {}", to_string(call.out.type())));
    }
  }
}

template <Kernel kToText, bool kCut>
void to_limited_text(Call& call) {
  kToText(call);
  limit_length<kCut>(call);
}

template <Kernel kToText>
Cast text_cast(const Type& to, bool explicit_cast) {
  if (to.precision < 0) return {kToText, true};
  return {explicit_cast ? Kernel{to_limited_text<kToText, true>} : Kernel{to_limited_text<kToText, false>},
          explicit_cast};
}

// The table
// ---------------------------------------------------------------------------------------------------------

template <template <int> class F>
Kernel by_bits(const Type& to) {
  return to.bits == 64 ? F<64>::kernel : to.bits == 32 ? F<32>::kernel : F<16>::kernel;
}
template <int kBits>
struct FromInteger {
  static constexpr Kernel kernel = map<integer_to_integer<kBits>>;
};
template <int kBits>
struct FromNumeric {
  static constexpr Kernel kernel = map<numeric_to_integer<kBits>>;
};
template <int kBits>
struct FromFloat {
  static constexpr Kernel kernel = map<float_to_integer<kBits>>;
};

Cast to_integer(TypeId from, const Type& to) {
  switch (from) {
    case kBoolean:
      return to.bits == 32 ? Cast{map<boolean_to_integer>, true} : Cast{};
    case kInt2:
    case kInt4:
    case kInt8:
      if (from <= type_id(to)) return {map<same_integer>, true};
      return {by_bits<FromInteger>(to)};
    case kNumeric:
      return {by_bits<FromNumeric>(to)};
    case kFloat4:
    case kFloat8:
      return {by_bits<FromFloat>(to)};
    case kText:
      return {text_to_integer};
    case kJson:
      return {json_to_number<int64_t>};
    default:
      return {};
  }
}

Cast to_float(TypeId from, const Type& to) {
  const bool real = to.bits == 32;
  switch (from) {
    case kInt2:
    case kInt4:
    case kInt8:
      return {real ? map<integer_to_real> : map<integer_to_double>, true};
    case kNumeric:
      return {real ? map<numeric_to_real> : map<decimal_to_double>, true};
    case kFloat4:
      return {map<same_float>, true};
    case kFloat8:
      return real ? Cast{map<double_to_real>} : Cast{map<same_float>, true};
    case kText:
      return {text_to_float};
    case kJson:
      return {json_to_number<double>};
    default:
      return {};
  }
}

Cast to_numeric(TypeId from, const Type& to) {
  switch (from) {
    case kInt2:
    case kInt4:
    case kInt8:
      return {integer_to_numeric, to.precision < 0};
    case kNumeric:
      return {numeric_to_numeric, to.precision < 0};
    case kFloat4:
      return {float_to_numeric<true>};
    case kFloat8:
      return {float_to_numeric<false>};
    case kText:
      return {text_to_numeric};
    case kJson:
      return {json_to_numeric};
    default:
      return {};
  }
}

Cast to_timestamp(TypeId from) {
  switch (from) {
    case kTimestamp:
    case kTimestamptz:
      return {map<same_integer>, true};  // the session's zone is UTC
    case kDate:
      return {map<date_to_timestamp>};
    case kText:
      return {text_to_timestamp};
    default:
      return {};
  }
}

Cast to_date(TypeId from) {
  switch (from) {
    case kTimestamp:
    case kTimestamptz:
      return {map<timestamp_to_date>};
    case kDate:
      return {map<same_integer>, true};
    case kText:
      return {text_to_date};
    default:
      return {};
  }
}

Cast to_boolean(TypeId from) {
  if (from == kBoolean) return {map<same_boolean>, true};
  if (from == kInt4) return {map<integer_to_boolean>, true};
  if (from == kText) return {text_to_boolean};
  if (from == kJson) return {json_to_boolean};
  return {};
}

}  // namespace

Cast find_cast(TypeId from, const Type& to, bool explicit_cast) {
  if (from == kUnknown) from = kText;
  switch (to.kind) {
    case TypeKind::kBoolean:
      return to_boolean(from);
    case TypeKind::kInteger:
      return to_integer(from, to);
    case TypeKind::kNumeric:
      return to_numeric(from, to);
    case TypeKind::kDouble:
      return to_float(from, to);
    case TypeKind::kTimestamp:
      return to_timestamp(from);
    case TypeKind::kDate:
      return to_date(from);
    case TypeKind::kInterval:
      if (from == kInterval) return {map<same_interval>, true};
      return from == kText ? Cast{text_to_interval} : Cast{};
    case TypeKind::kText:
      if (from == kBoolean) return text_cast<map<boolean_to_text>>(to, explicit_cast);
      if (from == kText) return text_cast<map<same_text>>(to, explicit_cast);
      if (from == kJson) {
        Cast cast = text_cast<to_canonical_json>(to, explicit_cast);
        cast.total = false;
        return cast;
      }
      return text_cast<value_to_text>(to, explicit_cast);
    case TypeKind::kJson:
      if (from == kJson) return {map<same_text>, true};
      return from == kText ? Cast{to_canonical_json} : Cast{};
  }
  return {};
}

Result<Value> parse_literal(std::string_view text, const Type& type) {
  Column input(Type::text());
  input.resize(1);
  input.values<std::string_view>()[0] = text;
  Column output(type);
  output.resize(1);
  Arena arena;
  RowErrors errors;
  const Column* arguments[] = {&input};
  Call call{arguments, 1, output, arena, errors};
  find_cast(kText, type, true).kernel(call);
  if (!errors.empty()) return fail(ErrorCode::kInvalid, errors[0].message);
  return value_at(output, 0);
}

}  // namespace wrackline::expr
