#include "engine/tick_log_plan.h"

#include <filesystem>
#include <utility>

#include "base/text.h"
#include "env/file.h"

namespace wrackline::engine {

runtime::TickLogHeader tick_log_header(const sql::Job& job, const sql::JobOptions& options, int64_t run) {
  runtime::TickLogHeader header;
  header.run = run;
  // Absolute, so that the log explains itself from any folder.
  header.job_path = job.path == "-" ? std::filesystem::current_path().string() + "/-"
                                    : std::filesystem::absolute(job.path).lexically_normal().string();
  header.job_text = job.text;
  header.job_set = options.set;
  header.follow = options.follow;
  return header;
}

Result<std::unique_ptr<runtime::TickLogWriter>> start_tick_log(const std::string& state_directory,
                                                               runtime::TickLogHeader header, bool goes_on) {
  WRACKLINE_TRY(env::replace_file(state_directory + "/job.sql", header.job_text));
  runtime::TickLogWriter::Options options{.directory = state_directory, .header = std::move(header)};
  return goes_on ? runtime::TickLogWriter::go_on(std::move(options))
                 : runtime::TickLogWriter::create(std::move(options));
}

Result<Replay> open_replay(const std::string& state_directory, const sql::Job& job,
                           const sql::JobOptions& options) {
  WRACKLINE_ASSIGN(const runtime::TickLogSummary summary, runtime::summarize_tick_log(state_directory));
  Replay replay;
  // The run is named: one that replays its own directory starts a newer one there.
  WRACKLINE_ASSIGN(replay.log, runtime::TickLogReader::open(state_directory, summary.header.run));
  replay.flushed = summary.flushed;
  const runtime::TickLogHeader ours = tick_log_header(job, options, summary.header.run);
  if (runtime::job_fingerprint(ours) != runtime::job_fingerprint(summary.header)) {
    replay.notice = format(
        "the job is not the one that wrote the tick log in \"{}\"; its ticks are followed, results may "
        "differ",
        state_directory);
  }
  return replay;
}

Result<sql::Job> job_of_log(const runtime::TickLogHeader& header) {
  sql::JobOptions options;
  options.set = header.job_set;
  options.follow = header.follow;
  return sql::parse_job(header.job_text, header.job_path, options);
}

}  // namespace wrackline::engine
