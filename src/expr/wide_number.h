// Unsigned numbers of 512 bits: whole, or with a binary point (320 bits after it, some 96 decimal digits).
// Enough to round the roots, logarithms and powers of 38-digit decimals correctly.
//
// Requires everywhere: results fit; the callers see to it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace wrackline::expr {

class Wide {
 public:
  static constexpr int kWords = 8;
  static constexpr int kFractionBits = 320;

  Wide() = default;
  explicit Wide(unsigned __int128 value) {
    words_[0] = static_cast<uint64_t>(value);
    words_[1] = static_cast<uint64_t>(value >> 64);
  }
  static Wide fixed(unsigned __int128 whole) { return Wide(whole).shifted_left(kFractionBits); }
  static Wide ten_to(int exponent);  // Requires: 0 <= exponent <= 153

  bool is_zero() const;
  int bit_count() const;  // 0 for zero
  bool bit(int index) const { return (words_[static_cast<size_t>(index) / 64] >> (index % 64) & 1) != 0; }
  unsigned __int128 low128() const { return (static_cast<unsigned __int128>(words_[1]) << 64) | words_[0]; }

  Wide shifted_left(int bits) const;
  Wide shifted_right(int bits) const;
  Wide divided_by(uint64_t divisor) const;
  // The quotient and, if wanted, the remainder.
  Wide divided_by(const Wide& divisor, Wide* rest = nullptr) const;
  Wide root() const;  // the greatest whole number whose square is at most this

  friend Wide operator+(const Wide& a, const Wide& b);
  friend Wide operator-(const Wide& a, const Wide& b);  // Requires: b <= a
  friend Wide operator*(const Wide& a, const Wide& b);
  // Product and quotient of fixed-point numbers.
  static Wide multiply_fixed(const Wide& a, const Wide& b);
  static Wide divide_fixed(const Wide& a, const Wide& b);

  friend std::strong_ordering operator<=>(const Wide& a, const Wide& b);
  friend bool operator==(const Wide& a, const Wide& b) = default;

 private:
  std::array<uint64_t, kWords> words_{};  // lowest first
};

}  // namespace wrackline::expr
