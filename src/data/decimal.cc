// Exact decimals. The common case stays inside 128 bits; what does not fit there goes through Wide, an
// unsigned integer of 512 bits, so that no intermediate result can overflow: the largest is a dividend of 38
// digits times 10^114.
//
// Every result passes through fit(): if it needs more than 38 digits, zeros at the end of its fraction are
// given up first, and only a result whose value does not fit is an overflow. 10^37 + 0.00 is 10^37, not an
// error.
//
// Source: PostgreSQL's numeric.c for scales (select_div_scale); Knuth, TAOCP volume 2, 4.3.1, algorithm D.
#include "data/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/check.h"
#include "base/text.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

using Unsigned = unsigned __int128;

constexpr int kDigitsMax = 38;

constexpr auto kPowers = [] {
  std::array<Unsigned, kDigitsMax + 1> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();
constexpr Unsigned kLimit = kPowers[kDigitsMax];  // the first magnitude that does not fit

Unsigned power(int exponent) {
  return kPowers[static_cast<size_t>(exponent)];
}

Unsigned magnitude_of(__int128 value) {
  return value < 0 ? Unsigned{0} - static_cast<Unsigned>(value) : static_cast<Unsigned>(value);
}

__int128 with_sign(Unsigned magnitude, bool negative) {
  const auto value = static_cast<__int128>(magnitude);
  return negative ? -value : value;
}

int digit_count(Unsigned magnitude) {
  const auto above = std::upper_bound(kPowers.begin(), kPowers.end(), magnitude);
  return static_cast<int>(above - kPowers.begin());
}

// An unsigned integer of 512 bits, least significant limb first.
struct Wide {
  std::array<uint64_t, 8> limbs{};

  Wide() = default;
  explicit Wide(Unsigned value) {
    limbs[0] = static_cast<uint64_t>(value);
    limbs[1] = static_cast<uint64_t>(value >> 64);
  }
  bool fits_decimal() const { return high_is_zero() && low() < kLimit; }
  bool high_is_zero() const {
    return std::all_of(limbs.begin() + 2, limbs.end(), [](uint64_t limb) { return limb == 0; });
  }
  Unsigned low() const { return Unsigned{limbs[1]} << 64 | limbs[0]; }
};

bool less(const Wide& a, const Wide& b) {
  return std::lexicographical_compare(a.limbs.rbegin(), a.limbs.rend(), b.limbs.rbegin(), b.limbs.rend());
}

void add_to(Wide& a, const Wide& b) {
  Unsigned carry = 0;
  for (size_t i = 0; i < a.limbs.size(); ++i) {
    carry += Unsigned{a.limbs[i]} + b.limbs[i];
    a.limbs[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  WRACKLINE_DCHECK(carry == 0);
}

// Requires: a >= b.
void subtract_from(Wide& a, const Wide& b) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < a.limbs.size(); ++i) {
    const Unsigned take = Unsigned{b.limbs[i]} + borrow;
    borrow = a.limbs[i] < take ? 1 : 0;
    a.limbs[i] = static_cast<uint64_t>(a.limbs[i] - take);
  }
  WRACKLINE_DCHECK(borrow == 0);
}

void multiply_by(Wide& value, uint64_t factor) {
  Unsigned carry = 0;
  for (uint64_t& limb : value.limbs) {
    carry += Unsigned{limb} * factor;
    limb = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  WRACKLINE_CHECK(carry == 0, "a decimal needs more than 512 bits");
}

void multiply_by_power(Wide& value, int exponent) {
  constexpr int kStep = 19;  // the largest power of ten in 64 bits
  for (; exponent > kStep; exponent -= kStep) multiply_by(value, static_cast<uint64_t>(power(kStep)));
  multiply_by(value, static_cast<uint64_t>(power(exponent)));
}

Wide product(Unsigned a, Unsigned b) {
  Wide low(a);
  multiply_by(low, static_cast<uint64_t>(b));
  Wide high(a);
  multiply_by(high, static_cast<uint64_t>(b >> 64));
  Wide shifted;
  for (size_t i = 1; i < shifted.limbs.size(); ++i) shifted.limbs[i] = high.limbs[i - 1];
  add_to(low, shifted);
  return low;
}

uint64_t divide_by_limb(Wide& value, uint64_t divisor) {
  Unsigned rest = 0;
  for (size_t i = value.limbs.size(); i-- > 0;) {
    const Unsigned part = rest << 64 | value.limbs[i];
    value.limbs[i] = static_cast<uint64_t>(part / divisor);
    rest = part % divisor;
  }
  return static_cast<uint64_t>(rest);
}

// One step of algorithm D with a divisor of two limbs whose top bit is set: divides rest * 2^64 + next.
// Requires: rest < divisor. Leaves the new rest and returns the digit.
uint64_t divide_step(Unsigned& rest, uint64_t next, Unsigned divisor) {
  constexpr Unsigned kLimbMax = std::numeric_limits<uint64_t>::max();
  const auto high = static_cast<uint64_t>(divisor >> 64);
  const auto low = static_cast<uint64_t>(divisor);
  auto digit = static_cast<uint64_t>(std::min(rest / high, kLimbMax));
  // digit is right or up to two too large: subtract digit * divisor in 192 bits and add back while negative.
  const Unsigned low_product = Unsigned{digit} * low;
  const Unsigned high_product = Unsigned{digit} * high + (low_product >> 64);
  const auto low_part = static_cast<uint64_t>(low_product);
  uint64_t low_limb = next - low_part;
  // The operands may wrap, their difference is small: unsigned arithmetic gives it, the cast its sign.
  auto high_left = static_cast<__int128>(rest - high_product - (next < low_part ? 1 : 0));
  while (high_left < 0) {
    const Unsigned sum = Unsigned{low_limb} + low;
    low_limb = static_cast<uint64_t>(sum);
    high_left += static_cast<__int128>(high) + static_cast<__int128>(sum >> 64);
    --digit;
  }
  rest = static_cast<Unsigned>(high_left) << 64 | low_limb;
  return digit;
}

// Divides in place and returns the remainder. Requires: divisor > 0.
Unsigned divide_by(Wide& value, Unsigned divisor) {
  if (divisor >> 64 == 0) return divide_by_limb(value, static_cast<uint64_t>(divisor));
  const int shift = std::countl_zero(static_cast<uint64_t>(divisor >> 64));
  const Unsigned scaled = divisor << shift;
  Unsigned rest = shift == 0 ? 0 : value.limbs.back() >> (64 - shift);
  for (size_t i = value.limbs.size(); i-- > 0;) {
    const uint64_t below = i == 0 || shift == 0 ? 0 : value.limbs[i - 1] >> (64 - shift);
    value.limbs[i] = divide_step(rest, value.limbs[i] << shift | below, scaled);
  }
  return rest >> shift;
}

std::optional<Decimal> fit(Wide magnitude, bool negative, int scale) {
  while (scale > kDigitsMax || !magnitude.fits_decimal()) {
    if (scale == 0 || divide_by_limb(magnitude, 10) != 0) return std::nullopt;
    --scale;
  }
  return Decimal{with_sign(magnitude.low(), negative), scale};
}

Decimal without_trailing_zeros(Decimal value) {
  if (value.unscaled == 0) return {};
  while (value.scale > 0 && value.unscaled % 10 == 0) {
    value.unscaled /= 10;
    --value.scale;
  }
  return value;
}

Wide aligned(const Decimal& value, int scale) {
  Wide wide(magnitude_of(value.unscaled));
  multiply_by_power(wide, scale - value.scale);
  return wide;
}

std::optional<Decimal> add_wide(const Decimal& a, const Decimal& b, int scale) {
  Wide left = aligned(a, scale);
  Wide right = aligned(b, scale);
  const bool negative_left = a.unscaled < 0;
  const bool negative_right = b.unscaled < 0;
  if (negative_left == negative_right) {
    add_to(left, right);
    return fit(left, negative_left, scale);
  }
  if (less(left, right)) {
    subtract_from(right, left);
    return fit(right, negative_right, scale);
  }
  subtract_from(left, right);
  return fit(left, negative_left, scale);
}

bool scale_up(__int128& unscaled, int digits) {
  return digits == 0 || !__builtin_mul_overflow(unscaled, power_of_ten(digits), &unscaled);
}

// A number in PostgreSQL's base 10000: the place of its first digit, counted in groups of four, and that
// digit.
struct LeadingGroup {
  int weight = 0;
  int64_t digit = 0;
};

LeadingGroup leading_group(const Decimal& value) {
  if (value.unscaled == 0) return {};
  const Unsigned magnitude = magnitude_of(value.unscaled);
  const int digits = digit_count(magnitude);
  const int exponent = digits - 1 - value.scale;
  const int weight = static_cast<int>(floor_divide(exponent, 4));
  const int taken = exponent - 4 * weight + 1;  // decimal digits in the first group
  const Unsigned digit =
      digits >= taken ? magnitude / power(digits - taken) : magnitude * power(taken - digits);
  return {weight, static_cast<int64_t>(digit)};
}

// numeric.c, select_div_scale: at least 16 significant digits, and no fewer places than either operand shows.
int division_scale(const Decimal& a, const Decimal& b) {
  constexpr int kSignificantMin = 16;
  constexpr int kGroupDigits = 4;
  const LeadingGroup left = leading_group(a);
  const LeadingGroup right = leading_group(b);
  const int weight = left.weight - right.weight - (left.digit <= right.digit ? 1 : 0);
  return std::max({kSignificantMin - weight * kGroupDigits, a.scale, b.scale, 0});
}

// A numeric literal taken apart: digits * 10^(zeros - fraction_digits + exponent), sign aside.
struct Literal {
  bool negative = false;
  Unsigned digits = 0;          // up to the last digit that is not zero
  int digits_count = 0;         // without zeros in front
  int64_t zeros = 0;            // behind `digits`
  int64_t fraction_digits = 0;  // after the point, zeros too
  int64_t exponent = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Returns false once the digits before the last zeros are more than 38.
bool take_digit(Literal& literal, int digit) {
  if (digit == 0) {
    if (literal.digits != 0) ++literal.zeros;
    return true;
  }
  const int64_t count = literal.digits_count + literal.zeros + 1;
  if (count > kDigitsMax) return false;
  literal.digits = literal.digits * power(static_cast<int>(literal.zeros) + 1) + static_cast<Unsigned>(digit);
  literal.digits_count = static_cast<int>(count);
  literal.zeros = 0;
  return true;
}

enum class LiteralParse : uint8_t { kOk, kMalformed, kTooLong };

// "e-12" from the place of the 'e' on. An exponent beyond a million is held there: no such number fits
// anyway.
bool parse_exponent(const char*& at, const char* end, int64_t& exponent) {
  constexpr int64_t kExponentMax = 1'000'000;
  if (at == end || (*at | 0x20) != 'e') return true;
  ++at;
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) ++at;
  if (at == end || !is_digit(*at)) return false;
  for (; at != end && is_digit(*at); ++at) exponent = std::min(exponent * 10 + (*at - '0'), kExponentMax);
  if (negative) exponent = -exponent;
  return true;
}

LiteralParse parse_literal(std::string_view text, Literal& literal) {
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at != end && (*at == '-' || *at == '+')) literal.negative = *at++ == '-';
  bool any = false;
  bool point = false;
  bool fits = true;
  for (; at != end; ++at) {
    if (*at == '.' && !point) {
      point = true;
      continue;
    }
    if (!is_digit(*at)) break;
    any = true;
    fits = fits && take_digit(literal, *at - '0');
    if (point) ++literal.fraction_digits;
  }
  if (!any || !parse_exponent(at, end, literal.exponent) || at != end) return LiteralParse::kMalformed;
  return fits ? LiteralParse::kOk : LiteralParse::kTooLong;
}

// The scale that the literal shows, less as many zeros at its end as 38 digits demand.
std::optional<Decimal> value_of(const Literal& literal) {
  const int64_t shown = std::clamp<int64_t>(literal.fraction_digits - literal.exponent, 0, kDigitsMax);
  if (literal.digits == 0) return Decimal{0, static_cast<int32_t>(shown)};
  const int64_t exponent = literal.zeros - literal.fraction_digits + literal.exponent;  // of the last digit
  const int64_t scale_min = std::max<int64_t>(0, -exponent);
  const int64_t scale = std::min(shown, kDigitsMax - literal.digits_count - exponent);
  if (scale < scale_min || scale_min > kDigitsMax) return std::nullopt;
  const Unsigned magnitude = literal.digits * power(static_cast<int>(exponent + scale));
  return Decimal{with_sign(magnitude, literal.negative), static_cast<int32_t>(scale)};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

uint64_t mixed(uint64_t value) {  // the finalizer of SplitMix64
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27) * 0x94d049bb133111ebU;
  return value ^ value >> 31;
}

}  // namespace

