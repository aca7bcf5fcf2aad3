#include "disorder/kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

// By features: by "arch=" GCC picks a version only on the processor models that it knows by name.
// Sanitizers start after the code that picks a version would already need them.
#if defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WRACKLINE_VERSIONS __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define WRACKLINE_VERSIONS
#endif

namespace wrackline::disorder {
namespace {

int64_t wrapping_subtract(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrapping_add(int64_t a, uint64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
}

}  // namespace

WRACKLINE_VERSIONS Extremes extremes(std::span<const int64_t> values) {
  int64_t low = values[0];
  int64_t high = values[0];
  uint64_t sum = 0;
  for (const int64_t value : values) {
    low = value < low ? value : low;
    high = value > high ? value : high;
    sum += static_cast<uint64_t>(value);
  }
  return {low, high, static_cast<int64_t>(sum)};
}

WRACKLINE_VERSIONS size_t count_below(std::span<const int64_t> values, int64_t limit) {
  size_t count = 0;
  for (const int64_t value : values) count += value < limit ? 1 : 0;
  return count;
}

WRACKLINE_VERSIONS size_t count_above(std::span<const int64_t> values, int64_t limit) {
  size_t count = 0;
  for (const int64_t value : values) count += value > limit ? 1 : 0;
  return count;
}

WRACKLINE_VERSIONS size_t count_outside(std::span<const int64_t> values, int64_t first, uint64_t width) {
  size_t count = 0;
  for (const int64_t value : values)
    count += static_cast<uint64_t>(wrapping_subtract(value, first)) >= width ? 1 : 0;
  return count;
}

// The width in bits comes from the exponent of a double, because vectors cannot count leading zeros before
// AVX-512CD. A double holds 52 bits exactly, so wider numbers lose twelve first.
WRACKLINE_VERSIONS void find_places(std::span<const int64_t> values, uint32_t* to) {
  constexpr int kSubBits = 7;
  constexpr int kExactBits = 52;
  constexpr uint64_t kTwoTo52 = 0x4330000000000000U;  // as the bits of a double
  constexpr uint64_t kExponentBias = 1023;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool negative = values[i] < 0;
    const uint64_t u = negative ? 0 - static_cast<uint64_t>(values[i]) : static_cast<uint64_t>(values[i]);
    const uint64_t low = u | (uint64_t{1} << kSubBits);
    const uint64_t lost = low >> kExactBits != 0 ? 12 : 0;
    const double exact = std::bit_cast<double>((low >> lost) | kTwoTo52) - 0x1p52;
    const uint64_t log = (std::bit_cast<uint64_t>(exact) >> kExactBits) - kExponentBias + lost;
    const uint64_t shift = log - kSubBits;
    const uint64_t place = (shift << kSubBits) + (u >> shift);
    to[i] = static_cast<uint32_t>(place + (negative ? kNegativePages << kSubBits : 0));
  }
}

bool all_set(std::span<const uint8_t> flags) {
  return flags.empty() || std::memchr(flags.data(), 0, flags.size()) == nullptr;
}

WRACKLINE_VERSIONS bool all_equal(std::span<const uint32_t> values) {
  if (values.empty()) return true;
  const uint32_t first = values[0];
  uint32_t differences = 0;
  for (const uint32_t value : values) differences |= value ^ first;
  return differences == 0;
}

WRACKLINE_VERSIONS bool any_far(std::span<const int64_t> values) {
  // Beyond 2^62 the two top bits differ.
  int64_t far = 0;
  for (const int64_t value : values) far |= value ^ static_cast<int64_t>(static_cast<uint64_t>(value) << 1);
  return far < 0;
}

WRACKLINE_VERSIONS void subtract(std::span<const int64_t> a, std::span<const int64_t> b, int64_t* to) {
  for (size_t i = 0; i < a.size(); ++i) to[i] = wrapping_subtract(a[i], b[i]);
}

WRACKLINE_VERSIONS void narrow(std::span<const int64_t> values, int64_t base, uint32_t* to) {
  for (size_t i = 0; i < values.size(); ++i)
    to[i] = static_cast<uint32_t>(wrapping_subtract(values[i], base));
}
WRACKLINE_VERSIONS void narrow(std::span<const int64_t> values, int64_t base, uint16_t* to) {
  for (size_t i = 0; i < values.size(); ++i)
    to[i] = static_cast<uint16_t>(wrapping_subtract(values[i], base));
}
WRACKLINE_VERSIONS void narrow(std::span<const int64_t> values, int64_t base, uint8_t* to) {
  for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<uint8_t>(wrapping_subtract(values[i], base));
}

WRACKLINE_VERSIONS void widen(const uint32_t* from, int64_t base, std::span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = wrapping_add(base, from[i]);
}
WRACKLINE_VERSIONS void widen(const uint16_t* from, int64_t base, std::span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = wrapping_add(base, from[i]);
}
WRACKLINE_VERSIONS void widen(const uint8_t* from, int64_t base, std::span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = wrapping_add(base, from[i]);
}

}  // namespace wrackline::disorder
