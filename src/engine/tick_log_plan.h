// The tick log of a run: what it is written with, and what a replay follows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "runtime/tick_log.h"
#include "sql/job.h"

namespace wrackline::engine {

// What the log says about the job. `options` are those that the job was parsed with.
runtime::TickLogHeader tick_log_header(const sql::Job& job, const sql::JobOptions& options, int64_t run);

// Starts the log of a run in the state directory, or goes on in it, and leaves the job's text beside it as
// job.sql, for people.
Result<std::unique_ptr<runtime::TickLogWriter>> start_tick_log(const std::string& state_directory,
                                                               runtime::TickLogHeader header, bool goes_on);

// A log to follow.
struct Replay {
  std::unique_ptr<runtime::TickLogReader> log;
  bool flushed = false;  // the run closed its windows at its end
  std::string notice;    // what a person should know before it starts; may be empty
};
// The newest log in the state directory. Errors: kNotFound without one; kData when it is damaged.
Result<Replay> open_replay(const std::string& state_directory, const sql::Job& job,
                           const sql::JobOptions& options);

// The job of a log, parsed again. Errors: those of parse_job, for a job that this version no longer takes.
Result<sql::Job> job_of_log(const runtime::TickLogHeader& header);

}  // namespace wrackline::engine
