#include "runtime/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "data/value.h"
#include "operators/aligned_aggregate.h"
#include "runtime/memory_source_test.h"

namespace wrackline::runtime {
namespace {

struct Row {
  int64_t start_us;
  std::string key;
  int64_t version;
  std::string status;
  std::string op;
  int64_t count;
  int64_t sum;
  friend auto operator<=>(const Row&, const Row&) = default;
};

// Keeps what a view publishes.
class MemorySink : public Sink {
 public:
  explicit MemorySink(std::vector<Row>& rows) : rows_(rows) {}
  SinkCapabilities capabilities() const override { return {true, true, "tests"}; }
  Status open(const std::vector<OutputColumn>&, std::string_view, const SinkStart&) override { return {}; }
  Status write(const ChangeBatch& changes) override {
    for (size_t i = 0; i < changes.rows; ++i) {
      std::string sum;
      append_text(sum, changes.columns[3], i);
      rows_.push_back(
          {changes.columns[0].values<int64_t>()[i],
           changes.columns[1].is_null(i) ? "(null)"
                                         : std::string(changes.columns[1].values<std::string_view>()[i]),
           changes.versions[i], std::string(to_string(changes.statuses[i])),
           std::string(to_string(changes.ops[i])), changes.columns[2].values<int64_t>()[i], std::stoll(sum)});
    }
    return {};
  }
  Status commit() override { return {}; }
  Status close(bool) override { return {}; }

 private:
  std::vector<Row>& rows_;
};

struct TestRun {
  Duration delay;
  Duration lateness;
  LatePolicy policy = LatePolicy::kCorrect;
  Duration size = seconds(10);
  size_t rows_max = 4096;
  SinkMode mode = SinkMode::kUpsert;
  bool flush = true;
  bool in_arrival_order = false;
  size_t threads = 1;
};

struct Outcome {
  std::vector<Row> rows;
  std::vector<ledger::Entry> entries;
  RunReport report;
};

// select window_start, key, count(*), sum(value) group by window, key
Outcome run(const std::vector<std::vector<TestRecord>>& splits, const TestRun& config) {
  Outcome outcome;
  const auto key = expr::make_column(2, Type::text(), 0);
  const auto value = expr::make_column(3, Type::bigint(), 0);
  const Type bigint = Type::bigint();
  std::vector<expr::ExprPtr> outputs;
  const std::shared_ptr<const expr::Aggregate> count = expr::make_aggregate("count", nullptr).value();
  const std::shared_ptr<const expr::Aggregate> sum = expr::make_aggregate("sum", &bigint).value();
  outputs.push_back(expr::make_column(0, Type::timestamptz(), 0));
  outputs.push_back(expr::make_column(2, Type::text(), 0));
  outputs.push_back(expr::make_column(3, count->result_type(), 0));
  outputs.push_back(expr::make_column(4, sum->result_type(), 0));

  SourcePlan plan;
  plan.source = std::make_unique<MemorySource>(splits);
  plan.input.name = "s";
  plan.input.fields = test_fields();
  plan.input.times.event.column = 0;
  plan.input.times.arrival = TimeColumnOptions{.column = 1};
  plan.input.times.watermark_delay = config.delay;
  plan.input.rows_max = config.rows_max;
  plan.input.alignment = config.size;
  plan.input.in_arrival_order = config.in_arrival_order;
  ViewPlan view;
  ViewOptions operation;
  operation.view = view.name = "v";
  operation.source = "s";
  operation.router = LateRouter({config.policy, config.lateness, std::nullopt});
  operation.keys = {key.get()};
  operation.key_names = {"key"};
  operation.aggregates = {{count, nullptr, nullptr}, {sum, value.get(), nullptr}};
  operation.threads = config.threads;
  for (const auto& output : outputs) operation.outputs.push_back(output.get());
  view.make = [&](ChangeConsumer& consumer, int64_t generation, bool wants_retractions) {
    operation.wants_retractions = wants_retractions;
    return std::make_unique<AlignedAggregate>(operation, WindowPlan::tumbling(config.size), consumer,
                                              generation);
  };
  view.sinks.push_back({std::make_unique<MemorySink>(outcome.rows), config.mode});
  plan.views.push_back(std::move(view));

  const auto ledger = ledger::Ledger::transient();
  env::SettableClock clock(WallTime(0));
  RunnerOptions options;
  options.flush_at_end = config.flush;
  std::vector<SourcePlan> plans;
  plans.push_back(std::move(plan));
  Runner runner(std::move(plans), *ledger, clock, options);
  auto report = runner.run();
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().to_string());
  if (report) outcome.report = std::move(*report);
  const Status scanned = ledger->scan({}, [&](const ledger::Entry& entry) {
    outcome.entries.push_back(entry);
    return true;
  });
  EXPECT_TRUE(scanned.has_value());
  return outcome;
}

std::vector<TestRecord> at(std::initializer_list<int64_t> event_ms) {
  std::vector<TestRecord> records;
  for (const int64_t ms : event_ms) records.push_back({ms * 1000, ms * 1000, "a", 1});
  return records;
}

TEST(Runner, LateRecordGoesToTheLedger) {
  const Outcome outcome = run({at({1000, 5000, 12000, 4000})}, {});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{0, "a", 1, "on_time", "insert", 2, 2},
                                            {10000000, "a", 1, "on_time", "insert", 1, 1}}));
  ASSERT_EQ(outcome.entries.size(), 1U);
  EXPECT_EQ(outcome.entries[0].offset, 3);
  EXPECT_EQ(outcome.entries[0].key, "\"a\"");
  EXPECT_EQ(outcome.entries[0].watermark_us, 12000000);
  EXPECT_EQ(outcome.entries[0].windows[0].late_by_us, 2000000);
  EXPECT_TRUE(outcome.report.balanced());
}

