// 64-bit hashes of values: equal values (as SQL compares them) hash alike, on every machine and in every run.
//
// Stored: sketches keep what they made of these numbers, so a change of them is a change of format.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "data/decimal.h"
#include "data/types.h"
#include "expr/ordering.h"

namespace wrackline::expr {

// Every bit of the result depends on every bit of x (the finalizer of MurmurHash3). A bijection.
constexpr uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33);
}

// The value with one spelling for equal doubles: 0 for -0, one NaN.
inline double plain_double(double value) {
  if (value == 0) return 0;
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

uint64_t hash_value(std::string_view bytes);
inline uint64_t hash_value(int64_t value) {
  return mix_bits(static_cast<uint64_t>(value) + 0x9E3779B97F4A7C15U);
}
inline uint64_t hash_value(uint8_t value) {
  return hash_value(static_cast<int64_t>(value));
}
inline uint64_t hash_value(double value) {
  return hash_value(std::bit_cast<int64_t>(plain_double(value)));
}
inline uint64_t hash_value(const Decimal& value) {
  return mix_bits(hash(value));
}
inline uint64_t hash_value(const Interval& value) {
  const auto length = static_cast<unsigned __int128>(interval_length(value));
  return mix_bits(mix_bits(static_cast<uint64_t>(length)) ^ static_cast<uint64_t>(length >> 64));
}

}  // namespace wrackline::expr
