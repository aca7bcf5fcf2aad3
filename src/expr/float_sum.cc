// Doubles are fractions of 53 bits times a power of two between 2^-1074 and 2^971. Adding them one after
// another rounds at every step, so the sum depends on the order: (1e16 + 1) - 1e16 is 0, (1e16 - 1e16) + 1
// is 1.
//
// Here nothing is rounded until the end. Most sums are over values of similar size (prices, seconds), and
// then a window of 128 bits is enough:
//
//      sign                                            2^(exponent + 32)       2^exponent
//        |<- 41 bits: larger values, many of them ->|<- 53 bits of the first ->|<- 32 bits: finer values ->|
//
// A value whose bits lie inside is one shift and one addition. A value that sticks out at the low end moves
// the window down if the sum has room above; one at the high end moves it up if the sum's low bits are zero.
// What is left, sums of 1e300 and 1e-300, goes to the wide form: one fixed-point number that reaches from
// 2^-1074 over 2^1024 to the room for 2^63 addends, 34 words in all.
#include "expr/float_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace wrackline::expr {
namespace {

using U128 = unsigned __int128;

constexpr int32_t kExponentMin = -1074;  // of the lowest bit of the smallest double
constexpr size_t kWideWords = 34;
constexpr int32_t kRoomBelow = 32;

int bit_count(U128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<uint64_t>(value));
}
int zeros_below(U128 value) {
  const auto low = static_cast<uint64_t>(value);
  return low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<uint64_t>(value >> 64));
}
U128 absolute(__int128 value) {
  return value < 0 ? -static_cast<U128>(value) : static_cast<U128>(value);
}

}  // namespace

// Two's complement, lowest word first; bit 0 is 2^-1074.
struct FloatSum::Wide {
  std::array<uint64_t, kWideWords> words;

  // Adds or subtracts word * 2^bit.
  void add(bool negative, uint64_t word, size_t bit) {
    const U128 shifted = static_cast<U128>(word) << (bit % 64);
    const size_t at = bit / 64;
    const uint64_t parts[2] = {static_cast<uint64_t>(shifted), static_cast<uint64_t>(shifted >> 64)};
    uint64_t carry = 0;
    for (size_t i = 0; at + i < kWideWords && (i < 2 || carry != 0); ++i) {
      const uint64_t part = i < 2 ? parts[i] : 0;
      const U128 total = negative ? static_cast<U128>(words[at + i]) - part - carry
                                  : static_cast<U128>(words[at + i]) + part + carry;
      words[at + i] = static_cast<uint64_t>(total);
      carry = static_cast<uint64_t>(total >> 64) & 1;
    }
  }
  void add(const Wide& other) {
    uint64_t carry = 0;
    for (size_t i = 0; i < kWideWords; ++i) {
      const U128 total = static_cast<U128>(words[i]) + other.words[i] + carry;
      words[i] = static_cast<uint64_t>(total);
      carry = static_cast<uint64_t>(total >> 64);
    }
  }
  void add_window(__int128 sum, int32_t exponent) {
    const U128 size = absolute(sum);
    const auto bit = static_cast<size_t>(exponent - kExponentMin);
    add(sum < 0, static_cast<uint64_t>(size), bit);
    if (const auto high = static_cast<uint64_t>(size >> 64); high != 0) add(sum < 0, high, bit + 64);
  }
};

// A sum as sign and size: words * 2^exponent, lowest word first, with two zero words below for a quotient's
// bits.
struct FloatSum::Magnitude {
  std::array<uint64_t, kWideWords + 2> words{};
  size_t count = 0;
  int32_t exponent = 0;
  bool negative = false;
  bool inexact = false;  // something smaller than the lowest bit was cut off

  void divide(uint64_t divisor) {
    U128 rest = 0;
    for (size_t i = count; i-- > 0;) {
      const U128 dividend = (rest << 64) | words[i];
      words[i] = static_cast<uint64_t>(dividend / divisor);
      rest = dividend % divisor;
    }
    inexact = rest != 0;
  }

  bool any_below(size_t bit) const {
    for (size_t i = 0; i < bit / 64; ++i) {
      if (words[i] != 0) return true;
    }
    return bit % 64 != 0 && (words[bit / 64] << (64 - bit % 64)) != 0;
  }
  uint64_t bits_from(size_t bit) const {
    const size_t at = bit / 64;
    uint64_t value = words[at] >> (bit % 64);
    if (bit % 64 != 0 && at + 1 < count) value |= words[at + 1] << (64 - bit % 64);
    return value;
  }

