#include "disorder/record_log.h"

#include <gtest/gtest.h>

#include "disorder/test_stream.h"

namespace wrackline::disorder {
namespace {

struct Rows {
  std::vector<int64_t> event_us;
  std::vector<int64_t> delay_us;
  std::vector<PartitionId> partition;
  std::vector<uint8_t> has_arrival;
  std::vector<uint64_t> key_hash;
  friend bool operator==(const Rows&, const Rows&) = default;
};

// Columns of every width: constant, narrow, wide and the whole range.
Rows random_rows(std::mt19937_64& random, size_t count) {
  Rows rows;
  const auto spread = [&] { return static_cast<int>(random() % 65); };
  const int event_bits = spread();
  const int delay_bits = spread();
  const auto draw = [&](int bits) {
    return bits == 0 ? int64_t{-7} : static_cast<int64_t>(random() >> (64 - bits));
  };
  const bool partitions = random() % 2 == 0;
  for (size_t i = 0; i < count; ++i) {
    rows.event_us.push_back(draw(event_bits));
    rows.delay_us.push_back(random() % 2 == 0 ? draw(delay_bits) : -draw(delay_bits / 2));
    rows.partition.push_back(partitions ? static_cast<PartitionId>(random()) : 3);
    rows.has_arrival.push_back(random() % 2 == 0 ? 1 : 0);
    rows.key_hash.push_back(random());
  }
  return rows;
}

void append(RecordLog& log, const Rows& rows, Rows& all) {
  ASSERT_TRUE(log.append({.event_us = rows.event_us,
                          .delay_us = rows.delay_us,
                          .partition = rows.partition,
                          .has_arrival = rows.has_arrival,
                          .key_hash = rows.key_hash}));
  all.event_us.insert(all.event_us.end(), rows.event_us.begin(), rows.event_us.end());
  all.delay_us.insert(all.delay_us.end(), rows.delay_us.begin(), rows.delay_us.end());
  all.partition.insert(all.partition.end(), rows.partition.begin(), rows.partition.end());
  all.has_arrival.insert(all.has_arrival.end(), rows.has_arrival.begin(), rows.has_arrival.end());
  all.key_hash.insert(all.key_hash.end(), rows.key_hash.begin(), rows.key_hash.end());
}

Rows read_back(const RecordLog& log) {
  Rows all;
  const auto done = log.scan([&](const LogRows& rows) {
    all.event_us.insert(all.event_us.end(), rows.event_us.begin(), rows.event_us.end());
    all.delay_us.insert(all.delay_us.end(), rows.delay_us.begin(), rows.delay_us.end());
    all.partition.insert(all.partition.end(), rows.partition.begin(), rows.partition.end());
    all.has_arrival.insert(all.has_arrival.end(), rows.has_arrival.begin(), rows.has_arrival.end());
    all.key_hash.insert(all.key_hash.end(), rows.key_hash.begin(), rows.key_hash.end());
  });
  EXPECT_TRUE(done.has_value());
  return all;
}

TEST(RecordLog, GivesBackWhatItTook) {
  for (const bool spills : {false, true}) {
    std::mt19937_64 random(11);
    const auto spill = std::make_shared<MemorySpill>();
    RecordLog log(spills ? size_t{1} << 20 : size_t{1} << 30, spills ? spill : nullptr);
    Rows all;
    for (int block = 0; block < 300; ++block) {
      append(log, random_rows(random, 1 + random() % (block % 3 == 0 ? kLogBlockRows : 40)), all);
    }
    EXPECT_EQ(log.rows(), all.event_us.size());
    EXPECT_EQ(read_back(log), all);
    EXPECT_EQ(read_back(log), all);  // any number of times
    EXPECT_EQ(log.spilled_bytes() > 0, spills);
    if (spills) {
      EXPECT_LE(log.memory_bytes(), size_t{1} << 20);
    }
  }
}

TEST(RecordLog, ColumnsThatDoNotVaryTakeNoBytes) {
  RecordLog log(size_t{1} << 30, nullptr);
  const std::vector<int64_t> constant(kLogBlockRows, 42);
  for (int block = 0; block < 1000; ++block) {
    ASSERT_TRUE(log.append({.event_us = constant, .delay_us = constant, .partition_all = 9}));
  }
  EXPECT_LE(log.memory_bytes(), size_t{1} << 20);  // two million records
}

TEST(RecordLog, ErrorsOfTheSpillFileComeThrough) {
  const auto spill = std::make_shared<MemorySpill>();
  spill->appends_left = 1;
  RecordLog log(0, spill);
  std::mt19937_64 random(12);
  std::vector<int64_t> wide(kLogBlockRows);
  for (int64_t& value : wide) value = static_cast<int64_t>(random());
  std::expected<void, std::string> added;
  int blocks = 0;
  for (; blocks < 1000 && added; ++blocks) added = log.append({.event_us = wide, .delay_us = wide});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error(), "no space left on device");
  EXPECT_GT(blocks, 2);
  spill->fail_reads = true;
  const auto scanned = log.scan([](const LogRows&) {});
  ASSERT_FALSE(scanned.has_value());
  EXPECT_EQ(scanned.error(), "cannot read back");
}

TEST(RecordLog, EmptyHasNothingToScan) {
  RecordLog log(0, nullptr);
  EXPECT_TRUE(log.append({}));
  EXPECT_TRUE(log.scan([](const LogRows&) { FAIL(); }));
}

}  // namespace
}  // namespace wrackline::disorder