__int128 power_of_ten(int exponent) {
  WRACKLINE_CHECK(exponent >= 0 && exponent <= kDigitsMax, format("exponent {}", exponent));
  return static_cast<__int128>(power(exponent));
}

Result<Decimal> parse_decimal(std::string_view text) {
  Literal literal;
  const LiteralParse parse = parse_literal(trimmed(text), literal);
  if (parse == LiteralParse::kMalformed) {
    return fail(ErrorCode::kData, format("\"{}\" is not a number", printable(text)));
  }
  const auto value = parse == LiteralParse::kOk ? value_of(literal) : std::nullopt;
  if (!value) {
    return fail(ErrorCode::kOutOfRange, format("\"{}\" has more than 38 digits", printable(text)));
  }
  return *value;
}

void append_decimal(std::string& out, const Decimal& value) {
  std::array<char, 2 + 2 * kDigitsMax> buffer;
  char* const end = buffer.data() + buffer.size();
  char* at = end;
  Unsigned rest = magnitude_of(value.unscaled);
  // Digits come in chunks that fit 64 bits: dividing 128 bits for each digit would cost ten times as much.
  for (int32_t written = 0; rest != 0 || written <= value.scale;) {
    auto chunk = static_cast<uint64_t>(rest % power(18));
    rest /= power(18);
    for (int i = 0; i < 18 && (rest != 0 || chunk != 0 || written <= value.scale); ++i, ++written) {
      if (written == value.scale && written > 0) *--at = '.';
      *--at = static_cast<char>('0' + chunk % 10);
      chunk /= 10;
    }
  }
  if (value.unscaled < 0) *--at = '-';
  out.append(at, end);
}

