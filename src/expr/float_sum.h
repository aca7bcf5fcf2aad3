// The exact sum of doubles in 24 bytes: the same bits whatever the order, rounded once at the end.
//
// Invariants:
//   1. All-zero bytes are the empty sum; a sum may be moved by copying its bytes.
//   2. result() is the exact sum rounded to nearest, ties to even (a single rounding, to double or to float).
//   3. NaN and infinities follow PostgreSQL: NaN wins, opposite infinities make NaN.
// Owns:    nothing; a sum whose values lie too far apart keeps 272 bytes in the arena, for as long as the
// arena lives. Source:  the wide form is the fixed-point accumulator of Kulisch; see R. Neal, "Fast Exact
// Summation Using Small and
//          Large Superaccumulators", 2015, for the problem and the measures.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

#include "data/column.h"
#include "data/snapshot.h"

namespace wrackline::expr {

class FloatSum {
 public:
  void add(double value, Arena& arena) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const uint32_t field = static_cast<uint32_t>(bits >> 52) & 0x7FF;
    // The place of the value's lowest bit in the window. Zero, subnormal, infinite and NaN (fields 0 and
    // 0x7FF) take the other way, as does a sum that has no window.
    const auto shift = static_cast<uint32_t>(static_cast<int32_t>(field) - kFieldBias - exponent_);
    if (shift <= kShiftMax && (flags_ & kWindow) != 0 && field - 1 < 0x7FE) {
      const __int128 magnitude = static_cast<__int128>((bits & kFraction) | kImplicit) << shift;
      __int128 sum = window();
      if (!__builtin_add_overflow(sum, static_cast<int64_t>(bits) < 0 ? -magnitude : magnitude, &sum))
          [[likely]] {
        set_window(sum);
        return;
      }
    }
    add_slowly(value, arena);
  }
  void merge(const FloatSum& other, Arena& arena);

  // As add(), but returns false and adds nothing if the sum would leave the finite values of a double (kBits
  // 64) or a float (kBits 32).
  template <int kBits>
  [[nodiscard]] bool add_in_range(double value, Arena& arena) {
    add(value, arena);
    // A window is below 2^(exponent_ + 127); only near the end of the range is there something to look at.
    constexpr int32_t kEnd = kBits == 64 ? 1024 : 128;
    if ((flags_ & kWide) == 0 && exponent_ + 128 < kEnd) [[likely]]
      return true;
    return undo_if_too_large(value, kBits, arena);
  }

  bool is_empty() const { return flags_ == 0; }
  bool is_finite() const { return (flags_ & (kNan | kPlusInfinity | kMinusInfinity)) == 0; }
  // The sum as a double; infinite although is_finite() if it is too large. Requires: !is_empty().
  double result() const;
  // The sum as a float, rounded once.
  double result_real() const;
  // The sum divided by `count`, rounded once. Requires: !is_empty(), count > 0.
  double mean(uint64_t count) const;
  // The exact sum: words * 2^exponent, lowest word first. Requires: is_finite().
  struct Exact {
    std::array<uint64_t, 36> words{};
    int32_t exponent = 0;
    bool negative = false;
  };
  Exact exact() const;

  // Writes the state, and becomes what was written, in an empty one.
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in, Arena& arena);

 private:
  // flags_
  static constexpr uint8_t kPresent = 1;  // a value was added
  static constexpr uint8_t kNan = 2;
  static constexpr uint8_t kPlusInfinity = 4;
  static constexpr uint8_t kMinusInfinity = 8;
  static constexpr uint8_t kWindow = 16;        // the words are the sum in units of 2^exponent_
  static constexpr uint8_t kWide = 32;          // words_[0] is the address of a wide sum
  static constexpr uint8_t kNotMinusZero = 64;  // a value other than -0 was added

  static constexpr int32_t kFieldBias = 1075;  // a double is fraction * 2^(field - 1075)
  static constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
  static constexpr uint64_t kImplicit = uint64_t{1} << 52;
  static constexpr uint32_t kShiftMax = 73;  // 53 bits shifted by it stay below the sign

  struct Wide;
  struct Magnitude;

  __int128 window() const {
    return static_cast<__int128>((static_cast<unsigned __int128>(words_[1]) << 64) | words_[0]);
  }
  void set_window(__int128 sum) {
    words_[0] = static_cast<uint64_t>(sum);
    words_[1] = static_cast<uint64_t>(static_cast<unsigned __int128>(sum) >> 64);
  }
  Wide* wide() const;
  void add_slowly(double value, Arena& arena);
  void add_finite(bool negative, uint64_t fraction, int32_t exponent, Arena& arena);
  bool add_to_window(bool negative, uint64_t fraction, int32_t exponent);
  Wide* make_wide(Arena& arena);
  bool undo_if_too_large(double value, int bits, Arena& arena);
  double special() const;
  Magnitude magnitude() const;

  uint64_t words_[2];
  int32_t exponent_;
  uint8_t flags_;
  uint8_t unused_[3];
};
static_assert(sizeof(FloatSum) == 24 && std::is_trivially_copyable_v<FloatSum>);

}  // namespace wrackline::expr
