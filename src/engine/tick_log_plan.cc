#include "engine/tick_log_plan.h"

#include <filesystem>
#include <utility>

#include "base/text.h"
#include "env/file.h"

namespace wrackline::engine {

runtime::TickLogHeader tick_log_header(const sql::Job& job, const sql::JobOptions& options,
                                       int64_t generation) {
  runtime::TickLogHeader header;
  header.generation = generation;
  // Absolute, so that the log explains itself from any folder.
  header.job_path = job.path == "-" ? std::filesystem::current_path().string() + "/-"
                                    : std::filesystem::absolute(job.path).lexically_normal().string();
  header.job_text = job.text;
  header.job_set = options.set;
  header.follow = options.follow;
  return header;
}

Result<std::unique_ptr<runtime::TickLogWriter>> start_tick_log(const std::string& state_directory,
                                                               runtime::TickLogHeader header) {
  WRACKLINE_TRY(env::replace_file(state_directory + "/job.sql", header.job_text));
  return runtime::TickLogWriter::create({.directory = state_directory, .header = std::move(header)});
}

Result<Replay> open_replay(const std::string& state_directory, const sql::Job& job,
                           const sql::JobOptions& options, bool resume) {
  WRACKLINE_ASSIGN(runtime::TickLogSummary summary, runtime::summarize_tick_log(state_directory));
  while (resume && summary.header.resumes != 0) {
    auto before = runtime::summarize_tick_log(state_directory, summary.header.resumes);
    if (!before && before.error().code == ErrorCode::kNotFound) break;  // it was not needed any more
    if (!before) return fail(std::move(before).error());
    if (before->entries <= summary.entries) break;
    summary = std::move(*before);
  }
  Replay replay;
  // The generation is named: a run that replays its own directory starts a newer one there.
  WRACKLINE_ASSIGN(replay.log, runtime::TickLogReader::open(state_directory, summary.header.generation));
  replay.flushed = summary.flushed;
  const runtime::TickLogHeader ours = tick_log_header(job, options, summary.header.generation);
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
