#include "expr/decimal_moments.h"

#include <algorithm>

#include "data/decimal.h"
#include "expr/arena_memory.h"
#include "expr/wide_number.h"
#include "wrackline/time.h"

namespace wrackline::expr {
namespace {

using U128 = unsigned __int128;
using Number = WideNumber<16>;

constexpr int kScaleMax = 38;
constexpr int kLargeDigits = 18;  // smaller values have variances that always fit

U128 absolute(__int128 value) {
  return value < 0 ? -static_cast<U128>(value) : static_cast<U128>(value);
}

int digit_count(const Number& value) {
  int digits = value.bit_count() * 1233 / 4096;  // log10 2, rounded down
  while (value >= Number::ten_to(digits)) ++digits;
  return digits;
}

// A number's first digit in base 10000 and its place, as PostgreSQL's numeric has them.
struct LeadingGroup {
  int weight = 0;
  uint64_t digit = 0;
};
LeadingGroup leading_group(const Number& value, int scale) {
  const int digits = digit_count(value);
  const int exponent = digits - 1 - scale;
  const int weight = static_cast<int>(floor_divide(exponent, 4));
  const int taken = exponent - 4 * weight + 1;
  const Number digit = digits >= taken ? value.divided_by(Number::ten_to(digits - taken))
                                       : value * Number::ten_to(taken - digits);
  return {weight, static_cast<uint64_t>(digit.low128())};
}

// numeric.c, select_div_scale.
int quotient_scale(const Number& numerator, int numerator_scale, const Number& denominator, int shown_scale) {
  const LeadingGroup left = leading_group(numerator, numerator_scale);
  const LeadingGroup right = leading_group(denominator, 0);
  const int weight = left.weight - right.weight - (left.digit <= right.digit ? 1 : 0);
  return std::max({16 - weight * 4, shown_scale, 0});
}

// value * 10^exponent, half away from zero.
Number rounded_quotient(Number numerator, Number denominator, int exponent) {
  if (exponent >= 0) {
    numerator = numerator * Number::ten_to(exponent);
  } else {
    denominator = denominator * Number::ten_to(-exponent);
  }
  Number rest;
  const Number quotient = numerator.divided_by(denominator, &rest);
  return rest + rest >= denominator ? quotient + Number(1) : quotient;
}
// The root of square * 10^-scale in units of 10^-digits, half away from zero. A root that is cut off further
// down rounds as the exact one, because the half of a unit is a number there.
Number rounded_root(const Number& square, int scale, int digits) {
  const int finer = std::max(digits, (scale + 1) / 2);
  const Number scaled = square * Number::ten_to(2 * finer - scale);
  const Number root = scaled.root();
  if (finer > digits) return rounded_quotient(root, Number(1), digits - finer);
  return scaled - root * root > root ? root + Number(1) : root;
}

}  // namespace

// In units of 10^-38 and 10^-76. 2^63 values of 76 digits sum to less than 2^316, their squares to 2^568.
struct DecimalMoments::Wide {
  WideNumber<6> sum;  // two's complement
  WideNumber<9> squares;

