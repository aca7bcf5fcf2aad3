#include "disorder/findings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "disorder/test_stream.h"

namespace wrackline::disorder {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000;  // 2023-11-14
constexpr int64_t kHour = 3'600'000'000;

std::vector<Finding> findings_of(const std::vector<TestRecord>& records, const std::string& unit = {}) {
  ProfileOptions options;
  options.time_unit = unit;
  DelayProfile profile(options);
  PartitionId last = 0;
  for (const TestRecord& record : records) last = std::max(last, record.partition);
  for (PartitionId id = 0; id <= last; ++id) profile.partition(partition_name(id));
  std::mt19937_64 random(1);
  EXPECT_TRUE(feed(profile, records, random, 900).has_value());
  return profile.finish()->findings;
}

std::vector<Finding> of_kind(const std::vector<Finding>& findings, Finding::Kind kind) {
  std::vector<Finding> found;
  for (const Finding& finding : findings) {
    if (finding.kind == kind) found.push_back(finding);
  }
  return found;
}

// Healthy records: a second or two late.
std::vector<TestRecord> healthy(size_t count) {
  std::vector<TestRecord> records;
  for (size_t i = 0; i < count; ++i) {
    const int64_t arrival = kNow + static_cast<int64_t>(i) * 1'000'000;
    records.push_back({0, arrival - 1'000'000 - static_cast<int64_t>(i * 7919 % 1'000'003), arrival, 0});
  }
  return records;
}

TEST(Findings, HealthyRecordsHaveNone) {
  EXPECT_TRUE(findings_of(healthy(2000), "ms").empty());
}

TEST(Findings, MillisecondsInASecondsFieldAreNamed) {
  auto records = healthy(100);
  for (size_t i = 0; i < 19; ++i) records[i * 5].event_us = (kNow / 1000 - 5) * 1'000'000;  // ms read as s
  const auto found = of_kind(findings_of(records, "s"), Finding::Kind::kWrongUnit);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].records, 19);
  EXPECT_EQ(found[0].unit, "ms");
  EXPECT_NE(found[0].text.find("in milliseconds but read as seconds"), std::string::npos) << found[0].text;
  EXPECT_NE(found[0].text.find("would be 2023-11-14T"), std::string::npos) << found[0].text;
}

TEST(Findings, SecondsReadAsMillisecondsOrMicroseconds) {
  auto records = healthy(10);
  for (TestRecord& record : records) record.event_us = record.event_us / 1'000'000 * 1000;  // s read as ms
  auto found = of_kind(findings_of(records, "ms"), Finding::Kind::kWrongUnit);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].unit, "s");
  records = healthy(10);
  for (TestRecord& record : records) record.event_us /= 1'000'000;  // s read as us
  found = of_kind(findings_of(records, "us"), Finding::Kind::kWrongUnit);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].unit, "s");
  // Without a declared unit only the factor is known.
  found = of_kind(findings_of(records), Finding::Kind::kWrongUnit);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].unit.empty());
  EXPECT_NE(found[0].text.find("1,000,000 times too small"), std::string::npos) << found[0].text;
}

TEST(Findings, OldOrFarTimesAreNoUnitFault) {
  auto records = healthy(10);
  records[1].event_us = 0;                                       // 1970, stays 1970 in any unit
  records[2].event_us = -2'000'000'000'000'000;                  // 1906
  records[3].event_us = kNow + int64_t{200} * 366 * 24 * kHour;  // 2223
  records[4].event_us = kMicrosMax;
  EXPECT_TRUE(of_kind(findings_of(records, "s"), Finding::Kind::kWrongUnit).empty());
}

TEST(Findings, WholeHoursAheadAreATimeZoneFault) {
  auto records = healthy(300);
  for (size_t i = 0; i < 73; ++i) records[i * 4].event_us += kHour;
  const auto found = of_kind(findings_of(records), Finding::Kind::kTimeZone);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].records, 73);
  EXPECT_EQ(found[0].value_us, -kHour);
  EXPECT_NE(found[0].text.find("1 hour after arrival"), std::string::npos) << found[0].text;
}

TEST(Findings, DelaysThatPassWholeHoursByChanceAreNot) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 20'000; ++i) {
    const double hours = 12 * std::pow(unit(random), 2);
    records.push_back(
        {0, kNow + i * 1'000'000 - static_cast<int64_t>(hours * kHour), kNow + i * 1'000'000, 0});
  }
  EXPECT_TRUE(of_kind(findings_of(records), Finding::Kind::kTimeZone).empty());
}

TEST(Findings, ClocksOfWholeHoursSayNothingAboutZones) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 1000; ++i) records.push_back({0, kNow - (i % 10) * kHour, kNow, 0});
  EXPECT_TRUE(of_kind(findings_of(records), Finding::Kind::kTimeZone).empty());
}

TEST(Findings, ClocksAheadAreProvenByNegativeDelays) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 50; ++i) {
    records.push_back({0, kNow + i * 1000 + 2'500'000, kNow + i * 1000, 0});  // 2.5 s ahead
    records.push_back({1, kNow + i * 1000 - 2'500'000, kNow + i * 1000, 0});
  }
  const auto found = of_kind(findings_of(records), Finding::Kind::kClockAhead);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].partition, "p0");
  EXPECT_EQ(found[0].value_us, 2'500'000);
  EXPECT_EQ(found[0].records, 50);
}

// One odd record among hundreds does not speak for the clock.
TEST(Findings, ASingleOutlierDoesNotMakeAClockAhead) {
  auto records = healthy(300);
  records[100].event_us += 60'000'000;
  EXPECT_TRUE(of_kind(findings_of(records), Finding::Kind::kClockAhead).empty());
}

TEST(Findings, ManyClocksAheadAreSummedUp) {
  std::vector<TestRecord> records;
  for (PartitionId id = 0; id < 12; ++id) records.push_back({id, kNow + 1'000'000 * (id + 1), kNow, 0});
  const auto found = of_kind(findings_of(records), Finding::Kind::kClockAhead);
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[0].partition, "p11");  // the furthest first
  EXPECT_NE(found[5].text.find("7 more partitions"), std::string::npos) << found[5].text;
  EXPECT_EQ(found[5].records, 7);
}

TEST(Findings, RecordsBeyondTheFutureLimit) {
  auto records = healthy(100);
  records[50].event_us = kNow + 70 * 24 * kHour;
  records[60].event_us = records[60].arrival_us.value() + 300'000'000;  // exactly the limit
  const auto found = of_kind(findings_of(records), Finding::Kind::kFuture);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].records, 1);
  for (const std::string_view part : {"limit of 5 min", "record time 2024-01-23T", "partition \"p0\""}) {
    EXPECT_NE(found[0].text.find(part), std::string::npos) << found[0].text;
  }
}

TEST(Findings, WhenMostRecordsAreOldThatIsNoFinding) {
  auto records = healthy(100);
  for (size_t i = 0; i < 50; ++i) records[i].event_us -= 30 * 24 * kHour;
  EXPECT_EQ(of_kind(findings_of(records), Finding::Kind::kFarBehind).size(), 1U);
  records[50].event_us -= 30 * 24 * kHour;
  EXPECT_TRUE(of_kind(findings_of(records), Finding::Kind::kFarBehind).empty());
}

}  // namespace
}  // namespace wrackline::disorder
