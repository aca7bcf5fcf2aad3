#include "report/span_axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "report/markup.h"

namespace wrackline::report {
namespace {

constexpr double kSecond = 1e6;

SpanAxis axis_of(std::initializer_list<double> values, SpanAxis::Place place = {0, 700}) {
  SpanRange range;
  for (const double value : values) range.include(value);
  return SpanAxis(range, place);
}

TEST(SpanAxis, PutsDecadesAtEqualDistances) {
  const SpanAxis axis = axis_of({kSecond, 1000 * kSecond});
  const double step = axis.at(10 * kSecond) - axis.at(kSecond);
  EXPECT_NEAR(axis.at(100 * kSecond) - axis.at(10 * kSecond), step, 1e-6);
  EXPECT_GT(step, 200);
  EXPECT_FALSE(axis.has_zero());
}

TEST(SpanAxis, MirrorsNegativeSpansAcrossZero) {
  const SpanAxis axis = axis_of({-100 * kSecond, -kSecond, 0, kSecond, 100 * kSecond});
  EXPECT_LT(axis.at(-100 * kSecond), axis.at(-kSecond));
  EXPECT_LT(axis.at(-kSecond), axis.at(0));
  EXPECT_LT(axis.at(0), axis.at(kSecond));
  EXPECT_NEAR(axis.at(0) - axis.at(-100 * kSecond), axis.at(100 * kSecond) - axis.at(0), 1e-6);
}

TEST(SpanAxis, GoesUpWhenAsked) {
  const SpanAxis axis = axis_of({kSecond, 100 * kSecond}, {200, 10});
  EXPECT_GT(axis.at(kSecond), axis.at(100 * kSecond));
}

TEST(SpanAxis, OneValueHasAnAxis) {
  for (const double only : {0.0, 1.0, -5 * kSecond, 3.7 * kSecond, 9.2e18, -9.2e18}) {
    const SpanAxis axis = axis_of({only});
    EXPECT_GE(axis.at(only), 0);
    EXPECT_LE(axis.at(only), 700);
    EXPECT_FALSE(axis.ticks(12, true).empty()) << only;
  }
}

TEST(SpanAxis, ClampsWhatLiesBeyond) {
  const SpanAxis axis = axis_of({kSecond, 10 * kSecond});
  EXPECT_EQ(axis.at(1e18), 700);
  EXPECT_EQ(axis.at(-1e18), 0);
}

TEST(SpanAxis, ValueAtTurnsAtAround) {
  const SpanAxis axis = axis_of({-3 * kSecond, 0, 250, 40'000 * kSecond});
  for (const double value : {-3 * kSecond, -2.8 * kSecond, 300.0, 5e5, 3e10}) {
    EXPECT_NEAR(axis.value_at(axis.at(value)) / value, 1, 1e-9) << value;
  }
  EXPECT_EQ(axis.value_at(axis.at(0)), 0);
}

TEST(SpanAxis, KeepsOrderAndItsLabelsApart) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    SpanRange range;
    std::vector<double> values;
    for (int i = 0; i < 6; ++i) {
      const int shift = static_cast<int>(random() % 63);
      values.push_back(static_cast<double>(static_cast<int64_t>(random()) >> shift));
      range.include(values.back());
    }
    std::ranges::sort(values);
    const SpanAxis axis(range, {20, 680});
    for (size_t i = 1; i < values.size(); ++i) {
      ASSERT_LE(axis.at(values[i - 1]), axis.at(values[i]) + 1e-9) << "round " << round;
    }
    const std::vector<AxisTick> ticks = axis.ticks(12, true);
    ASSERT_FALSE(ticks.empty()) << "round " << round;
    for (size_t i = 1; i < ticks.size(); ++i) {
      const double space = ticks[i].at - ticks[i - 1].at;
      ASSERT_GE(space, 12 + (label_width(ticks[i].label) + label_width(ticks[i - 1].label)) / 2 - 1e-6)
          << "round " << round << ": " << ticks[i - 1].label << " and " << ticks[i].label;
    }
  }
}

}  // namespace
}  // namespace wrackline::report
