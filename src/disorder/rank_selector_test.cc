#include "disorder/rank_selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace wrackline::disorder {
namespace {

TEST(RankSelector, EveryRankIsExact) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 300; ++round) {
    // Many ties in some rounds, none in others; both signs; wide and narrow.
    const int bits = static_cast<int>(random() % 60) + 3;
    const size_t count = 1 + random() % 3000;
    std::vector<int64_t> values(count);
    for (int64_t& value : values) {
      value = static_cast<int64_t>(random() >> bits) * (random() % 3 == 0 ? -1 : 1);
      if (round % 2 == 0) value = value / 1000 * 1000;
    }
    DelayHistogram histogram;
    histogram.add(std::span<const int64_t>(values));
    std::vector<uint64_t> ranks = {1, count};
    for (int i = 0; i < 12; ++i) ranks.push_back(1 + random() % count);
    RankSelector selector(BucketTable(histogram), ranks);
    for (const int64_t value : values) selector.offer(value);
    std::ranges::sort(values);
    for (const uint64_t rank : ranks) ASSERT_EQ(selector.value(rank), values[rank - 1]);
  }
}

TEST(RankSelector, RanksThatDoNotExistAreIgnored) {
  DelayHistogram histogram;
  EXPECT_FALSE(RankSelector(BucketTable(histogram), {0, 1, 5}).wants_any());
  histogram.add(1'000'000);
  RankSelector selector(BucketTable(histogram), {0, 1, 2});
  EXPECT_TRUE(selector.wants_any());
  selector.offer(1'000'000);
  EXPECT_EQ(selector.value(1), 1'000'000);
}

TEST(RankSelector, ValuesThatTheirBucketTellsAreNotCollected) {
  DelayHistogram histogram;
  histogram.add(0, 100);
  histogram.add(255, 100);
  RankSelector selector(BucketTable(histogram), {50, 150});
  EXPECT_FALSE(selector.wants_any());
  EXPECT_EQ(selector.value(50), 0);
  EXPECT_EQ(selector.value(150), 255);
}

TEST(CountedValues, ManyEqualAndManyDistinct) {
  std::mt19937_64 random(22);
  CountedValues counted;
  std::vector<int64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(i % 3 == 0 ? 7 : static_cast<int64_t>(random() % 50'000));
    counted.add(values.back());
  }
  std::ranges::sort(values);
  for (const size_t rank : {size_t{1}, size_t{50'000}, size_t{99'999}, size_t{100'000}}) {
    EXPECT_EQ(counted.at_rank(rank), values[rank - 1]);
  }
}

TEST(BucketTable, LocatesLikeTheHistogram) {
  std::mt19937_64 random(23);
  DelayHistogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.add(static_cast<int64_t>(random() >> (random() % 64)) / 3 - 1000);
  const BucketTable table(histogram);
  EXPECT_EQ(table.count(), histogram.count());
  for (uint64_t rank = 1; rank <= 1000; ++rank) {
    EXPECT_EQ(table.locate(rank).bucket.index, histogram.locate(rank).bucket.index);
    EXPECT_EQ(table.locate(rank).before, histogram.locate(rank).before);
  }
  for (int i = 0; i < 1000; ++i) {
    const auto value = static_cast<int64_t>(random() >> (random() % 64)) / 3 - 1000;
    EXPECT_EQ(table.count_at_most_index(DelayHistogram::bucket_of(value)), histogram.count_at_most(value));
  }
}

}  // namespace
}  // namespace wrackline::disorder