std::string to_string(const Decimal& value) {
  std::string out;
  append_decimal(out, value);
  return out;
}

std::optional<Decimal> add(const Decimal& a, const Decimal& b) {
  const int scale = std::max(a.scale, b.scale);
  __int128 left = a.unscaled;
  __int128 right = b.unscaled;
  __int128 sum = 0;
  if (scale_up(left, scale - a.scale) && scale_up(right, scale - b.scale) &&
      !__builtin_add_overflow(left, right, &sum) && magnitude_of(sum) < kLimit) {
    return Decimal{sum, scale};
  }
  return add_wide(a, b, scale);
}

std::optional<Decimal> subtract(const Decimal& a, const Decimal& b) {
  return add(a, {-b.unscaled, b.scale});
}

std::optional<Decimal> multiply(const Decimal& a, const Decimal& b) {
  const int scale = a.scale + b.scale;
  __int128 exact = 0;
  if (scale <= kDigitsMax && !__builtin_mul_overflow(a.unscaled, b.unscaled, &exact) &&
      magnitude_of(exact) < kLimit) {
    return Decimal{exact, scale};
  }
  return fit(product(magnitude_of(a.unscaled), magnitude_of(b.unscaled)),
             (a.unscaled < 0) != (b.unscaled < 0), scale);
}