  void add(const Decimal& value) {
    const auto size =
        WideNumber<9>(absolute(value.unscaled)) * WideNumber<9>::ten_to(kScaleMax - value.scale);
    add(WideNumber<6>(size.words()), value.unscaled < 0, size * size);
  }
  void add(const WideNumber<6>& size, bool negative, const WideNumber<9>& more_squares) {
    sum = negative ? sum - size : sum + size;
    squares = squares + more_squares;
  }
};

DecimalMoments::Wide& DecimalMoments::wide() const {
  return *address_in<Wide>(words_[0]);
}

DecimalMoments::Wide& DecimalMoments::make_wide(Arena& arena) {
  if ((flags_ & kWide) != 0) return wide();
  Wide& made = *allocate_zeroed<Wide>(arena, 1);
  const auto sum = static_cast<__int128>((static_cast<U128>(words_[1]) << 64) | words_[0]);
  const int up = kScaleMax - scale_;
  made.add(WideNumber<6>(absolute(sum)) * WideNumber<6>::ten_to(up), sum < 0,
           WideNumber<9>(std::span<const uint64_t>(words_).subspan(2)) * WideNumber<9>::ten_to(2 * up));
  words_[0] = word_of(&made);
  std::fill(words_ + 1, words_ + 5, 0);
  flags_ |= kWide;
  return made;
}

bool DecimalMoments::add_slowly(const Decimal& value, Spread wanted, Arena& arena) {
  const bool large = absolute(value.unscaled) >=
                     static_cast<U128>(power_of_ten(std::min(kLargeDigits + value.scale, kScaleMax)));
  if (flags_ == 0 && !large && absolute(value.unscaled) < static_cast<U128>(power_of_ten(kLargeDigits))) {
    scale_ = static_cast<uint8_t>(value.scale);
    flags_ = kPresent;
    add_narrow(static_cast<int64_t>(value.unscaled));
    return true;
  }
  const DecimalMoments before = *this;
  Wide& sums = make_wide(arena);
  const Wide sums_before = sums;
  sums.add(value);
  scale_ = std::max(scale_, static_cast<uint8_t>(value.scale));
  flags_ |= kPresent | (large ? kLarge : 0);
  ++count_;
  if ((flags_ & kLarge) == 0 || (wanted.sample && count_ == 1) || spread(wanted)) return true;
  if ((before.flags_ & kWide) != 0) sums = sums_before;
  *this = before;
  return false;
}

void DecimalMoments::merge(const DecimalMoments& other, Arena& arena) {
  if (other.flags_ == 0) return;
  if (flags_ == 0 && (other.flags_ & kWide) == 0) {
    *this = other;
    return;
  }
  if (((flags_ | other.flags_) & kWide) == 0 && scale_ == other.scale_) {
    WideNumber<6> sums(std::span<const uint64_t>(words_).first(2));
    sums = sums + WideNumber<6>(std::span<const uint64_t>(other.words_).first(2));
    WideNumber<6> squares(std::span<const uint64_t>(words_).subspan(2));
    squares = squares + WideNumber<6>(std::span<const uint64_t>(other.words_).subspan(2));
    std::copy_n(sums.words().begin(), 2, words_);
    std::copy_n(squares.words().begin(), 3, words_ + 2);
    count_ += other.count_;
    return;
  }
  DecimalMoments part = other;
  if ((other.flags_ & kWide) == 0) part.make_wide(arena);
  Wide& sums = make_wide(arena);
  sums.sum = sums.sum + part.wide().sum;
  sums.squares = sums.squares + part.wide().squares;
  count_ += other.count_;
  scale_ = std::max(scale_, other.scale_);
  flags_ |= other.flags_;
}

void DecimalMoments::show_scale(int32_t scale, Arena& arena) {
  if (scale <= scale_) return;
  make_wide(arena);
  scale_ = static_cast<uint8_t>(scale);
}

// numeric.c, numeric_stddev_internal: (N * sum of squares - sum^2) / (N * N or N * (N - 1)), then the root.
std::optional<Decimal> DecimalMoments::spread(Spread wanted) const {
  const bool is_wide = (flags_ & kWide) != 0;
  const int unit = is_wide ? kScaleMax : scale_;
  Number sum;
  Number squares;
  if (is_wide) {
    const Wide& sums = wide();
    const bool negative = sums.sum.bit(64 * WideNumber<6>::kWords - 1);
    sum = Number((negative ? WideNumber<6>() - sums.sum : sums.sum).words());
    squares = Number(sums.squares.words());
  } else {
    sum = Number(absolute(static_cast<__int128>((static_cast<U128>(words_[1]) << 64) | words_[0])));
    squares = Number(std::span<const uint64_t>(words_).subspan(2));
  }
  const Number numerator = Number(count_) * squares - sum * sum;
  if (numerator.is_zero()) return Decimal{0, 0};
  const Number denominator(static_cast<U128>(count_) * (wanted.sample ? count_ - 1 : count_));
  const int scale = quotient_scale(numerator, 2 * unit, denominator, 2 * scale_);
  for (int digits = std::min(scale, kScaleMax); digits >= 0; --digits) {
    Number result;
    if (wanted.deviation) {
      const Number variance = rounded_quotient(numerator, denominator, scale - 2 * unit);
      result = rounded_root(variance, scale, digits);
    } else {
      result = rounded_quotient(numerator, denominator, digits - 2 * unit);
    }
    if (result < Number::ten_to(kScaleMax)) return Decimal{static_cast<__int128>(result.low128()), digits};
  }
  return std::nullopt;
}

void DecimalMoments::save(SnapshotWriter& out) const {
  out.u64(count_);
  out.u8(flags_);
  out.u8(scale_);
  if ((flags_ & kWide) != 0) {
    out.bytes(&wide(), sizeof(Wide));
  } else {
    out.bytes(words_, sizeof words_);
  }
}

void DecimalMoments::restore(SnapshotReader& in, Arena& arena) {
  count_ = in.u64();
  const uint8_t flags = in.u8();
  scale_ = in.u8();
  if (scale_ > kScaleMax || flags > (kPresent | kWide | kLarge)) in.refuse("a sum has marks that no sum has");
  if (in.failed()) {
    *this = {};
    return;
  }
  if ((flags & kWide) != 0) {
    in.bytes(&make_wide(arena), sizeof(Wide));
  } else {
    in.bytes(words_, sizeof words_);
  }
  flags_ = flags;
}

}  // namespace wrackline::expr
