#include "engine/engine.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "engine/job_change.h"
#include "engine/ledger_plan.h"
#include "engine/sink_plan.h"
#include "engine/source_plan.h"
#include "env/disk.h"
#include "operators/aligned_aggregate.h"
#include "operators/session_aggregate.h"

namespace wrackline::engine {
namespace {

constexpr std::string_view kColdFolder = "cold";  // of the state directory: files that checkpoints need

ViewOptions operation_of(const sql::ViewSpec& view, const std::string& source, size_t threads) {
  ViewOptions options;
  options.view = view.name;
  options.source = source;
  options.router = LateRouter({view.late, view.allowed_lateness, view.ledger_horizon});
  for (const auto& [reason, drop] : view.drop) {
    if (drop) options.drop_reasons |= 1U << static_cast<unsigned>(reason);
  }
  options.where = view.where.get();
  for (const expr::ExprPtr& key : view.keys) options.keys.push_back(key.get());
  options.key_names = view.key_names;
  for (const sql::AggregateCall& call : view.aggregates) {
    std::vector<const expr::Expr*> sort_keys;
    for (const expr::ExprPtr& key : call.sort_keys) sort_keys.push_back(key.get());
    options.aggregates.push_back(
        {call.aggregate, call.argument.get(), call.filter.get(), std::move(sort_keys)});
  }
  options.having = view.having.get();
  options.early = view.early;
  options.emit_empty = view.emit_empty;
  options.threads = threads;
  for (const sql::ViewColumn& column : view.columns) options.outputs.push_back(column.expression.get());
  return options;
}

// How far apart the logs of bounded input may be read: about a window.
Duration window_length(const sql::ViewSpec& view) {
  return view.session ? view.session->gap : WindowPlan(view.windows).window_length();
}

bool is_read(const sql::Job& job, size_t view) {
  return std::ranges::any_of(job.sources, [&](const sql::SourceSpec& source) {
    return source.connector == sql::SourceConnector::kView && source.of_view.view == view;
  });
}

runtime::DerivedPlan derived_plan(const sql::Job& job, const sql::SourceSpec& source) {
  const sql::ViewSpec& upstream = job.views[source.of_view.view];
  runtime::DerivedPlan plan;
  plan.view = upstream.name;
  plan.columns = output_columns(upstream);
  plan.window_end = source.of_view.window_end;
  plan.window_start = source.of_view.window_start;
  plan.time_is_start = source.of_view.time_is_start;
  plan.allowed_lateness = LateRouter({upstream.late, upstream.allowed_lateness, {}}).allowed_lateness();
  if (plan.time_is_start) {
    plan.first_start_after = [windows = WindowPlan(upstream.windows)](int64_t edge_us) {
      const int64_t edge = windows.edge_at_or_before(edge_us);
      return edge == kMicrosMin || edge == kMicrosMax ? edge
                                                      : windows.first_window_after(edge).start.micros();
    };
  }
  return plan;
}

// The smallest windows over a source are the first to close on a record.
runtime::MonitorPlan monitor_plan(const sql::Job& job, const std::string& source,
                                  const runtime::MonitorOptions& options) {
  runtime::MonitorPlan plan;
  plan.options = options;
  const auto spec = std::ranges::find(job.sources, source, &sql::SourceSpec::name);
  const auto index = static_cast<size_t>(spec - job.sources.begin());
  if (spec->automatic)
    plan.follow = {.min_us = spec->automatic->min.micros(), .max_us = spec->automatic->max.micros()};
  const bool live = spec->follow || spec->connector == sql::SourceConnector::kStdin;
  plan.arrivals_mean_something = live || spec->arrival_time.has_value();
  const sql::ViewSpec* smallest = nullptr;
  for (const sql::ViewSpec& view : job.views) {
    if (view.source != index) continue;
    if (smallest == nullptr || window_length(view) < window_length(*smallest)) smallest = &view;
  }
  if (smallest == nullptr) return plan;
  if (smallest->session) {
    plan.closes_after = smallest->session->gap;
  } else {
    plan.slice = [windows = WindowPlan(smallest->windows)](int64_t event_us) {
      return windows.slice_of(event_us);
    };
  }
  return plan;
}

std::string absolute_path(const std::string& folder, const std::string& path) {
  return std::filesystem::absolute(std::filesystem::path(folder) / path).lexically_normal().string();
}

// What a job writes must not be what it reads: its rows would come back as records, at once or in the next
// run.
Status check_no_sink_is_read(const sql::Job& job, const std::string& folder) {
  for (const sql::SinkSpec& sink : job.sinks) {
    if (sink.path.empty()) continue;  // standard output, or a server
    const std::string written = absolute_path(folder, sink.path);
    for (const sql::SourceSpec& source : job.sources) {
      for (const std::string& pattern : source.paths) {
        if (pattern == "-" ||
            ::fnmatch(absolute_path(folder, pattern).c_str(), written.c_str(), FNM_PATHNAME) != 0)
          continue;
        return fail(
            ErrorCode::kInvalid,
            format("sink \"{}\" writes \"{}\", which source \"{}\" reads", sink.name, sink.path, source.name),
            format("It matches the path \"{}\".", pattern),
            "Write into another folder, or narrow the pattern.");
      }
    }
  }
  return {};
}

}  // namespace

std::string job_folder(const sql::Job& job) {
  return std::filesystem::path(job.path).parent_path().string();
}

std::string default_state_directory(const sql::Job& job) {
  return job.path == "-" ? "" : std::filesystem::path(job.path).replace_extension("state").string();
}

Engine::Engine(sql::Job job, EngineOptions options, std::unique_ptr<ledger::Ledger> ledger, env::Clock& clock)
    : job_(std::move(job)), options_(std::move(options)), ledger_(std::move(ledger)), clock_(clock) {}

Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::make(sql::Job job, EngineOptions options, env::Clock& clock) {
  std::unique_ptr<ledger::Ledger> ledger;
  if (options.state_directory.empty()) {
    ledger = ledger::Ledger::transient();
  } else {
    WRACKLINE_ASSIGN(ledger,
                     ledger::Ledger::open_for_run(
                         options.state_directory, job.path,
                         options.resume ? ledger::RunChoice::kResumeUnfinished : ledger::RunChoice::kNew));
  }
  std::unique_ptr<Engine> engine(new Engine(std::move(job), std::move(options), std::move(ledger), clock));
  if (const Status started = engine->start(); !started) {
    // The generation that was taken has done nothing; what went wrong with the plan is what matters.
    static_cast<void>(engine->ledger_->finish(ledger::RunEnd::kFailed));
    return fail(started.error());
  }
  return engine;
}

// Before the first entry: what must be hidden never reaches the disk.
Status Engine::prepare_ledger() {
  if (options_.state_directory.empty()) return {};  // nothing is kept
  WRACKLINE_ASSIGN(auto masks, mask_rules(job_, job_folder(job_), options_.state_directory));
  ledger_->set_masks(std::move(masks));
  return ledger_->set_retention(retention_rules(job_), [this] { return clock_.now().micros(); });
}

// What the last run left, if it goes on: the newest checkpoint, and the tick log from there on.
Status Engine::find_state() {
  if (options_.state_directory.empty()) return {};
  WRACKLINE_ASSIGN(checkpoints_, state::CheckpointStore::open(env::real_disk(),
                                                              {options_.state_directory, ledger_->run()}));
  if (!ledger_->resumed()) return checkpoints_->clear(kColdFolder);
  std::vector<std::string> notices;
  WRACKLINE_ASSIGN(from_, checkpoints_->newest_whole(notices));
  for (const std::string& text : notices) {
    if (options_.on_notice) options_.on_notice(text);
  }
  auto log = runtime::TickLogReader::open(options_.state_directory, ledger_->run());
  if (!log && log.error().code == ErrorCode::kNotFound && !from_ && notices.empty())
    return ledger_->rewind(0);  // it was cut short before it had read anything
  if (!log) {
    log.error().hint = "Put the folder back, or begin a new run without --resume.";
    return fail(std::move(log).error());
  }
  replay_.log = std::move(*log);
  WRACKLINE_ASSIGN(const sql::Job before, job_of_log(replay_.log->header()));
  WRACKLINE_TRY(check_same_job(before, job_));
  WRACKLINE_TRY(replay_.log->skip_to(from_ ? from_->meta().tick_log_sequence : 0));
  WRACKLINE_TRY(checkpoints_->sweep(kColdFolder));
  return ledger_->rewind(from_ ? from_->meta().ledger_seq : 0);
}

Status Engine::start() {
  WRACKLINE_TRY(prepare_ledger());
  if (!options_.replay_directory.empty()) {
    WRACKLINE_ASSIGN(replay_, open_replay(options_.replay_directory, job_, options_.job_options));
    options_.flush_at_end = replay_.flushed;
    if (!replay_.notice.empty() && options_.on_notice) options_.on_notice(replay_.notice);
  }
  WRACKLINE_TRY(find_state());
  WRACKLINE_ASSIGN(auto plans, plan_sources(job_, {.tick_rows = options_.tick_rows,
                                                   .threads = options_.threads,
                                                   .stdout_format = options_.stdout_format}));
  if (!options_.state_directory.empty()) {
    auto header = tick_log_header(job_, options_.job_options, ledger_->run());
    WRACKLINE_ASSIGN(log_, start_tick_log(options_.state_directory, std::move(header), ledger_->resumed()));
  }
  uint32_t read_so_far = 0;
  for (runtime::SourcePlan& plan : plans) {
    if (plan.derived) continue;  // follows from the views that it reads, so it is not in the log
    if (options_.monitor) plan.monitor = monitor_plan(job_, plan.input.name, *options_.monitor);
    plan.input.log_source = read_so_far++;
    plan.input.log = log_.get();
    plan.input.replay = replay_.log.get();
    plan.input.goes_on_after_replay = ledger_->resumed();
  }
  runtime::RunnerOptions runner_options;
  runner_options.flush_at_end = options_.flush_at_end;
  runner_options.on_progress = options_.on_progress;
  runner_options.on_notice = options_.on_notice;
  runner_options.on_alarm = options_.on_alarm;
  runner_options.on_figures = options_.on_figures;
  runner_options.log = log_.get();
  if (checkpoints_) {
    runtime::CheckpointPlan& plan = runner_options.checkpoints;
    if (options_.checkpoint_interval) plan.store = &*checkpoints_;
    plan.interval = options_.checkpoint_interval.value_or(Duration::infinite());
    plan.from = from_ ? &*from_ : nullptr;
    const runtime::TickLogHeader header = tick_log_header(job_, options_.job_options, ledger_->run());
    plan.meta.job_path = header.job_path;
    plan.meta.job_text = header.job_text;
    plan.meta.overrides = header.job_set;
  }
  runner_ = std::make_unique<runtime::Runner>(std::move(plans), *ledger_, clock_, runner_options);
  return {};
}

Result<std::vector<runtime::SourcePlan>> plan_sources(const sql::Job& job, const PlanOptions& options) {
  const std::string folder = job_folder(job);
  WRACKLINE_TRY(check_no_sink_is_read(job, folder));
  std::vector<runtime::SourcePlan> plans;
  for (size_t index = 0; index < job.sources.size(); ++index) {
    const sql::SourceSpec& spec = job.sources[index];
    runtime::SourcePlan plan;
    Duration alignment = Duration::infinite();
    for (size_t view = 0; view < job.views.size(); ++view) {
      const sql::ViewSpec& view_spec = job.views[view];
      if (view_spec.source != index) continue;
      alignment = std::min(alignment, window_length(view_spec));
      runtime::ViewPlan view_plan;
      view_plan.name = view_spec.name;
      view_plan.make = [operation = operation_of(view_spec, spec.name, options.threads), &view_spec](
                           ChangeConsumer& consumer, int64_t generation,
                           bool wants_retractions) mutable -> std::unique_ptr<ViewOperator> {
        operation.wants_retractions = wants_retractions;
        if (view_spec.session) {
          return std::make_unique<SessionAggregate>(
              std::move(operation), SessionOptions{view_spec.session->gap, view_spec.session->max_length},
              consumer, generation);
        }
        return std::make_unique<AlignedAggregate>(std::move(operation), WindowPlan(view_spec.windows),
                                                  consumer, generation);
      };
      view_plan.columns = output_columns(view_spec);
      const bool inserted = std::ranges::any_of(
          job.inserts, [&](const sql::InsertSpec& insert) { return insert.view == view; });
      if (options.sinks && (inserted || !is_read(job, view))) {
        WRACKLINE_ASSIGN(view_plan.sinks, make_sinks(job, view, folder, options.stdout_format, spec.follow));
      }
      plan.views.push_back(std::move(view_plan));
    }
    if (plan.views.empty()) continue;  // the checker has warned that nothing reads this source
    if (spec.connector == sql::SourceConnector::kView) {
      plan.derived = derived_plan(job, spec);
      plans.push_back(std::move(plan));
      continue;
    }
    plan.input = input_options(spec, alignment, options.tick_rows);
    WRACKLINE_ASSIGN(plan.source, make_source(spec, folder));
    plans.push_back(std::move(plan));
  }
  return plans;
}

Result<runtime::RunReport> Engine::run() {
  auto report = runner_->run();
  if (replay_.log && options_.on_notice) {
    for (const std::string& notice : replay_.log->take_notices()) options_.on_notice(notice);
  }
  return report;
}

void Engine::request_stop() {
  runner_->request_stop();
}

}  // namespace wrackline::engine
