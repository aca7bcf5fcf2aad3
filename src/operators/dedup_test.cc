// Ids and contents of records, and dedup inside the time stage.
#include "operators/dedup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "data/value.h"
#include "operators/time_stage.h"

namespace wrackline {
namespace {

Value text(std::string value) {
  return {Type::text(), std::move(value)};
}
Value null_of(Type type) {
  return {type, std::monostate()};
}

// A batch of rows; every row has a value of the same type for each column.
class Rows {
 public:
  explicit Rows(std::vector<std::vector<Value>> rows) {
    batch_.rows = rows.size();
    batch_.columns.resize(rows.empty() ? 0 : rows[0].size());
    for (size_t c = 0; c < batch_.columns.size(); ++c) {
      batch_.columns[c].reset(rows[0][c].type);
      batch_.columns[c].resize(rows.size());
      for (size_t r = 0; r < rows.size(); ++r) set_value(batch_.columns[c], r, rows[r][c], batch_.arena);
    }
  }
  const Batch& batch() const { return batch_; }

  std::vector<RecordId> ids(std::vector<size_t> key, std::optional<size_t> arrival = std::nullopt) const {
    std::vector<RecordId> ids;
    RecordIdReader(std::move(key), arrival).read(batch_, ids);
    return ids;
  }

