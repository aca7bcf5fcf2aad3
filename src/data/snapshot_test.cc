#include "data/snapshot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wrackline {
namespace {

std::string sample() {
  SnapshotWriter out;
  out.section("test");
  out.u8(7);
  out.u32(1'000'000);
  out.i64(std::numeric_limits<int64_t>::min());
  out.f64(-0.0);
  out.text("");
  out.text("a text");
  return out.finish();
}

TEST(Snapshot, WhatIsWrittenIsRead) {
  const std::string bytes = sample();
  auto in = SnapshotReader::open(bytes);
  ASSERT_TRUE(in.has_value());
  in->section("test");
  EXPECT_EQ(in->u8(), 7);
  EXPECT_EQ(in->u32(), 1'000'000U);
  EXPECT_EQ(in->i64(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(std::signbit(in->f64()));
  EXPECT_EQ(in->text(), "");
  EXPECT_EQ(in->text(), "a text");
  EXPECT_TRUE(in->finish().has_value());
}

TEST(Snapshot, EveryTruncationAndEveryFlippedBitIsAnError) {
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(SnapshotReader::open(bytes.substr(0, size)).has_value()) << size;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(SnapshotReader::open(flipped).has_value()) << bit;
  }
}

TEST(Snapshot, AReaderThatFailedGivesNothingMore) {
  SnapshotWriter out;
  out.section("test");
  out.u64(1000);  // of a text that is not there
  out.u64(3);
  const std::string bytes = out.finish();
  auto in = SnapshotReader::open(bytes);
  ASSERT_TRUE(in.has_value());
  in->section("test");
  EXPECT_EQ(in->text(), "");
  EXPECT_EQ(in->u64(), 0U);
  EXPECT_EQ(in->count(1), 0U);
  EXPECT_EQ(in->status().error().detail,
            "Byte 12, after section \"test\": a length is larger than what is left.");
}

TEST(Snapshot, AnotherSectionAndBytesLeftOverAreErrors) {
  const std::string bytes = sample();
  auto other = SnapshotReader::open(bytes);
  other->section("rest");
  EXPECT_FALSE(other->status().has_value());
  auto early = SnapshotReader::open(bytes);
  early->section("test");
  EXPECT_TRUE(early->status().has_value());
  EXPECT_FALSE(early->finish().has_value());
}

}  // namespace
}  // namespace wrackline
