#include "report/sweep_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/markup.h"
#include "report/page_check_test.h"

namespace wrackline::report {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000;

SweepReport some_sweep(bool arrivals, int64_t records = 400) {
  SweepOptions options;
  options.window = seconds(10);
  options.delays = {seconds(0), seconds(1), seconds(2), seconds(5), seconds(20), seconds(60)};
  options.latenesses = {seconds(0), seconds(10), seconds(30)};
  LatenessSweep sweep(options);
  int64_t greatest = kMicrosMin;
  for (int64_t i = 0; i < records; ++i) {
    const int64_t event = (i + 100) * kSecond - (i % 7 == 0 ? (i % 40) * kSecond : 0);
    const int64_t arrival = (i + 101) * kSecond;
    const std::array<int64_t, 2> progress = {greatest, std::max(greatest, event)};
    SweepBatch batch;
    batch.event_us = std::span(&event, 1);
    if (arrivals) batch.arrival_us = std::span(&arrival, 1);
    batch.progress_before = progress;
    sweep.add(batch);
    greatest = progress[1];
  }
  return sweep.finish();
}

SweepSubject some_subject() {
  SweepSubject subject;
  subject.job = "job.sql";
  subject.view = "</h1><script>alert(1)</script>";
  subject.source = "clicks";
  subject.records = 400;
  subject.configured_delay_us = 2 * kSecond;
  subject.configured_lateness_us = 10 * kSecond;
  subject.notes = {"two sources are <joined>"};
  return subject;
}

TEST(SweepPage, ShowsFourStaircasesWithKneeAndJob) {
  const SweepReport sweep = some_sweep(true);
  ASSERT_TRUE(sweep.knee.has_value());
  const std::string html = page_html(sweep_page(sweep, some_subject()));
  expect_sound(html);
  for (const std::string_view id :
       {"sweep-late-wide", "sweep-latency-narrow", "sweep-ledgered-wide", "sweep-state-narrow"}) {
    EXPECT_THAT(html, HasSubstr(format("id=\"{}\"", id)));
  }
  EXPECT_THAT(html, HasSubstr(format(">knee {}<", short_span(sweep.candidates[*sweep.knee].delay.micros()))));
  EXPECT_THAT(html, HasSubstr(">job 2 s<"));
  EXPECT_THAT(html, HasSubstr("two sources are &lt;joined&gt;."));
  EXPECT_THAT(html, HasSubstr("&lt;/h1&gt;&lt;script&gt;"));
}

TEST(SweepPage, TablesHoldWhatTheStaircasesShow) {
  const SweepReport sweep = some_sweep(true);
  const std::string html = page_html(sweep_page(sweep, some_subject()));
  for (const SweepDelay& step : sweep.delays) {
    if (!step.kept) continue;
    EXPECT_THAT(html, HasSubstr(format("<td>{}</td><td>{}</td>", with_thousands(step.late),
                                       escaped(percent_text(step.late_share)))));
  }
  for (const SweepHorizon& step : sweep.horizons) {
    if (!step.kept) continue;
    EXPECT_THAT(html, HasSubstr(format("<td>{}</td><td>{}</td>", with_thousands(step.ledgered),
                                       escaped(percent_text(step.ledgered_share)))));
  }
}

TEST(SweepPage, WithoutArrivalTimesThereIsNoWait) {
  const std::string html = page_html(sweep_page(some_sweep(false), some_subject()));
  expect_sound(html);
  EXPECT_THAT(html, testing::Not(HasSubstr("sweep-latency")));
  EXPECT_THAT(html, HasSubstr("Without arrival times the wait for the first version is not known."));
}

TEST(SweepPage, NothingJudgedIsSaid) {
  const std::string html = page_html(sweep_page(some_sweep(true, 0), some_subject()));
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("No record reached a window"));
}

}  // namespace
}  // namespace wrackline::report
