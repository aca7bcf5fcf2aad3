// The runner: cuts input into ticks, moves time, feeds the views, commits ledger and sinks, keeps the
// balance.
//
// A tick is one batch of one split: its records in order, one reading of the clock. Everything after the
// batch is a function of (records in logged order, clock readings); nothing below the runner reads a clock.
// Threads: one; request_stop() may be called from any thread or signal handler.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "env/clock.h"
#include "env/forked_task.h"
#include "ledger/ledger.h"
#include "operators/balance.h"
#include "operators/source.h"
#include "operators/view_operator.h"
#include "runtime/derived_source.h"
#include "runtime/input.h"
#include "runtime/monitor.h"
#include "runtime/view_output.h"
#include "state/checkpoint_store.h"

namespace wrackline::runtime {

struct ViewPlan {
  std::string name;
  // Makes the view's operator, which gives what it publishes to the consumer. Called once.
  std::function<std::unique_ptr<ViewOperator>(ChangeConsumer&, int64_t generation, bool wants_retractions)>
      make;
  std::vector<OutputColumn> columns;
  std::vector<SinkBinding> sinks;
};

struct SourcePlan {
  InputOptions input;
  std::unique_ptr<Source> source;
  std::optional<DerivedPlan> derived;  // instead of both: a view of an earlier plan is the source
  std::vector<ViewPlan> views;
  std::optional<MonitorPlan> monitor;  // of a source that is read from outside; nullopt: not watched
};

struct Progress {
  int64_t rows = 0;
  uint64_t bytes_read = 0;
  std::optional<uint64_t> bytes_total;
  double seconds = 0;
  EventTime watermark = EventTime::minus_infinity();
  int64_t late = 0;  // ledgered, dropped and corrected so far, over all views
};

struct RunReport;

// How state is saved while the job runs, and what it begins with.
struct CheckpointPlan {
  state::CheckpointStore* store = nullptr;  // borrowed; null: no checkpoints
  Duration interval = seconds(10);          // of the monotonic clock, between the beginnings of two
  env::TaskMode mode = env::TaskMode::kForked;
  state::CheckpointMeta meta;               // what the job is; the rest is filled in
  state::CheckpointReader* from = nullptr;  // borrowed; null: the run begins at the first record
};

struct RunnerOptions {
  bool flush_at_end = true;                           // false: the end of bounded input holds the watermark
  std::function<void(const Progress&)> on_progress;   // a few times a second
  std::function<void(const std::string&)> on_notice;  // rotation, drops, absent columns
  std::function<void(const MonitorAlarm&)> on_alarm;
  // At ends of intervals and every ten seconds, but at most once a second; and at the end.
  std::function<void(const RunReport&)> on_figures;
  TickLogWriter* log = nullptr;  // borrowed; made durable before anything that depends on it is published
  CheckpointPlan checkpoints;
};

struct CheckpointStatistics {
  int64_t completed = 0;
  int64_t failed = 0;
  int64_t stall_us_max = 0;  // that the run stood still for one, its commit included
  state::CheckpointFigures last;
};

struct ViewReport {
  std::string view;
  std::string source;
  std::vector<std::string> partitions;
  Balance balance;
  ViewStatistics statistics;
};

// What happened to a source's records before any view.
struct SourceReport {
  std::string source;
  std::optional<DedupStatistics> dedup;  // nullopt: the source has no dedup_key
  std::vector<Finding> findings;         // event times that another unit would fit
};

struct RunReport {
  std::vector<ViewReport> views;
  std::vector<SourceReport> sources;
  std::vector<MonitorReport> monitors;                // of the sources that are watched
  EventTime watermark = EventTime::minus_infinity();  // the least over the sources, before any flush
  int64_t generation = 0;
  int64_t rows = 0;
  int64_t ticks = 0;
  double seconds = 0;
  bool stopped = false;  // by request_stop, before the input ended
  CheckpointStatistics checkpoints;
  bool balanced() const;
};

class Runner {
 public:
  // Borrows ledger and clock.
  Runner(std::vector<SourcePlan> sources, ledger::Ledger& ledger, env::Clock& clock, RunnerOptions options);
  ~Runner();

  // Runs to the end of the input, or until a stop is requested; then the state is saved once more. On failure
  // the ledger and sinks are closed as cut short, and what was committed stays. Errors: of sources, sinks,
  // the ledger; kData when a balance does not add up.
  Result<RunReport> run();
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }

 private:
  struct RunningView;
  struct RunningSource;

  Status open();
  Status open_source(RunningSource& source, size_t index);
  Status run_ticks();
  // Begins a checkpoint if one is due, and sees what became of the one before.
  Status keep_checkpoints();
  Status keep_last_checkpoint();
  Status begin_checkpoint(env::TaskMode mode);
  void end_checkpoint(env::TaskOutcome outcome);
  Status save(state::CheckpointWriter& out) const;
  bool may_save() const;
  Status restore_counts();
  // Takes the next step of the source; returns false when it had nothing to give.
  Result<bool> tick(RunningSource& source);
  Status judge_and_publish(RunningSource& source, const Input::Step& step);
  void connect(RunningSource& source);
  Status run_derived(const RunningSource& source, int64_t wall_us);
  Status advance_views(RunningSource& source, int64_t wall_us);
  Status flush();
  Status commit();
  Status check_balances() const;
  void report_progress(bool force);
  void report_drops(bool force);
  void watch(RunningSource& source, const Input::Step& step);
  void tell_alarms(RunningSource& source);
  void report_figures();
  void notice(const std::string& text) const;
  Status close(bool finished, bool failed);
  RunReport report() const;

  ledger::Ledger& ledger_;
  env::Clock& clock_;
  RunnerOptions options_;
  std::vector<std::unique_ptr<RunningSource>> sources_;
  std::atomic<bool> stop_{false};
  int64_t ticks_ = 0;
  int64_t rows_ = 0;
  int64_t started_us_ = 0;
  int64_t committed_us_ = 0;
  int64_t progressed_us_ = 0;
  int64_t figures_us_ = 0;
  bool interval_ended_ = false;  // since the figures were given
  int64_t drops_reported_us_ = 0;
  int64_t drops_reported_ = 0;
  std::unique_ptr<env::BackgroundTask> saving_;  // null: none is being written
  int64_t saving_number_ = 0;
  int64_t saved_us_ = 0;  // when the last checkpoint was begun
  CheckpointStatistics checkpoints_;
};

}  // namespace wrackline::runtime
