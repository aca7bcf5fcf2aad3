// The test world "save and restore after every step": after each tick the view's operator is saved,
// destroyed, made anew and restored. Nothing that a reader can see may tell.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "data/snapshot.h"
#include "data/value.h"
#include "operators/aligned_aggregate.h"
#include "runtime/memory_source_test.h"
#include "runtime/runner.h"

namespace wrackline::runtime {
namespace {

// Every published row as a line of text.
class LineSink : public Sink {
 public:
  explicit LineSink(std::vector<std::string>& lines) : lines_(lines) {}
  SinkCapabilities capabilities() const override { return {true, true, "tests"}; }
  Status open(const std::vector<OutputColumn>&, std::string_view, const SinkStart&) override { return {}; }
  Status write(const ChangeBatch& changes) override {
    for (size_t i = 0; i < changes.rows; ++i) {
      std::string line = std::string(to_string(changes.ops[i])) + " v" + std::to_string(changes.versions[i]) +
                         " " + std::string(to_string(changes.statuses[i]));
      for (const Column& column : changes.columns) {
        line += '|';
        if (!column.is_null(i)) append_text(line, column, i);
      }
      lines_.push_back(std::move(line));
    }
    return {};
  }
  Status commit() override { return {}; }
  Status close(bool) override { return {}; }

 private:
  std::vector<std::string>& lines_;
};

using MakeOperator = std::function<std::unique_ptr<ViewOperator>()>;

// An operator that lives for one tick.
class RestoringOperator : public ViewOperator {
 public:
  RestoringOperator(MakeOperator make, std::string& last) : make_(std::move(make)), last_(last) {
    inner_ = make_();
  }
  void begin_batch(const Batch& batch) override {
    inner_->begin_batch(batch);
    has_begun_ = true;
  }
  Status process(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                 size_t end) override {
    if (!has_begun_) begin_batch(batch);  // the batch goes on after a tick
    return inner_->process(batch, times, tick, begin, end);
  }
  Status advance(int64_t watermark_us) override { return inner_->advance(watermark_us); }
  Status finish_tick(const TickContext& tick) override {
    WRACKLINE_TRY(inner_->finish_tick(tick));
    SnapshotWriter out;
    WRACKLINE_TRY(inner_->save(out));
    last_ = out.finish();
    inner_ = make_();
    has_begun_ = false;
    WRACKLINE_ASSIGN(SnapshotReader in, SnapshotReader::open(last_));
    WRACKLINE_TRY(inner_->restore(in));
    return in.finish();
  }
  const Balance& balance() const override { return inner_->balance(); }
  const ViewStatistics& statistics() const override { return inner_->statistics(); }
  size_t live_windows() const override { return inner_->live_windows(); }
  size_t state_bytes() const override { return inner_->state_bytes(); }

