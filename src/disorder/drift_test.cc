#include "disorder/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace wrackline::disorder {
namespace {

constexpr int64_t kHourUs = INT64_C(3'600'000'000);
constexpr int64_t kMinuteUs = 60'000'000;

TEST(IntervalStatus, SaysWhatTheSampleCanSay) {
  EXPECT_EQ(interval_status({298, 0}, 0.01), DriftStatus::kNoData);
  EXPECT_EQ(interval_status({299, 0}, 0.01), DriftStatus::kGreen);
  EXPECT_EQ(interval_status({10'000, 80}, 0.01), DriftStatus::kGreen);
  EXPECT_EQ(interval_status({10'000, 100}, 0.01), DriftStatus::kAmber);
  EXPECT_EQ(interval_status({10'000, 120}, 0.01), DriftStatus::kRed);
  EXPECT_EQ(interval_status({10'000, 120, 4}, 0.01), DriftStatus::kAmber) << "a quarter of the evidence";
  EXPECT_EQ(interval_status({10'000, 10'000}, 0.01), DriftStatus::kRed);
  EXPECT_EQ(interval_status({0, 0}, 0.01), DriftStatus::kNoData);
}

// Lorden's bound: the mean time to a false alarm is at least what was asked for. The true mean is several
// times that, so a run of 400 times as long has far fewer than 400 alarms.
TEST(DriftWatch, FalseAlarmsAreAtMostAsFrequentAsStated) {
  std::mt19937_64 random(7);
  for (const int64_t records : {50, 1000}) {
    DriftWatch watch({.target_late = 0.01, .intervals_between_false_alarms = 100});
    std::binomial_distribution<int64_t> late(records, 0.01);
    int alarms = 0;
    for (int interval = 0; interval < 40'000; ++interval) {
      // Each alarm starts anew, as if someone had looked into it.
      if (watch.judge({records, late(random)}, 1).alarm) {
        ++alarms;
        watch = DriftWatch({.target_late = 0.01, .intervals_between_false_alarms = 100});
      }
    }
    EXPECT_LE(alarms, 400) << records;
    EXPECT_GE(alarms, 10) << records << ": so rare that the threshold means nothing";
  }
}

// Records that come in bunches of eight alike: without the design effect that would be alarm upon alarm.
TEST(DriftWatch, CorrelatedRecordsAreScaled) {
  std::mt19937_64 random(8);
  std::binomial_distribution<int64_t> bunches(125, 0.01);
  int scaled = 0;
  int plain = 0;
  const DriftOptions options{.target_late = 0.01, .intervals_between_false_alarms = 100};
  DriftWatch with(options);
  DriftWatch without(options);
  for (int interval = 0; interval < 20'000; ++interval) {
    const int64_t late = 8 * bunches(random);
    if (with.judge({1000, late, 8}, 1).alarm) {
      ++scaled;
      with = DriftWatch(options);
    }
    if (without.judge({1000, late, 1}, 1).alarm) {
      ++plain;
      without = DriftWatch(options);
    }
  }
  EXPECT_LE(scaled, 200);
  EXPECT_GT(plain, 400);
}

TEST(DriftWatch, FindsTwiceTheLateShareInThePredictedNumberOfRecords) {
  std::mt19937_64 random(9);
  const DriftOptions options{.target_late = 0.01, .intervals_between_false_alarms = 525'600};
  const double divergence = 0.02 * std::log(2) + 0.98 * std::log(0.98 / 0.99);
  const double predicted = std::log(525'600.0) / divergence;
  std::binomial_distribution<int64_t> late(100, 0.02);
  double total = 0;
  constexpr int kRuns = 300;
  for (int run = 0; run < kRuns; ++run) {
    DriftWatch watch(options);
    for (int interval = 1;; ++interval) {
      ASSERT_LT(interval, 2000);
      if (!watch.judge({100, late(random)}, 1).alarm) continue;
      total += 100.0 * interval;
      break;
    }
  }
  EXPECT_LT(total / kRuns, predicted * 1.15);
  EXPECT_GT(total / kRuns, predicted * 0.8);
}

TEST(DriftWatch, AnAlarmStandsUntilThreeGreenIntervals) {
  DriftWatch watch({.target_late = 0.01, .intervals_between_false_alarms = 1000});
  EXPECT_TRUE(watch.judge({10'000, 500}, 1).alarm);
  EXPECT_FALSE(watch.judge({10'000, 500}, 1).alarm) << "it stands already";
  EXPECT_FALSE(watch.judge({10'000, 50}, 1).cleared);
  EXPECT_FALSE(watch.judge({10'000, 50}, 1).cleared);
  EXPECT_FALSE(watch.judge({10'000, 100}, 1).cleared) << "amber starts the count anew";
  EXPECT_FALSE(watch.judge({10'000, 50}, 1).cleared);
  EXPECT_FALSE(watch.judge({10, 0}, 1).cleared) << "no data says nothing";
  EXPECT_FALSE(watch.judge({10'000, 50}, 1).cleared);
  EXPECT_TRUE(watch.judge({10'000, 50}, 1).cleared);
  EXPECT_FALSE(watch.alarmed());
  EXPECT_TRUE(watch.judge({10'000, 500}, 1).alarm);
}

TEST(DriftWatch, TooLongADelayIsAdviceAndNoAlarm) {
  DriftWatch watch({.target_late = 0.01, .intervals_between_false_alarms = 1000});
  bool advised = false;
  for (int interval = 0; interval < 20; ++interval) {
    const auto judged = watch.judge({1000, 0}, 1);
    EXPECT_FALSE(judged.alarm);
    advised |= judged.over_provisioned;
  }
  EXPECT_TRUE(advised);
}

TEST(DriftWatch, MoreSeriesNeedMoreEvidence) {
  DriftWatch watch({.target_late = 0.01, .intervals_between_false_alarms = 1000});
  const double one = watch.judge({1000, 10}, 1).threshold;
  EXPECT_NEAR(watch.judge({1000, 10}, 50).threshold - one, std::log(50.0), 1e-9);
}

TEST(SlidingHistogram, TheSumIsThatOfTheSlicesThatAreLeft) {
  std::mt19937_64 random(10);
  SlidingHistogram sliding(5);
  std::vector<DelayHistogram> all;
  for (int slice = 0; slice < 30; ++slice) {
    DelayHistogram histogram;
    for (int i = 0; i < 100; ++i) histogram.add(static_cast<int64_t>(random() % 100'000'000) - 1'000'000);
    all.push_back(histogram);
    sliding.push(histogram);
    DelayHistogram expected;
    for (size_t i = all.size() < 5 ? 0 : all.size() - 5; i < all.size(); ++i) expected.merge(all[i]);
    EXPECT_EQ(sliding.total(), expected);
  }
}

TEST(DelayForTarget, MeetsTheTargetOnTheSampleWithRoomForChance) {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> delay(1e-6);
  for (const int64_t count : {300, 5000, 100'000}) {
    DelayHistogram histogram;
    for (int64_t i = 0; i < count; ++i) histogram.add(static_cast<int64_t>(delay(random)));
    const auto found = delay_for_target(histogram, 0.01, 1, std::nullopt);
    ASSERT_TRUE(found.has_value());
    const auto late = static_cast<double>(histogram.count_at_least(*found));
    EXPECT_LE(late, 0.01 * static_cast<double>(count));
    const double exact = 1e6 * std::log(100.0);
    EXPECT_GT(static_cast<double>(*found), exact * 0.93);
    if (count == 100'000) {
      EXPECT_LT(static_cast<double>(*found), exact * 1.05);
    }
  }
  DelayHistogram few;
  for (int i = 0; i < 298; ++i) few.add(i);
  EXPECT_EQ(delay_for_target(few, 0.01, 1, std::nullopt), std::nullopt);
  EXPECT_EQ(delay_for_target({}, 0.01, 1, std::nullopt), std::nullopt);
}

TEST(DelayForTarget, LeavesTheOfflineModeAlone) {
  DelayHistogram histogram;
  for (int i = 0; i < 90'000; ++i) histogram.add(1'000'000 + i);
  for (int i = 0; i < 10'000; ++i) histogram.add(kHourUs + i);
  const auto everything = delay_for_target(histogram, 0.01, 1, std::nullopt);
  EXPECT_GT(everything, kHourUs);
  const auto transport = delay_for_target(histogram, 0.01, 1, kMinuteUs);
  ASSERT_TRUE(transport.has_value());
  EXPECT_LT(*transport, 1'200'000);
  EXPECT_GE(*transport, 1'000'000);
}

TEST(DelayFollower, UpAtOnceDownSlowly) {
  DelayFollower follower({.min_us = 0, .max_us = kHourUs});
  EXPECT_EQ(follower.next(10'000'000, 60'000'000, kMinuteUs), 60'000'000);
  EXPECT_EQ(follower.next(60'000'000, std::nullopt, kMinuteUs), 60'000'000);
  EXPECT_EQ(follower.next(60'000'000, 50'000'000, kMinuteUs), 60'000'000) << "within 0.8";
  int64_t delay = 60'000'000;
  int64_t first = 0;
  for (int minute = 1; minute <= 60; ++minute) {
    const int64_t next = follower.next(delay, 1'000'000, kMinuteUs);
    EXPECT_LE(next, delay);
    if (next < delay && first == 0) first = minute;
    delay = next;
  }
  EXPECT_GE(first, 12) << "a fiftieth";
  EXPECT_LE(first, 13);
  EXPECT_GE(delay, 54'000'000) << "at most a tenth an hour";
  EXPECT_LE(delay, 55'000'000);
}

TEST(DelayFollower, StaysWithinItsBounds) {
  DelayFollower follower({.min_us = 5'000'000, .max_us = 20'000'000});
  EXPECT_EQ(follower.next(10'000'000, kHourUs, kMinuteUs), 20'000'000);
  int64_t delay = 20'000'000;
  for (int hour = 0; hour < 100; ++hour) delay = follower.next(delay, 0, 5 * kHourUs);
  EXPECT_GE(delay, 5'000'000);
  EXPECT_LE(delay, 6'250'000) << "it rests where the target is no longer below 0.8 of it";
}

}  // namespace
}  // namespace wrackline::disorder
