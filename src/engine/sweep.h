// What-if over a job: one pass over its recorded input answers what every pair of watermark delay and allowed
// lateness would do to a view.
//
// Records come through the same input, time stage and order as in a run, in the same ticks, and the view's
// filter and expressions decide alike; so a run of the job with any candidate pair counts the same numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "disorder/report_json.h"
#include "engine/measurement.h"
#include "env/clock.h"
#include "sql/job.h"
#include "wrackline/lateness_sweep.h"

namespace wrackline::engine {

struct SweepRequest {
  std::string view;                             // empty: the job's only view
  std::optional<std::vector<Duration>> delays;  // nullopt: a ladder from zero up, and the job's own
  std::optional<std::vector<Duration>> latenesses;
  size_t tick_rows = 4096;
};

struct SweepResult {
  SweepReport report;
  SweepSubject subject;
  std::vector<std::string> notices;
};

// Errors: kUsage when the job has several views and none is named, or none of that name; kUnsupported for
// windows whose lateness has no one scalar (sessions) and for input that does not end; those of the input.
Result<SweepResult> sweep(const sql::Job& job, const SweepRequest& request,
                          const OnProgress& on_progress = {}, env::Clock& clock = env::system_clock());

}  // namespace wrackline::engine
