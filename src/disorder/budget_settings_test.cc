// A budget in the words of other systems, with their boundaries; and tried on records it has not seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "disorder/test_stream.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {
namespace {

using disorder::feed;
using disorder::TestRecord;
using testing::HasSubstr;
using testing::Not;

BudgetReport report_of(int64_t delay_us, int64_t lateness_us) {
  BudgetReport report;
  report.watermark_delay_us = delay_us;
  report.allowed_lateness_us = lateness_us;
  report.options.window = seconds(60);
  return report;
}

TEST(BudgetSettings, EachSystemHasItsBoundary) {
  const BudgetReport report = report_of(30'000'000, 7'200'000'000);
  EXPECT_THAT(budget_settings(report, SettingsTarget::kWrackline),
              testing::AllOf(HasSubstr("watermark_delay = '30 s'"), HasSubstr("allowed_lateness = '2 h'")));
  EXPECT_THAT(
      budget_settings(report, SettingsTarget::kFlink),
      testing::AllOf(HasSubstr("Duration.ofMillis(30000)"),
                     HasSubstr("allowedLateness(Duration.ofMillis(7200000))"), HasSubstr("minus 1 ms")));
  // A record at the watermark is late there: one millisecond more.
  EXPECT_THAT(budget_settings(report, SettingsTarget::kFlinkSql),
              HasSubstr("INTERVAL '30.001' SECOND(2, 3)"));
  // Grace counts from no delay at all.
  EXPECT_THAT(budget_settings(report, SettingsTarget::kKafkaStreams),
              HasSubstr("ofSizeAndGrace(Duration.ofMillis(60000), Duration.ofMillis(7230000))"));
  EXPECT_THAT(budget_settings(report, SettingsTarget::kBeam),
              testing::AllOf(HasSubstr("withCreateTime(Duration.millis(30000))"),
                             HasSubstr("withAllowedLateness(Duration.millis(7200000))")));
}

TEST(BudgetSettings, PartsOfAMillisecondRoundUp) {
  const BudgetReport report = report_of(1'001, 1);
  EXPECT_THAT(budget_settings(report, SettingsTarget::kFlink), HasSubstr("Duration.ofMillis(2)"));
  EXPECT_THAT(budget_settings(report, SettingsTarget::kFlink),
              HasSubstr("allowedLateness(Duration.ofMillis(0))"));
  EXPECT_THAT(budget_settings(report, SettingsTarget::kFlinkSql), Not(HasSubstr("allowed lateness")));
}

// Two partitions, one of them two minutes behind the other: on time against the minimum, late against the
// maximum.
TEST(BudgetSettings, SparksMaximumCostsTheSkewBetweenPartitions) {
  LatenessBudget budget({.transport_mode_only = false});
  const PartitionId quick = budget.register_partition("quick");
  const PartitionId slow = budget.register_partition("slow");
  for (int64_t i = 0; i < 4000; ++i) {
    const std::vector<int64_t> event_us = {i * 1'000'000};
    const std::vector<int64_t> behind_us = {i * 1'000'000 - 120'000'000};
    const std::vector<int64_t> arrival_us = {i * 1'000'000 + 5'000};
    ASSERT_TRUE(budget.add({.partition = quick, .event_us = event_us, .arrival_us = arrival_us}).has_value());
    ASSERT_TRUE(budget.add({.partition = slow, .event_us = behind_us, .arrival_us = arrival_us}).has_value());
  }
  const BudgetReport report = *budget.finish();
  EXPECT_EQ(report.watermark_delay_us, 0);
  const std::string spark = budget_settings(report, SettingsTarget::kSpark);
  const size_t at = spark.find("withWatermark(\"event_time\", \"");
  ASSERT_NE(at, std::string::npos) << spark;
  const int64_t delay_ms = std::stoll(spark.substr(at + 29));
  EXPECT_GE(delay_ms, 120'000);
  EXPECT_LE(delay_ms, 121'000);
}

TEST(BudgetSettings, NamesOfSystems) {
  for (const char* name : {"wrackline", "flink", "flink-sql", "spark", "kafka-streams", "beam"}) {
    ASSERT_TRUE(parse_settings_target(name).has_value()) << name;
    EXPECT_FALSE(budget_settings(report_of(0, 0), *parse_settings_target(name)).empty());
  }
  EXPECT_FALSE(parse_settings_target("storm").has_value());
}

BudgetReport budget_of(const std::vector<TestRecord>& records) {
  LatenessBudget budget({.transport_mode_only = false});
  budget.partition("p0");
  std::mt19937_64 random(1);
  EXPECT_TRUE(feed(budget, records, random, 700).has_value());
  return *budget.finish();
}

std::vector<TestRecord> late_by(size_t records, const std::function<double(double)>& late_share,
                                uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<TestRecord> made;
  for (size_t i = 0; i < records; ++i) {
    const int64_t arrival = 1'700'000'000'000'000 + static_cast<int64_t>(i) * 10'000;
    const double at = static_cast<double>(i) / static_cast<double>(records);
    const double delay = unit(random) < late_share(at) ? 5e6 + unit(random) * 20e6 : unit(random) * 20e3;
    made.push_back({0, arrival - static_cast<int64_t>(delay), arrival, 0});
  }
  return made;
}

TEST(BudgetBacktest, HoldsOnASteadyStream) {
  int held = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const BudgetReport report = budget_of(late_by(40'000, [](double) { return 0.03; }, seed));
    ASSERT_EQ(report.backtest.folds.size(), 4U);
    EXPECT_EQ(report.backtest.folds[0].trained_pairs, 20'000);
    EXPECT_EQ(report.backtest.folds[0].tested_pairs, 5'000);
    held += report.backtest.verdict == BudgetBacktest::Verdict::kHeld;
    EXPECT_NE(report.input_digest, 0U);
  }
  EXPECT_GE(held, 8);
}

TEST(BudgetBacktest, IsExceededWhenTheStreamTurnsWorse) {
  const BudgetReport report =
      budget_of(late_by(40'000, [](double at) { return at < 0.6 ? 0.002 : 0.06; }, 4));
  EXPECT_EQ(report.backtest.verdict, BudgetBacktest::Verdict::kExceeded);
  EXPECT_FALSE(report.notes.empty());
}

TEST(BudgetBacktest, SaysNothingAboutAHandful) {
  EXPECT_EQ(budget_of(late_by(
                          50, [](double) { return 0.1; }, 1))
                .backtest.verdict,
            BudgetBacktest::Verdict::kInsufficient);
}

// One partition is two minutes behind the other: windows come out two minutes later for both.
TEST(BudgetSlowest, WaitingForAPartitionHasAPrice) {
  LatenessBudget budget({.window = seconds(60), .transport_mode_only = false});
  const PartitionId quick = budget.register_partition("quick");
  const PartitionId slow = budget.register_partition("slow");
  for (int64_t i = 0; i < 4000; ++i) {
    const std::vector<int64_t> event_us = {i * 1'000'000};
    const std::vector<int64_t> behind_us = {i * 1'000'000 - 120'000'000};
    const std::vector<int64_t> arrival_us = {i * 1'000'000 + 5'000};
    ASSERT_TRUE(budget.add({.partition = quick, .event_us = event_us, .arrival_us = arrival_us}).has_value());
    ASSERT_TRUE(budget.add({.partition = slow, .event_us = behind_us, .arrival_us = arrival_us}).has_value());
  }
  const BudgetReport report = *budget.finish();
  ASSERT_TRUE(report.slowest.has_value());
  EXPECT_EQ(report.slowest->partition, "slow");
  EXPECT_NEAR(static_cast<double>(report.latency->p50_us - report.slowest->without.p50_us), 120e6, 1e6);
  // Every record of the slow one misses its window by then.
  EXPECT_NEAR(static_cast<double>(report.slowest->late_without), 4000, 130);
  EXPECT_EQ(report.counts.on_time, report.counts.pairs);
}

TEST(BudgetDigest, KnowsTheRecordsAndTheirOrder) {
  auto records = late_by(2000, [](double) { return 0.03; }, 1);
  const uint64_t digest = budget_of(records).input_digest;
  EXPECT_EQ(budget_of(records).input_digest, digest);
  std::swap(records[7], records[8]);
  EXPECT_NE(budget_of(records).input_digest, digest);
}

}  // namespace
}  // namespace wrackline
