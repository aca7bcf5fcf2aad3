// The plain loops over columns of times that profiles spend their time in, built for several instruction
// sets; the processor's best is chosen when the program starts.
//
// Why: baseline x86-64 has no 64-bit compare in vectors. Measured on a server core, per value: minimum,
// maximum and sum 0.50 ns, 0.13 with AVX-512; counting 0.27 ns, 0.08 with AVX2. The loops are written so that
// a compiler can turn them into vectors; nothing depends on that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wrackline::disorder {

struct Extremes {
  int64_t min = 0;
  int64_t max = 0;
  int64_t wrapped_sum = 0;  // the true sum modulo 2^64
};
// Requires: not empty.
Extremes extremes(std::span<const int64_t> values);

size_t count_below(std::span<const int64_t> values, int64_t limit);
size_t count_above(std::span<const int64_t> values, int64_t limit);
// How many lie outside [first, first + width), without overflow wherever that is.
size_t count_outside(std::span<const int64_t> values, int64_t first, uint64_t width);

// Where DelayHistogram counts each value: the number of its page (powers of two, those of negative values
// from kNegativePages on) times 128, plus its place in the page. Measured: 2 ns for a value and its count
// with AVX2 or AVX-512, where one value after the other takes 4.
inline constexpr uint32_t kNegativePages = 58;
void find_places(std::span<const int64_t> values, uint32_t* to);

// Whether all of them are set; true of none.
bool all_set(std::span<const uint8_t> flags);
// Whether all are the first one; true of none.
bool all_equal(std::span<const uint32_t> values);

// True if some value is beyond 2^62 in magnitude: only then can the difference of two overflow.
bool any_far(std::span<const int64_t> values);
// to[i] = a[i] - b[i]. Requires: equally long; no difference overflows.
void subtract(std::span<const int64_t> a, std::span<const int64_t> b, int64_t* to);

// Distances from `base` in fewer bytes, and back. Requires: the distances fit.
void narrow(std::span<const int64_t> values, int64_t base, uint32_t* to);
void narrow(std::span<const int64_t> values, int64_t base, uint16_t* to);
void narrow(std::span<const int64_t> values, int64_t base, uint8_t* to);
void widen(const uint32_t* from, int64_t base, std::span<int64_t> values);
void widen(const uint16_t* from, int64_t base, std::span<int64_t> values);
void widen(const uint8_t* from, int64_t base, std::span<int64_t> values);

}  // namespace wrackline::disorder
