#include "report/measurement_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "disorder/report_text.h"
#include "disorder/test_stream.h"
#include "report/markup.h"
#include "report/page_check_test.h"

namespace wrackline::report {
namespace {

using disorder::TestRecord;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kStart = 1'700'000'000'000'000;
constexpr int64_t kSecond = 1'000'000;

ProfileReport profile_of(const std::vector<TestRecord>& records, const std::vector<std::string>& names) {
  DelayProfile profile{ProfileOptions{}};
  for (const std::string& name : names) profile.partition(name);
  for (const TestRecord& record : records) {
    DelayBatch batch;
    batch.partition = record.partition;
    batch.event_us = std::span(&record.event_us, 1);
    if (record.arrival_us) batch.arrival_us = std::span(&*record.arrival_us, 1);
    EXPECT_TRUE(profile.add(batch).has_value());
  }
  return *profile.finish();
}

std::vector<TestRecord> random_records(uint64_t seed, double without_arrival = 0, bool absurd = false) {
  std::mt19937_64 random(seed);
  return disorder::random_stream(
      random, {.records = 2000, .partitions = 3, .without_arrival = without_arrival, .absurd = absurd});
}

const std::vector<std::string> kNames = {"plain", "</title><script>alert(1)</script>", "\xFF\u202Enames\""};

TEST(ProfilePage, SaysWhatTheProfileSays) {
  const ProfileReport profile = profile_of(random_records(1), kNames);
  const std::string html = page_html(profile_page(profile, {{"unparseable", 3}}, "events.csv"));
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("2,000 records in 3 partitions; not measured: 3 unparseable."));
  const QuantileSet& delay = *profile.all.delay_us;
  for (const int64_t value : {delay.min, delay.p50, delay.p95, delay.p99, delay.p99_9, delay.max}) {
    EXPECT_THAT(html, HasSubstr(format("<td>{}</td>", short_span(value))));
  }
  for (const Finding& finding : profile.findings)
    EXPECT_THAT(html, HasSubstr(escaped(sentence(finding.text))));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(ProfilePage, WithoutArrivalTimesOnlyDisorderIsShown) {
  const std::string html =
      page_html(profile_page(profile_of(random_records(2, 1), kNames), {}, "events.csv"));
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("none with an arrival time"));
  EXPECT_THAT(html, HasSubstr("<section id=\"disorder\""));
  EXPECT_THAT(html, Not(HasSubstr("<section id=\"delay\"")));
}

TEST(ProfilePage, OneRecordIsTooFewAndStillAPage) {
  const std::string html =
      page_html(profile_page(profile_of({{0, kStart, kStart + kSecond, 0}}, {"only"}), {}, "one"));
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("1 record."));
  EXPECT_THAT(html, HasSubstr("insufficient"));
}

TEST(ProfilePage, NoRecordsAtAll) {
  const std::string html = page_html(profile_page(profile_of({}, {}), {{"unparseable", 2}}, "none"));
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("0 records"));
}

TEST(ProfilePage, AllDelaysNegativeOrEqualOrAbsurd) {
  std::vector<TestRecord> negative;
  std::vector<TestRecord> equal;
  for (int64_t i = 0; i < 300; ++i) {
    negative.push_back({0, kStart + i * kSecond, kStart - (i % 7 + 1) * kSecond, 0});
    equal.push_back({0, kStart, kStart, 0});
  }
  expect_sound(page_html(profile_page(profile_of(negative, {"a"}), {}, "negative")));
  expect_sound(page_html(profile_page(profile_of(equal, {"a"}), {}, "equal")));
  for (uint64_t seed = 3; seed < 13; ++seed) {
    expect_sound(page_html(profile_page(profile_of(random_records(seed, 0.1, true), kNames), {}, "absurd")));
  }
}

TEST(ProfilePage, ManyPartitionsAreCountedNotDrawn) {
  std::vector<TestRecord> records;
  std::vector<std::string> names;
  for (PartitionId i = 0; i < 250; ++i) {
    names.push_back(format("p{}", i));
    records.push_back({i, kStart + i, kStart + 2 * kSecond, 0});
    records.push_back({i, kStart, kStart + 3 * kSecond, 0});
  }
  const std::string html = page_html(profile_page(profile_of(records, names), {}, "many"));
  expect_sound(html);
  EXPECT_THAT(html, HasSubstr("24 of 250 partitions are drawn."));
  EXPECT_THAT(html, HasSubstr("150 more are in the JSON document."));
  EXPECT_LT(html.size(), 400'000U);
}

TEST(BudgetPage, MarksBothSpansAndTheirCost) {
  BudgetOptions options;
  options.window = seconds(10);
  LatenessBudget budget(options);
  for (const std::string& name : kNames) budget.partition(name);
  for (const TestRecord& record : random_records(21)) {
    DelayBatch batch;
    batch.partition = record.partition;
    batch.event_us = std::span(&record.event_us, 1);
    batch.arrival_us = std::span(&*record.arrival_us, 1);
    ASSERT_TRUE(budget.add(batch).has_value());
  }
  const BudgetReport report = *budget.finish();
  const std::string html = page_html(budget_page(report, {}, "events.csv"));
  expect_sound(html);
  EXPECT_THAT(html,
              HasSubstr(format("watermark_delay = &#39;{}&#39;", span_literal(report.watermark_delay_us))));
  EXPECT_THAT(html, HasSubstr(format(">d {}</text>", short_span(report.watermark_delay_us))));
  EXPECT_THAT(html, HasSubstr("Each partition if it were alone"));
}

}  // namespace
}  // namespace wrackline::report
