#include "disorder/modes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace wrackline::disorder {
namespace {

std::optional<ModeSplit> split_of(const std::function<double()>& draw, size_t count, double scale = 1000,
                                  int64_t resolution = 1) {
  DelayHistogram histogram;
  for (size_t i = 0; i < count; ++i) histogram.add(static_cast<int64_t>(std::min(draw() * scale, 9e18)));
  return find_mode_split(BucketTable(histogram), {.resolution = resolution});
}

// The distributions that have one mode and a heavy tail must not be split.
TEST(Modes, OneHumpIsNotSplit) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal;
  const auto lognormal = [&](double sigma) { return 300 * std::exp(sigma * normal(random)); };
  const std::vector<std::function<double()>> shapes = {
      [&] { return lognormal(0.8); }, [&] { return lognormal(1.6); },
      [&] { return 50 / std::pow(1 - unit(random), 1 / 1.1); },
      [&] { return -400 * std::log(1 - unit(random)); }, [&] { return 1000 * unit(random); }};
  for (size_t shape = 0; shape < shapes.size(); ++shape) {
    for (const size_t count : {2000, 20'000, 100'000, 2000, 20'000, 2000}) {
      EXPECT_FALSE(split_of(shapes[shape], count).has_value()) << "shape " << shape << ", " << count;
    }
  }
}

TEST(Modes, OfflineModeIsFoundWithItsShare) {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0, 1);
  for (const double share : {0.005, 0.02, 0.1, 0.3}) {
    for (int round = 0; round < 4; ++round) {
      DelayHistogram histogram;
      int64_t offline = 0;
      for (int i = 0; i < 50'000; ++i) {
        const bool waits = unit(random) < share;
        offline += waits ? 1 : 0;
        const double ms =
            waits ? 7.2e6 * std::exp(0.9 * normal(random)) : 300 * std::exp(0.7 * normal(random));
        histogram.add(static_cast<int64_t>(ms * 1000));
      }
      const BucketTable table(histogram);
      const auto split = find_mode_split(table, {});
      ASSERT_TRUE(split.has_value()) << share;
      const uint64_t above =
          table.count() - table.count_at_most_index(DelayHistogram::bucket_of(split->split));
      EXPECT_NEAR(static_cast<double>(above), static_cast<double>(offline),
                  0.1 * static_cast<double>(offline));
      EXPECT_NEAR(std::log2(split->lower_peak / 300e3), 0, 1);
      EXPECT_NEAR(std::log2(split->upper_peak / 7.2e9), 0, 1.5);
      EXPECT_EQ(split->split, DelayHistogram::upper_edge(DelayHistogram::bucket_of(split->split)));
    }
  }
}

TEST(Modes, TooFewRecordsAreNotSplit) {
  DelayHistogram histogram;
  histogram.add(1000, 10'000);
  histogram.add(1'000'000'000, 199);
  EXPECT_FALSE(find_mode_split(BucketTable(histogram), {}).has_value());
  histogram.add(1'000'000'000, 1);
  EXPECT_TRUE(find_mode_split(BucketTable(histogram), {}).has_value());
}

// Steps of a coarse clock are not modes: 0, 1 and 2 weeks.
TEST(Modes, ClockStepsAreNotModes) {
  constexpr int64_t kWeek = int64_t{7} * 86'400'000'000;
  DelayHistogram histogram;
  histogram.add(0, 2000);
  histogram.add(kWeek, 30'000);
  histogram.add(2 * kWeek, 12'000);
  histogram.add(3 * kWeek, 4'000);
  EXPECT_FALSE(find_mode_split(BucketTable(histogram), {.resolution = kWeek}).has_value());
}

TEST(Modes, NegativeAndEmptyAreNoMode) {
  DelayHistogram histogram;
  EXPECT_FALSE(find_mode_split(BucketTable(histogram), {}).has_value());
  histogram.add(-1000, 10'000);
  histogram.add(-10'000'000, 10'000);
  EXPECT_FALSE(find_mode_split(BucketTable(histogram), {}).has_value());
}

TEST(Modes, EndsOfTheRange) {
  DelayHistogram histogram;
  histogram.add(std::numeric_limits<int64_t>::max(), 1000);
  histogram.add(0, 1000);
  histogram.add(std::numeric_limits<int64_t>::min(), 1000);
  const auto split = find_mode_split(BucketTable(histogram), {});
  ASSERT_TRUE(split.has_value());
  EXPECT_GT(split->split, 0);
  EXPECT_LT(split->split, std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace wrackline::disorder
