// Integer arithmetic that notices when a result leaves its type. A column holds 16 and 32 bit integers as
// int64_t.
#pragma once

#include <cstdint>
#include <string_view>

namespace wrackline::expr {

// True if `value` lies within a signed integer of kBits bits.
template <int kBits>
constexpr bool fits(int64_t value) {
  if constexpr (kBits == 64) return true;
  if constexpr (kBits == 32) return value == static_cast<int32_t>(value);
  if constexpr (kBits == 16) return value == static_cast<int16_t>(value);
}
template <int kBits>
constexpr std::string_view integer_name() {
  return kBits == 64 ? "bigint" : kBits == 32 ? "integer" : "smallint";
}

// Each returns false if the exact result does not fit; `result` is then unspecified. Written without branches
// where the compiler can then work on several rows at once.
struct Add {
  static bool apply(int64_t a, int64_t b, int64_t& result) {
    result = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    return ((a ^ result) & (b ^ result)) >= 0;
  }
};
struct Subtract {
  static bool apply(int64_t a, int64_t b, int64_t& result) {
    result = static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    return ((a ^ b) & (a ^ result)) >= 0;
  }
};
struct Multiply {
  static bool apply(int64_t a, int64_t b, int64_t& result) { return !__builtin_mul_overflow(a, b, &result); }
};

}  // namespace wrackline::expr
