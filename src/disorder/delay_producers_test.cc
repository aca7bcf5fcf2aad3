// Whose clock is wrong: known truths, one producer at a time.
#include "wrackline/delay_producers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace wrackline {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000;
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3600 * kSecond;

class Producers : public testing::Test {
 protected:
  // `count` records a second apart with an exponential delay of 20 ms above 5 ms.
  void healthy(const std::string& name, int count, int64_t ahead_us = 0, double ppm = 0) {
    std::exponential_distribution<double> tail(1.0 / 20'000);
    for (int i = 0; i < count; ++i) {
      const int64_t sent = kNow + i * kSecond;
      const int64_t arrival = sent + 5'000 + static_cast<int64_t>(tail(random));
      const auto lost = static_cast<int64_t>(ppm * i);  // microseconds after i seconds
      tracker.add(name, sent + ahead_us - lost, arrival);
    }
  }
  ProducerSummary only(const ProducersReport& report, std::string_view name) {
    const auto at = std::ranges::find(report.list, name, &ProducerSummary::producer);
    EXPECT_NE(at, report.list.end());
    return at == report.list.end() ? ProducerSummary() : *at;
  }
  std::mt19937_64 random{17};
  ProducerTracker tracker{ProducerOptions{}};
};

TEST_F(Producers, HealthyOnesHaveNoFault) {
  for (const char* name : {"a", "b", "c", "d"}) healthy(name, 2000);
  const ProducersReport report = tracker.finish();
  ASSERT_EQ(report.list.size(), 4U);
  for (const ProducerSummary& one : report.list) {
    EXPECT_EQ(one.fault, ClockFault::kNone) << one.text;
    EXPECT_EQ(one.records, 2000);
    EXPECT_EQ(one.negative, 0);
    EXPECT_FALSE(one.offset_proven_us.has_value());
    EXPECT_LT(std::abs(one.offset_estimated_us.value_or(kHour)), 2'000);
  }
}

TEST_F(Producers, AClockAheadIsProvenAndEstimated) {
  for (const char* name : {"a", "b", "c"}) healthy(name, 500);
  healthy("fast", 500, 400 * kSecond);
  const ProducersReport report = tracker.finish();
  EXPECT_EQ(report.list.front().producer, "fast");
  const ProducerSummary fast = only(report, "fast");
  EXPECT_EQ(fast.fault, ClockFault::kAhead);
  EXPECT_EQ(fast.negative, 500);
  EXPECT_LE(*fast.offset_proven_us, 400 * kSecond);
  EXPECT_NEAR(static_cast<double>(*fast.offset_proven_us), 400e6, 4e6);
  EXPECT_NEAR(static_cast<double>(*fast.offset_estimated_us), 400e6, 4e6);
}

TEST_F(Producers, OneEarlyRecordIsNoDrift) {
  healthy("a", 7200);
  // As an author of a git history has it: one record that waited a while, later ones at once.
  tracker.add("author", kNow - 677 * kSecond, kNow);
  for (int i = 0; i < 12; ++i) {
    const int64_t arrival_us = kNow + (3'400'000 + i * 120'000) * kSecond;
    tracker.add("author", arrival_us, arrival_us);
  }
  const ProducersReport report = tracker.finish();
  EXPECT_FALSE(only(report, "author").drift_ppm.has_value());
}

TEST_F(Producers, DriftIsTheSlopeOfTheHull) {
  healthy("a", 7200);
  healthy("b", 7200);
  healthy("slow", 7200, 0, 120);
  healthy("quick", 7200, 0, -80);
  const ProducersReport report = tracker.finish();
  EXPECT_EQ(only(report, "a").fault, ClockFault::kNone);
  ASSERT_TRUE(only(report, "slow").drift_ppm.has_value());
  EXPECT_NEAR(*only(report, "slow").drift_ppm, 120, 6);
  EXPECT_EQ(only(report, "slow").fault, ClockFault::kDrift);
  ASSERT_TRUE(only(report, "quick").drift_ppm.has_value());
  EXPECT_NEAR(*only(report, "quick").drift_ppm, -80, 6);
}

TEST_F(Producers, WholeHoursAreATimeZoneFault) {
  for (const char* name : {"a", "b", "c"}) healthy(name, 300);
  healthy("east", 20, 2 * kHour);
  healthy("west", 20, -7 * kHour);
  const ProducersReport report = tracker.finish();
  EXPECT_EQ(only(report, "east").fault, ClockFault::kTimeZone);
  EXPECT_NE(only(report, "east").text.find("2 hours ahead"), std::string::npos) << only(report, "east").text;
  EXPECT_EQ(only(report, "west").fault, ClockFault::kTimeZone);
  EXPECT_NE(only(report, "west").text.find("7 hours behind"), std::string::npos) << only(report, "west").text;
}

TEST_F(Producers, WrongUnitsCenturiesAndStuckClocks) {
  healthy("a", 300);
  for (int i = 0; i < 3; ++i) tracker.add("milli", (kNow / 1000) * kSecond, kNow + i);  // ms read as s
  for (int i = 0; i < 4; ++i) tracker.add("old", kNow - int64_t{1900} * 31'556'952 * kSecond, kNow + i);
  for (int i = 0; i < 5; ++i) tracker.add("stuck", kNow, kNow + i * kHour);
  const ProducersReport report = tracker.finish();
  EXPECT_EQ(only(report, "milli").fault, ClockFault::kWrongUnit);
  EXPECT_EQ(only(report, "milli").fault_records, 3);
  EXPECT_EQ(only(report, "old").fault, ClockFault::kLostCentury);
  EXPECT_EQ(only(report, "stuck").fault, ClockFault::kStuck);
  EXPECT_EQ(report.list.front().producer, "milli");
  EXPECT_EQ(to_string(ClockFault::kStuck), "stuck");
}

TEST(ProducerLimit, TheBusyOnesStayAndTheErrorIsBounded) {
  ProducerTracker tracker({.producers_max = 50});
  std::mt19937_64 random(3);
  int64_t total = 0;
  std::vector<int64_t> truth(10);
  for (int i = 0; i < 60'000; ++i, ++total) {
    const bool busy = random() % 2 == 0;
    const uint64_t id = busy ? random() % 10 : 10 + random() % 5000;
    if (busy) ++truth[id];
    tracker.add("p" + std::to_string(id), kNow + i, kNow + i + 10);
  }
  const ProducersReport report = tracker.finish();
  EXPECT_LE(report.list.size(), 50U);
  EXPECT_LE(report.count_error_max, 2 * total / 50);
  int64_t kept = 0;
  for (const ProducerSummary& one : report.list) kept += one.records;
  EXPECT_EQ(kept + report.forgotten_records, total);
  for (size_t id = 0; id < 10; ++id) {
    const auto at = std::ranges::find(report.list, "p" + std::to_string(id), &ProducerSummary::producer);
    ASSERT_NE(at, report.list.end()) << id;
    EXPECT_LE(at->records, truth[id]);
    EXPECT_GE(at->records + report.count_error_max, truth[id]);
  }
}

TEST(ProducerLimit, NothingGivesAnEmptyReport) {
  ProducerTracker tracker{ProducerOptions{}};
  const ProducersReport report = tracker.finish();
  EXPECT_TRUE(report.list.empty());
  EXPECT_FALSE(report.floor_median_us.has_value());
}

TEST(ProducerLimit, TimesAtTheEndsOfTheRange) {
  ProducerTracker tracker{ProducerOptions{}};
  for (const int64_t event : {kMicrosMin + 1, kMicrosMax - 1, int64_t{0}}) {
    for (const int64_t arrival : {kMicrosMin + 1, kMicrosMax - 1, kNow}) tracker.add("x", event, arrival);
  }
  EXPECT_EQ(tracker.finish().list.front().records, 9);
}

}  // namespace
}  // namespace wrackline
