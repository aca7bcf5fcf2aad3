#include "wrackline/watermark_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace wrackline {
namespace {

WatermarkTracker make(int64_t delay_ms, size_t partitions) {
  WatermarkTracker tracker({.delay = millis(delay_ms)});
  for (size_t i = 0; i < partitions; ++i) tracker.add_partition();
  return tracker;
}

void push(WatermarkTracker& tracker, PartitionIndex partition, int64_t event_ms) {
  tracker.observe(partition, EventTime(event_ms * 1000), ArrivalTime(event_ms * 1000));
}

int64_t watermark_ms(const WatermarkTracker& tracker) {
  return tracker.watermark().micros() / 1000;
}

TEST(WatermarkTracker, PartitionThatHasNotSpokenHolds) {
  WatermarkTracker tracker = make(0, 4);
  push(tracker, 0, 50000);
  push(tracker, 1, 9000);
  push(tracker, 2, 40000);
  EXPECT_EQ(tracker.watermark(), EventTime::minus_infinity());
  EXPECT_EQ(tracker.holders(), std::vector<PartitionIndex>{3});
  EXPECT_EQ(tracker.partition_progress(1), EventTime(9000000));
}

TEST(WatermarkTracker, MinimumOverPartitionsNeverBack) {
  WatermarkTracker tracker = make(0, 1);
  push(tracker, 0, 1000);
  push(tracker, 0, 15000);
  EXPECT_EQ(watermark_ms(tracker), 15000);
  tracker.add_partition();
  push(tracker, 1, 5000);
  push(tracker, 1, 6000);
  EXPECT_EQ(watermark_ms(tracker), 15000);
  push(tracker, 1, 16000);
  EXPECT_EQ(watermark_ms(tracker), 15000);
  push(tracker, 0, 21000);
  EXPECT_EQ(watermark_ms(tracker), 16000);
  push(tracker, 1, 21000);
  EXPECT_EQ(watermark_ms(tracker), 21000);
}

TEST(WatermarkTracker, AllIdleMovesToTheGreatestInAnyOrder) {
  for (const PartitionIndex first : {0U, 1U}) {
    WatermarkTracker tracker = make(0, 2);
    push(tracker, 0, 20000);
    push(tracker, 1, 15000);
    tracker.set_idle(first);
    tracker.set_idle(1 - first);
    EXPECT_EQ(watermark_ms(tracker), 20000);
  }
}

TEST(WatermarkTracker, FutureRecordDoesNotMoveTime) {
  WatermarkTracker tracker = make(0, 1);
  tracker.observe(0, EventTime(0), ArrivalTime(0));
  tracker.observe(0, EventTime(seconds(86400).micros()), ArrivalTime(seconds(1).micros()));
  EXPECT_EQ(watermark_ms(tracker), 0);
  tracker.observe(0, EventTime(seconds(301).micros()),
                  ArrivalTime(seconds(1).micros()));  // exactly the limit
  EXPECT_EQ(watermark_ms(tracker), 301000);
  tracker.observe(0, EventTime(kMicrosMax - 5), ArrivalTime(kMicrosMin + 5));  // the difference overflows
  EXPECT_EQ(watermark_ms(tracker), 301000);
}

TEST(WatermarkTracker, ARaisedDelayWaits) {
  WatermarkTracker tracker = make(1000, 1);
  push(tracker, 0, 10000);
  EXPECT_EQ(watermark_ms(tracker), 9000);
  tracker.set_delay(millis(5000));
  EXPECT_EQ(watermark_ms(tracker), 9000);
  push(tracker, 0, 13000);
  EXPECT_EQ(watermark_ms(tracker), 9000);
  push(tracker, 0, 15000);
  EXPECT_EQ(watermark_ms(tracker), 10000);
}

TEST(WatermarkTracker, EndedPartitionReleasesAndTheLastHolds) {
  WatermarkTracker tracker = make(0, 2);
  push(tracker, 0, 1000);
  tracker.set_ended(0);
  push(tracker, 1, 2000);
  push(tracker, 1, 11000);
  EXPECT_EQ(watermark_ms(tracker), 11000);
  tracker.set_ended(1);
  EXPECT_EQ(watermark_ms(tracker), 11000);
  tracker.flush();
  EXPECT_EQ(tracker.watermark(), EventTime::plus_infinity());
}

TEST(WatermarkTracker, WallTimeCarriesOnOnlyWhenAllAreIdle) {
  WatermarkTracker tracker = make(1000, 3);
  EXPECT_FALSE(tracker.all_idle());
  push(tracker, 0, 10000);
  push(tracker, 1, 20000);
  tracker.set_ended(2);
  tracker.set_idle(0);
  EXPECT_FALSE(tracker.all_idle());
  tracker.set_idle(1);
  EXPECT_TRUE(tracker.all_idle());
  tracker.carry_on(EventTime(15000000));  // behind G: nothing moves
  EXPECT_EQ(watermark_ms(tracker), 19000);
  tracker.carry_on(EventTime(60000000));
  EXPECT_EQ(watermark_ms(tracker), 59000);
  push(tracker, 0, 30000);  // it comes back behind the watermark, which stays
  EXPECT_EQ(watermark_ms(tracker), 59000);
  EXPECT_TRUE(tracker.was_idle(0));
  EXPECT_FALSE(tracker.all_idle());
  tracker.set_ended(0);
  tracker.set_ended(1);
  EXPECT_FALSE(tracker.all_idle());  // all have ended: that is not idleness
}

TEST(WatermarkTracker, HolderIsTheFirstOfTheHolders) {
  std::mt19937_64 random(7);
  WatermarkTracker tracker = make(0, 0);
  EXPECT_EQ(tracker.holder(), std::nullopt);
  for (int step = 0; step < 2000; ++step) {
    if (tracker.partition_count() == 0 || random() % 100 == 0) tracker.add_partition();
    const auto partition = static_cast<PartitionIndex>(random() % tracker.partition_count());
    if (random() % 5 == 0) {
      tracker.set_idle(partition);
    } else {
      push(tracker, partition, static_cast<int64_t>(random() % 50));
    }
    const std::vector<PartitionIndex> holders = tracker.holders();
    EXPECT_EQ(tracker.holder(), holders.empty() ? std::nullopt : std::optional(holders[0]));
  }
}

// Batches against single records against a plain recount, over random partitions, clocks and idleness.
TEST(WatermarkTracker, AnyCutGivesTheSameProgress) {
  std::mt19937_64 random(20261130);
  for (int round = 0; round < 200; ++round) {
    const size_t partitions = 1 + random() % 5;
    WatermarkTracker single = make(0, partitions);
    WatermarkTracker batched = make(0, partitions);
    std::vector<int64_t> maxima(partitions, kMicrosMin);
    int64_t progress = kMicrosMin;
    for (int cut = 0; cut < 10; ++cut) {
      const size_t rows = random() % 20;
      std::vector<PartitionIndex> partition(rows);
      std::vector<int64_t> event(rows);
      std::vector<int64_t> arrival(rows);
      std::vector<uint8_t> usable(rows);
      for (size_t i = 0; i < rows; ++i) {
        partition[i] = static_cast<PartitionIndex>(random() % partitions);
        event[i] = static_cast<int64_t>(random() % 2000) * 1000000;
        arrival[i] = static_cast<int64_t>(random() % 2000) * 1000000;
        usable[i] = random() % 8 != 0;
      }
      std::vector<int64_t> before(rows + 1);
      if (rows > 0) {
        batched.observe(partition, event, arrival, usable, before);
        for (size_t i = 0; i < rows; ++i) {
          EXPECT_EQ(before[i], progress);
          if (usable[i] == 0) continue;
          single.observe(partition[i], EventTime(event[i]), ArrivalTime(arrival[i]));
          if (event[i] - arrival[i] <= 300 * 1000000LL)
            maxima[partition[i]] = std::max(maxima[partition[i]], event[i]);
          progress = std::max(progress, *std::min_element(maxima.begin(), maxima.end()));
        }
        EXPECT_EQ(before[rows], progress);
      }
      EXPECT_EQ(single.progress().micros(), progress);
      EXPECT_EQ(batched.progress().micros(), progress);
    }
  }
}

// A tracker whose state is taken and given to a new one after every step is the one that went on.
TEST(WatermarkTracker, RestoredAfterEveryStepNothingShows) {
  std::mt19937_64 random(20261201);
  size_t idle_steps = 0;
  for (int round = 0; round < 100; ++round) {
    const size_t partitions = 1 + random() % 6;
    WatermarkTracker whole = make(500, partitions);
    WatermarkTracker restored = make(500, partitions);
    for (int step = 0; step < 60; ++step) {
      const uint64_t what = random() % 20;
      const auto partition = static_cast<PartitionIndex>(random() % whole.partition_count());
      const auto event_ms = static_cast<int64_t>(random() % 400'000);
      const Duration delay = millis(static_cast<int64_t>(random() % 3000));
      for (WatermarkTracker* tracker : {&whole, &restored}) {
        if (what < 12) {
          tracker->observe(partition, EventTime(event_ms * 1000), ArrivalTime(50'000'000));
          if (what < 3) tracker->caught_up_after_idle(partition);
        } else if (what < 16) {
          tracker->set_idle(partition);
        } else if (what < 17) {
          tracker->set_ended(partition);
        } else if (what < 18) {
          tracker->add_partition();
        } else if (what < 19) {
          tracker->set_delay(delay);
        } else if (tracker->all_idle()) {
          tracker->carry_on(EventTime(event_ms * 1000));
        }
      }
      idle_steps += whole.all_idle();
      WatermarkTracker next({.delay = Duration()});
      if (random() % 2 == 0) next.add_partition();
      next.restore(restored.state());
      restored = std::move(next);
      ASSERT_EQ(restored.watermark(), whole.watermark());
      ASSERT_EQ(restored.progress(), whole.progress());
      ASSERT_EQ(restored.delay(), whole.delay());
      ASSERT_EQ(restored.holder(), whole.holder());
      ASSERT_EQ(restored.all_idle(), whole.all_idle());
      ASSERT_EQ(restored.any_was_idle(), whole.any_was_idle());
      ASSERT_EQ(restored.partition_state(partition), whole.partition_state(partition));
      ASSERT_EQ(restored.was_idle(partition), whole.was_idle(partition));
    }
  }
  EXPECT_GT(idle_steps, 100U);
}

}  // namespace
}  // namespace wrackline