std::optional<Decimal> divide(const Decimal& a, const Decimal& b) {
  WRACKLINE_CHECK(b.unscaled != 0, "division by zero");
  const int scale = division_scale(a, b);
  // Zeros at the ends change nothing but the size of the intermediate.
  const Decimal dividend = without_trailing_zeros(a);
  const Decimal divisor = without_trailing_zeros(b);
  const bool negative = (a.unscaled < 0) != (b.unscaled < 0);
  const int exponent = scale + divisor.scale - dividend.scale;
  const Unsigned below = magnitude_of(divisor.unscaled);
  Unsigned above = magnitude_of(dividend.unscaled);
  if (exponent <= kDigitsMax && scale <= kDigitsMax &&
      !__builtin_mul_overflow(above, power(exponent), &above)) {
    const Unsigned rest = above % below;
    const Unsigned quotient = above / below + (rest >= below - rest ? 1 : 0);
    if (quotient < kLimit) return Decimal{with_sign(quotient, negative), scale};
  }
  Wide wide(magnitude_of(dividend.unscaled));
  multiply_by_power(wide, exponent);
  const Unsigned rest = divide_by(wide, below);
  if (rest >= below - rest) add_to(wide, Wide(1));
  return fit(wide, negative, scale);
}

std::optional<Decimal> remainder(const Decimal& a, const Decimal& b) {
  WRACKLINE_CHECK(b.unscaled != 0, "division by zero");
  const int scale = std::max(a.scale, b.scale);
  __int128 left = a.unscaled;
  __int128 right = b.unscaled;
  if (scale_up(left, scale - a.scale) && scale_up(right, scale - b.scale))
    return Decimal{left % right, scale};
  if (b.scale < scale) return a;  // b times a power of ten is beyond 128 bits, hence beyond a
  Wide dividend = aligned(a, scale);
  const Unsigned rest = divide_by(dividend, magnitude_of(b.unscaled));
  return Decimal{with_sign(rest, a.unscaled < 0), scale};
}

