// From a job to a running engine: makes sources, sinks and ledger, and hands the plan to the runner.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "engine/tick_log_plan.h"
#include "env/clock.h"
#include "ledger/ledger.h"
#include "runtime/runner.h"
#include "sql/job.h"
#include "state/checkpoint_store.h"

namespace wrackline::engine {

struct EngineOptions {
  std::string state_directory;   // of ledger and tick log; empty keeps nothing
  std::string replay_directory;  // a state directory whose tick log is followed; empty: ticks as they come
  // Go on with the last run of state_directory if it did not finish: from its newest checkpoint, along its
  // tick log, and on behind that.
  bool resume = false;
  std::optional<Duration> checkpoint_interval = seconds(10);  // nullopt: none; nor without a state directory
  sql::JobOptions job_options;  // that the job was parsed with, for the tick log
  bool flush_at_end = true;     // false: the end of bounded input holds the watermark
  size_t tick_rows = 4096;      // most records in a tick
  size_t threads = 1;           // shards of each view's keys
  std::string stdout_format;    // "" (table on a terminal, else jsonl) | "table" | "jsonl" | "csv"
  std::function<void(const runtime::Progress&)> on_progress;
  std::function<void(const std::string&)> on_notice;
  std::optional<runtime::MonitorOptions> monitor = runtime::MonitorOptions{};  // nullopt: nothing is watched
  std::function<void(const runtime::MonitorAlarm&)> on_alarm;
  std::function<void(const runtime::RunReport&)> on_figures;
};

class Engine {
 public:
  // Errors: what the job names but the world does not have: files, folders, a state directory in use.
  static Result<std::unique_ptr<Engine>> make(sql::Job job, EngineOptions options,
                                              env::Clock& clock = env::system_clock());
  ~Engine();

  // Runs the job to its end, or until request_stop(). Call it once.
  Result<runtime::RunReport> run();
  // From any thread or a signal handler: the current tick is finished and committed, then run() returns.
  void request_stop();
  ledger::Ledger& ledger() { return *ledger_; }

 private:
  Engine(sql::Job job, EngineOptions options, std::unique_ptr<ledger::Ledger> ledger, env::Clock& clock);
  Status start();
  Status prepare_ledger();
  Status find_state();

  sql::Job job_;
  EngineOptions options_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<runtime::TickLogWriter> log_;  // null without a state directory
  Replay replay_;                                // its log is null unless there is one to follow
  std::optional<state::CheckpointStore> checkpoints_;
  std::optional<state::CheckpointReader> from_;  // of a run that is resumed from a checkpoint
  env::Clock& clock_;
  std::unique_ptr<runtime::Runner> runner_;
};

// The sources of the job that some view reads, in order, with these views. The job must outlive the plan.
// Without sinks, what the views publish goes nowhere. Errors: those of sources and sinks.
struct PlanOptions {
  size_t tick_rows = 4096;
  size_t threads = 1;
  std::string stdout_format;
  bool sinks = true;
};
Result<std::vector<runtime::SourcePlan>> plan_sources(const sql::Job& job, const PlanOptions& options);

// The folder that paths of the job are relative to: that of the job file ("" for the current one).
std::string job_folder(const sql::Job& job);
// The state directory when none is named: beside the job file, "clicks.state" for "clicks.sql"; "" for a job
// from "-".
std::string default_state_directory(const sql::Job& job);

}  // namespace wrackline::engine