TEST(Runner, WindowEndEqualToTheWatermarkIsLateByZero) {
  const Outcome outcome = run({at({10000, 9999, 10000})}, {});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{10000000, "a", 1, "on_time", "insert", 2, 2}}));
  ASSERT_EQ(outcome.entries.size(), 1U);
  EXPECT_EQ(outcome.entries[0].windows[0].late_by_us, 0);
}

TEST(Runner, CorrectionCarriesTheFullNewValue) {
  const Outcome outcome =
      run({at({1000, 2000, 3000, 10000, 4000})}, {.lateness = seconds(20), .rows_max = 1});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{0, "a", 1, "on_time", "insert", 3, 3},
                                            {0, "a", 2, "correction", "update", 4, 4},
                                            {10000000, "a", 1, "on_time", "insert", 1, 1}}));
}

TEST(Runner, FirstVersionHoldsWhatTheWindowHeldWhenItClosed) {
  // One batch for everything: the correction after the closing must not leak into the first version.
  const Outcome outcome = run({at({1000, 10000, 4000, 5000})}, {.lateness = seconds(20)});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{0, "a", 1, "on_time", "insert", 1, 1},
                                            {0, "a", 2, "correction", "update", 3, 3},
                                            {10000000, "a", 1, "on_time", "insert", 1, 1}}));
}

TEST(Runner, FirstVersionOfAWindowThatWasEmptyIsACorrection) {
  const Outcome outcome = run({at({10000, 4000})}, {.lateness = seconds(20)});
  EXPECT_EQ(outcome.rows[0], (Row{0, "a", 1, "correction", "insert", 1, 1}));
}

TEST(Runner, HugeLatenessSaturates) {
  const Outcome outcome = run({at({1000, 20000, 2000})}, {.lateness = Duration::infinite(), .rows_max = 1});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{0, "a", 1, "on_time", "insert", 1, 1},
                                            {0, "a", 2, "correction", "update", 2, 2},
                                            {20000000, "a", 1, "on_time", "insert", 1, 1}}));
  EXPECT_TRUE(outcome.entries.empty());
}

