#include "expr/wide_number.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace wrackline::expr {
namespace {

// Words that are all zeros or all ones are where a digit of a quotient is guessed too large.
template <int N>
WideNumber<N> random_number(std::mt19937_64& random, size_t words_max) {
  std::vector<uint64_t> words(random() % (words_max + 1));
  for (uint64_t& word : words) {
    const uint64_t kind = random() % 6;
    word = kind == 0   ? 0
           : kind == 1 ? ~uint64_t{0}
           : kind == 2 ? uint64_t{1} << 63
           : kind == 3 ? random() % 4
                       : random();
  }
  return WideNumber<N>(std::span<const uint64_t>(words));
}

template <int N>
void check_division(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20000; ++i) {
    const auto divisor = random_number<N>(random, N);
    if (divisor.is_zero()) continue;
    auto dividend = random_number<N>(random, N);
    if (i % 3 == 0 && divisor.bit_count() < 64 * N - 70) {  // just below and at a multiple
      dividend = divisor * WideNumber<N>(random()) - WideNumber<N>(random() % 2);
    }
    WideNumber<N> rest;
    const auto quotient = dividend.divided_by(divisor, &rest);
    ASSERT_LT(rest, divisor) << seed << ' ' << i;
    ASSERT_EQ(quotient * divisor + rest, dividend) << seed << ' ' << i;
  }
}

TEST(WideNumber, DividesWithARestBelowTheDivisor) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    check_division<8>(seed);
    check_division<16>(seed);
  }
}

TEST(WideNumber, RootsAreTheGreatestWhoseSquareFits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    auto square = random_number<16>(random, 15);
    if (i % 2 == 0) {  // around a square
      const auto side = random_number<16>(random, 7);
      square = side * side + WideNumber<16>(random() % 2);
      if (!square.is_zero()) square = square - WideNumber<16>(random() % 2);
    }
    const auto root = square.root();
    ASSERT_LE(root * root, square) << i;
    const auto next = root + WideNumber<16>(1);
    ASSERT_GT(next * next, square) << i;
  }
}

TEST(WideNumber, PowersOfTen) {
  Wide power(1);
  for (int exponent = 0; exponent <= 153; ++exponent) {
    ASSERT_EQ(Wide::ten_to(exponent), power) << exponent;
    power = power * Wide(10);
  }
  EXPECT_EQ(Wide::ten_to(20).zeros_below(), 20);
}

}  // namespace
}  // namespace wrackline::expr
