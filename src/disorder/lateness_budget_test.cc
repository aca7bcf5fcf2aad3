#include "wrackline/lateness_budget.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "disorder/binomial.h"
#include "disorder/plain_engine.h"
#include "disorder/test_stream.h"

namespace wrackline {
namespace {

using disorder::feed;
using disorder::kSkewUs;
using disorder::partition_name;
using disorder::plain_run;
using disorder::PlainEngine;
using disorder::PlainOutcome;
using disorder::random_setting;
using disorder::random_stream;
using disorder::Setting;
using disorder::TestRecord;

// x of every (record, window) pair that is judged; minus infinity while there is no progress.
std::vector<int64_t> plain_behind(const Setting& setting, std::optional<int64_t> split_us,
                                  std::optional<PartitionId> alone = {}) {
  PlainEngine engine(setting);
  int64_t own_max = kMicrosMin;
  std::vector<int64_t> values;
  for (size_t i = 0; i < setting.records.size(); ++i) {
    const TestRecord& record = setting.records[i];
    if (const auto ended = setting.ends.find(i); ended != setting.ends.end()) engine.end(ended->second);
    const bool mine = !alone || record.partition == *alone;
    const int64_t progress = alone ? own_max : engine.progress();
    const bool in_mode = !split_us || !record.arrival_us || *record.arrival_us - record.event_us <= *split_us;
    if (mine && in_mode && !PlainEngine::refused(record)) {
      for (const int64_t end : engine.window_ends(record.event_us)) {
        values.push_back(progress == kMicrosMin ? kMicrosMin : progress - end);
      }
    }
    engine.observe(record);
    const bool moves = !record.arrival_us || record.event_us - *record.arrival_us <= kSkewUs;
    if (mine && moves) own_max = std::max(own_max, record.event_us);
  }
  return values;
}

int64_t late_under(const std::vector<int64_t>& behind, int64_t span_us) {
  return std::ranges::count_if(behind, [&](int64_t x) { return x >= span_us; });
}

// The smallest span >= 0 that leaves at most `late` pairs late, found among the only spans where the count
// changes.
int64_t smallest_span(std::vector<int64_t> behind, int64_t late) {
  if (late_under(behind, 0) <= late) return 0;
  std::ranges::sort(behind);
  for (size_t i = 0; i < behind.size(); ++i) {
    // Under a span of behind[i] + 1 the greater ones are late.
    const auto greater = behind.end() - std::ranges::upper_bound(behind, behind[i]);
    if (behind[i] >= 0 && greater <= late) return behind[i] + 1;
  }
  return 0;
}

BudgetReport budget_of(const Setting& setting, BudgetOptions options, uint64_t seed) {
  std::mt19937_64 random(seed);
  if (setting.size_us > 0) {
    options.window = micros(setting.size_us);
    if (setting.slide_us != setting.size_us) options.slide = micros(setting.slide_us);
    options.window_offset = micros(setting.offset_us);
  }
  LatenessBudget budget(options);
  for (PartitionId id = 0; id < setting.partitions; ++id) {
    if (setting.registered) {
      EXPECT_EQ(budget.register_partition(partition_name(id)), id);
    } else {
      EXPECT_EQ(budget.partition(partition_name(id)), id);
    }
  }
  // Between two ends, any cut into batches.
  size_t from = 0;
  const auto feed_to = [&](size_t to) {
    const std::vector<TestRecord> part(setting.records.begin() + static_cast<std::ptrdiff_t>(from),
                                       setting.records.begin() + static_cast<std::ptrdiff_t>(to));
    EXPECT_TRUE(feed(budget, part, random, 700, setting.keys).has_value());
    from = to;
  };
  for (const auto& [at, id] : setting.ends) {
    feed_to(at);
    budget.end_partition(id);
  }
  feed_to(setting.records.size());
  auto report = budget.finish();
  EXPECT_TRUE(report.has_value());
  return std::move(*report);
}

void compare_outcome(const Setting& setting, const BudgetReport& report) {
  const PlainOutcome plain = plain_run(setting, report.watermark_delay_us, report.allowed_lateness_us);
  BudgetCounts total;
  for (const PartitionBudget& mine : report.partitions) {
    const auto found = std::ranges::find_if(
        plain.counts, [&](const auto& entry) { return partition_name(entry.first) == mine.partition; });
    ASSERT_NE(found, plain.counts.end());
    const BudgetCounts& counts = found->second;
    EXPECT_EQ(mine.counts.pairs, counts.pairs);
    EXPECT_EQ(mine.counts.on_time, counts.on_time);
    EXPECT_EQ(mine.counts.corrected, counts.corrected);
    EXPECT_EQ(mine.counts.ledgered, counts.ledgered);
    EXPECT_EQ(mine.counts.refused_future, counts.refused_future);
    total.pairs += counts.pairs;
    total.on_time += counts.on_time;
    total.corrected += counts.corrected;
    total.ledgered += counts.ledgered;
  }
  EXPECT_EQ(report.counts.pairs, total.pairs);
  EXPECT_EQ(report.counts.on_time, total.on_time);
  EXPECT_EQ(report.counts.corrected, total.corrected);
  EXPECT_EQ(report.counts.ledgered, total.ledgered);
  EXPECT_EQ(report.counts.on_time + report.counts.corrected + report.counts.ledgered, report.counts.pairs);
  EXPECT_EQ(report.state.has_value(), setting.size_us > 0);
  if (!report.state) return;
  EXPECT_EQ(report.state->windows, plain.peak);
  EXPECT_EQ(report.state->bytes, plain.peak * report.options.bytes_per_window_state);
  const auto quantiles = disorder::plain_quantiles(plain.latencies);
  if (!report.latency) return;
  EXPECT_EQ(report.latency->windows, static_cast<int64_t>(plain.latencies.size()));
  EXPECT_EQ(report.latency->windows_flushed, plain.flushed);
  EXPECT_EQ(report.latency->p50_us, quantiles ? quantiles->p50 : 0);
  EXPECT_EQ(report.latency->p99_us, quantiles ? quantiles->p99 : 0);
  EXPECT_EQ(report.latency->max_us, quantiles ? quantiles->max : 0);
}

TEST(LatenessBudget, PredictsWhatTheLawCounts) {
  int64_t late = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    const Setting setting = random_setting(seed);
    BudgetOptions options;
    if (seed % 4 == 0 && seed % 11 != 0) options.rule = BudgetRule::kNearestRank;
    if (seed % 3 == 0) options.target_late = Share::percent(5);
    const BudgetReport report = budget_of(setting, options, seed);
    compare_outcome(setting, report);
    late += report.counts.corrected + report.counts.ledgered;
  }
  EXPECT_GT(late, 1000);  // a tester that sees nothing late tests nothing
}

TEST(LatenessBudget, ExactRuleIsTheSmallestThatMeetsTheTarget) {
  for (uint64_t seed = 100; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Setting setting = random_setting(seed);
    BudgetOptions options;
    options.target_late = Share::percent(seed % 2 == 0 ? 1 : 5);
    const BudgetReport report = budget_of(setting, options, seed);
    const auto behind = plain_behind(setting, report.profile.all.split_us);
    const auto everything = plain_behind(setting, {});
    EXPECT_EQ(report.sample, static_cast<int64_t>(behind.size()));
    const auto effective =
        static_cast<int64_t>(std::floor(static_cast<double>(behind.size()) / report.design_effect));
    const int64_t allowed = disorder::late_allowed(effective, options.target_late.value(), 0.05);
    const auto scaled =
        static_cast<int64_t>(static_cast<double>(std::max<int64_t>(allowed, 0)) * report.design_effect);
    const int64_t late = std::min(scaled, options.target_late.floor_of(report.sample));
    EXPECT_EQ(report.watermark_delay_us, smallest_span(behind, late));
    EXPECT_EQ(report.point_delay_us, smallest_span(behind, options.target_late.floor_of(report.sample)));
    EXPECT_EQ(report.late_in_sample, late_under(behind, report.watermark_delay_us));
    EXPECT_EQ(report.verdict == Verdict::kInsufficient, allowed < 0);
    if (allowed >= 0) {
      EXPECT_LE(report.late_share_upper, options.target_late.value() + 0.003);
    }
    const int64_t tail = options.tail.complement().floor_of(static_cast<int64_t>(everything.size()));
    const int64_t horizon = smallest_span(everything, tail);
    EXPECT_EQ(report.allowed_lateness_us, std::max<int64_t>(0, horizon - report.watermark_delay_us));
    for (size_t i = 0; i < report.partitions.size(); ++i) {
      const PartitionBudget& mine = report.partitions[i];
      const auto id = static_cast<PartitionId>(std::stoul(mine.partition.substr(1)));
      const auto own_split = report.profile.partitions[i].split_us;
      const auto own = plain_behind(setting, own_split, id);
      const auto own_all = plain_behind(setting, {}, id);
      const auto own_effective = static_cast<int64_t>(static_cast<double>(own.size()) / report.design_effect);
      const int64_t own_allowed = disorder::late_allowed(own_effective, options.target_late.value(), 0.05);
      const auto own_scaled =
          static_cast<int64_t>(static_cast<double>(std::max<int64_t>(own_allowed, 0)) * report.design_effect);
      const int64_t own_late =
          std::min(own_scaled, options.target_late.floor_of(static_cast<int64_t>(own.size())));
      EXPECT_EQ(mine.watermark_delay_us, smallest_span(own, own_late));
      const int64_t own_tail = options.tail.complement().floor_of(static_cast<int64_t>(own_all.size()));
      EXPECT_EQ(mine.allowed_lateness_us,
                std::max<int64_t>(0, smallest_span(own_all, own_tail) - *mine.watermark_delay_us));
    }
  }
}

TEST(LatenessBudget, NearestRankIsTheIndexOfTheSortedDelays) {
  for (uint64_t seed = 200; seed < 230; ++seed) {
    SCOPED_TRACE(seed);
    const Setting setting = random_setting(seed);
    std::vector<int64_t> delays;
    for (const TestRecord& record : setting.records) {
      if (record.arrival_us) delays.push_back(*record.arrival_us - record.event_us);
    }
    BudgetOptions options;
    options.rule = BudgetRule::kNearestRank;
    if (delays.empty()) continue;
    const BudgetReport report = budget_of(setting, options, seed);
    std::ranges::sort(delays);
    const size_t n = delays.size();
    const int64_t p99 = delays[std::min(n * 990 / 1000, n - 1)];
    const int64_t p99_9 = delays[std::min(n * 999 / 1000, n - 1)];
    EXPECT_EQ(report.watermark_delay_us, std::max<int64_t>(0, p99));
    EXPECT_EQ(report.allowed_lateness_us, std::max<int64_t>(0, p99_9 - report.watermark_delay_us));
  }
}

TEST(LatenessBudget, NearestRankNeedsArrivalTimes) {
  Setting setting;
  setting.records = {{0, 1000, {}, 0}};
  BudgetOptions options;
  options.rule = BudgetRule::kNearestRank;
  LatenessBudget budget(options);
  budget.partition("p0");
  std::mt19937_64 random(1);
  ASSERT_TRUE(feed(budget, setting.records, random, 10).has_value());
  EXPECT_NE(budget.finish().error().find("arrival times"), std::string::npos);
}

// Every tenth record waited on a device for hours: the delay follows the others.
TEST(LatenessBudget, DelayComesFromTheTransportMode) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Setting setting;
  setting.size_us = setting.slide_us = 10'000'000;
  for (int64_t i = 0; i < 20'000; ++i) {
    const bool offline = random() % 10 == 0;
    const double delay =
        offline ? 7.2e9 * std::exp(0.5 * normal(random)) : 3e6 * std::exp(0.7 * normal(random));
    setting.records.push_back({0, i * 100'000 - static_cast<int64_t>(delay), i * 100'000, 0});
  }
  const BudgetReport report = budget_of(setting, {}, 1);
  EXPECT_TRUE(report.from_transport_mode);
  EXPECT_LT(report.watermark_delay_us, 30'000'000);
  EXPECT_GT(report.both_modes_delay_us.value(), 600'000'000);
  EXPECT_GT(report.counts.corrected, 1000);
  compare_outcome(setting, report);
  BudgetOptions all;
  all.transport_mode_only = false;
  const BudgetReport whole = budget_of(setting, all, 1);
  EXPECT_FALSE(whole.from_transport_mode);
  EXPECT_EQ(whole.sample, report.sample + report.offline_pairs);
  EXPECT_GT(whole.watermark_delay_us, 600'000'000);
}

