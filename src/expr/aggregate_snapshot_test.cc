// Every aggregate, saved and restored in the middle of its life, must not show it.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "expr/aggregate_groups_test.h"

namespace wrackline::expr {
namespace {

const std::vector<std::string> kSpelled = {"count",
                                           "count distinct",
                                           "sum",
                                           "sum distinct",
                                           "avg",
                                           "avg distinct",
                                           "min",
                                           "max",
                                           "first",
                                           "last",
                                           "stddev",
                                           "variance distinct",
                                           "var_pop",
                                           "bool_and",
                                           "bool_or",
                                           "approx_count_distinct",
                                           "approx_percentile",
                                           "string_agg",
                                           "string_agg distinct",
                                           "string_agg desc",
                                           "array_agg",
                                           "array_agg distinct",
                                           "jsonb_agg asc"};

// Values at which states change their form: wide sums, scales that differ, zeros with a sign, doubling texts.
const std::map<std::string, std::vector<std::string>> kValues = {
    {"int2", {"0", "1", "-5", "32767", "NULL"}},
    {"int4", {"0", "7", "-5", "2147483647", "NULL"}},
    {"int8", {"0", "3", "-5", "9223372036854775807", "-9223372036854775808", "NULL"}},
    {"numeric",
     {"0", "1.5", "1.50", "-7", "99999999999999999999999999999999999999",
      "-99999999999999999999999999999999999998", "0.00000000000000000000000000000000000001", "NULL"}},
    {"float4", {"0", "-0", "1.5", "3e38", "-3e38", "1e-45", "NULL"}},
    {"float8", {"0", "-0", "1.5", "1e300", "-1e300", "1e-300", "5e-324", "NaN", "Infinity", "0.1", "NULL"}},
    {"text", {"", "a", "b", "a longer text than the room", "\xC3\xA4", "NULL"}},
    {"date", {"2024-01-01", "1970-01-01", "2024-02-29", "NULL"}},
    {"timestamptz", {"2024-01-01 00:00:00+00", "1970-01-01 00:00:00+00", "NULL"}},
    {"interval", {"1 month", "30 days", "-1 hour", "720 hours", "NULL"}},
    {"boolean", {"true", "false", "NULL"}},
    {"jsonb", {"1", "\"a\"", "{\"b\":1}", "NULL"}}};

std::string saved(Groups& groups, size_t count) {
  SnapshotWriter out;
  for (size_t group = 0; group < count; ++group) {
    out.section("aggr");
    groups.aggregate->save(groups.rows().at(group), out);
  }
  return out.finish();
}

Status restore(std::string_view snapshot, Groups& groups, size_t count) {
  WRACKLINE_ASSIGN(SnapshotReader in, SnapshotReader::open(snapshot));
  for (size_t group = 0; group < count; ++group) {
    in.section("aggr");
    WRACKLINE_TRY(groups.aggregate->restore(in, groups.rows().at(group), groups.arena));
  }
  return in.finish();
}

struct Stream {
  Column column;
  std::vector<uint32_t> groups;
  std::vector<uint32_t> rows;
};

Stream random_stream(const Type& type, const std::vector<std::string>& values, size_t rows, Arena& arena,
                     std::mt19937_64& random) {
  std::vector<std::string> texts(rows);
  const size_t many = 1 + random() % values.size();
  for (std::string& text : texts) text = values[random() % many];
  Stream stream{column_of(type, texts, arena), std::vector<uint32_t>(rows), std::vector<uint32_t>(rows)};
  for (uint32_t& group : stream.groups) group = static_cast<uint32_t>(random() % 3);
  std::iota(stream.rows.begin(), stream.rows.end(), 0U);
  return stream;
}

void add(Groups& groups, const Stream& stream, size_t begin, size_t end) {
  const auto from = static_cast<ptrdiff_t>(begin);
  const auto to = static_cast<ptrdiff_t>(end);
  groups.add(std::span(stream.groups.begin() + from, stream.groups.begin() + to),
             std::span(stream.rows.begin() + from, stream.rows.begin() + to), &stream.column);
}

template <class Act>
void for_every_aggregate(Act act) {
  size_t made_count = 0;
  for (const auto& [name, values] : kValues) {
    for (const std::string& spelled : kSpelled) {
      const Type type = *type_named(name);
      const auto made = make_spelled(spelled, type);
      if (!made) continue;
      ++made_count;
      SCOPED_TRACE(spelled + " of " + name);
      act(*made, type, values);
    }
  }
  EXPECT_GT(made_count, 150U);
}

TEST(AggregateSnapshot, ARestoredStateCannotBeTold) {
  std::mt19937_64 random(1);
  for_every_aggregate([&](const Made& made, const Type& type, const std::vector<std::string>& values) {
    for (int round = 0; round < 12; ++round) {
      Arena arena;
      const size_t rows = random() % 60;
      const size_t cut = rows == 0 ? 0 : random() % rows;
      const Stream stream = random_stream(type, values, rows, arena, random);
      Groups whole(made, 3);
      add(whole, stream, 0, rows);
      auto before = std::make_unique<Groups>(made, 3);
      add(*before, stream, 0, cut);
      const std::string snapshot = saved(*before, 3);
      before.reset();  // what it kept is gone
      Groups after(made, 3);
      std::ranges::fill(after.bytes, ~uint64_t{0});  // restore() needs no empty state
      const Status status = restore(snapshot, after, 3);
      ASSERT_TRUE(status.has_value()) << status.error().to_string();
      EXPECT_EQ(saved(after, 3).size(), snapshot.size());
      add(after, stream, cut, rows);
      EXPECT_EQ(after.results(), whole.results());
      for (Groups* groups : {&whole, &after}) {
        groups->aggregate->merge(groups->rows().at(0), groups->rows().at(1), groups->arena);
      }
      EXPECT_EQ(after.results(), whole.results());
    }
  });
}

TEST(AggregateSnapshot, SketchesOfManyValuesComeBack) {
  const Type type = Type::bigint();
  std::vector<int64_t> values(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * i * 7919);
  for (const char* spelled : {"approx_count_distinct", "approx_percentile", "count distinct"}) {
    Groups groups(*make_spelled(spelled, type), 1);
    groups.add_all(column_of<int64_t>(type, values));
    Groups restored(groups.aggregate, 1);
    ASSERT_TRUE(restore(saved(groups, 1), restored, 1).has_value()) << spelled;
    EXPECT_EQ(restored.results(), groups.results()) << spelled;
  }
}

// With a checksum that is right, so that the fields themselves are met.
TEST(AggregateSnapshot, DamagedFieldsAreErrorsOrValuesButNeverACrash) {
  constexpr size_t kHeadBytes = 24;
  std::mt19937_64 random(2);
  for_every_aggregate([&](const Made& made, const Type& type, const std::vector<std::string>& values) {
    Arena arena;
    const Stream stream = random_stream(type, values, 40, arena, random);
    Groups groups(made, 3);
    add(groups, stream, 0, 40);
    const std::string payload = saved(groups, 3).substr(kHeadBytes);
    for (int round = 0; round < 60; ++round) {
      const bool is_cut = round % 2 != 0;
      std::string damaged = payload.substr(0, is_cut ? random() % payload.size() : payload.size());
      if (!is_cut) damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 7));
      SnapshotWriter out;
      out.bytes(damaged.data(), damaged.size());
      Groups restored(made, 3);
      const Status status = restore(out.finish(), restored, 3);
      EXPECT_FALSE(is_cut && status.has_value());
    }
  });
}

}  // namespace
}  // namespace wrackline::expr
