#include "disorder/saved_histogram.h"

#include <gtest/gtest.h>

#include <random>

#include "disorder/drift.h"

namespace wrackline::disorder {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

std::string saved(const DelayHistogram& histogram) {
  SnapshotWriter out;
  save(histogram, out);
  return out.finish();
}

DelayHistogram restored(const std::string& bytes) {
  auto reader = SnapshotReader::open(bytes);
  EXPECT_TRUE(reader.has_value());
  DelayHistogram histogram = restore_histogram(*reader);
  EXPECT_TRUE(reader->finish().has_value());
  return histogram;
}

void expect_same(const DelayHistogram& a, const DelayHistogram& b) {
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.extremes_exact(), b.extremes_exact());
  if (a.empty()) return;
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
}

TEST(SavedHistogram, ComesBackAsItWas) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    DelayHistogram histogram;
    DelayHistogram gone;
    for (uint64_t i = random() % 300; i > 0; --i) {
      const auto value = static_cast<int64_t>(random()) >> (random() % 64);
      histogram.add(value, 1 + random() % 1'000'000);
      if (random() % 3 == 0) gone.add(value);
    }
    if (round % 2 == 0) histogram.subtract(gone);  // leaves extremes that are only bounds
    expect_same(restored(saved(histogram)), histogram);
  }
}

TEST(SavedHistogram, TheEndsOfTheRange) {
  DelayHistogram histogram;
  for (const int64_t value : {kLeast, kMost}) histogram.add(value, uint64_t{1} << 60);
  expect_same(restored(saved(histogram)), histogram);
  expect_same(restored(saved({})), {});
}

TEST(SavedHistogram, TakesFewBytes) {
  DelayHistogram histogram;
  std::mt19937_64 random(2);
  std::exponential_distribution<double> law(1e-6);
  for (int i = 0; i < 10'000; ++i) histogram.add(static_cast<int64_t>(law(random)));
  EXPECT_LT(saved(histogram).size(), 100 + 3 * histogram.buckets().size());
}

TEST(SavedHistogram, WhatNoneCanHaveSavedIsRefused) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    SnapshotWriter out;
    std::string buckets;
    for (uint64_t i = random() % 12; i > 0; --i) buckets += static_cast<char>(random());
    out.text(buckets);
    for (int i = 0; i < 4; ++i) out.u64(random() >> (random() % 64));
    out.u8(1);
    const std::string bytes = out.finish();
    auto reader = SnapshotReader::open(bytes);
    ASSERT_TRUE(reader.has_value());
    const DelayHistogram histogram = restore_histogram(*reader);
    if (!reader->failed()) continue;
    ++refused;
    EXPECT_TRUE(histogram.empty());
  }
  EXPECT_GT(refused, 1000);
}

TEST(SavedHistogram, SlidingOnesGoOnAsIfNothingHadHappened) {
  std::mt19937_64 random(4);
  SlidingHistogram straight(5);
  SlidingHistogram interrupted(5);
  for (int round = 0; round < 30; ++round) {
    DelayHistogram slice;
    for (uint64_t i = random() % 20; i > 0; --i) slice.add(static_cast<int64_t>(random() % 100'000));
    straight.push(slice);
    interrupted.push(slice);
    SnapshotWriter out;
    interrupted.save(out);
    const std::string bytes = out.finish();
    auto reader = SnapshotReader::open(bytes);
    ASSERT_TRUE(reader.has_value());
    interrupted = SlidingHistogram(5);
    interrupted.restore(*reader);
    ASSERT_TRUE(reader->finish().has_value());
    ASSERT_EQ(interrupted.slices(), straight.slices());
    expect_same(interrupted.total(), straight.total());
  }
}

}  // namespace
}  // namespace wrackline::disorder