TEST(LatenessBudget, TooFewRecordsGetAVerdict) {
  std::mt19937_64 random(4);
  Setting setting;
  setting.size_us = setting.slide_us = 1'000'000;
  setting.records = random_stream(random, {.records = 298, .partitions = 1});
  const BudgetReport report = budget_of(setting, {}, 1);
  EXPECT_EQ(report.verdict, Verdict::kInsufficient);
  EXPECT_EQ(report.late_in_sample, 0);  // it covers what was seen and promises nothing
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes.front().find("299"), std::string::npos);
}

TEST(LatenessBudget, NoRecords) {
  Setting setting;
  setting.size_us = setting.slide_us = 1'000'000;
  const BudgetReport report = budget_of(setting, {}, 1);
  EXPECT_EQ(report.watermark_delay_us, 0);
  EXPECT_EQ(report.verdict, Verdict::kInsufficient);
  EXPECT_EQ(report.counts.pairs, 0);
}

TEST(LatenessBudget, TimesAtTheEndsOfTheRange) {
  Setting setting;
  setting.records = {{0, kMicrosMax - 1, kMicrosMax - 1, 0},
                     {0, kMicrosMin + 1, kMicrosMax - 1, 0},
                     {0, kMicrosMin + 1, kMicrosMin + 1, 0},
                     {0, 0, 0, 0}};
  for (const int64_t size : {int64_t{0}, int64_t{1'000'000}, kMicrosMax / 2}) {
    setting.size_us = setting.slide_us = size;
    const BudgetReport report = budget_of(setting, {}, 1);
    EXPECT_EQ(report.counts.pairs, 4);
    EXPECT_EQ(report.counts.on_time + report.counts.corrected + report.counts.ledgered, 4);
    // No delay that fits covers the whole range.
    EXPECT_LE(report.late_in_sample, 2);
  }
}

