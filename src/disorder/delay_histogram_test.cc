#include "wrackline/delay_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace wrackline {
namespace {

using Index = DelayHistogram::BucketIndex;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Values of every size and sign, the ends of the range and the edges of buckets among them.
int64_t any_value(std::mt19937_64& random) {
  const auto bits = static_cast<int64_t>(random() >> (random() % 64));
  switch (random() % 8) {
    case 0:
      return random() % 2 == 0 ? kMin : kMax;
    case 1:
      return static_cast<int64_t>(random() % 600) - 300;
    case 2:
      return DelayHistogram::lower_edge(DelayHistogram::bucket_of(bits));
    case 3:
      return DelayHistogram::upper_edge(DelayHistogram::bucket_of(-(bits / 2)));
    default:
      return random() % 2 == 0 ? bits : static_cast<int64_t>(0 - static_cast<uint64_t>(bits));
  }
}

std::vector<int64_t> any_values(std::mt19937_64& random, size_t count) {
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = any_value(random);
  return values;
}

DelayHistogram of(const std::vector<int64_t>& values) {
  DelayHistogram histogram;
  histogram.add(std::span(values));
  return histogram;
}

DelayHistogram sum(DelayHistogram a, const DelayHistogram& b) {
  a.merge(b);
  return a;
}

TEST(DelayHistogram, ASpanCountsAsItsValuesDo) {
  std::mt19937_64 random(12);
  std::vector<int64_t> values = any_values(random, 20'000);
  for (int bit = 0; bit < 63; ++bit) {
    for (const int64_t by : {-1, 0, 1}) values.push_back((int64_t{1} << bit) + by);
  }
  for (const int64_t value : std::vector(values))
    values.push_back(static_cast<int64_t>(0 - static_cast<uint64_t>(value)));
  DelayHistogram one_by_one;
  for (const int64_t value : values) one_by_one.add(value);
  EXPECT_EQ(of(values), one_by_one);
}

TEST(DelayHistogram, BucketsAreExactBelow256AndWithin128thAbove) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200'000; ++round) {
    const int64_t value = any_value(random);
    const Index index = DelayHistogram::bucket_of(value);
    const int64_t lower = DelayHistogram::lower_edge(index);
    const int64_t upper = DelayHistogram::upper_edge(index);
    ASSERT_LE(lower, value);
    ASSERT_GE(upper, value);
    ASSERT_EQ(DelayHistogram::bucket_of(lower), index);
    ASSERT_EQ(DelayHistogram::bucket_of(upper), index);
    const double width = static_cast<double>(upper) - static_cast<double>(lower);
    const double near = std::min(std::abs(static_cast<double>(lower)), std::abs(static_cast<double>(upper)));
    if (std::abs(static_cast<double>(value)) < 256) {
      ASSERT_EQ(lower, upper);
    } else {
      ASSERT_LE(width, near / 128);
    }
  }
}

TEST(DelayHistogram, BucketsFollowEachOtherWithoutGapOrOverlap) {
  for (Index index = DelayHistogram::bucket_of(kMin); index < DelayHistogram::bucket_of(kMax); ++index) {
    ASSERT_EQ(DelayHistogram::upper_edge(index) + 1, DelayHistogram::lower_edge(index + 1)) << index;
  }
  EXPECT_EQ(DelayHistogram::lower_edge(DelayHistogram::bucket_of(kMin)), kMin);
  EXPECT_EQ(DelayHistogram::upper_edge(DelayHistogram::bucket_of(kMax)), kMax);
}

