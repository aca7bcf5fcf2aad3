#include "data/value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/batch.h"
#include "data/decimal.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

constexpr Type kReal{.kind = TypeKind::kDouble, .bits = 32};

struct Case {
  Type type;
  ValueData data;
  const char* text;
  const char* json;
};

std::vector<Case> cases() {
  const double infinity = std::numeric_limits<double>::infinity();
  return {
      {Type::boolean(), true, "t", "true"},
      {Type::boolean(), false, "f", "false"},
      {Type::bigint(), std::numeric_limits<int64_t>::min(), "-9223372036854775808", "-9223372036854775808"},
      {Type::numeric(), Decimal{1250, 2}, "12.50", "12.50"},
      {Type::numeric(), Decimal{-5, 38}, "-0.00000000000000000000000000000000000005",
       "-0.00000000000000000000000000000000000005"},
      {Type::real64(), 0.1, "0.1", "0.1"},
      {Type::real64(), -0.0, "-0", "-0"},
      {Type::real64(), 1e15, "1e+15", "1e+15"},
      {Type::real64(), 999999999999999.0, "999999999999999", "999999999999999"},
      {Type::real64(), 123456789012345678.0, "1.2345678901234568e+17", "1.2345678901234568e+17"},
      {Type::real64(), 0.0001, "0.0001", "0.0001"},
      {Type::real64(), 1e-5, "1e-05", "1e-05"},
      {Type::real64(), 5e-324, "5e-324", "5e-324"},
      {Type::real64(), std::nan(""), "NaN", "\"NaN\""},
      {Type::real64(), -infinity, "-Infinity", "\"-Infinity\""},
      {kReal, static_cast<double>(0.1F), "0.1", "0.1"},
      {kReal, 1e6, "1e+06", "1e+06"},
      {kReal, 999999.0, "999999", "999999"},
      {kReal, 16777216.0, "1.6777216e+07", "1.6777216e+07"},
      {Type::text(), std::string("a \"quoted\"\n"), "a \"quoted\"\n", "\"a \\\"quoted\\\"\\n\""},
      {Type::text(), std::string(), "", "\"\""},
      {Type::timestamptz(), int64_t{0}, "1970-01-01T00:00:00Z", "\"1970-01-01T00:00:00Z\""},
      {Type::timestamptz(), kMicrosMax, "infinity", "\"infinity\""},
      {Type::timestamp(), int64_t{-1}, "1969-12-31T23:59:59.999999", "\"1969-12-31T23:59:59.999999\""},
      {Type::date(), int64_t{19844}, "2024-05-01", "\"2024-05-01\""},
      {Type::interval(), Interval{14, -3, 1}, "1 year 2 mons -3 days +00:00:00.000001",
       "\"1 year 2 mons -3 days +00:00:00.000001\""},
      {Type::json(), std::string("{\"a\": [1, null]}"), "{\"a\": [1, null]}", "{\"a\": [1, null]}"},
  };
}

TEST(Value, GoesIntoAColumnAndComesOutAsTextAndJson) {
  for (const Case& c : cases()) {
    Arena arena;
    Column column(c.type);
    column.resize(3);
    set_value(column, 1, {c.type, c.data}, arena);
    std::string text;
    append_text(text, column, 1);
    EXPECT_EQ(text, c.text);
    std::string json;
    append_json(json, column, 1);
    EXPECT_EQ(json, c.json);
    const Value back = value_at(column, 1);
    EXPECT_EQ(back.type, c.type);
    EXPECT_EQ(back.data.index(), c.data.index()) << c.text;
    Column again(c.type);
    again.resize(1);
    set_value(again, 0, back, arena);
    std::string same;
    append_text(same, again, 0);
    EXPECT_EQ(same, c.text);
  }
}

TEST(Value, NullIsEmptyTextAndJsonNull) {
  for (const Case& c : cases()) {
    Arena arena;
    Column column(c.type);
    column.resize(2);
    set_value(column, 0, {c.type, {}}, arena);
    set_value(column, 1, {c.type, c.data}, arena);
    EXPECT_TRUE(value_at(column, 0).is_null());
    EXPECT_FALSE(value_at(column, 1).is_null());
    std::string text;
    append_text(text, column, 0);
    EXPECT_EQ(text, "");
    std::string json;
    append_json(json, column, 0);
    EXPECT_EQ(json, "null");
    set_value(column, 0, {c.type, c.data}, arena);  // a null can be overwritten
    EXPECT_FALSE(value_at(column, 0).is_null());
  }
}

