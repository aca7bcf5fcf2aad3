#include "wrackline/delay_profile.h"

#include <gtest/gtest.h>

#include <map>

#include "disorder/test_stream.h"

namespace wrackline {
namespace {

using disorder::feed;
using disorder::MemorySpill;
using disorder::partition_name;
using disorder::plain_quantiles;
using disorder::random_stream;
using disorder::TestRecord;

constexpr int64_t kSkewUs = 300'000'000;

// The definitions, counted one record at a time.
struct PlainProfile {
  std::vector<int64_t> delays;
  std::vector<int64_t> disorders;
  int64_t records = 0;
  int64_t behind = 0;
  int64_t future = 0;
  int64_t max_event_us = kMicrosMin;

  void add(const TestRecord& record) {
    ++records;
    bool admissible = true;
    if (record.arrival_us) {
      const int64_t delay = saturating_subtract(*record.arrival_us, record.event_us);
      delays.push_back(delay);
      admissible = delay >= -kSkewUs;
      future += admissible ? 0 : 1;
    }
    if (admissible) max_event_us = std::max(max_event_us, record.event_us);
    if (max_event_us == kMicrosMin) return;
    disorders.push_back(saturating_subtract(max_event_us, record.event_us));
    behind += disorders.back() > 0 ? 1 : 0;
  }

  void compare(const DelaySummary& summary) const {
    EXPECT_EQ(summary.records, records);
    EXPECT_EQ(summary.with_arrival, static_cast<int64_t>(delays.size()));
    EXPECT_EQ(summary.delay_us, plain_quantiles(delays));
    EXPECT_EQ(summary.disorder_us, plain_quantiles(disorders));
    EXPECT_EQ(summary.behind, behind);
    EXPECT_EQ(summary.negative.has_value(), !delays.empty());
    if (delays.empty()) return;
    const auto negative = std::ranges::count_if(delays, [](int64_t delay) { return delay < 0; });
    const int64_t least = *std::ranges::min_element(delays);
    EXPECT_EQ(summary.negative, negative);
    EXPECT_EQ(summary.negative_most_us, least < 0 ? saturating_subtract(0, least) : 0);
    EXPECT_EQ(summary.future, future);
    EXPECT_EQ(summary.furthest_behind->arrival_us,
              saturating_add(summary.furthest_behind->event_us, *std::ranges::max_element(delays)));
    compare_modes(summary);
  }

  void compare_modes(const DelaySummary& summary) const {
    std::vector<int64_t> rest = delays;
    std::ranges::sort(rest);
    for (const DelayMode& mode : summary.modes) {
      std::vector<int64_t> mine;
      for (const int64_t delay : rest) {
        const bool transport = !summary.split_us || delay <= *summary.split_us;
        if (transport == (mode.name == "transport")) mine.push_back(delay);
      }
      EXPECT_EQ(mode.records, static_cast<int64_t>(mine.size()));
      EXPECT_EQ(mode.p50_us, plain_quantiles(mine)->p50);
      EXPECT_EQ(mode.p99_us, plain_quantiles(mine)->p99);
    }
    EXPECT_EQ(summary.modes.size(), summary.split_us ? 2U : 1U);
  }
};

void compare_all(const std::vector<TestRecord>& records, const ProfileReport& report) {
  std::map<std::string, PlainProfile> plain;
  PlainProfile together;
  for (const TestRecord& record : records) {
    plain[partition_name(record.partition)].add(record);
    together.add(record);
  }
  {
    SCOPED_TRACE("all");
    together.compare(report.all);
  }
  EXPECT_EQ(report.partitions.size(), plain.size());
  for (const DelaySummary& summary : report.partitions) {
    SCOPED_TRACE(summary.partition);
    ASSERT_TRUE(plain.contains(summary.partition));
    plain[summary.partition].compare(summary);
  }
}

ProfileReport profile_of(const std::vector<TestRecord>& records, uint64_t seed, size_t batch_max = 5000,
                         ProfileOptions options = {}) {
  std::mt19937_64 random(seed);
  DelayProfile profile(std::move(options));
  PartitionId last = 0;
  for (const TestRecord& record : records) last = std::max(last, record.partition);
  for (PartitionId id = 0; id <= last; ++id) EXPECT_EQ(profile.partition(partition_name(id)), id);
  EXPECT_TRUE(feed(profile, records, random, batch_max).has_value());
  auto report = profile.finish();
  EXPECT_TRUE(report.has_value());
  return std::move(*report);
}

TEST(DelayProfile, AgreesWithAPlainRecount) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    disorder::TestStreamOptions options;
    options.records = 1 + random() % 12'000;
    options.partitions = static_cast<PartitionId>(seed % 3 == 0 ? 1 : 1 + random() % 40);
    options.without_arrival = seed % 4 == 0 ? 0.2 : seed % 7 == 0 ? 1 : 0;
    options.absurd = seed % 5 == 0;
    options.step_us = seed % 6 == 0 ? 1000 : 1;
    const auto records = random_stream(random, options);
    compare_all(records, profile_of(records, seed, seed % 3 == 1 ? 100 : 9000));
  }
}

