#include "disorder/series_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace wrackline::disorder {
namespace {

constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kStart = 1'704'067'200'000'000;  // 2024-01-01T00:00:00Z

DelaySeries some_series() {
  DelaySeries series;
  series.width_us = kHour;
  for (int64_t i = 0; i < 12; ++i) {
    if (i == 4) continue;
    DelayInterval interval;
    interval.start_us = kStart + i * kHour;
    interval.records = 10;
    interval.p50_us = i < 8 ? 1'000'000 : 1'000'000'000;
    series.intervals.push_back(interval);
  }
  RegimeChange change;
  change.at_us = kStart + 8 * kHour;
  series.changes.push_back(change);
  return series;
}

TEST(SeriesChart, DrawsGapsStepsAndChanges) {
  EXPECT_EQ(series_chart(some_series(), {.width = 80, .unicode = false}),
            "  median delay over time, 1 s to 16.7 min, logarithmic\n"
            "\n"
            "          ####\n"
            "          ####\n"
            "          ####\n"
            "  :::: :::####\n"
            "          ^\n"
            "          1\n"
            "  2024-01-01T00:00:00Z to 2024-01-01T12:00:00Z\n");
}

TEST(SeriesChart, NeedsTwoIntervals) {
  DelaySeries series = some_series();
  series.intervals.resize(1);
  EXPECT_EQ(series_chart(series, {}), "");
  EXPECT_EQ(series_chart(DelaySeries{}, {}), "");
}

TEST(SeriesChart, ManyIntervalsShareColumns) {
  DelaySeries series;
  series.width_us = kHour;
  for (int64_t i = 0; i < 400; ++i) {
    DelayInterval interval;
    interval.start_us = kStart + i * kHour;
    interval.records = 1;
    interval.p50_us = (i - 200) * 1'000'000;
    series.intervals.push_back(interval);
  }
  const std::string chart = series_chart(series, {.width = 60, .unicode = false});
  for (size_t at = 0; at < chart.size();) {
    const size_t end = chart.find('\n', at);
    if (at > 0) {
      EXPECT_LE(end - at, 60U);
    }
    at = end + 1;
  }
}

TEST(SeriesChart, TakesAnyTimesAndDelays) {
  DelaySeries series = some_series();
  series.intervals.front().p50_us = std::numeric_limits<int64_t>::min();
  series.intervals.back().p50_us = std::numeric_limits<int64_t>::max();
  series.changes.front().at_us = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(series_chart(series, {.width = 80, .unicode = true}), testing::HasSubstr("█"));
}

}  // namespace
}  // namespace wrackline::disorder
