#include "engine/engine.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "engine/sink_plan.h"
#include "engine/source_plan.h"

namespace wrackline::engine {
namespace {

WindowAggregateOptions operation_of(const sql::ViewSpec& view, const std::string& source) {
  WindowAggregateOptions options;
  options.view = view.name;
  options.source = source;
  options.windows = TumblingWindows(view.window_size, view.window_offset);
  options.router = LateRouter({view.late, view.allowed_lateness, view.ledger_horizon});
  for (const auto& [reason, drop] : view.drop) {
    if (drop) options.drop_reasons |= 1U << static_cast<unsigned>(reason);
  }
  options.where = view.where.get();
  for (const expr::ExprPtr& key : view.keys) options.keys.push_back(key.get());
  options.key_names = view.key_names;
  for (const sql::AggregateCall& call : view.aggregates) {
    options.aggregates.push_back({call.aggregate, call.argument.get(), call.filter.get()});
  }
  for (const sql::ViewColumn& column : view.columns) options.outputs.push_back(column.expression.get());
  return options;
}

std::string absolute_path(const std::string& folder, const std::string& path) {
  return std::filesystem::absolute(std::filesystem::path(folder) / path).lexically_normal().string();
}

// What a job writes must not be what it reads: its rows would come back as records, at once or in the next
// run.
Status check_no_sink_is_read(const sql::Job& job, const std::string& folder) {
  for (const sql::SinkSpec& sink : job.sinks) {
    if (sink.connector == sql::SinkConnector::kStdout) continue;
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
    WRACKLINE_ASSIGN(ledger, ledger::Ledger::open_for_run(options.state_directory, job.path));
  }
  std::unique_ptr<Engine> engine(new Engine(std::move(job), std::move(options), std::move(ledger), clock));
  auto plans = engine->plan();
  if (!plans) {
    // The generation that was taken has done nothing; what went wrong with the plan is what matters.
    static_cast<void>(engine->ledger_->finish(false));
    return fail(std::move(plans).error());
  }
  runtime::RunnerOptions runner_options;
  runner_options.flush_at_end = engine->options_.flush_at_end;
  runner_options.on_progress = engine->options_.on_progress;
  runner_options.on_notice = engine->options_.on_notice;
  engine->runner_ =
      std::make_unique<runtime::Runner>(std::move(*plans), *engine->ledger_, clock, runner_options);
  return engine;
}

Result<std::vector<runtime::SourcePlan>> Engine::plan() {
  const std::string folder = job_folder(job_);
  WRACKLINE_TRY(check_no_sink_is_read(job_, folder));
  std::vector<runtime::SourcePlan> plans;
  for (size_t index = 0; index < job_.sources.size(); ++index) {
    const sql::SourceSpec& spec = job_.sources[index];
    runtime::SourcePlan plan;
    Duration alignment = Duration::infinite();
    for (size_t view = 0; view < job_.views.size(); ++view) {
      const sql::ViewSpec& view_spec = job_.views[view];
      if (view_spec.source != index) continue;
      alignment = std::min(alignment, view_spec.window_size);
      runtime::ViewPlan view_plan;
      view_plan.operation = operation_of(view_spec, spec.name);
      view_plan.columns = output_columns(view_spec);
      WRACKLINE_ASSIGN(view_plan.sinks, make_sinks(job_, view, folder, options_.stdout_format, spec.follow));
      plan.views.push_back(std::move(view_plan));
    }
    if (plan.views.empty()) continue;  // the checker has warned that nothing reads this source
    plan.input = input_options(spec, alignment, options_.tick_rows);
    WRACKLINE_ASSIGN(plan.source, make_source(spec, folder));
    plans.push_back(std::move(plan));
  }
  return plans;
}

Result<runtime::RunReport> Engine::run() {
  return runner_->run();
}

void Engine::request_stop() {
  runner_->request_stop();
}

}  // namespace wrackline::engine
