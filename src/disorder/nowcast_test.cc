#include "disorder/nowcast.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace wrackline::disorder {
namespace {

TEST(ShareArrived, IsTheShareOfDelaysUpToTheAge) {
  EXPECT_EQ(share_arrived({}, 10), std::nullopt);
  DelayHistogram delay;
  for (int i = 1; i <= 100; ++i) delay.add(i);
  EXPECT_DOUBLE_EQ(*share_arrived(delay, 0), 0);
  EXPECT_DOUBLE_EQ(*share_arrived(delay, 37), 0.37);
  EXPECT_DOUBLE_EQ(*share_arrived(delay, 1000), 1);
}

// A stream of a steady rate, its delays exponential: for windows of many ages, what is said to have arrived
// is what has.
TEST(WindowCompleteness, IsCalibratedOnASteadyStream) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> law(1 / 30e6);
  constexpr int64_t kNow = INT64_C(3'600'000'000);
  struct Count {
    double arrived = 0;
    double all = 0;
  };
  std::array<Count, 10> windows;
  DelayHistogram delay;
  for (int64_t event = 0; event < kNow; event += 2'000) {
    const auto late = static_cast<int64_t>(law(random));
    const bool arrived = event + late <= kNow;
    if (arrived) delay.add(late);
    const int64_t age_minutes = (kNow - 1 - event) / 60'000'000;
    if (age_minutes >= 10) continue;
    Count& window = windows[static_cast<size_t>(age_minutes)];
    window.all += 1;
    window.arrived += arrived ? 1 : 0;
  }
  for (size_t minute = 0; minute < windows.size(); ++minute) {
    const int64_t end = kNow - static_cast<int64_t>(minute) * 60'000'000;
    const auto share = window_completeness(delay, end - 60'000'000, end, kNow);
    ASSERT_TRUE(share.has_value());
    EXPECT_NEAR(*share, windows[minute].arrived / windows[minute].all, 0.015) << minute;
  }
  EXPECT_EQ(window_completeness(delay, kNow, kNow + 1, kNow), std::nullopt) << "it has not begun";
  // An open window: of what has happened so far.
  EXPECT_NEAR(*window_completeness(delay, kNow - 10'000'000, kNow + 50'000'000, kNow),
              1 - 3 * (1 - std::exp(-1 / 3.0)), 0.015);
}

// The rate doubles every minute: most of what has arrived is young, so a plain histogram has too many short
// delays. The triangle does not mind.
TEST(DelayTriangle, IsRightWhenTheRateGrows) {
  std::mt19937_64 random(2);
  std::exponential_distribution<double> law(1 / 30e6);
  constexpr int64_t kNow = INT64_C(600'000'000);
  DelayTriangle triangle(1'000'000, 400);
  DelayHistogram plain;
  double event = 0;
  while (event < kNow) {
    const auto at = static_cast<int64_t>(event);
    const auto arrival = at + static_cast<int64_t>(law(random));
    if (arrival < kNow) {
      triangle.add(at, arrival);
      plain.add(arrival - at);
    }
    event += 5e5 / std::exp2(event / 60e6);
  }
  for (const int64_t age : {10, 30, 60, 120}) {
    const double truth = 1 - std::exp(-(static_cast<double>(age) + 0.5) / 30);
    const auto share = triangle.share_arrived(age * 1'000'000, kNow - 1);
    ASSERT_TRUE(share.has_value());
    EXPECT_NEAR(*share, truth, 0.03) << age;
  }
  EXPECT_GT(*share_arrived(plain, 30'500'000), 0.7) << "truth is 0.64: the plain histogram is off";
}

TEST(DelayTriangle, SaysNothingWithoutOldRecords) {
  DelayTriangle triangle(1'000'000, 10);
  EXPECT_EQ(triangle.share_arrived(0, 0), std::nullopt);
  triangle.add(5'000'000, 5'500'000);
  EXPECT_EQ(triangle.share_arrived(0, 5'900'000), std::nullopt);
  EXPECT_DOUBLE_EQ(*triangle.share_arrived(0, 6'900'000), 1);
  triangle.add(-7'000'000, -6'000'000);
  triangle.add(5'000'000, 500'000'000);  // beyond the cells
  EXPECT_GT(triangle.share_arrived(9'000'000, 30'000'000), 0.99);
}

}  // namespace
}  // namespace wrackline::disorder