TEST(Runner, ChangelogRetractsTheOldRow) {
  const Outcome outcome =
      run({at({1000, 10000, 4000})}, {.lateness = seconds(20), .mode = SinkMode::kChangelog});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{0, "a", 1, "on_time", "insert", 1, 1},
                                            {0, "a", 1, "correction", "retract", 1, 1},
                                            {0, "a", 2, "correction", "insert", 2, 2},
                                            {10000000, "a", 1, "on_time", "insert", 1, 1}}));
  EXPECT_EQ(outcome.report.views[0].statistics.retractions, 1);
}

TEST(Runner, DropsAreCountedByReason) {
  const Outcome outcome = run({at({20000, 1000, 2000, 3000})}, {.policy = LatePolicy::kDrop});
  const FateCounts total = outcome.report.views[0].balance.total();
  EXPECT_EQ(total.dropped[static_cast<size_t>(Reason::kLate)], 3);
  EXPECT_EQ(total.accepted, 1);
  EXPECT_TRUE(outcome.entries.empty());
}

TEST(Runner, FilesAreReadByEventTimeNotByName) {
  const Outcome outcome = run({at({50000, 60000}), at({1000, 2000})}, {});
  EXPECT_TRUE(outcome.entries.empty());
  EXPECT_EQ(outcome.rows.size(), 3U);
}

TEST(Runner, HoldKeepsOpenWindows) {
  const Outcome outcome = run({at({1000, 12000})}, {.flush = false});
  EXPECT_EQ(outcome.rows.size(), 1U);
  EXPECT_EQ(outcome.report.watermark, EventTime(12000000));
  EXPECT_EQ(outcome.report.views[0].balance.total().accepted, 2);
}

TEST(Runner, ArrivalOrderMergesLogs) {
  std::vector<TestRecord> first = {{1000000, 5000000, "a", 1}, {30000000, 30000000, "a", 1}};
  std::vector<TestRecord> second = {{2000000, 2000000, "a", 1}, {3000000, 40000000, "a", 1}};
  const Outcome outcome = run({first, second}, {.in_arrival_order = true});
  // p1 holds the watermark at 2 s until its last record comes, which is therefore on time.
  EXPECT_TRUE(outcome.entries.empty());
  EXPECT_EQ(outcome.rows[0].count, 3);
  EXPECT_EQ(outcome.report.views[0].partitions, (std::vector<std::string>{"p0", "p1"}));
}

TEST(Runner, ArrivalOrderLetsGoOfALogThatHasEnded) {
  // The first log ends with its only record; the second then moves time alone, and its last record is late.
  const std::vector<TestRecord> first = {{1000000, 1000000, "a", 1}};
  const std::vector<TestRecord> second = {
      {2000000, 2000000, "a", 1}, {11000000, 11000000, "a", 1}, {3000000, 12000000, "a", 1}};
  const Outcome outcome = run({first, second}, {.flush = false, .in_arrival_order = true});
  EXPECT_EQ(outcome.rows, (std::vector<Row>{{0, "a", 1, "on_time", "insert", 2, 2}}));
  ASSERT_EQ(outcome.entries.size(), 1U);
  EXPECT_EQ(outcome.entries[0].windows[0].late_by_us, 1000000);
  EXPECT_EQ(outcome.report.watermark, EventTime(11000000));
}

TEST(Runner, AnEmptyLogDoesNotSwitchLatenessOff) {
  std::vector<TestRecord> records = at({1000, 5000, 12000, 4000});
  records.back().arrival_us = 13000000;
  for (const bool in_arrival_order : {false, true}) {
    const Outcome outcome = run({{}, records}, {.in_arrival_order = in_arrival_order});
    EXPECT_EQ(outcome.entries.size(), 1U) << in_arrival_order;
    EXPECT_EQ(outcome.rows.size(), 2U) << in_arrival_order;
  }
}

