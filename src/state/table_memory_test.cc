#include "state/table_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "state/group_table.h"

namespace wrackline::state {
namespace {

TEST(TableMemory, GrowsFromSmallToMappedAndKeepsWhatItHolds) {
  TableMemory block;
  size_t written = 0;
  for (size_t bytes = 1000; bytes < size_t{40} << 20; bytes = bytes * 5 / 4) {
    block.grow(bytes);
    ASSERT_GE(block.size(), bytes);
    ASSERT_LE(block.size(), bytes + bytes / 8 + 4096);
    for (; written < bytes; ++written) block.data()[written] = static_cast<std::byte>(written * 31 >> 5);
    for (size_t at = 0; at < written; at += 997) {
      ASSERT_EQ(block.data()[at], static_cast<std::byte>(at * 31 >> 5)) << at << " of " << bytes;
    }
  }
  TableMemory other = std::move(block);
  EXPECT_EQ(other.data()[7 * 997], static_cast<std::byte>((7 * 997 * 31 >> 5) & 0xFF));
}

TEST(TableMemory, ANewBlockIsZero) {
  for (const size_t bytes : {size_t{64}, size_t{1} << 20, size_t{5} << 20}) {
    const TableMemory block = TableMemory::zeroed(bytes);
    EXPECT_TRUE(
        std::all_of(block.data(), block.data() + bytes, [](std::byte b) { return b == std::byte{}; }));
  }
}

// Ranges of keys on both sides of what the sort packs into one word, in tables told and not told their size.
TEST(GroupTable, SortsAnyRangeOfKeysWhateverWasExpected) {
  std::mt19937_64 random(3);
  for (const int bits : {12, 20, 32, 33, 50, 64}) {
    for (const size_t expected : {0UL, 30000UL, 1000000UL}) {
      GroupTable table(KeyShape::kInteger, 16);
      table.expect(expected);
      EncodedKeys keys;
      keys.count = 40000;
      for (size_t i = 0; i < keys.count; ++i) {
        const uint64_t low = random() >> (64 - bits);
        keys.integers.push_back(static_cast<int64_t>(low - (uint64_t{1} << (bits - 1))));
      }
      std::vector<uint32_t> groups(keys.count);
      table.find_or_insert(keys, groups);
      for (size_t i = 0; i < keys.count; ++i) ASSERT_EQ(table.integer_key(groups[i]), keys.integers[i]);
      std::vector<uint32_t> again(keys.count);
      table.find(keys, again);
      ASSERT_EQ(again, groups);
      std::vector<int64_t> distinct = keys.integers;
      std::ranges::sort(distinct);
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      std::vector<uint32_t> order;
      table.sorted_groups(order);
      ASSERT_EQ(order.size(), distinct.size());
      for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(table.integer_key(order[i]), distinct[i]) << bits;
    }
  }
}

}  // namespace
}  // namespace wrackline::state