TEST(DelayProfile, HowInputIsCutIntoBatchesDoesNotShow) {
  std::mt19937_64 random(5);
  const auto records = random_stream(random, {.records = 30'000, .partitions = 3});
  const ProfileReport whole = profile_of(records, 1, 100'000);
  for (const size_t batch_max : {1, 7, 600, 4096}) {
    const ProfileReport cut = profile_of(records, 2, batch_max);
    EXPECT_EQ(cut.all.delay, whole.all.delay);
    EXPECT_EQ(cut.all.disorder, whole.all.disorder);
    EXPECT_EQ(cut.all.disorder_us, whole.all.disorder_us);
    EXPECT_EQ(cut.all.disorder_p99.low_us, whole.all.disorder_p99.low_us);
    EXPECT_EQ(cut.all.disorder_p99.high_us, whole.all.disorder_p99.high_us);
    EXPECT_EQ(cut.partitions[2].disorder, whole.partitions[2].disorder);
  }
}

TEST(DelayProfile, ThousandsOfInterleavedPartitions) {
  std::mt19937_64 random(6);
  const auto records = random_stream(random, {.records = 60'000, .partitions = 3000});
  compare_all(records, profile_of(records, 6, 5000));
}

// Files one after the other, then together: blocks of one partition and mixed ones.
TEST(DelayProfile, PartitionsThatComeInRuns) {
  std::mt19937_64 random(7);
  auto records = random_stream(random, {.records = 40'000, .partitions = 1});
  for (size_t i = 0; i < records.size(); ++i) {
    const size_t tenth = i / 4000;
    records[i].partition = tenth < 4   ? 0
                           : tenth < 6 ? static_cast<PartitionId>(random() % 4)
                                       : static_cast<PartitionId>(tenth % 3);
  }
  compare_all(records, profile_of(records, 7, 8000));
}

TEST(DelayProfile, SpillsAndComesBack) {
  std::mt19937_64 random(8);
  const auto records = random_stream(random, {.records = 300'000, .partitions = 2});
  const auto spill = std::make_shared<MemorySpill>();
  ProfileOptions options;
  options.memory_bytes_max = 0;
  options.spill = spill;
  compare_all(records, profile_of(records, 8, 10'000, options));
  EXPECT_GT(spill->bytes.size(), 0U);
}

TEST(DelayProfile, AFullDiskIsAnErrorNotAWrongNumber) {
  std::mt19937_64 random(9);
  const auto records = random_stream(random, {.records = 600'000, .partitions = 1});
  const auto spill = std::make_shared<MemorySpill>();
  spill->appends_left = 1;
  ProfileOptions options;
  options.memory_bytes_max = 0;
  options.spill = spill;
  DelayProfile profile(options);
  profile.partition("p0");
  EXPECT_EQ(feed(profile, records, random, 10'000).error(), "no space left on device");
  EXPECT_EQ(profile.finish().error(), "no space left on device");
}

TEST(DelayProfile, NothingSaysNothing) {
  DelayProfile profile({});
  profile.partition("quiet");
  EXPECT_TRUE(profile.add({}).has_value());
  const auto report = profile.finish();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->all.records, 0);
  EXPECT_FALSE(report->all.delay_us.has_value());
  EXPECT_FALSE(report->all.disorder_us.has_value());
  EXPECT_EQ(report->all.disorder_p99.verdict, Verdict::kInsufficient);
  EXPECT_TRUE(report->partitions.empty());
  EXPECT_TRUE(report->findings.empty());
}

TEST(DelayProfile, OneRecord) {
  const ProfileReport report = profile_of({{0, 1000, 4000, 0}}, 1);
  EXPECT_EQ(report.all.delay_us, (QuantileSet{3000, 3000, 3000, 3000, 3000, 3000}));
  EXPECT_EQ(report.all.disorder_us, (QuantileSet{}));
  EXPECT_EQ(report.all.disorder_p99.verdict, Verdict::kInsufficient);
  EXPECT_FALSE(report.all.disorder_p99.high_us.has_value());
}

TEST(DelayProfile, AllEqual) {
  const ProfileReport report = profile_of(std::vector<TestRecord>(5000, {0, 0, 7'654'321, 0}), 1);
  EXPECT_EQ(report.all.delay_us->p99_9, 7'654'321);
  EXPECT_EQ(report.all.delay_us->min, 7'654'321);
  EXPECT_EQ(report.all.behind, 0);
  EXPECT_EQ(report.all.delay_p99.verdict, Verdict::kEstimated);
  EXPECT_EQ(report.all.delay_p99.low_us, 7'654'321);
  EXPECT_EQ(report.all.delay_p99.high_us, 7'654'321);
  EXPECT_EQ(report.all.modes.size(), 1U);
}

TEST(DelayProfile, ConfidenceHoldsTheQuantileAndVerdictFollowsTheSample) {
  for (const size_t records : {200, 500, 3000, 20'000, 200'000}) {
    std::mt19937_64 random(records);
    const ProfileReport report = profile_of(random_stream(random, {.records = records, .partitions = 1}), 1);
    for (const auto& [confidence, value] :
         {std::pair(report.all.delay_p99, report.all.delay_us->p99),
          std::pair(report.all.delay_p99_9, report.all.delay_us->p99_9),
          std::pair(report.all.disorder_p99, report.all.disorder_us->p99),
          std::pair(report.all.disorder_p99_9, report.all.disorder_us->p99_9)}) {
      EXPECT_LE(confidence.low_us.value_or(kMicrosMin), value);
      EXPECT_GE(confidence.high_us.value_or(kMicrosMax), value);
      EXPECT_GE(confidence.design_effect.value_or(1), 1);
    }
    EXPECT_EQ(report.all.delay_p99.verdict == Verdict::kInsufficient, records < 299);
  }
}

// A store-and-forward burst: many late records that are really one event. Fewer independent ones, a wider
// interval.
TEST(DelayProfile, BurstsWidenTheInterval) {
  std::vector<TestRecord> even;
  std::vector<TestRecord> bursts;
  for (int64_t i = 0; i < 50'000; ++i) {
    const int64_t arrival = i * 1'000'000;
    const int64_t jitter = i * 7919 % 1000;
    even.push_back({0, arrival - (i % 50 == 0 ? 60'000'000 : 1'000'000) - jitter, arrival, 0});
    bursts.push_back({0, arrival - (i % 10'000 < 200 ? 60'000'000 : 1'000'000) - jitter, arrival, 0});
  }
  const auto calm = profile_of(even, 1).all.delay_p99;
  const auto bursty = profile_of(bursts, 1).all.delay_p99;
  EXPECT_LT(calm.design_effect.value(), 2);
  EXPECT_GT(bursty.design_effect.value(), 20);
  EXPECT_LE(bursty.low_us.value_or(kMicrosMin), calm.low_us.value());
}

TEST(DelayProfile, TransportAndOfflineModes) {
  std::mt19937_64 random(13);
  std::normal_distribution<double> normal;
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 20'000; ++i) {
    const bool offline = random() % 10 == 0;
    const double delay =
        offline ? 7.2e9 * std::exp(0.9 * normal(random)) : 3e5 * std::exp(0.7 * normal(random));
    records.push_back({0, i * 1000 - static_cast<int64_t>(delay), i * 1000, 0});
  }
  const ProfileReport report = profile_of(records, 1);
  ASSERT_EQ(report.all.modes.size(), 2U);
  EXPECT_EQ(report.all.modes[0].name, "transport");
  EXPECT_EQ(report.all.modes[1].name, "offline");
  EXPECT_NEAR(report.all.modes[1].share, 0.1, 0.01);
  EXPECT_NEAR(static_cast<double>(report.all.modes[0].p50_us), 3e5, 2e4);
  compare_all(records, report);
}

TEST(DelayProfileDeathTest, IdsComeFromPartition) {
  DelayProfile profile({});
  profile.partition("a");
  const std::vector<int64_t> times(1000, 5);
  DelayBatch batch;
  batch.partition = 1;
  batch.event_us = times;
  EXPECT_DEATH((void)profile.add(batch), "partition");
}

// Public reports of delay measurement gone wrong, with their right values.

std::vector<TestRecord> delays_ms(PartitionId partition,
                                  std::initializer_list<std::pair<int64_t, int>> delays) {
  std::vector<TestRecord> records;
  for (const auto& [delay, times] : delays) {
    for (int i = 0; i < times; ++i)
      records.push_back({partition, 1'000'000'000'000, 1'000'000'000'000 + delay * 1000, 0});
  }
  return records;
}

// C40: the smallest delay that covers a wanted share of records.
TEST(DelayCases, C40SmallestDelayForAShare) {
  std::vector<TestRecord> records = delays_ms(0, {{0, 90}, {3000, 8}, {60'000, 2}});
  const auto other = delays_ms(1, {{500, 99}, {700, 1}});
  records.insert(records.end(), other.begin(), other.end());
  const ProfileReport report = profile_of(records, 1);
  ASSERT_EQ(report.partitions.size(), 2U);
  const DelaySummary& p0 = report.partitions[0];
  EXPECT_EQ(p0.delay_us->p95, 3'000'000);
  EXPECT_EQ(p0.delay_us->p99, 60'000'000);
  EXPECT_EQ(p0.delay_us->p50, 0);
  const DelaySummary& p1 = report.partitions[1];
  EXPECT_EQ(p1.delay_us->p50, 500'000);
  EXPECT_EQ(p1.delay_us->p95, 500'000);
  EXPECT_EQ(p1.delay_us->p99, 500'000);
  EXPECT_EQ(p1.delay_us->max, 700'000);
  // Late under a delay: those beyond the bucket that holds it (no other value shares these buckets).
  const auto late = [&](int64_t delay_us) { return p0.delay.count() - p0.delay.count_at_most(delay_us); };
  EXPECT_EQ(late(0), 10U);
  EXPECT_EQ(late(3'000'000), 2U);
  EXPECT_EQ(late(60'000'000), 0U);
  // The other shares of the report, 90 % and 98 %: ranks 90 and 98 of the same sample.
  EXPECT_EQ(p0.delay.rank_upper(90), 0);
  EXPECT_GE(p0.delay.rank_upper(98), 3'000'000);
  EXPECT_LE(p0.delay.rank_lower(98), 3'000'000);
}

// C41: a bin's index is not a percentile, and nothing is cut off at a greatest value.
TEST(DelayCases, C41QuantilesAreValuesAndNothingIsCapped) {
  const ProfileReport report = profile_of(delays_ms(0, {{900, 10}, {5'000'000, 1}}), 1);
  EXPECT_EQ(report.all.delay_us->p50, 900'000);
  EXPECT_EQ(report.all.delay_us->max, int64_t{5'000'000} * 1000);
  EXPECT_GE(report.all.delay.rank_upper(6), 900'000);  // the sketch never understates
  EXPECT_LE(report.all.delay.rank_upper(6), 1'000'000);
}

// C42: event times ahead of arrival are counted, not thrown.
TEST(DelayCases, C42NegativeDelays) {
  const ProfileReport report =
      profile_of(delays_ms(0, {{-200, 1}, {0, 1}, {300, 1}, {500, 1}, {1000, 1}}), 1);
  EXPECT_EQ(report.all.delay_us->p50, 300'000);
  EXPECT_EQ(report.all.delay_us->min, -200'000);
  EXPECT_EQ(report.all.negative, 1);
  EXPECT_EQ(report.all.negative_most_us, 200'000);
  EXPECT_EQ(report.all.clock_ahead_us, 200'000);
}

// C43: a device 27 h behind loads fine, and is named with the record's own time, the limit and the partition.
TEST(DelayCases, C43FarBehindIsNamed) {
  const std::vector<TestRecord> records = {{0, 0, 97'200'000'000, 0}, {0, 97'000'000'000, 97'200'000'000, 0}};
  const ProfileReport report = profile_of(records, 1);
  EXPECT_EQ(report.all.records, 2);
  const auto warned = std::ranges::find(report.findings, Finding::Kind::kFarBehind, &Finding::kind);
  ASSERT_NE(warned, report.findings.end());
  EXPECT_EQ(warned->records, 1);
  EXPECT_EQ(warned->value_us, 97'200'000'000);
  EXPECT_EQ(warned->partition, "p0");
  for (const std::string_view part : {"record time 1970-01-01T00:00:00Z", "arrival 1970-01-02T03:00:00Z",
                                      "limit of 1 day", "partition \"p0\""}) {
    EXPECT_NE(warned->text.find(part), std::string::npos) << warned->text;
  }
}

}  // namespace
}  // namespace wrackline
