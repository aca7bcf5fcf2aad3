#include "report/profile_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page_check_test.h"

namespace wrackline::report {
namespace {

using testing::HasSubstr;

constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kStart = 1'700'000'000'000'000;

DelaySeries some_series() {
  DelaySeries series;
  series.width_us = kHour;
  for (int64_t i = 0; i < 48; ++i) {
    if (i == 20) continue;  // an interval without records
    DelayInterval interval;
    interval.start_us = kStart + i * kHour;
    interval.records = 100 + i;
    interval.p50_us = i < 30 ? 2'000'000 : 60'000'000;
    interval.p95_us = 2 * interval.p50_us;
    interval.p99_us = 4 * interval.p50_us;
    series.intervals.push_back(interval);
  }
  RegimeChange change;
  change.at_us = kStart + 30 * kHour;
  change.text = "the floor of delay rose from 2 s to 60 s";
  series.changes.push_back(change);
  return series;
}

TEST(SeriesPart, NumbersChangesAndTellsThemInSentences) {
  Page page;
  page.series = series_part(some_series());
  ASSERT_TRUE(page.series.has_value());
  EXPECT_EQ(page.series->points.size(), 47U);
  const std::string html = page_html(page);
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("<li>The floor of delay rose from 2 s to 60 s.</li>"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"change 1: The floor"));
  EXPECT_THAT(html, HasSubstr("<bdi>2023-11-14 22:13:20</bdi>"));
}

TEST(SeriesPart, OneIntervalIsNoCourseOfTime) {
  DelaySeries series = some_series();
  series.intervals.resize(1);
  EXPECT_FALSE(series_part(series).has_value());
  EXPECT_FALSE(series_part(DelaySeries{}).has_value());
}

TEST(ProducersPart, DrawsOffsetsAndNamesFaults) {
  ProducersReport report;
  report.column = "vehicle";
  ProducerSummary ahead;
  ahead.producer = "<bus 7>";
  ahead.records = 50;
  ahead.offset_estimated_us = kHour;
  ahead.offset_proven_us = kHour - 5'000'000;
  ahead.drift_ppm = 12.5;
  ahead.fault = ClockFault::kAhead;
  ahead.text = "its clock is ahead by at least 59 min";
  ProducerSummary sound;
  sound.producer = "bus 8";
  sound.records = 70;
  sound.offset_estimated_us = -200'000;
  ProducerSummary unknown;
  unknown.producer = "bus 9";
  report.list = {ahead, sound, unknown};
  Page page;
  page.producers = producers_part(report);
  ASSERT_TRUE(page.producers.has_value());
  EXPECT_EQ(page.producers->rows.size(), 2U) << "no offset, no row in the figure";
  EXPECT_EQ(page.producers->table.rows.size(), 3U);
  const std::string html = page_html(page);
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("vehicle &lt;bus 7&gt;: Its clock is ahead by at least 59 min."));
  EXPECT_THAT(html, HasSubstr("<td>12.5 ppm</td>"));
  EXPECT_FALSE(producers_part(ProducersReport{}).has_value());
}

}  // namespace
}  // namespace wrackline::report