TEST(DelayHistogram, TotalsAndCountsAtEdgesAreExact) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    const auto values = any_values(random, 1 + random() % 500);
    const DelayHistogram histogram = of(values);
    WideSum total = 0;
    for (const int64_t value : values) total += value;
    EXPECT_EQ(histogram.count(), values.size());
    EXPECT_TRUE(histogram.sum() == total);
    EXPECT_EQ(histogram.min(), *std::ranges::min_element(values));
    EXPECT_EQ(histogram.max(), *std::ranges::max_element(values));
    for (int probe = 0; probe < 20; ++probe) {
      const Index index = DelayHistogram::bucket_of(any_value(random));
      const int64_t lower = DelayHistogram::lower_edge(index);
      const int64_t upper = DelayHistogram::upper_edge(index);
      EXPECT_EQ(histogram.count_at_least(lower),
                std::ranges::count_if(values, [&](int64_t v) { return v >= lower; }));
      EXPECT_EQ(histogram.count_at_most(upper),
                std::ranges::count_if(values, [&](int64_t v) { return v <= upper; }));
      EXPECT_EQ(histogram.count_in(index),
                std::ranges::count_if(values, [&](int64_t v) { return v >= lower && v <= upper; }));
    }
  }
}

TEST(DelayHistogram, RankBoundsHoldTheOrderStatistic) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    auto values = any_values(random, 1 + random() % 300);
    const DelayHistogram histogram = of(values);
    std::ranges::sort(values);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_LE(histogram.rank_lower(i + 1), values[i]);
      ASSERT_GE(histogram.rank_upper(i + 1), values[i]);
      const auto located = histogram.locate(i + 1);
      ASSERT_EQ(located.bucket.index, DelayHistogram::bucket_of(values[i]));
      ASSERT_EQ(located.before,
                std::ranges::count_if(values, [&](int64_t v) { return v < located.bucket.lower; }));
    }
  }
}

// Invariant I17.
TEST(DelayHistogram, MergeIsAssociativeAndCommutativeAndSubtractUndoesIt) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    const DelayHistogram a = of(any_values(random, random() % 100));
    const DelayHistogram b = of(any_values(random, random() % 100));
    const DelayHistogram c = of(any_values(random, random() % 100));
    EXPECT_EQ(sum(a, b), sum(b, a));
    EXPECT_EQ(sum(sum(a, b), c), sum(a, sum(b, c)));
    DelayHistogram back = sum(a, b);
    back.subtract(b);
    EXPECT_EQ(back, a);
    if (!back.empty()) {
      // The extremes may no longer be exact but still bound the values.
      EXPECT_LE(back.min(), a.min());
      EXPECT_GE(back.max(), a.max());
      EXPECT_EQ(DelayHistogram::bucket_of(back.min()), DelayHistogram::bucket_of(a.min()));
    }
    back.subtract(back);
    EXPECT_EQ(back, DelayHistogram{});
    EXPECT_TRUE(back.extremes_exact());
  }
}

TEST(DelayHistogram, OrderAndGroupingDoNotMatter) {
  std::mt19937_64 random(5);
  auto values = any_values(random, 2000);
  const DelayHistogram whole = of(values);
  std::ranges::shuffle(values, random);
  DelayHistogram single;
  for (const int64_t value : values) single.add(value);
  EXPECT_EQ(whole, single);
  EXPECT_EQ(whole.min(), single.min());
  EXPECT_EQ(whole.max(), single.max());
  DelayHistogram counted;
  counted.add(7, 3);
  counted.add(-9, 0);
  EXPECT_EQ(counted, of({7, 7, 7}));
}

TEST(DelayHistogram, DifferentValuesAreDifferent) {
  EXPECT_FALSE(of({1, 2}) == of({1, 3}));
  EXPECT_FALSE(of({1}) == of({1, 1}));
  EXPECT_FALSE(of({1000}) == of({1001}));  // same bucket, other sum
}

TEST(DelayHistogram, EmptyTakesNoPages) {
  constexpr size_t kObjectBytes = 320;  // a page would be 1 KiB more
  EXPECT_LT(DelayHistogram{}.bytes(), kObjectBytes);
  DelayHistogram histogram;
  histogram.add(1'000'000);
  EXPECT_LT(histogram.bytes(), kObjectBytes + 1024 + 64);
}

TEST(DelayHistogramDeathTest, TakingBackWhatWasNeverAddedStops) {
  DelayHistogram a = of({1, 2});
  EXPECT_DEATH(a.subtract(of({3})), "take back");
}

}  // namespace
}  // namespace wrackline