 private:
  Batch batch_;
};

bool same_id(const RecordId& a, const RecordId& b) {
  return a.high == b.high && a.low == b.low;
}
bool has_id(const RecordId& id) {
  return (id.low & kIdLowMask) != 0;
}

// ---- ids

TEST(RecordIdReader, EqualKeysAreOneId) {
  const auto ids = Rows({{text("a")}, {text("b")}, {text("a")}, {text("")}}).ids({0});
  EXPECT_TRUE(same_id(ids[0], ids[2]));
  EXPECT_FALSE(same_id(ids[0], ids[1]));
  EXPECT_TRUE(has_id(ids[3])) << "an empty text is a value";
}

TEST(RecordIdReader, NullInAnyKeyColumnIsNoId) {
  const Rows rows(
      {{text("a"), text("x")}, {text("a"), null_of(Type::text())}, {null_of(Type::text()), text("x")}});
  const auto ids = rows.ids({0, 1});
  EXPECT_TRUE(has_id(ids[0]));
  EXPECT_FALSE(has_id(ids[1]));
  EXPECT_FALSE(has_id(ids[2]));
  EXPECT_FALSE(has_id(rows.ids({1})[1]));
}

TEST(RecordIdReader, NeighbouringColumnsDoNotRunTogether) {
  const auto ids =
      Rows({{text("a"), text("bc")}, {text("ab"), text("c")}, {text("a"), text("bc")}}).ids({0, 1});
  EXPECT_FALSE(same_id(ids[0], ids[1]));
  EXPECT_TRUE(same_id(ids[0], ids[2]));
}

TEST(RecordIdReader, IntegerIdsNeverCollide) {
  std::vector<std::vector<Value>> rows;
  for (int64_t i = -500; i < 500; ++i) rows.push_back({{Type::bigint(), i}});
  rows.push_back({{Type::bigint(), INT64_MAX}});
  rows.push_back({{Type::bigint(), INT64_MIN}});
  rows.push_back({null_of(Type::bigint())});
  const auto ids = Rows(rows).ids({0});
  std::set<uint64_t> high;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    EXPECT_TRUE(has_id(ids[i]));
    EXPECT_TRUE(high.insert(ids[i].high).second);
  }
  EXPECT_FALSE(has_id(ids.back()));
}

// ---- content

TEST(RecordIdReader, ContentIsValuesAndNotTheirSpelling) {
  const auto numeric = [](int64_t unscaled, int32_t scale) {
    return Value{Type::numeric(), Decimal{unscaled, scale}};
  };
  const auto one = Rows({{text("a"),
                          numeric(150, 2),
                          {Type::real64(), 0.0},
                          {Type::json(), std::string(R"({"b":1,"a":[2]})")}},
                         {text("a"),
                          numeric(15, 1),
                          {Type::real64(), -0.0},
                          {Type::json(), std::string(R"( {"a": [ 2 ], "b": 1})")}},
                         {text("a"),
                          numeric(15, 2),
                          {Type::real64(), 0.0},
                          {Type::json(), std::string(R"({"b":1,"a":[2]})")}},
                         {text("a"),
                          numeric(15, 1),
                          {Type::real64(), 0.0},
                          {Type::json(), std::string(R"({"b":1,"a":[3]})")}}})
                       .ids({0});
  EXPECT_EQ(one[0].content, one[1].content);
  EXPECT_NE(one[0].content, one[2].content) << "0.15 is not 1.5";
  EXPECT_NE(one[0].content, one[3].content);
}

TEST(RecordIdReader, ArrivalIsNotContent) {
  const Rows rows({{text("a"), {Type::bigint(), int64_t{1}}}, {text("a"), {Type::bigint(), int64_t{2}}}});
  const auto without = rows.ids({0}, 1);
  EXPECT_EQ(without[0].content, without[1].content);
  const auto with = rows.ids({0});
  EXPECT_NE(with[0].content, with[1].content);
}

TEST(RecordIdReader, ColumnsAndNullsKeepTheirPlace) {
  const auto ids = Rows({{text("x"), text("y")},
                         {text("y"), text("x")},
                         {text("x"), null_of(Type::text())},
                         {text("x"), text("")}})
                       .ids({0});
  std::set<uint64_t> contents;
  for (const RecordId& id : ids) contents.insert(id.content);
  EXPECT_EQ(contents.size(), 4U);
}

// ---- in the stage

struct Record {
  std::optional<int64_t> id;
  std::optional<int64_t> event_us;
  int64_t value = 0;
  int64_t arrival_us = 0;
};

enum class Fate : uint8_t { kTaken, kDuplicate, kConflict, kPastHorizon, kOther };

TimeStageOptions stage_options(std::optional<Duration> horizon) {
  TimeStageOptions options;
  options.event.column = 1;
  options.arrival.emplace();
  options.arrival->column = 3;
  options.arrival->unit = TimeUnit::kMicros;
  options.event.unit = TimeUnit::kMicros;
  options.watermark_delay = micros(100);
  options.dedup.emplace();
  options.dedup->columns = {0};
  options.dedup->name = "id";
  options.dedup->horizon = horizon;
  return options;
}

Rows rows_of(std::span<const Record> records) {
  std::vector<std::vector<Value>> rows;
  const auto integer = [](std::optional<int64_t> value) {
    return value ? Value{Type::bigint(), *value} : null_of(Type::bigint());
  };
  for (const Record& record : records) {
    rows.push_back(
        {integer(record.id), integer(record.event_us), integer(record.value), integer(record.arrival_us)});
  }
  return Rows(std::move(rows));
}

// Feeds the records in batches, each judged in pieces; returns their fates.
std::vector<Fate> fates_of(TimeStage& stage, std::span<const Record> records,
                           const std::function<size_t()>& next_size) {
  std::vector<Fate> fates;
  const PartitionIndex partition = stage.partition("p");
  RecordTimes times;
  while (!records.empty()) {
    const size_t size = std::min(next_size(), records.size());
    const Rows rows = rows_of(records.first(size));
    stage.read(rows.batch(), partition, WallTime(0), times);
    for (size_t begin = 0; begin < size;) {
      const size_t end = std::min(begin + next_size(), size);
      stage.judge(times, begin, end);
      begin = end;
    }
    std::vector<Fate> here(size, Fate::kTaken);
    for (const uint32_t row : times.duplicates) here[row] = Fate::kDuplicate;
    for (const SetAside& aside : times.set_aside) {
      EXPECT_EQ(here[aside.row], Fate::kTaken) << "one fate a record";
      here[aside.row] = aside.reason == Reason::kConflict      ? Fate::kConflict
                        : aside.reason == Reason::kPastHorizon ? Fate::kPastHorizon
                                                               : Fate::kOther;
    }
    for (size_t row = 0; row < size; ++row) EXPECT_EQ(times.usable[row] != 0, here[row] == Fate::kTaken);
    EXPECT_TRUE(std::ranges::is_sorted(times.set_aside, {}, &SetAside::row));
    EXPECT_TRUE(std::ranges::is_sorted(times.duplicates));
    fates.insert(fates.end(), here.begin(), here.end());
    records = records.subspan(size);
  }
  return fates;
}

TEST(Dedup, JudgesInLoggedOrder) {
  using enum Fate;
  constexpr int64_t kDay = 86'400'000'000;
  TimeStage stage(stage_options(micros(1000)));
  const std::vector<Record> records = {
      {1, 5000, 10, 5000},             // new
      {1, 5000, 10, 7000},             // a copy that arrived later
      {1, 5000, 11, 7000},             // other content
      {std::nullopt, 5000, 10, 5000},  // no id
      {std::nullopt, 5000, 10, 5000},  // no id again: taken again
      {2, std::nullopt, 1, 5000},      // no event time: its id stays free
      {2, 5000, 1, 5000},              // so this one is new
      {3, 5000 + 2 * kDay, 1, 5000},   // future: likewise
      {3, 5000, 1, 5000},              //
      {4, 9100, 1, 9100},              // moves the watermark to 9000
      {5, 8000, 1, 9100},              // at the horizon
      {6, 7999, 1, 9100},              // behind it
      {1, 5000, 10, 9100},             // a copy of what is forgotten
  };
  EXPECT_EQ(fates_of(stage, records, [] { return size_t{100}; }),
            (std::vector<Fate>{kTaken, kDuplicate, kConflict, kTaken, kTaken, kOther, kTaken, kOther, kTaken,
                               kTaken, kTaken, kPastHorizon, kPastHorizon}));
  const DedupStatistics statistics = stage.dedup()->statistics();
  EXPECT_EQ(statistics.duplicates, 1);
  EXPECT_EQ(statistics.conflicts, 1);
  EXPECT_EQ(statistics.too_old, 2);
  EXPECT_EQ(statistics.without_id, 2);
}

TEST(Dedup, ACopyShowsHowFarItsPartitionIs) {
  TimeStage stage(stage_options(seconds(1)));
  const PartitionIndex a = stage.partition("a");
  const PartitionIndex b = stage.partition("b");
  const Rows rows = rows_of(std::vector<Record>{{1, 5000, 0, 5000}});
  RecordTimes times;
  for (const PartitionIndex partition : {a, b}) {
    stage.read(rows.batch(), partition, WallTime(0), times);
    stage.judge(times, 0, 1);
  }
  EXPECT_EQ(times.duplicates, std::vector<uint32_t>{0});
  EXPECT_EQ(stage.tracker().watermark(), EventTime(4900));
}

// Random streams with copies, conflicts, late and future records.
std::vector<Record> random_records(std::mt19937_64& random, size_t count) {
  std::vector<Record> records;
  int64_t now = 1'000'000;
  for (size_t i = 0; i < count; ++i) {
    now += static_cast<int64_t>(random() % 40);
    Record record{static_cast<int64_t>(random() % 400), now - static_cast<int64_t>(random() % 300),
                  static_cast<int64_t>(random() % 2), now};
    switch (random() % 12) {
      case 0:
        record.id.reset();
        break;
      case 1:
        record.event_us.reset();
        break;
      case 2:
        record.event_us = now + 90'000'000'000;
        break;
      case 3:
      case 4:
      case 5:
        if (records.empty()) break;
        record = records[records.size() - 1 - random() % std::min<size_t>(records.size(), 200)];
        record.arrival_us = now;
        break;
      default:
        break;
    }
    records.push_back(record);
  }
  return records;
}

TEST(Dedup, BatchesAreInvisible) {
  std::map<Fate, size_t> seen;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<Record> records = random_records(random, 1500);
    const std::optional<Duration> horizon =
        seed % 5 == 0 ? std::nullopt : std::optional(micros(1 + random() % 3000));
    TimeStage whole(stage_options(horizon));
    const std::vector<Fate> expected = fates_of(whole, records, [] { return size_t{10'000}; });
    for (const size_t most : {1, 3, 64}) {
      TimeStage cut(stage_options(horizon));
      const auto next = [&] { return 1 + random() % most; };
      ASSERT_EQ(fates_of(cut, records, next), expected) << "seed " << seed << ", batches of up to " << most;
      ASSERT_EQ(cut.tracker().watermark(), whole.tracker().watermark());
    }
    for (const Fate fate : expected) ++seen[fate];
    // No record is in the totals twice: of equal records at most one is taken.
    std::set<std::tuple<int64_t, int64_t, int64_t>> taken;
    for (size_t i = 0; i < records.size(); ++i) {
      if (expected[i] != Fate::kTaken || !records[i].id) continue;
      ASSERT_TRUE(taken.insert({*records[i].id, *records[i].event_us, records[i].value}).second)
          << "seed " << seed;
    }
  }
  for (const Fate fate : {Fate::kTaken, Fate::kDuplicate, Fate::kConflict, Fate::kPastHorizon, Fate::kOther})
    EXPECT_GT(seen[fate], 100U);
}

TEST(Dedup, RestoringEqualsNeverStopping) {
  std::mt19937_64 random(3);
  const std::vector<Record> records = random_records(random, 2000);
  TimeStage whole(stage_options(micros(2000)));
  const std::vector<Fate> expected = fates_of(whole, records, [] { return size_t{100}; });
  TimeStage first(stage_options(micros(2000)));
  std::vector<Fate> fates = fates_of(first, std::span(records).first(1000), [] { return size_t{100}; });
  SnapshotWriter out;
  first.save(out);
  const std::string saved = out.finish();
  TimeStage second(stage_options(micros(2000)));
  SnapshotReader in = SnapshotReader::open(saved).value();
  const Status status = second.restore(in);
  ASSERT_TRUE(status) << status.error().to_string();
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(second.dedup()->statistics().duplicates, first.dedup()->statistics().duplicates);
  const std::vector<Fate> rest =
      fates_of(second, std::span(records).subspan(1000), [] { return size_t{100}; });
  fates.insert(fates.end(), rest.begin(), rest.end());
  EXPECT_EQ(fates, expected);
}

// ---- units

TEST(TimeStage, ReportsTheUnitThatWouldFit) {
  TimeStageOptions options;
  options.event.column = 0;
  options.event.unit = TimeUnit::kSeconds;
  TimeStage stage(options);
  const PartitionIndex partition = stage.partition("p");
  const auto seconds_and_millis = Rows({{{Type::bigint(), int64_t{1'679'310'767}}},
                                        {{Type::bigint(), int64_t{1'679'310'767'123}}},
                                        {{Type::bigint(), int64_t{1'679'310'768'000}}},
                                        {null_of(Type::bigint())}});
  RecordTimes times;
  stage.read(seconds_and_millis.batch(), partition, WallTime(1'679'310'800'000'000), times);
  ASSERT_EQ(stage.unit_findings().size(), 1U) << "they are told of before they are judged";
  stage.judge(times, 0, 4);
  SnapshotWriter out;
  stage.save(out);
  const std::string saved = out.finish();
  TimeStage restored(options);
  SnapshotReader in = SnapshotReader::open(saved).value();
  ASSERT_TRUE(restored.restore(in));
  const auto findings = restored.unit_findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].records, 2);
  EXPECT_EQ(findings[0].unit, "ms");
  // It is told, not corrected: the guard against the future has them.
  EXPECT_EQ(times.usable, (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(times.set_aside[0].reason, Reason::kFuture);
}

}  // namespace
}  // namespace wrackline