 private:
  MakeOperator make_;
  std::string& last_;
  std::unique_ptr<ViewOperator> inner_;
  bool has_begun_ = false;
};

struct World {
  int shape = 0;  // tumbling, hopping, cumulative
  LatePolicy policy = LatePolicy::kCorrect;
  Duration delay;
  Duration lateness;
  size_t rows_max = 1;
  size_t threads = 1;
  bool early = false;
  bool having = false;
  SinkMode mode = SinkMode::kUpsert;
  bool restoring = false;
};

struct Outcome {
  std::vector<std::string> lines;
  std::vector<std::tuple<std::string, int64_t, std::string>> entries;
  std::vector<int64_t> counts;
  std::string last;  // snapshot
};

struct Call {
  const char* name;
  size_t column;  // of the source
  bool distinct;
};
constexpr Call kCalls[] = {{"count", 3, false},
                           {"sum", 3, false},
                           {"first", 2, false},
                           {"last", 3, false},
                           {"min", 2, false},
                           {"string_agg", 2, false},
                           {"string_agg", 2, true},
                           {"count", 3, true},
                           {"variance", 3, false},
                           {"approx_percentile", 3, false},
                           {"approx_count_distinct", 3, false}};

WindowPlan plan_of(int shape) {
  switch (shape) {
    case 0:
      return WindowPlan::tumbling(seconds(10));
    case 1:
      return WindowPlan({.kind = WindowKind::kHop,
                         .size = {.micros = seconds(9).micros()},
                         .slide = {.micros = seconds(3).micros()},
                         .offset = {}});
    default:
      return WindowPlan({.kind = WindowKind::kCumulate,
                         .size = {.micros = seconds(20).micros()},
                         .slide = {.micros = seconds(5).micros()},
                         .offset = {}});
  }
}

Outcome run(const std::vector<std::vector<TestRecord>>& splits, const World& world) {
  Outcome outcome;
  const Type types[] = {Type::timestamptz(), Type::timestamptz(), Type::text(), Type::bigint()};
  std::vector<expr::ExprPtr> trees;
  const auto column = [&](size_t at, const Type& type) {
    trees.push_back(expr::make_column(at, type, 0));
    return trees.back().get();
  };
  ViewOptions options;
  options.view = "v";
  options.source = "s";
  options.router = LateRouter({world.policy, world.lateness, std::nullopt});
  options.keys = {column(2, Type::text())};
  options.key_names = {"key"};
  options.threads = world.threads;
  options.outputs = {column(0, Type::timestamptz()), column(2, Type::text())};
  if (world.early) options.early = EarlyOptions{.every = seconds(2)};
  for (const Call& call : kCalls) {
    expr::AggregateOptions how{.distinct = call.distinct};
    if (std::string_view(call.name) == "string_agg") how.constants = {Value{Type::text(), std::string("-")}};
    if (std::string_view(call.name) == "approx_percentile") {
      how.constants = {Value{Type::numeric(), Decimal{9, 1}}};
    }
    const auto made = expr::make_aggregate(call.name, &types[call.column], how).value();
    options.outputs.push_back(column(3 + options.aggregates.size(), made->result_type()));
    options.aggregates.push_back({made, column(call.column, types[call.column]), nullptr});
  }
  if (world.having) {
    std::vector<expr::ExprPtr> args;
    args.push_back(expr::make_column(3, Type::bigint(), 0));
    args.push_back(expr::make_literal(Value{Type::bigint(), int64_t{1}}, 0));
    trees.push_back(expr::make_call(">", std::move(args), 0).value());
    options.having = trees.back().get();
  }

  SourcePlan plan;
  plan.source = std::make_unique<MemorySource>(splits);
  plan.input.name = "s";
  plan.input.fields = test_fields();
  plan.input.times.event.column = 0;
  plan.input.times.arrival = TimeColumnOptions{.column = 1};
  plan.input.times.watermark_delay = world.delay;
  plan.input.rows_max = world.rows_max;
  plan.input.alignment = seconds(10);
  ViewPlan view;
  view.name = "v";
  view.make = [&](ChangeConsumer& consumer, int64_t generation, bool wants_retractions) {
    options.wants_retractions = wants_retractions;
    MakeOperator make = [&options, &consumer, &world, generation]() -> std::unique_ptr<ViewOperator> {
      return std::make_unique<AlignedAggregate>(options, plan_of(world.shape), consumer, generation);
    };
    return world.restoring ? std::make_unique<RestoringOperator>(std::move(make), outcome.last) : make();
  };
  view.sinks.push_back({std::make_unique<LineSink>(outcome.lines), world.mode});
  plan.views.push_back(std::move(view));

  const auto ledger = ledger::Ledger::transient();
  env::SettableClock clock(WallTime(0));
  std::vector<SourcePlan> plans;
  plans.push_back(std::move(plan));
  Runner runner(std::move(plans), *ledger, clock, {});
  const auto report = runner.run();
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().to_string());
  if (!report) return outcome;
  EXPECT_TRUE(report->balanced());
  const FateCounts total = report->views[0].balance.total();
  const ViewStatistics& statistics = report->views[0].statistics;
  outcome.counts = {total.read,
                    total.accepted,
                    total.accepted_partially,
                    total.ledgered,
                    total.dropped_total(),
                    total.corrected,
                    statistics.windows_closed,
                    statistics.versions,
                    statistics.corrections,
                    statistics.retractions,
                    statistics.early,
                    statistics.pairs_missed};
  EXPECT_TRUE(ledger
                  ->scan({},
                         [&](const ledger::Entry& entry) {
                           outcome.entries.emplace_back(entry.file, entry.offset,
                                                        std::string(to_string(entry.reason)));
                           return true;
                         })
                  .has_value());
  return outcome;
}

std::vector<std::vector<TestRecord>> random_splits(std::mt19937_64& random) {
  std::vector<std::vector<TestRecord>> splits(1 + random() % 3);
  for (auto& split : splits) {
    int64_t now = 0;
    for (size_t left = random() % 80; left > 0; --left) {
      now += static_cast<int64_t>(random() % 4000) * 1000;
      const int64_t delay = static_cast<int64_t>(random() % (random() % 4 == 0 ? 40000 : 500)) * 1000;
      split.push_back({now - delay, now, std::string(random() % 20, static_cast<char>('a' + random() % 2)),
                       static_cast<int64_t>(random() % 100) - 20});
    }
  }
  return splits;
}

World random_world(std::mt19937_64& random) {
  World world;
  world.shape = static_cast<int>(random() % 3);
  world.policy = random() % 4 == 0 ? LatePolicy::kLedger : LatePolicy::kCorrect;
  world.delay = millis(static_cast<int64_t>(random() % 10000));
  world.lateness = millis(static_cast<int64_t>(random() % 40000));
  world.rows_max = random() % 2 == 0 ? 1 : 7;
  world.threads = random() % 4 == 0 ? 3 : 1;
  world.early = random() % 2 == 0;
  world.having = random() % 3 == 0;
  world.mode = random() % 2 == 0 ? SinkMode::kUpsert : SinkMode::kChangelog;
  return world;
}

TEST(RestoreWorld, SavedAndRestoredAfterEveryTickNothingShows) {
  std::mt19937_64 random(11);
  size_t corrections = 0;
  size_t early = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const auto splits = random_splits(random);
    World world = random_world(random);
    const Outcome whole = run(splits, world);
    world.restoring = true;
    const Outcome restored = run(splits, world);
    EXPECT_EQ(restored.lines, whole.lines);
    EXPECT_EQ(restored.entries, whole.entries);
    EXPECT_EQ(restored.counts, whole.counts);
    if (whole.counts.size() < 11) continue;
    corrections += static_cast<size_t>(whole.counts[8]);
    early += static_cast<size_t>(whole.counts[10]);
  }
  EXPECT_GT(corrections, 100U) << "the streams must correct windows";
  EXPECT_GT(early, 100U) << "the streams must publish early versions";
}

}  // namespace
}  // namespace wrackline::runtime
