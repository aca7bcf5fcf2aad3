// Delay over time: exact intervals whatever the batches, and changes that have a date.
#include "disorder/delay_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace wrackline::disorder {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000 / 86'400'000'000 * 86'400'000'000;
constexpr int64_t kMinute = 60'000'000;
constexpr int64_t kDay = 86'400'000'000;

struct Stream {
  std::vector<int64_t> event_us;
  std::vector<int64_t> delay_us;

  void add(int64_t arrival_us, int64_t delay) {
    event_us.push_back(arrival_us - delay);
    delay_us.push_back(delay);
  }
  SeriesBuilder build(size_t block = 700) const {
    SeriesBuilder series(-300'000'000);
    for (size_t from = 0; from < event_us.size(); from += block) {
      const size_t count = std::min(block, event_us.size() - from);
      series.add(std::span(event_us).subspan(from, count), std::span(delay_us).subspan(from, count), {},
                 false);
    }
    return series;
  }
};

// Some records a day with a floor and an exponential tail above it.
Stream daily(std::mt19937_64& random, int days, int per_day, const std::function<int64_t(int)>& floor_us,
             int64_t tail_us) {
  Stream stream;
  std::exponential_distribution<double> tail(1.0 / static_cast<double>(tail_us));
  for (int day = 0; day < days; ++day) {
    for (int i = 0; i < per_day; ++i) {
      const int64_t arrival = kNow + day * kDay + i * (kDay / per_day);
      stream.add(arrival, floor_us(day) + static_cast<int64_t>(tail(random)));
    }
  }
  return stream;
}

TEST(DelaySeries, IntervalsHoldEveryRecordWhateverTheBlocks) {
  std::mt19937_64 random(7);
  const Stream stream = daily(random, 300, 20, [](int) { return kMinute; }, kMinute);
  const DelaySeries whole = stream.build().finish();
  const DelaySeries pieces = stream.build(1).finish();
  int64_t records = 0;
  ASSERT_EQ(whole.intervals.size(), pieces.intervals.size());
  EXPECT_LE(whole.intervals.size(), 400U);
  for (size_t i = 0; i < whole.intervals.size(); ++i) {
    EXPECT_EQ(whole.intervals[i].delay, pieces.intervals[i].delay);
    EXPECT_EQ(whole.intervals[i].disorder, pieces.intervals[i].disorder);
    EXPECT_LT(i == 0 ? kMicrosMin : whole.intervals[i - 1].start_us, whole.intervals[i].start_us);
    records += whole.intervals[i].records;
  }
  EXPECT_EQ(records, 6000);
}

TEST(DelaySeries, AFloorThatMovesHasADate) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    // Five records a day, as scattered as the step is high.
    const Stream stream =
        daily(random, 200, 5, [](int day) { return (day < 120 ? 8 : 7) * 60 * kMinute; }, 60 * kMinute);
    SeriesBuilder series = stream.build();
    series.widen_to(kDay);
    const DelaySeries found = series.finish();
    ASSERT_EQ(found.changes.size(), 1U);
    EXPECT_TRUE(found.changes[0].floor);
    EXPECT_LE(std::abs(found.changes[0].at_us - (kNow + 120 * kDay)), 2 * kDay);
    EXPECT_LT(found.changes[0].shift_us, -30 * kMinute);
  }
}

TEST(DelaySeries, QuietStreamsHaveNoChange) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Stream stream = daily(
        random, 400, 1 + static_cast<int>(seed % 12), [](int) { return kMinute; },
        seed % 2 == 0 ? kMinute : 600 * kMinute);
    EXPECT_TRUE(stream.build().finish().changes.empty());
  }
}

TEST(DelaySeries, TheTimeOfDayIsNoChangeForGood) {
  std::mt19937_64 random(3);
  Stream stream;
  std::uniform_int_distribution<int64_t> jitter(0, 2'000'000);
  for (int i = 0; i < 30 * 24 * 12; ++i) {  // every five minutes; slow by day, fast by night
    const int hour = i / 12 % 24;
    stream.add(kNow + i * 5 * kMinute, (hour < 12 ? 10 : 2) * 1'000'000 + jitter(random));
  }
  EXPECT_TRUE(stream.build().finish().changes.empty());
}