std::vector<std::vector<TestRecord>> random_splits(std::mt19937_64& random) {
  std::vector<std::vector<TestRecord>> splits(1 + random() % 4);
  for (auto& split : splits) {
    int64_t now = static_cast<int64_t>(random() % 100) * 1000000;
    const size_t records = random() % 200;
    for (size_t i = 0; i < records; ++i) {
      now += static_cast<int64_t>(random() % 4000) * 1000;
      const bool late = random() % 4 == 0;
      const int64_t delay =
          late ? static_cast<int64_t>(random() % 60000) * 1000 : static_cast<int64_t>(random() % 500) * 1000;
      int64_t event = now - delay;
      if (random() % 50 == 0) event = now + static_cast<int64_t>(random() % 3) * seconds(86400).micros();
      split.push_back({event, now, std::string(1, static_cast<char>('a' + random() % 3)),
                       static_cast<int64_t>(random() % 100) - 20});
    }
  }
  return splits;
}

using Total = std::pair<int64_t, int64_t>;  // count, sum

// What a batch job over all records says.
std::map<std::pair<int64_t, std::string>, Total> recount(const std::vector<std::vector<TestRecord>>& splits,
                                                         Duration size) {
  std::map<std::pair<int64_t, std::string>, Total> totals;
  for (const auto& split : splits) {
    for (const TestRecord& record : split) {
      Total& total = totals[{floor_divide(record.event_us, size.micros()) * size.micros(), record.key}];
      ++total.first;
      total.second += record.value;
    }
  }
  return totals;
}

// Published plus ledgered is the batch total, versions rise by one, nothing depends on how the input was cut.
TEST(Runner, AnyStreamAddsUpUnderAnyCut) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 120; ++round) {
    const auto splits = random_splits(random);
    TestRun config;
    config.delay = millis(static_cast<int64_t>(random() % 20000));
    config.lateness = millis(static_cast<int64_t>(random() % 40000));
    config.policy = random() % 4 == 0 ? LatePolicy::kLedger : LatePolicy::kCorrect;
    config.size = seconds(1 + static_cast<int64_t>(random() % 30));
    config.rows_max = 1;
    const Outcome one = run(splits, config);
    std::set<std::tuple<std::string, std::string, int64_t>> ledgered_one;
    for (const auto& entry : one.entries)
      ledgered_one.insert({entry.file, std::string(to_string(entry.reason)), entry.offset});
    std::map<std::pair<int64_t, std::string>, Total> first_versions;
    for (const Row& row : one.rows) {
      if (row.version == 1 && row.status == "on_time")
        first_versions[{row.start_us, row.key}] = {row.count, row.sum};
    }

    for (const size_t rows_max : {1UL, 7UL, 4096UL}) {
      config.rows_max = rows_max;
      const Outcome outcome = run(splits, config);
      EXPECT_TRUE(outcome.report.balanced());
      std::map<std::pair<int64_t, std::string>, Total> totals;
      std::map<std::pair<int64_t, std::string>, Total> firsts;
      std::map<std::pair<int64_t, std::string>, int64_t> versions;
      for (const Row& row : outcome.rows) {
        totals[{row.start_us, row.key}] = {row.count, row.sum};
        EXPECT_EQ(row.version, ++(versions[{row.start_us, row.key}]));
        if (row.version == 1 && row.status == "on_time")
          firsts[{row.start_us, row.key}] = {row.count, row.sum};
      }
      std::set<std::tuple<std::string, std::string, int64_t>> ledgered;
      for (const auto& entry : outcome.entries) {
        ledgered.insert({entry.file, std::string(to_string(entry.reason)), entry.offset});
        const TestRecord& record =
            splits[static_cast<size_t>(entry.file[1] - '0')][static_cast<size_t>(entry.offset)];
        Total& total = totals[{entry.windows.at(0).start_us, record.key}];
        ++total.first;
        total.second += record.value;
      }
      config.threads = 3;
      const Outcome sharded = run(splits, config);
      config.threads = 1;
      EXPECT_EQ(sharded.rows, outcome.rows) << "round " << round << " rows " << rows_max;
      EXPECT_TRUE(sharded.report.balanced());
      EXPECT_EQ(totals, recount(splits, config.size)) << "round " << round << " rows " << rows_max;
      EXPECT_EQ(ledgered, ledgered_one) << "round " << round << " rows " << rows_max;
      EXPECT_EQ(firsts, first_versions) << "round " << round << " rows " << rows_max;
    }
  }
}

}  // namespace
}  // namespace wrackline::runtime