  // Rounded to `precision` bits, to nearest and ties to even; no bit below 2^exponent_min.
  double rounded(int precision, int32_t exponent_min) const {
    size_t top = count;
    while (top > 0 && words[top - 1] == 0) --top;
    if (top == 0) return 0;
    const auto top_bit = static_cast<int32_t>(64 * top) - 1 - std::countl_zero(words[top - 1]);
    const int32_t lowest = std::max(top_bit - (precision - 1), exponent_min - exponent);
    WRACKLINE_DCHECK(lowest > 0);  // the two words below see to it
    uint64_t kept = lowest > top_bit ? 0 : bits_from(static_cast<size_t>(lowest));
    const auto half_bit = static_cast<size_t>(lowest - 1);
    const bool half = (words[half_bit / 64] >> (half_bit % 64) & 1) != 0;
    if (half && (inexact || any_below(half_bit) || (kept & 1) != 0)) ++kept;
    const double size = std::ldexp(static_cast<double>(kept), exponent + lowest);
    return negative ? -size : size;
  }
};

FloatSum::Wide* FloatSum::wide() const {
  Wide* address = nullptr;
  std::memcpy(&address, &words_[0], sizeof address);
  return address;
}

FloatSum::Wide* FloatSum::make_wide(Arena& arena) {
  if ((flags_ & kWide) != 0) return wide();
  char* room = arena.allocate(sizeof(Wide) + alignof(Wide));
  room += (alignof(Wide) - reinterpret_cast<uintptr_t>(room) % alignof(Wide)) % alignof(Wide);
  Wide* made = new (room) Wide{};
  if ((flags_ & kWindow) != 0) made->add_window(window(), exponent_);
  std::memcpy(&words_[0], &made, sizeof made);
  words_[1] = 0;
  flags_ = static_cast<uint8_t>((flags_ & ~kWindow) | kWide);
  return made;
}

void FloatSum::add_slowly(double value, Arena& arena) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const bool negative = static_cast<int64_t>(bits) < 0;
  const auto field = static_cast<int32_t>(bits >> 52 & 0x7FF);
  const uint64_t fraction = bits & kFraction;
  flags_ |= kPresent;
  if (field == 0x7FF) {
    flags_ |= kNotMinusZero | (fraction != 0 ? kNan : negative ? kMinusInfinity : kPlusInfinity);
  } else if (field == 0 && fraction == 0) {
    if (!negative) flags_ |= kNotMinusZero;
  } else {
    flags_ |= kNotMinusZero;
    add_finite(negative, field == 0 ? fraction : fraction | kImplicit, std::max(field, 1) - kFieldBias,
               arena);
  }
}

void FloatSum::add_finite(bool negative, uint64_t fraction, int32_t exponent, Arena& arena) {
  if ((flags_ & kWide) == 0 && add_to_window(negative, fraction, exponent)) return;
  make_wide(arena)->add(negative, fraction, static_cast<size_t>(exponent - kExponentMin));
}

// Moves the window so that the value fits, or returns false and changes nothing that matters.
bool FloatSum::add_to_window(bool negative, uint64_t fraction, int32_t exponent) {
  __int128 sum = (flags_ & kWindow) != 0 ? window() : 0;
  if (sum == 0) exponent_ = std::max(exponent - kRoomBelow, kExponentMin);
  flags_ |= kWindow;
  set_window(sum);
  const int zeros = std::countr_zero(fraction);
  fraction >>= zeros;
  exponent += zeros;
  if (exponent < exponent_) {
    const int32_t down = exponent_ - exponent;
    if (bit_count(absolute(sum)) + down > 126) return false;
    sum = static_cast<__int128>(static_cast<U128>(sum) << down);
    exponent_ = exponent;
  }
  if (bit_count(fraction) + exponent - exponent_ > 125 || bit_count(absolute(sum)) > 125) {
    // No room above: the window moves up as far as the zeros at the low end of sum and value allow.
    const int32_t up = std::min(sum == 0 ? 127 : zeros_below(absolute(sum)), exponent - exponent_);
    sum >>= up;
    exponent_ += up;
  }
  set_window(sum);
  const int32_t shift = exponent - exponent_;
  if (bit_count(fraction) + shift > 126) return false;
  const __int128 size = static_cast<__int128>(fraction) << shift;
  if (__builtin_add_overflow(sum, negative ? -size : size, &sum)) return false;
  set_window(sum);
  return true;
}

bool FloatSum::undo_if_too_large(double value, int bits, Arena& arena) {
  if (!is_finite() || !std::isinf(bits == 64 ? result() : result_real())) return true;
  add(-value, arena);  // exact, so nothing is left of it; the sum held larger values before, or it was empty
  return false;
}

