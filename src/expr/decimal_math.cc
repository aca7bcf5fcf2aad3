#include "expr/decimal_math.h"

#include <algorithm>
#include <cmath>

#include "data/decimal.h"
#include "expr/wide_number.h"

namespace wrackline::expr {
namespace {

using U128 = unsigned __int128;

constexpr int kScaleMax = 38;
constexpr int kSignificantDigits = 16;  // PostgreSQL's NUMERIC_MIN_SIG_DIGITS
constexpr double kLog10OfE = 0.434294481903252;

U128 absolute(const Decimal& value) {
  return value.unscaled < 0 ? -static_cast<U128>(value.unscaled) : static_cast<U128>(value.unscaled);
}

// A signed fixed-point number.
struct Real {
  Wide size;
  bool negative = false;
};

Wide fixed_from(const Decimal& value) {
  Wide result = Wide::fixed(absolute(value));
  for (int left = value.scale; left > 0; left -= 19) {
    result = result.divided_by(static_cast<uint64_t>(power_of_ten(std::min(left, 19))));
  }
  return result;
}

// The exponent of the first decimal digit: 2 for 123.4, -3 for 0.0012. Requires: value is not zero.
int decimal_exponent(const Decimal& value) {
  const U128 size = absolute(value);
  int digits = 1;
  while (digits < 38 && size >= static_cast<U128>(power_of_ten(digits))) ++digits;
  return digits - 1 - value.scale;
}

int clamp_scale(int scale) {
  return std::clamp(scale, 0, kScaleMax);
}

std::optional<Decimal> decimal_from(const Wide& unscaled, bool negative, int scale) {
  if (unscaled >= Wide(static_cast<U128>(power_of_ten(38)))) return std::nullopt;
  const auto size = static_cast<__int128>(unscaled.low128());
  return Decimal{negative ? -size : size, scale};
}

// Rounds a fixed-point number half away from zero.
std::optional<Decimal> round_real(const Real& value, int scale) {
  if (value.size.bit_count() > Wide::kFractionBits + 127) return std::nullopt;
  // The whole part has at most 127 bits, so its product with 10^scale could leave 512 bits: the parts go
  // separately.
  const Wide whole = value.size.shifted_right(Wide::kFractionBits);
  const Wide fraction = value.size - whole.shifted_left(Wide::kFractionBits);
  const Wide unit = Wide::ten_to(scale);
  Wide digits = fraction * unit;
  const bool up = digits.bit(Wide::kFractionBits - 1);
  digits = digits.shifted_right(Wide::kFractionBits) + whole * unit;
  if (up) digits = digits + Wide(1);
  return decimal_from(digits, value.negative, scale);
}

// 2 * atanh(z) = ln((1 + z) / (1 - z)) by its series; z is small.
Wide twice_atanh(const Wide& z) {
  const Wide square = Wide::multiply_fixed(z, z);
  Wide power = z;
  Wide sum;
  for (uint64_t i = 1; !power.is_zero(); i += 2) {
    sum = sum + power.divided_by(i);
    power = Wide::multiply_fixed(power, square);
  }
  return sum.shifted_left(1);
}

const Wide& ln2() {
  static const Wide value = twice_atanh(Wide::fixed(1).divided_by(3));  // 2 = (1 + 1/3) / (1 - 1/3)
  return value;
}

// value = m * 2^k with m around 1, so ln = k ln 2 + 2 atanh((m - 1) / (m + 1)).
Real ln_real(const Decimal& value) {
  const Wide size = fixed_from(value);
  const Wide one = Wide::fixed(1);
  int exponent = size.bit_count() - 1 - Wide::kFractionBits;
  Wide m = exponent >= 0 ? size.shifted_right(exponent) : size.shifted_left(-exponent);
  if (m > one + one.shifted_right(1)) {
    m = m.shifted_right(1);
    ++exponent;
  }
  const bool below = m < one;
  const Wide z = Wide::divide_fixed(below ? one - m : m - one, m + one);
  const Wide part = twice_atanh(z);
  const Wide whole = ln2() * Wide(static_cast<U128>(std::abs(exponent)));
  if (exponent == 0) return {part, below};
  const bool negative = exponent < 0;
  if (negative == below) return {whole + part, negative};
  return {whole - part, negative};  // |part| < ln 2 <= |whole|
}

// e^value = 2^k * e^r with r = value - k ln 2 between 0 and ln 2. nullopt: 2^127 or more.
std::optional<Wide> exp_real(const Real& value) {
  const Wide k_wide = value.size.divided_by(ln2());
  if (k_wide.bit_count() > 16) return value.negative ? std::optional(Wide()) : std::nullopt;
  auto k = static_cast<int>(k_wide.low128());
  Wide r = value.size - ln2() * k_wide;
  if (value.negative) {
    r = ln2() - r;
    k = -k - 1;
  }
  if (k > 126) return std::nullopt;
  if (k < -Wide::kFractionBits) return Wide();
  Wide term = Wide::fixed(1);
  Wide sum;
  for (uint64_t i = 1; !term.is_zero(); ++i) {
    sum = sum + term;
    term = Wide::multiply_fixed(term, r).divided_by(i);
  }
  return k >= 0 ? sum.shifted_left(k) : sum.shifted_right(-k);
}

// PostgreSQL's estimate of the decimal exponent of ln(value), which fixes the scale of the result.
int ln_exponent(const Decimal& value) {
  const double approximate = decimal_to_double(value);
  if (compare(value, {9, 1}) >= 0 && compare(value, {11, 1}) <= 0) {
    const std::optional<Decimal> distance = subtract(value, {1, 0});  // ln(1 + x) is about x
    return distance && distance->unscaled != 0 ? decimal_exponent(*distance) : 0;
  }
  return static_cast<int>(std::log10(std::fabs(std::log(approximate))));
}

// |value|^n as a whole number, if it has at most 500 bits.
std::optional<Wide> whole_power(U128 size, int64_t n) {
  Wide result(1);
  const Wide factor(size);
  for (int64_t i = 0; i < n; ++i) {
    if (result.bit_count() + factor.bit_count() > 500) return std::nullopt;
    result = result * factor;
  }
  return result;
}

// numerator / denominator, half away from zero.
Wide divide_rounded(const Wide& numerator, const Wide& denominator) {
  Wide rest;
  const Wide quotient = numerator.divided_by(denominator, &rest);
  return rest.shifted_left(1) >= denominator ? quotient + Wide(1) : quotient;
}

// base^n where the exact power is a number of at most 500 bits: rounded without any error.
std::optional<std::optional<Decimal>> exact_power(const Decimal& base, int64_t n, int scale) {
  const int64_t count = n < 0 ? -n : n;
  const auto size = whole_power(absolute(base), count);
  const int64_t size_scale = base.scale * count;
  if (!size || size_scale > 115) return std::nullopt;
  const bool negative = base.unscaled < 0 && count % 2 != 0;
  const auto power_scale = static_cast<int>(size_scale);
  if (n >= 0) {
    const int cut = power_scale - scale;
    if (cut > 0) return decimal_from(divide_rounded(*size, Wide::ten_to(cut)), negative, scale);
    if (size->bit_count() > 127) return std::optional<Decimal>(std::nullopt);
    return decimal_from(*size * Wide::ten_to(-cut), negative, scale);
  }
  return decimal_from(divide_rounded(Wide::ten_to(power_scale + scale), *size), negative, scale);
}

// The result with the most digits after the point, at most `scale`, that leave it within 38 digits.
template <class AtScale>
std::optional<Decimal> with_digits_that_fit(int scale, AtScale at_scale) {
  for (; scale > 0; --scale) {
    if (const std::optional<Decimal> result = at_scale(scale)) return result;
  }
  return at_scale(0);
}

// e^(factor * ln |base|), negative if asked for.
std::optional<Decimal> power_by_logarithm(const Decimal& base, const Wide& factor, bool factor_negative,
                                          bool negative, int scale) {
  Real product = ln_real({base.unscaled < 0 ? -base.unscaled : base.unscaled, base.scale});
  product.size = Wide::multiply_fixed(product.size, factor);
  product.negative = product.negative != factor_negative;
  const std::optional<Wide> result = exp_real(product);
  if (!result) return std::nullopt;
  return with_digits_that_fit(scale, [&](int digits) { return round_real({*result, negative}, digits); });
}

std::optional<Decimal> whole_exponent_power(const Decimal& base, int64_t n) {
  const int scale = clamp_scale(std::max(kSignificantDigits, int{base.scale}));
  if (n == 0) return rescale({1, 0}, scale);
  if (base.unscaled == 0) return Decimal{0, scale};
  const double digits = static_cast<double>(n) * std::log10(std::fabs(decimal_to_double(base)));
  if (digits > 40) return std::nullopt;
  if (digits < -60) return Decimal{0, scale};
  const bool exact = exact_power(base, n, 0).has_value();
  if (exact) {
    return with_digits_that_fit(
        scale, [&](int wanted) { return exact_power(base, n, wanted).value_or(std::nullopt); });
  }
  const auto count = static_cast<U128>(n < 0 ? -n : n);
  return power_by_logarithm(base, Wide::fixed(count), n < 0, base.unscaled < 0 && n % 2 != 0, scale);
}

}  // namespace

std::optional<Decimal> square_root(const Decimal& value) {
  const int weight =
      value.unscaled == 0 ? 0 : (decimal_exponent(value) + 4 * 64) / 4 - 64;  // of its first base-10000 digit
  const int scale = clamp_scale(std::max(kSignificantDigits - (weight * 2 + 1), int{value.scale}));
  // sqrt(u * 10^-s) * 10^scale = sqrt(u * 10^(2 scale - s))
  const Wide square = Wide(absolute(value)) * Wide::ten_to(2 * scale - value.scale);
  const Wide root = square.root();
  const bool up = square - root * root > root;
  return decimal_from(up ? root + Wide(1) : root, false, scale);
}

std::optional<Decimal> exponential(const Decimal& value) {
  const double digits = decimal_to_double(value) * kLog10OfE;
  if (digits > 40) return std::nullopt;
  const int wanted = digits < -100 ? kScaleMax : kSignificantDigits - static_cast<int>(digits);
  const auto result = exp_real({fixed_from(value), value.unscaled < 0});
  return result ? round_real({*result, false}, clamp_scale(std::max(wanted, int{value.scale})))
                : std::nullopt;
}

std::optional<Decimal> natural_logarithm(const Decimal& value) {
  return round_real(ln_real(value),
                    clamp_scale(std::max(kSignificantDigits - ln_exponent(value), int{value.scale})));
}

std::optional<Decimal> logarithm(const Decimal& base, const Decimal& value) {
  const int digits = ln_exponent(value) - ln_exponent(base);
  const int scale = clamp_scale(std::max({kSignificantDigits - digits, int{base.scale}, int{value.scale}}));
  const Real numerator = ln_real(value);
  const Real denominator = ln_real(base);
  return round_real(
      {Wide::divide_fixed(numerator.size, denominator.size), numerator.negative != denominator.negative},
      scale);
}

bool is_whole(const Decimal& value) {
  return value.unscaled % power_of_ten(value.scale) == 0;
}

std::optional<Decimal> power(const Decimal& base, const Decimal& exponent) {
  if (is_whole(exponent)) {
    const __int128 n = exponent.unscaled / power_of_ten(exponent.scale);
    if (n == static_cast<int32_t>(n)) return whole_exponent_power(base, static_cast<int64_t>(n));
  }
  if (base.unscaled == 0) return Decimal{0, kSignificantDigits};
  const double digits = decimal_to_double(exponent) * std::log10(std::fabs(decimal_to_double(base)));
  if (digits > 40) return std::nullopt;
  const int wanted = digits < -100 ? kScaleMax : kSignificantDigits - static_cast<int>(digits);
  const int scale = clamp_scale(std::max({wanted, int{base.scale}, int{exponent.scale}}));
  if (digits < -60) return Decimal{0, scale};
  const bool odd = is_whole(exponent) && exponent.unscaled / power_of_ten(exponent.scale) % 2 != 0;
  return power_by_logarithm(base, fixed_from(exponent), exponent.unscaled < 0, base.unscaled < 0 && odd,
                            scale);
}

}  // namespace wrackline::expr
