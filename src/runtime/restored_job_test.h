// A small job for tests that can be saved between two ticks, destroyed, and made anew: a source's time stage,
// a view, and a view that reads this view. It does what Runner does, with the records in hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/snapshot.h"
#include "data/value.h"
#include "operators/aligned_aggregate.h"
#include "operators/session_aggregate.h"
#include "operators/time_stage.h"
#include "runtime/derived_source.h"

namespace wrackline::runtime {

enum class Shape : uint8_t { kTumble, kHop, kCumulate, kSession, kCutSession };
enum class PartitionBy : uint8_t { kSplit, kText, kInteger };

struct JobRecord {
  std::optional<int64_t> event_us;
  int64_t arrival_us = 0;
  std::string key;
  int64_t value = 1;
  int64_t partition = 0;
  int64_t id = 0;
};

// Rows of one split, in ticks that end where `cuts` say, and what time did meanwhile.
struct JobStep {
  size_t split = 0;
  std::vector<JobRecord> records;
  std::vector<size_t> cuts;       // rising, the last is records.size()
  std::vector<size_t> middles;    // of each tick: where its rows are judged in two pieces
  std::optional<size_t> idle;     // this partition falls silent after it
  std::optional<Duration> delay;  // the watermark delay after it
};

struct JobWorld {
  Shape shape = Shape::kTumble;
  LatePolicy policy = LatePolicy::kCorrect;
  Duration delay;
  Duration lateness;
  std::optional<Duration> horizon;
  PartitionBy partition_by = PartitionBy::kSplit;
  size_t splits = 1;
  bool dedup = false;
  bool for_ever = false;  // dedup without a horizon
  bool early = false;
  bool wall_time = false;
  bool having = false;
  bool has_key = true;
  bool changelog = false;
  bool derived = false;
  bool time_is_start = false;
};

// What the job has let out, and its ledger: the world, which outlives every attempt.
struct JobOutput {
  std::vector<std::string> lines;  // of the view
  std::vector<std::string> derived_lines;
  std::unique_ptr<ledger::Ledger> ledger = ledger::Ledger::transient();
};

// Every published row as a line of text.
inline void append_lines(const ChangeBatch& changes, std::vector<std::string>& lines) {
  for (size_t i = 0; i < changes.rows; ++i) {
    std::string line = std::string(to_string(changes.ops[i])) + " v" + std::to_string(changes.versions[i]) +
                       " " + std::string(to_string(changes.statuses[i]));
    for (const Column& column : changes.columns) {
      line += '|';
      if (!column.is_null(i)) append_text(line, column, i);
    }
    lines.push_back(std::move(line));
  }
}

// Keeps the form that the world reads; the view that reads this one takes upserts.
class LineConsumer : public ChangeConsumer {
 public:
  LineConsumer(std::vector<std::string>& lines, bool changelog, DerivedSource* derived)
      : lines_(lines), changelog_(changelog), derived_(derived) {}
  Status take(const ChangeBatch& changes) override {
    if (!changelog_) append_lines(changes, lines_);
    if (derived_ != nullptr) derived_->take(changes);
    return {};
  }
  Status take_changelog(const ChangeBatch& changes) override {
    if (changelog_) append_lines(changes, lines_);
    return {};
  }