void FloatSum::merge(const FloatSum& other, Arena& arena) {
  flags_ |= other.flags_ & static_cast<uint8_t>(~(kWindow | kWide));
  if ((other.flags_ & kWide) != 0) {
    make_wide(arena)->add(*other.wide());
    return;
  }
  if ((other.flags_ & kWindow) == 0) return;
  if ((flags_ & (kWindow | kWide)) == 0) {
    words_[0] = other.words_[0];
    words_[1] = other.words_[1];
    exponent_ = other.exponent_;
    flags_ |= kWindow;
    return;
  }
  const __int128 addend = other.window();
  if ((flags_ & kWindow) != 0 && exponent_ == other.exponent_) {
    __int128 sum = window();
    if (!__builtin_add_overflow(sum, addend, &sum)) return set_window(sum);
  }
  // Part by part, as if the two halves were values: the window moves where they need it.
  const U128 size = absolute(addend);
  const bool negative = addend < 0;
  if (const auto low = static_cast<uint64_t>(size); low != 0)
    add_finite(negative, low, other.exponent_, arena);
  if (const auto high = static_cast<uint64_t>(size >> 64); high != 0) {
    add_finite(negative, high, other.exponent_ + 64, arena);
  }
}

double FloatSum::special() const {
  const bool plus = (flags_ & kPlusInfinity) != 0;
  const bool minus = (flags_ & kMinusInfinity) != 0;
  if ((flags_ & kNan) != 0 || (plus && minus)) return std::numeric_limits<double>::quiet_NaN();
  return plus ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

FloatSum::Magnitude FloatSum::magnitude() const {
  Magnitude result;
  if ((flags_ & kWide) != 0) {
    const Wide& sum = *wide();
    result.negative = static_cast<int64_t>(sum.words.back()) < 0;
    result.exponent = kExponentMin - 128;
    result.count = kWideWords + 2;
    uint64_t carry = result.negative ? 1 : 0;
    for (size_t i = 0; i < kWideWords; ++i) {
      const U128 word = static_cast<U128>(result.negative ? ~sum.words[i] : sum.words[i]) + carry;
      result.words[i + 2] = static_cast<uint64_t>(word);
      carry = static_cast<uint64_t>(word >> 64);
    }
    return result;
  }
  const __int128 sum = (flags_ & kWindow) != 0 ? window() : 0;
  const U128 size = absolute(sum);
  result.negative = sum < 0;
  result.exponent = exponent_ - 128;
  result.count = 4;
  result.words[2] = static_cast<uint64_t>(size);
  result.words[3] = static_cast<uint64_t>(size >> 64);
  return result;
}

FloatSum::Exact FloatSum::exact() const {
  const Magnitude sum = magnitude();
  return {sum.words, sum.exponent, sum.negative};
}

double FloatSum::result() const {
  if (!is_finite()) return special();
  if ((flags_ & kNotMinusZero) == 0) return -0.0;
  return magnitude().rounded(53, kExponentMin);
}

double FloatSum::result_real() const {
  if (!is_finite()) return special();
  if ((flags_ & kNotMinusZero) == 0) return -0.0;
  return static_cast<double>(static_cast<float>(magnitude().rounded(24, -149)));
}

double FloatSum::mean(uint64_t count) const {
  if (!is_finite()) return special();
  Magnitude quotient = magnitude();
  quotient.divide(count);
  return quotient.rounded(53, kExponentMin);
}

void FloatSum::save(SnapshotWriter& out) const {
  out.u8(flags_);
  out.i64(exponent_);
  if ((flags_ & kWide) != 0) {
    out.bytes(wide()->words.data(), sizeof wide()->words);
  } else {
    out.bytes(words_, sizeof words_);
  }
}

void FloatSum::restore(SnapshotReader& in, Arena& arena) {
  flags_ = in.u8();
  const int64_t exponent = in.i64();
  exponent_ = static_cast<int32_t>(exponent);
  if (exponent < -2048 || exponent > 2048 || (flags_ & (kWide | kWindow)) == (kWide | kWindow))
    in.refuse("a sum has marks that no sum has");
  if (in.failed()) {
    *this = {};
    return;
  }
  if ((flags_ & kWide) == 0) {
    in.bytes(words_, sizeof words_);
    return;
  }
  const uint8_t flags = flags_;
  flags_ = 0;
  Wide* const made = make_wide(arena);
  in.bytes(made->words.data(), sizeof made->words);
  flags_ = flags;
}

}  // namespace wrackline::expr