TEST(Value, TextOutlivesTheValueItCameFrom) {
  Arena arena;
  Column column(Type::text());
  column.resize(1);
  {
    const Value value{Type::text(), std::string(100, 'x')};
    set_value(column, 0, value, arena);
  }
  EXPECT_EQ(column.values<std::string_view>()[0], std::string(100, 'x'));
}

TEST(Type, HasPostgresName) {
  const std::pair<Type, const char*> names[] = {
      {Type::boolean(), "boolean"},
      {{.kind = TypeKind::kInteger, .bits = 16}, "smallint"},
      {Type::integer(), "integer"},
      {Type::bigint(), "bigint"},
      {Type::numeric(), "numeric"},
      {{.kind = TypeKind::kNumeric, .precision = 10, .scale = 2}, "numeric(10,2)"},
      {{.kind = TypeKind::kNumeric, .precision = 10}, "numeric(10,0)"},
      {kReal, "real"},
      {Type::real64(), "double precision"},
      {Type::text(), "text"},
      {{.kind = TypeKind::kText, .precision = 20}, "character varying(20)"},
      {Type::timestamptz(), "timestamp with time zone"},
      {Type::timestamp(), "timestamp without time zone"},
      {Type::date(), "date"},
      {Type::interval(), "interval"},
      {Type::json(), "jsonb"}};
  for (const auto& [type, name] : names) EXPECT_EQ(to_string(type), name);
}

TEST(Column, GrowsAndKeepsItsValues) {
  Column column(Type::numeric());
  for (size_t rows = 1; rows <= 3000; rows += 7) {
    const size_t before = column.size();
    column.resize(rows);
    for (size_t i = before; i < rows; ++i)
      column.values<Decimal>()[i] = decimal_from_int(static_cast<int64_t>(i));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(column.values<Decimal>().data()) % 64, 0U);
    if (rows % 3 == 0) column.set_null(rows - 1);
  }
  for (size_t i = 0; i < column.size(); ++i) {
    if (!column.is_null(i)) {
      EXPECT_EQ(decimal_to_int(column.values<Decimal>()[i]), static_cast<int64_t>(i));
    }
  }
  EXPECT_TRUE(column.has_nulls());
  EXPECT_EQ(column.valid().size(), column.size());
}

TEST(Column, NewRowsAreValidAfterShrinkingOverNulls) {
  Column column(Type::bigint());
  column.resize(4);
  column.set_null(3);
  column.resize(2);
  column.resize(4);
  EXPECT_FALSE(column.is_null(3));
  column.reset(Type::boolean());
  EXPECT_EQ(column.size(), 0U);
  EXPECT_FALSE(column.has_nulls());
  column.resize(2);
  EXPECT_FALSE(column.is_null(1));
}

TEST(Arena, KeepsWhatItGaveUntilCleared) {
  Arena arena;
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < 2000; ++i)
    kept.push_back(arena.copy(std::string(i % 300, static_cast<char>('a' + i % 26))));
  const std::string_view large = arena.copy(std::string(1 << 20, 'L'));
  for (size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i], std::string(i % 300, static_cast<char>('a' + i % 26)));
  EXPECT_EQ(large, std::string(1 << 20, 'L'));
  const size_t used = arena.bytes();
  EXPECT_GT(used, size_t{1} << 20);
  arena.clear();
  EXPECT_EQ(arena.bytes(), 0U);
  EXPECT_EQ(arena.copy("again"), "again");
}

TEST(Batch, ResetKeepsNothingOfTheLastBatch) {
  Batch batch;
  const std::vector<Field> fields = {{"a", Type::bigint()}, {"b", Type::text()}};
  batch.reset(fields);
  batch.rows = 1;
  batch.columns[0].resize(1);
  batch.columns[0].set_null(0);
  batch.offsets.push_back(0);
  batch.rejects.push_back({});
  batch.reset({{"c", Type::date()}});
  EXPECT_EQ(batch.rows, 0U);
  ASSERT_EQ(batch.columns.size(), 1U);
  EXPECT_EQ(batch.columns[0].type(), Type::date());
  EXPECT_FALSE(batch.columns[0].has_nulls());
  EXPECT_TRUE(batch.offsets.empty() && batch.lines.empty() && batch.raw.empty() && batch.rejects.empty());
}

TEST(Batch, EveryReasonHasItsOwnName) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kReasonCount; ++i) names.push_back(to_string(static_cast<Reason>(i)));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace wrackline
