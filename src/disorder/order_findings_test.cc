// What the order of records shows: stores that are emptied, arrival that goes back, times that stand still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "disorder/test_stream.h"
#include "wrackline/delay_profile.h"

namespace wrackline {
namespace {

using disorder::feed;
using disorder::TestRecord;

constexpr int64_t kNow = 1'700'000'000'000'000;
constexpr int64_t kSecond = 1'000'000;

std::vector<Finding> findings_of(const std::vector<TestRecord>& records, Finding::Kind kind) {
  DelayProfile profile(ProfileOptions{});
  for (const char* name : {"p0", "p1", "p2"}) profile.partition(name);
  std::mt19937_64 random(9);
  EXPECT_TRUE(feed(profile, records, random, 300).has_value());
  std::vector<Finding> found;
  const auto report = profile.finish();
  for (const Finding& finding : report->findings) {
    if (finding.kind == kind) found.push_back(finding);
  }
  return found;
}

// A record a second, each a second or so late; partition 1 is offline now and then for a minute and sends
// what it stored in two seconds.
std::vector<TestRecord> with_stores(int outages) {
  std::vector<TestRecord> records;
  std::mt19937_64 random(4);
  for (int64_t second = 0; second < 4000; ++second) {
    const int64_t now = kNow + second * kSecond;
    const auto jitter = static_cast<int64_t>(random() % 300'000);
    records.push_back({0, now - kSecond - jitter, now, 0});
    const bool offline = second % 1000 >= 900 && second / 1000 < outages;
    if (!offline) records.push_back({1, now - kSecond - jitter, now, 0});
    if (second % 1000 != 999 || second / 1000 >= outages) continue;
    for (int64_t stored = 0; stored < 100; ++stored)
      records.push_back({1, now - (100 - stored) * kSecond, now + stored * 20'000, 0});
  }
  return records;
}

TEST(OrderFindings, StoresThatAreEmptiedAreTheOfflineMode) {
  const auto found = findings_of(with_stores(3), Finding::Kind::kOfflineMode);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, testing::HasSubstr("3 bursts of stored records"));
  EXPECT_THAT(found[0].text, testing::HasSubstr("partition \"p1\""));
  EXPECT_NEAR(static_cast<double>(found[0].records), 3 * 88, 12);  // those older than ten medians
  EXPECT_TRUE(findings_of(with_stores(0), Finding::Kind::kOfflineMode).empty());
}

TEST(OrderFindings, LateRecordsOneByOneAreNoStore) {
  std::vector<TestRecord> records;
  std::mt19937_64 random(4);
  for (int64_t second = 0; second < 5000; ++second) {
    const int64_t delay = random() % 10 == 0 ? static_cast<int64_t>(random() % 600) * kSecond : kSecond;
    records.push_back({0, kNow + second * kSecond - delay, kNow + second * kSecond, 0});
  }
  EXPECT_TRUE(findings_of(records, Finding::Kind::kOfflineMode).empty());
}

TEST(OrderFindings, ArrivalThatGoesBackIsCounted) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 100; ++i) records.push_back({0, kNow + i * kSecond, kNow + i * kSecond, 0});
  EXPECT_TRUE(findings_of(records, Finding::Kind::kUnsortedArrival).empty());
  std::swap(records[10], records[20]);
  const auto found = findings_of(records, Finding::Kind::kUnsortedArrival);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].records, 10);
  EXPECT_EQ(found[0].value_us, 10 * kSecond);
}

TEST(OrderFindings, TimesThatStandStill) {
  const std::vector<TestRecord> same(50, {0, kNow, kNow + 5, 0});
  EXPECT_EQ(findings_of(same, Finding::Kind::kConstantTimes).size(), 1U);
  std::vector<TestRecord> copied;
  for (int64_t i = 0; i < 50; ++i) copied.push_back({0, kNow + i, kNow + kSecond, 0});
  const auto found = findings_of(copied, Finding::Kind::kConstantTimes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, testing::HasSubstr("not delays"));
  EXPECT_TRUE(findings_of({{0, kNow, kNow, 0}}, Finding::Kind::kConstantTimes).empty());
}

TEST(OrderFindings, WithoutArrivalOrderSpeaks) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 50; ++i) records.push_back({0, kNow + i, std::nullopt, 0});
  EXPECT_EQ(findings_of(records, Finding::Kind::kNoArrival).size(), 1U);
  EXPECT_TRUE(findings_of({}, Finding::Kind::kNoArrival).empty());
}

TEST(OrderFindings, LostCenturiesAreNamed) {
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 30; ++i) records.push_back({0, kNow + i * kSecond, kNow + i * kSecond, 0});
  constexpr int64_t kYears = int64_t{1900} * 31'556'952 * kSecond;
  for (size_t i = 0; i < 4; ++i) records[i * 7].event_us -= kYears;
  const auto found = findings_of(records, Finding::Kind::kLostCentury);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].records, 4);
  EXPECT_THAT(found[0].text, testing::HasSubstr("1900 years too early"));
}

}  // namespace
}  // namespace wrackline