TEST(Share, PercentagesAreExact) {
  EXPECT_EQ(Share::parse_percent("99.9")->parts, 999'000'000'000);
  EXPECT_EQ(Share::parse_percent(" 1 % ")->parts, 10'000'000'000);
  EXPECT_EQ(Share::parse_percent("0.0000000001")->parts, 1);
  EXPECT_EQ(Share::parse_percent("100%")->parts, Share::kWhole);
  EXPECT_EQ(Share::parse_percent("0")->parts, 0);
  EXPECT_EQ(Share::parse_percent("99.90")->percent_text(), "99.9");
  EXPECT_EQ(Share::percent(1).percent_text(), "1");
  for (const std::string_view wrong : {"", "%", ".", "-1", "100.1", "1e2", "99,9", "1%%", "abc",
                                       "0.00000000001", "99999999999999999999999"}) {
    EXPECT_FALSE(Share::parse_percent(wrong).has_value()) << wrong;
  }
}

// In binary 0.999 * 1000 is 999 and 0.57 * 100 is 56.99999999999999: the index must not depend on that.
TEST(Share, FloorsAreExact) {
  EXPECT_EQ(Share::parse_percent("57")->floor_of(100), 57);
  EXPECT_EQ(Share::parse_percent("99.9")->floor_of(1000), 999);
  EXPECT_EQ(Share::parse_percent("99.9")->floor_of(999), 998);
  EXPECT_EQ(Share::parse_percent("0.1")->floor_of(1000), 1);
  EXPECT_EQ(Share::percent(1).complement().floor_of(int64_t{1} << 60), ((int64_t{1} << 60) / 100 * 99) + 75);
}

TEST(LatenessBudgetDeathTest, WindowsArePositive) {
  BudgetOptions options;
  options.window = micros(0);
  EXPECT_DEATH(LatenessBudget{options}, "slide");
}

}  // namespace
}  // namespace wrackline
