#include <string>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/job_argument.h"
#include "cli/run_report.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "env/stop_signals.h"

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
  const std::string state = options.state_directory;
  auto engine = engine::Engine::make(std::move(*job), std::move(options), env::process_clock());
  if (!engine) return report(engine.error());
  const env::StopSignals signals([](void* e) { static_cast<engine::Engine*>(e)->request_stop(); },
                                 engine->get());
  auto result = (*engine)->run();
  progress.clear();
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