 private:
  std::vector<std::string>& lines_;
  bool changelog_;
  DerivedSource* derived_;
};

struct JobCall {
  const char* name;
  size_t column;  // of the source
  bool distinct;
};
inline constexpr JobCall kJobCalls[] = {{"count", 3, false},
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

// A view's options with the trees that they point into.
class ViewRecipe {
 public:
  ViewOptions options;

  const expr::Expr* column(size_t at, const Type& type) {
    trees_.push_back(expr::make_column(at, type, 0));
    return trees_.back().get();
  }
  void call(const char* name, const std::optional<Type>& type, size_t at, bool distinct) {
    expr::AggregateOptions how{.distinct = distinct};
    if (std::string_view(name) == "string_agg") how.constants = {Value{Type::text(), std::string("-")}};
    if (std::string_view(name) == "approx_percentile") {
      how.constants = {Value{Type::numeric(), Decimal{9, 1}}};
    }
    const auto made = expr::make_aggregate(name, type ? &*type : nullptr, how).value();
    options.aggregates.push_back({made, type ? column(at, *type) : nullptr, nullptr});
  }
  // All of [window_start, window_end, keys, aggregates].
  void select_all() {
    size_t at = 0;
    const auto output = [&](const Type& type) { options.outputs.push_back(column(at++, type)); };
    output(Type::timestamptz());
    output(Type::timestamptz());
    for (const expr::Expr* key : options.keys) output(key->type);
    for (const ViewOptions::Call& call : options.aggregates) output(call.aggregate->result_type());
  }
  void having_more_than(int64_t limit) {
    std::vector<expr::ExprPtr> args;
    args.push_back(expr::make_column(2 + options.keys.size(), Type::bigint(), 0));
    args.push_back(expr::make_literal(Value{Type::bigint(), limit}, 0));
    trees_.push_back(expr::make_call(">", std::move(args), 0).value());
    options.having = trees_.back().get();
  }

 private:
  std::vector<expr::ExprPtr> trees_;
};

inline const std::vector<Field>& job_fields() {
  static const std::vector<Field> fields = {{"at", Type::timestamptz()}, {"received", Type::timestamptz()},
                                            {"key", Type::text()},       {"value", Type::bigint()},
                                            {"p_text", Type::text()},    {"p_integer", Type::bigint()},
                                            {"id", Type::bigint()}};
  return fields;
}

class RestorableJob {
 public:
  RestorableJob(const JobWorld& world, size_t threads, JobOutput& output)
      : world_(world), output_(output), stage_(stage_options(world)) {
    make_view(threads);
    if (world.derived) make_derived(threads);
    consumer_ = std::make_unique<LineConsumer>(output.lines, world.changelog, derived_.get());
    view_ = make_operator(world.shape, *consumer_);
    if (world.partition_by != PartitionBy::kSplit) return;
    for (size_t i = 0; i < world.splits; ++i) stage_.partition(split_name(i));
  }

  const TimeStage& stage() const { return stage_; }
  const ViewOperator& view() const { return *view_; }
  const ViewOperator* reader() const { return reader_.get(); }

  // A batch stays from tick to tick, as if it were read again.
  Status begin(const Batch& batch, size_t split, RecordTimes& times) {
    PartitionIndex partition = 0;
    if (world_.partition_by == PartitionBy::kSplit) {
      partition = stage_.partition(split_name(split));
    } else {
      partition = stage_.silent_partition(split_name(split));
    }
    stage_.read(batch, partition, WallTime(wall_us_), times);
    return {};
  }
  // Rows [begin, end) as a tick, judged in two pieces where `middle` is inside.
  Status tick(const Batch& batch, RecordTimes& times, size_t begin, size_t middle, size_t end) {
    const TickContext context = next_tick();
    if (end > begin) wall_us_ = std::max(wall_us_, times.arrival_us[end - 1]);
    view_->begin_batch(batch);
    if (middle > begin && middle < end) {
      WRACKLINE_TRY(piece(batch, times, context, begin, middle));
      begin = middle;
    }
    WRACKLINE_TRY(piece(batch, times, context, begin, end));
    WRACKLINE_TRY(view_->finish_tick(context));
    return run_reader();
  }
  Status idle(size_t partition) {
    if (partition >= stage_.partition_names().size()) return {};
    stage_.tracker().set_idle(static_cast<PartitionIndex>(partition));
    return advance();
  }
  void delay(Duration delay) { stage_.tracker().set_delay(delay); }
  Status flush() {
    stage_.tracker().flush();
    return advance();
  }

  void save(SnapshotWriter& out) const {
    out.i64(tick_);
    out.i64(wall_us_);
    stage_.save(out);
    EXPECT_TRUE(view_->save(out).has_value());
    if (!derived_) return;
    derived_->save(out);
    EXPECT_TRUE(reader_->save(out).has_value());
  }
  Status restore(SnapshotReader& in) {
    tick_ = in.i64();
    wall_us_ = in.i64();
    WRACKLINE_TRY(stage_.restore(in));
    WRACKLINE_TRY(view_->restore(in));
    if (derived_) {
      WRACKLINE_TRY(derived_->restore(in));
      WRACKLINE_TRY(reader_->restore(in));
    }
    return in.finish();
  }

 private:
  static std::string split_name(size_t split) { return "split " + std::to_string(split); }

  static TimeStageOptions stage_options(const JobWorld& world) {
    TimeStageOptions options;
    options.event.column = 0;
    options.arrival = TimeColumnOptions{.column = 1};
    options.watermark_delay = world.delay;
    if (world.partition_by == PartitionBy::kText) options.partition_column = 4;
    if (world.partition_by == PartitionBy::kInteger) options.partition_column = 5;
    if (world.dedup) {
      options.dedup = DedupOptions{.columns = {6}, .name = "id", .horizon = std::nullopt};
      if (!world.for_ever) options.dedup->horizon = seconds(40);
    }
    return options;
  }

  void make_view(size_t threads) {
    ViewOptions& options = recipe_.options;
    options.view = "v";
    options.source = "s";
    options.router = LateRouter({world_.policy, world_.lateness, world_.horizon});
    options.threads = threads;
    options.wants_retractions = world_.changelog;
    if (world_.has_key) {
      options.keys = {recipe_.column(2, Type::text())};
      options.key_names = {"key"};
    }
    if (world_.early) options.early = EarlyOptions{.every = seconds(2), .wall_time = world_.wall_time};
    for (const JobCall& call : kJobCalls) {
      recipe_.call(call.name, job_fields()[call.column].type, call.column, call.distinct);
    }
    recipe_.select_all();
    if (world_.having) recipe_.having_more_than(1);
  }

  // Counts the rows of the view by key and minute, and lists them.
  void make_derived(size_t threads) {
    DerivedPlan plan;
    plan.view = "v";
    for (const expr::Expr* output : recipe_.options.outputs) {
      plan.columns.push_back(
          {"c" + std::to_string(plan.columns.size()), output->type, plan.columns.size() < 3});
    }
    plan.window_start = 0;
    plan.window_end = 1;
    plan.time_is_start = world_.time_is_start;
    plan.allowed_lateness = recipe_.options.router.allowed_lateness();
    plan.first_start_after = [](int64_t edge_us) { return floor_divide(edge_us, kTumbleUs) * kTumbleUs; };
    ViewOptions& options = reader_recipe_.options;
    options.view = "w";
    options.source = "v";
    options.threads = threads;
    options.keys = {reader_recipe_.column(2, plan.columns[2].type)};
    options.key_names = {"key"};
    reader_recipe_.call("count", std::nullopt, 0, false);
    reader_recipe_.call("sum", plan.columns[3].type, 3, false);
    reader_recipe_.call("last", plan.columns[1].type, 1, false);
    reader_recipe_.call("last", plan.columns[7].type, 7, false);
    reader_recipe_.select_all();
    derived_ = std::make_unique<DerivedSource>(std::move(plan));
    reader_consumer_ = std::make_unique<LineConsumer>(output_.derived_lines, false, nullptr);
    reader_ =
        std::make_unique<AlignedAggregate>(options, WindowPlan::tumbling(seconds(60)), *reader_consumer_, 1);
  }

  std::unique_ptr<ViewOperator> make_operator(Shape shape, ChangeConsumer& consumer) const {
    const ViewOptions& options = recipe_.options;
    switch (shape) {
      case Shape::kTumble:
        return std::make_unique<AlignedAggregate>(options, WindowPlan::tumbling(Duration(kTumbleUs)),
                                                  consumer, 1);
      case Shape::kHop:
        return std::make_unique<AlignedAggregate>(options,
                                                  WindowPlan({.kind = WindowKind::kHop,
                                                              .size = {.micros = seconds(9).micros()},
                                                              .slide = {.micros = seconds(3).micros()},
                                                              .offset = {}}),
                                                  consumer, 1);
      case Shape::kCumulate:
        return std::make_unique<AlignedAggregate>(options,
                                                  WindowPlan({.kind = WindowKind::kCumulate,
                                                              .size = {.micros = seconds(20).micros()},
                                                              .slide = {.micros = seconds(5).micros()},
                                                              .offset = {}}),
                                                  consumer, 1);
      case Shape::kSession:
        return std::make_unique<SessionAggregate>(options, SessionOptions{seconds(6), std::nullopt}, consumer,
                                                  1);
      case Shape::kCutSession:
        break;
    }
    return std::make_unique<SessionAggregate>(options, SessionOptions{seconds(6), seconds(15)}, consumer, 1);
  }

  TickContext next_tick() { return {++tick_, &stage_.partition_names(), output_.ledger.get(), wall_us_}; }
  Status piece(const Batch& batch, RecordTimes& times, const TickContext& context, size_t begin, size_t end) {
    stage_.judge(times, begin, end);
    return view_->process(batch, times, context, begin, end);
  }
  Status advance() {
    const TickContext context = next_tick();
    WRACKLINE_TRY(view_->advance(stage_.tracker().watermark().micros()));
    WRACKLINE_TRY(view_->finish_tick(context));
    return run_reader();
  }
  Status run_reader() {
    if (!derived_) return {};
    const int64_t watermark_us = stage_.tracker().watermark().micros();
    const TickContext context{tick_, &derived_->stage().partition_names(), output_.ledger.get(), wall_us_};
    if (derived_->collect(watermark_us, WallTime(wall_us_))) {
      const Batch& batch = derived_->batch();
      reader_->begin_batch(batch);
      WRACKLINE_TRY(reader_->process(batch, derived_->times(), context, 0, batch.rows));
    }
    derived_->follow(watermark_us);
    WRACKLINE_TRY(reader_->advance(derived_->stage().tracker().watermark().micros()));
    return reader_->finish_tick(context);
  }

  static constexpr int64_t kTumbleUs = 10'000'000;

  JobWorld world_;
  JobOutput& output_;
  TimeStage stage_;
  ViewRecipe recipe_;
  ViewRecipe reader_recipe_;
  std::unique_ptr<DerivedSource> derived_;
  std::unique_ptr<LineConsumer> consumer_;
  std::unique_ptr<LineConsumer> reader_consumer_;
  std::unique_ptr<ViewOperator> view_;
  std::unique_ptr<ViewOperator> reader_;
  int64_t tick_ = 0;
  int64_t wall_us_ = 0;
};

}  // namespace wrackline::runtime
