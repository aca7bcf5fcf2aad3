// Unsigned numbers of a fixed number of 64-bit words. `Wide` has 512 bits: a whole number, or one with a
// binary point (320 bits after it, some 96 decimal digits), enough to round the roots, logarithms and powers
// of 38-digit decimals correctly. Variances need wider ones.
//
// Requires everywhere: results fit; the callers see to it. Differences below zero wrap, which makes + and -
// two's complement arithmetic for those who read the top bit as a sign.
// Source: division is algorithm D of Knuth, TAOCP volume 2, 4.3.1.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace wrackline::expr {

template <int kWordCount>
class WideNumber {
 public:
  static constexpr int kWords = kWordCount;
  static constexpr int kFractionBits = 320;

  WideNumber() = default;
  explicit WideNumber(unsigned __int128 value) {
    words_[0] = static_cast<uint64_t>(value);
    words_[1] = static_cast<uint64_t>(value >> 64);
  }
  // Lowest word first. Requires: what does not fit is zero.
  explicit WideNumber(std::span<const uint64_t> words) {
    std::copy_n(words.begin(), std::min<size_t>(words.size(), kWordCount), words_.begin());
  }
  static WideNumber fixed(unsigned __int128 whole) { return WideNumber(whole).shifted_left(kFractionBits); }
  static WideNumber ten_to(int exponent);  // Requires: 10^exponent fits

  std::span<const uint64_t> words() const { return words_; }
  bool is_zero() const;
  int bit_count() const;    // 0 for zero
  int zeros_below() const;  // zero bits under the lowest one. Requires: not zero
  bool bit(int index) const { return (words_[static_cast<size_t>(index) / 64] >> (index % 64) & 1) != 0; }
  unsigned __int128 low128() const { return (static_cast<unsigned __int128>(words_[1]) << 64) | words_[0]; }

  WideNumber shifted_left(int bits) const;
  WideNumber shifted_right(int bits) const;
  WideNumber divided_by(uint64_t divisor) const;
  // The quotient and, if wanted, the remainder.
  WideNumber divided_by(const WideNumber& divisor, WideNumber* rest = nullptr) const;
  WideNumber root() const;  // the greatest whole number whose square is at most this

  friend WideNumber operator+(const WideNumber& a, const WideNumber& b) { return a.plus(b); }
  friend WideNumber operator-(const WideNumber& a, const WideNumber& b) { return a.minus(b); }
  friend WideNumber operator*(const WideNumber& a, const WideNumber& b) { return a.times(b); }
  // Product and quotient of fixed-point numbers.
  static WideNumber multiply_fixed(const WideNumber& a, const WideNumber& b);
  static WideNumber divide_fixed(const WideNumber& a, const WideNumber& b);

  friend std::strong_ordering operator<=>(const WideNumber& a, const WideNumber& b) { return a.compared(b); }
  friend bool operator==(const WideNumber& a, const WideNumber& b) = default;

 private:
  WideNumber plus(const WideNumber& other) const;
  WideNumber minus(const WideNumber& other) const;
  WideNumber times(const WideNumber& other) const;
  std::strong_ordering compared(const WideNumber& other) const;
  size_t word_count() const;  // without zero words on top

  std::array<uint64_t, kWordCount> words_{};  // lowest first
};

using Wide = WideNumber<8>;

extern template class WideNumber<6>;
extern template class WideNumber<8>;
extern template class WideNumber<9>;
extern template class WideNumber<16>;
extern template class WideNumber<64>;

}  // namespace wrackline::expr
