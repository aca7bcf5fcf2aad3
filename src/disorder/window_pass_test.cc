#include "disorder/window_pass.h"

#include <gtest/gtest.h>

#include "disorder/plain_engine.h"
#include "wrackline/watermark_tracker.h"

namespace wrackline::disorder {
namespace {

// Progress before and after each record, and where partitions end.
struct Track {
  struct Step {
    size_t record = 0;
    bool end = false;  // a partition ends before the record
    PartitionId partition = 0;
    int64_t before_us = kMicrosMin;
    int64_t after_us = kMicrosMin;
  };
  std::vector<Step> steps;
};

Track track(const Setting& setting) {
  PlainEngine engine(setting);
  Track result;
  for (size_t i = 0; i < setting.records.size(); ++i) {
    const TestRecord& record = setting.records[i];
    if (const auto ended = setting.ends.find(i); ended != setting.ends.end()) {
      engine.end(ended->second);
      result.steps.push_back({i, true, ended->second, kMicrosMin, engine.progress()});
    }
    const int64_t before = engine.progress();
    engine.observe(record);
    result.steps.push_back({i, false, record.partition, before, engine.progress()});
  }
  return result;
}

WindowPairs::Shape shape_of(const Setting& setting) {
  if (setting.size_us == 0) return {};
  return {setting.size_us, setting.slide_us, setting.offset_us};
}

WindowPass play(const Setting& setting, const Track& progress, int64_t delay_us, int64_t lateness_us) {
  WindowPass pass({.shape = shape_of(setting),
                   .windows = setting.size_us > 0,
                   .delay_us = delay_us,
                   .lateness_us = lateness_us,
                   .partitions = setting.partitions});
  for (const Track::Step& step : progress.steps) {
    if (!step.end) {
      const TestRecord& record = setting.records[step.record];
      pass.judge({record.partition, record.event_us, record.arrival_us, setting.keys ? record.key : 0,
                  PlainEngine::refused(record), step.before_us});
    }
    pass.advance(step.partition, step.after_us);
  }
  return pass;
}

// Progress does not depend on the delay, so one track serves every pair of a grid.
TEST(WindowPass, CountsWhatTheLawCountsForEveryPair) {
  const std::vector<int64_t> grid = {0, 1, 100'000, 300'000, 1'000'000, 2'500'000, 8'000'000, 20'000'000};
  int64_t pairs = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Setting setting = random_setting(seed + 1000);
    const Track progress = track(setting);
    for (const int64_t delay_us : grid) {
      for (const int64_t horizon_us : grid) {
        if (horizon_us < delay_us) continue;
        SCOPED_TRACE(testing::Message()
                     << "seed " << seed << " delay " << delay_us << " horizon " << horizon_us);
        WindowPass pass = play(setting, progress, delay_us, horizon_us - delay_us);
        const PlainOutcome plain = plain_run(setting, delay_us, horizon_us - delay_us);
        for (const auto& [id, counts] : plain.counts) {
          const BudgetCounts& mine = pass.by_partition()[id];
          ASSERT_EQ(mine.on_time, counts.on_time);
          ASSERT_EQ(mine.corrected, counts.corrected);
          ASSERT_EQ(mine.ledgered, counts.ledgered);
          ASSERT_EQ(mine.refused_future, counts.refused_future);
          pairs += counts.pairs;
        }
        if (setting.size_us == 0) continue;
        ASSERT_EQ(pass.peak_states(), plain.peak);
        const auto latency = pass.latency();
        if (!latency) continue;
        ASSERT_EQ(latency->windows, static_cast<int64_t>(plain.latencies.size()));
        ASSERT_EQ(latency->windows_flushed, plain.flushed);
        int64_t held = 0;
        for (const int64_t windows : pass.windows_held()) held += windows;
        ASSERT_EQ(held, latency->windows);
      }
    }
  }
  EXPECT_GT(pairs, 500'000);
}

TEST(WindowPass, TheTrackerAgreesWithThePlainEngine) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const Setting setting = random_setting(seed + 2000);
    WatermarkTracker tracker({.delay = Duration(0)});
    std::map<PartitionId, PartitionIndex> index;
    if (setting.registered) {
      for (PartitionId id = 0; id < setting.partitions; ++id) index[id] = tracker.add_partition();
    }
    for (const Track::Step& step : track(setting).steps) {
      if (step.end) {
        if (index.contains(step.partition)) tracker.set_ended(index[step.partition]);
      } else {
        const TestRecord& record = setting.records[step.record];
        ASSERT_EQ(tracker.progress().micros(), step.before_us);
        if (!index.contains(step.partition)) index[step.partition] = tracker.add_partition();
        tracker.observe(index[step.partition], EventTime(record.event_us),
                        ArrivalTime(record.arrival_us.value_or(record.event_us)));
      }
      ASSERT_EQ(tracker.progress().micros(), step.after_us);
    }
  }
}

TEST(WindowPairs, WindowsOfATime) {
  const WindowPairs tumbling({10, 10, 0});
  EXPECT_EQ(tumbling.of(0).end(0), 10);
  EXPECT_EQ(tumbling.of(-1).end(0), 0);
  EXPECT_EQ(tumbling.of(9).count, 1);
  const WindowPairs hopping({10, 4, 0});
  // C47: the windows of 9 are [0, 10), [4, 14), [8, 18); those of 3 are [-4, 6), [0, 10).
  EXPECT_EQ(hopping.of(9).count, 3);
  EXPECT_EQ(hopping.of(9).end(0), 18);
  EXPECT_EQ(hopping.of(9).end(2), 10);
  EXPECT_EQ(hopping.of(3).count, 2);
  EXPECT_EQ(hopping.of(3).end(1), 6);
}

TEST(WindowPairs, FirstBehindIsWhereXReachesTheLimit) {
  std::mt19937_64 random(31);
  for (int round = 0; round < 20'000; ++round) {
    const auto slide = static_cast<int64_t>(1 + random() % 20);
    const auto size = slide + static_cast<int64_t>(random() % 60);
    const WindowPairs pairs({size, slide, static_cast<int64_t>(random() % 30) - 15});
    const auto t = static_cast<int64_t>(random() % 200) - 100;
    const auto progress = static_cast<int64_t>(random() % 300) - 150;
    const auto limit = static_cast<int64_t>(random() % 40);
    const WindowPairs::Windows windows = pairs.of(t);
    int64_t expected = 0;
    while (expected < windows.count && progress - windows.end(expected) < limit) ++expected;
    ASSERT_EQ(windows.first_behind(progress, limit), expected);
    for (int64_t k = 0; k < windows.count; ++k) {
      ASSERT_EQ(windows.behind(progress, k), progress - windows.end(k));
      ASSERT_GT(windows.end(k), t);
      ASSERT_LE(windows.end(k) - size, t);
    }
    ASSERT_EQ(windows.first_behind(kMicrosMin, limit), windows.count);
  }
}

}  // namespace
}  // namespace wrackline::disorder
