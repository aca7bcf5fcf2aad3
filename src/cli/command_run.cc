#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/input_arguments.h"
#include "cli/job_argument.h"
#include "cli/metrics_text.h"
#include "cli/monitor_file.h"
#include "cli/run_report.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "env/command.h"
#include "env/file.h"
#include "env/stop_signals.h"
#include "wrackline/lateness_budget.h"

namespace wrackline::cli {

namespace {

// An input in which not one record can be read is more likely the wrong format than bad records.
void warn_if_nothing_parsed(const runtime::RunReport& report) {
  for (const runtime::ViewReport& view : report.views) {
    const FateCounts total = view.balance.total();
    const int64_t unparseable = total.ledgered_by_reason[static_cast<size_t>(Reason::kUnparseable)] +
                                total.dropped[static_cast<size_t>(Reason::kUnparseable)];
    if (total.read == 0 || unparseable < total.read) continue;
    notice(
        format("warning: not one of {} records of source \"{}\" could be parsed; is it one JSON object a "
               "line, or CSV, as "
               "its format says?",
               with_thousands(total.read), view.source));
    return;
  }
}

constexpr int64_t kAlarmWaitUs = 5'000'000;  // for alarm commands at the end of the run
constexpr int64_t kDayUs = INT64_C(86'400'000'000);

// nullopt: nothing is to be watched.
Result<std::optional<runtime::MonitorOptions>> monitor_options(const RunCommand& command) {
  if (command.monitor_interval == "off") return std::nullopt;
  runtime::MonitorOptions options;
  WRACKLINE_ASSIGN(options.interval, span_argument("monitor-interval", command.monitor_interval));
  if (options.interval < seconds(1) || options.interval.micros() > kDayUs)
    return fail(ErrorCode::kUsage, "--monitor-interval must be between 1 s and 1 day");
  WRACKLINE_ASSIGN(options.false_alarm_every, span_argument("false-alarm-every", command.false_alarm_every));
  if (options.false_alarm_every < options.interval)
    return fail(ErrorCode::kUsage, "--false-alarm-every must be at least --monitor-interval");
  const auto share = Share::parse_percent(command.target_late);
  const double target = share ? static_cast<double>(share->parts) / Share::kWhole : 0;
  if (target <= 0 || target >= 0.5) {
    return fail(ErrorCode::kUsage,
                format("--target-late \"{}\" is no share of records", printable(command.target_late)), {},
                "Write a percentage above 0 and below 50, as in 1% or 0.5%.");
  }
  options.target_late = target;
  return options;
}

// nullopt: off.
Result<std::optional<Duration>> checkpoint_interval(const RunCommand& command) {
  if (command.checkpoint_interval == "off") return std::nullopt;
  WRACKLINE_ASSIGN(const Duration interval,
                   span_argument("checkpoint-interval", command.checkpoint_interval));
  if (interval < millis(1) || interval.micros() > kDayUs)
    return fail(ErrorCode::kUsage, "--checkpoint-interval must be between 1 ms and 1 day");
  return interval;
}

}  // namespace

int run(const RunCommand& command) {
  auto job = read_job(command.job, command.set, command.follow);
  if (!job) return report(job.error());
  for (const std::string& warning : job->warnings) notice("warning: " + warning);

  ProgressLine progress;
  engine::EngineOptions options;
  const bool keep = command.state != "none";
  if (keep)
    options.state_directory = command.state.empty() ? engine::default_state_directory(*job) : command.state;
  options.replay_directory = command.replay;
  options.resume = command.resume;
  auto checkpoints = checkpoint_interval(command);
  if (!checkpoints) return report(checkpoints.error());
  options.checkpoint_interval = *checkpoints;
  if (command.resume && !keep) {
    return report({.code = ErrorCode::kUsage,
                   .message = "--resume needs a state directory",
                   .hint = "Its tick log says where the run before had come to; leave out --state none."});
  }
  auto job_options = job_options_of(command.set, command.follow);
  if (!job_options) return report(job_options.error());
  options.job_options = std::move(*job_options);
  options.flush_at_end = command.at_end == "flush";
  options.tick_rows = command.tick_rows;
  options.threads = command.threads;
  options.stdout_format = command.format.empty() && command.json ? "jsonl" : command.format;
  options.on_progress = [&](const runtime::Progress& p) { progress.show(p); };
  options.on_notice = [&](const std::string& text) {
    progress.clear();
    notice(text);
  };
  auto monitor = monitor_options(command);
  if (!monitor) return report(monitor.error());
  options.monitor = *monitor;
  const bool automatic = std::ranges::any_of(
      job->sources, [](const sql::SourceSpec& source) { return source.automatic.has_value(); });
  if (automatic && !options.monitor) {
    return report(
        {.code = ErrorCode::kUsage,
         .message = "--monitor-interval off contradicts watermark_delay = 'auto', the default",
         .hint = "The delay follows what the monitor measures; write it down, or leave the monitor on."});
  }
  std::optional<env::SideCommand> alarm_command;
  if (!command.alarm_command.empty()) alarm_command.emplace(command.alarm_command);
  const auto tell_failures = [&] {
    for (const std::string& text : alarm_command->take_failures()) notice("alarm command: " + text);
  };
  if (alarm_command) {
    options.on_alarm = [&](const runtime::MonitorAlarm& alarm) {
      // Advice to wait less wakes nobody.
      if (alarm.kind == runtime::MonitorAlarm::Kind::kOverProvisioned) return;
      tell_failures();
      const Status started = alarm_command->start(runtime::alarm_json(alarm) + "\n");
      if (!started) notice("alarm command: " + started.error().to_string());
    };
  }
  const std::string state = options.state_directory;
  bool metrics_failed = false;
  bool figures_failed = false;
  options.on_figures = [&](const runtime::RunReport& figures) {
    // Told once: the run goes on without.
    const auto tell_once = [](const Status& written, bool& told, std::string_view what) {
      if (!written && !std::exchange(told, true))
        notice(format("warning: {}: {}", what, written.error().to_string()));
    };
    if (!command.metrics.empty())
      tell_once(env::replace_file(command.metrics, metrics_text(figures)), metrics_failed, "no metrics");
    if (!state.empty() && !figures.monitors.empty())
      tell_once(write_monitor_figures(state, figures, env::process_clock().now()), figures_failed,
                "no figures for wrackline status");
  };
  auto engine = engine::Engine::make(std::move(*job), std::move(options), env::process_clock());
  if (!engine) return report(engine.error());
  const env::StopSignals signals([](void* e) { static_cast<engine::Engine*>(e)->request_stop(); },
                                 engine->get());
  auto result = (*engine)->run();
  progress.clear();
  if (alarm_command) {
    alarm_command->finish(kAlarmWaitUs);
    tell_failures();
  }
  if (!result) return report(result.error());

  const int64_t ledgered = (*engine)->ledger().size();
  if (command.json) {
    print(balance_json(*result) + "\n");
  } else {
    std::fputs(balance_text(*result).c_str(), stderr);
    if (ledgered > 0 && !state.empty()) {
      std::fputs(format("ledger: {} entries in {} (wrackline ledger list --state {})\n",
                        with_thousands(ledgered), state, state)
                     .c_str(),
                 stderr);
    }
    if (const auto info = (*engine)->ledger().info(); info && info->retired > 0) {
      std::fputs(format("ledger: {} more removed by retention (wrackline ledger audit --state {})\n",
                        with_thousands(info->retired), state)
                     .c_str(),
                 stderr);
    }
  }
  warn_if_nothing_parsed(*result);
  if (ledgered > 0 && state.empty()) {
    notice(format(
        "warning: {} ledger entries were counted but not kept; name a directory with --state to keep them",
        with_thousands(ledgered)));
  }
  if (signals.requested()) return 128 + signals.signal();
  return result->balanced() ? kDone : kFailed;
}

}  // namespace wrackline::cli