TEST(DelaySeries, DelaysThatKeepGrowingAreOneChange) {
  std::mt19937_64 random(6);
  const auto minutes = [](int day) { return day < 100 ? 1 : day < 160 ? 1 + 10 * (day - 100) / 4 : 150; };
  Stream stream = daily(random, 260, 8, [&](int day) { return minutes(day) * kMinute; }, kMinute);
  SeriesBuilder series = stream.build();
  series.widen_to(kDay);
  const DelaySeries found = series.finish();
  ASSERT_EQ(found.changes.size(), 1U);
  const RegimeChange& change = found.changes[0];
  EXPECT_GT(change.until_us, change.at_us + 20 * kDay);
  EXPECT_LE(change.until_us, kNow + 175 * kDay);
  EXPECT_LT(change.before.p50_us, 30 * kMinute);
  EXPECT_GT(change.after.p50_us, 120 * kMinute);
  EXPECT_NE(change.text.find("kept changing"), std::string::npos);
}

// What a detector of jumps must not take for jumps: noise that remembers itself.
TEST(DelaySeries, NoiseWithAMemoryIsSeldomAChange) {
  int changes = 0;
  constexpr int kStreams = 100;
  for (uint64_t seed = 1; seed <= kStreams; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> step(0, 0.3);
    Stream stream;
    double level = 0;
    for (int day = 0; day < 400; ++day) {
      level = 0.7 * level + step(random);
      for (int i = 0; i < 6; ++i)
        stream.add(kNow + day * kDay + i * 60 * kMinute,
                   static_cast<int64_t>(std::exp(level + step(random)) * 5 * static_cast<double>(kMinute)));
    }
    SeriesBuilder series = stream.build();
    series.widen_to(kDay);
    changes += static_cast<int>(series.finish().changes.size());
  }
  EXPECT_LE(changes, 2) << "in " << kStreams << " streams of 400 days";
}

TEST(DelaySeries, OneLongOutageIsNoChange) {
  std::mt19937_64 random(5);
  Stream stream = daily(random, 100, 8, [](int) { return kMinute; }, kMinute);
  for (int i = 0; i < 2000; ++i) stream.add(kNow + 100 * kDay + i, 40 * 60 * kMinute);  // two days at once
  const Stream after = daily(random, 100, 8, [](int) { return kMinute; }, kMinute);
  for (size_t i = 0; i < after.event_us.size(); ++i)
    stream.add(after.event_us[i] + after.delay_us[i] + 101 * kDay, after.delay_us[i]);
  EXPECT_TRUE(stream.build().finish().changes.empty());
}

TEST(DelaySeries, WideningMergesExactly) {
  std::mt19937_64 random(11);
  const Stream stream = daily(random, 3, 500, [](int) { return kMinute; }, kMinute);
  SeriesBuilder series = stream.build();
  series.widen_to(kDay * 7);
  ASSERT_LE(series.intervals().size(), 2U);
  uint64_t records = 0;
  for (const auto& [index, interval] : series.intervals()) records += interval.delay.count();
  EXPECT_EQ(records, stream.event_us.size());
}

TEST(DelaySeries, AbsurdTimesStayInRange) {
  SeriesBuilder series(-300'000'000);
  const std::vector<int64_t> event_us = {kMicrosMin + 1, kMicrosMax - 1, 0, -kDay};
  const std::vector<int64_t> delay_us = {kMicrosMax, kMicrosMin + 5, 0, kDay};
  series.add(event_us, delay_us, {}, true);
  int64_t records = 0;
  for (const DelayInterval& interval : series.finish().intervals) records += interval.records;
  EXPECT_EQ(records, 4);
}

}  // namespace
}  // namespace wrackline::disorder
