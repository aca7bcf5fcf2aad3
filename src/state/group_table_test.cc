#include "state/group_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "state/key_codec.h"

namespace wrackline::state {
namespace {

std::vector<uint32_t> all_rows(size_t count) {
  std::vector<uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

TEST(GroupTable, IntegersGroupAsAMapDoesAndSortByValue) {
  std::mt19937_64 random(7);
  for (const size_t distinct : {1UL, 3UL, 1000UL, 50000UL}) {
    const KeyCodec codec({Type::bigint()});
    GroupTable table(codec.shape(), 8);
    std::map<int64_t, uint32_t> expected;
    bool null_seen = false;
    for (int batch = 0; batch < 20; ++batch) {
      Column column(Type::bigint());
      column.resize(1000);
      for (size_t i = 0; i < 1000; ++i) {
        column.values<int64_t>()[i] =
            static_cast<int64_t>(random() % distinct) - static_cast<int64_t>(distinct / 2);
        if (batch == 3 && i % 100 == 0) column.set_null(i), null_seen = true;
      }
      EncodedKeys keys;
      const Column* columns[] = {&column};
      const auto rows = all_rows(1000);
      codec.encode(columns, rows, keys);
      std::vector<uint32_t> groups(1000);
      table.find_or_insert(keys, groups);
      for (size_t i = 0; i < 1000; ++i) {
        if (column.is_null(i)) {
          EXPECT_TRUE(table.is_null_key(groups[i]));
          continue;
        }
        const auto [it, fresh] = expected.emplace(column.values<int64_t>()[i], groups[i]);
        EXPECT_EQ(it->second, groups[i]);
        EXPECT_EQ(table.integer_key(groups[i]), it->first);
      }
    }
    ASSERT_EQ(table.size(), expected.size() + (null_seen ? 1 : 0));
    std::vector<uint32_t> order;
    table.sorted_groups(order);
    size_t at = 0;
    for (const auto& [key, group] : expected) EXPECT_EQ(order[at++], group);
    EXPECT_TRUE(table.is_null_key(order.back()));
    table.clear();
    EXPECT_EQ(table.size(), 0U);
  }
}

TEST(GroupTable, TextKeysWithNull) {
  const KeyCodec codec({Type::text()});
  GroupTable table(codec.shape(), 0);
  Column column(Type::text());
  column.resize(5);
  const std::string_view values[] = {"b", "", "a", "b", std::string_view("a\0b", 3)};
  for (size_t i = 0; i < 5; ++i) column.values<std::string_view>()[i] = values[i];
  column.set_null(1);
  EncodedKeys keys;
  const Column* columns[] = {&column};
  codec.encode(columns, all_rows(5), keys);
  std::vector<uint32_t> groups(5);
  table.find_or_insert(keys, groups);
  EXPECT_EQ(groups[0], groups[3]);
  EXPECT_EQ(table.size(), 4U);
  std::vector<uint32_t> order;
  table.sorted_groups(order);
  EXPECT_EQ(table.bytes_key(order[0]), "a");
  EXPECT_EQ(table.bytes_key(order[1]), std::string_view("a\0b", 3));
  EXPECT_EQ(table.bytes_key(order[2]), "b");
  EXPECT_TRUE(table.is_null_key(order[3]));
}

// Encoded keys of several columns: equal bytes for equal values, memcmp order is value order, and back again.
TEST(KeyCodec, TheValueOfANullTextIsNotLookedAt) {
  const KeyCodec codec({Type::text()});
  Column column(Type::text());
  column.resize(2);
  column.values<std::string_view>()[0] = "a";
  column.values<std::string_view>()[1] = std::string_view(reinterpret_cast<const char*>(16), 100);  // nowhere
  column.set_null(1);
  const Column* columns[] = {&column};
  EncodedKeys keys;
  codec.encode(columns, all_rows(2), keys);
  GroupTable table(codec.shape(), 8);
  std::vector<uint32_t> groups(2);
  table.find_or_insert(keys, groups);
  EXPECT_FALSE(table.is_null_key(groups[0]));
  EXPECT_TRUE(table.is_null_key(groups[1]));
}

TEST(KeyCodec, ManyColumnsOrderAndRoundTrip) {
  const std::vector<Type> types = {Type::text(), Type::bigint(), Type::real64(), Type::numeric()};
  const KeyCodec codec(types);
  ASSERT_EQ(codec.shape(), KeyShape::kBytes);
  struct Row {
    std::string_view text;
    int64_t integer;
    double real;
    Decimal decimal;
  };
  // In ascending order.
  const std::vector<Row> rows = {
      {std::string_view("\0", 1), 5, 0, {0, 0}},
      {"a", INT64_MIN, 1, {1, 0}},
      {"a", -1, -1e300, {1, 0}},
      {"a", -1, -0.0, {-15, 1}},
      {"a", -1, 0.0, {-149, 2}},
      {"a", -1, 0.0, {0, 3}},
      {"a", -1, 0.0, {5, 38}},
      {"a", -1, 0.0, {1500, 3}},
      {"a", -1, 0.0, {100, 0}},
      {"a", -1, 1e-300, {100, 0}},
      {"ab", -1, 0, {1, 0}},
  };
  std::vector<Column> columns;
  for (const Type& type : types) {
    columns.emplace_back(type);
    columns.back().resize(rows.size());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    columns[0].values<std::string_view>()[i] = rows[i].text;
    columns[1].values<int64_t>()[i] = rows[i].integer;
    columns[2].values<double>()[i] = rows[i].real;
    columns[3].values<Decimal>()[i] = rows[i].decimal;
  }
  std::vector<const Column*> pointers;
  for (const Column& column : columns) pointers.push_back(&column);
  EncodedKeys keys;
  codec.encode(pointers, all_rows(rows.size()), keys);
  for (size_t i = 1; i < rows.size(); ++i) EXPECT_LT(keys.bytes[i - 1], keys.bytes[i]) << i;

  GroupTable table(codec.shape(), 0);
  std::vector<uint32_t> groups(rows.size());
  table.find_or_insert(keys, groups);
  std::vector<Column> back;
  for (const Type& type : types) {
    back.emplace_back(type);
    back.back().resize(rows.size());
  }
  Arena arena;
  codec.decode(table, groups, back, 0, arena);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(back[0].values<std::string_view>()[i], rows[i].text);
    EXPECT_EQ(back[1].values<int64_t>()[i], rows[i].integer);
    EXPECT_EQ(back[2].values<double>()[i], rows[i].real);
  }
  const Decimal decimal = back[3].values<Decimal>()[7];
  EXPECT_EQ(static_cast<int64_t>(decimal.unscaled), 15);
  EXPECT_EQ(decimal.scale, 1);
}

}  // namespace
}  // namespace wrackline::state