std::optional<Decimal> rescale(const Decimal& value, int scale) {
  if (scale > kDigitsMax) return std::nullopt;
  if (scale >= value.scale) {
    __int128 unscaled = value.unscaled;
    if (!scale_up(unscaled, scale - value.scale) || magnitude_of(unscaled) >= kLimit) return std::nullopt;
    return Decimal{unscaled, scale};
  }
  const int dropped = value.scale - scale;
  if (dropped > kDigitsMax) return Decimal{0, std::max(scale, 0)};
  const Unsigned magnitude = magnitude_of(value.unscaled);
  const Unsigned rest = magnitude % power(dropped);
  const Unsigned quotient = magnitude / power(dropped) + (rest >= power(dropped) - rest ? 1 : 0);
  const __int128 rounded = with_sign(quotient, value.unscaled < 0);
  return scale >= 0 ? Decimal{rounded, scale} : rescale({rounded * power_of_ten(-scale), 0}, 0);
}

int compare(const Decimal& a, const Decimal& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : static_cast<int>(y < x); };
  if (a.scale == b.scale) return order(a.unscaled, b.unscaled);
  const int sign = order(a.unscaled, __int128{0});
  if (const int other = order(b.unscaled, __int128{0}); sign != other) return order(sign, other);
  const int scale = std::max(a.scale, b.scale);
  __int128 left = a.unscaled;
  __int128 right = b.unscaled;
  if (scale_up(left, scale - a.scale) && scale_up(right, scale - b.scale)) return order(left, right);
  const Wide x = aligned(a, scale);
  const Wide y = aligned(b, scale);
  return less(x, y) ? -sign : less(y, x) ? sign : 0;
}

uint64_t hash(const Decimal& value) {
  const Decimal plain = without_trailing_zeros(value);
  const Unsigned magnitude = magnitude_of(plain.unscaled);
  const auto tag = static_cast<uint64_t>(plain.scale) << 1 | (plain.unscaled < 0 ? 1 : 0);
  return mixed(mixed(static_cast<uint64_t>(magnitude) + tag) ^ static_cast<uint64_t>(magnitude >> 64));
}

Decimal decimal_from_int(int64_t value) {
  return {value, 0};
}

std::optional<int64_t> decimal_to_int(const Decimal& value) {
  const auto whole = rescale(value, 0);
  if (!whole || whole->unscaled < std::numeric_limits<int64_t>::min() ||
      whole->unscaled > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(whole->unscaled);
}

double decimal_to_double(const Decimal& value) {
  constexpr int kExactPowerMax = 22;  // 10^22 is the last power of ten that a double holds exactly
  constexpr Unsigned kExactMax = Unsigned{1} << 53;
  if (magnitude_of(value.unscaled) <= kExactMax && value.scale <= kExactPowerMax) {
    return static_cast<double>(value.unscaled) / static_cast<double>(power(value.scale));  // rounds once
  }
  const std::string text = to_string(value);
  double result = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
  WRACKLINE_CHECK(parsed.ec == std::errc{}, text);
  return result;
}

std::optional<Decimal> decimal_from_double(double value) {
  constexpr int kDigits = std::numeric_limits<double>::digits10;
  if (!std::isfinite(value)) return std::nullopt;
  std::array<char, 32> buffer;
  const auto written =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, kDigits);
  WRACKLINE_CHECK(written.ec == std::errc{}, "a double needs more than 32 characters");
  Literal literal;
  const std::string_view text(buffer.data(), static_cast<size_t>(written.ptr - buffer.data()));
  if (parse_literal(text, literal) != LiteralParse::kOk) return std::nullopt;
  return value_of(literal);
}

}  // namespace wrackline
