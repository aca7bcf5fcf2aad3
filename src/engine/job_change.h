// Whether a job is the one that a state was written by.
#pragma once

#include "base/error.h"
#include "sql/job.h"

namespace wrackline::engine {

// State means something only to the job that it is of. Comments, layout and where a value was written (in the
// job or with --set) may differ; whatever else does is an error (kInvalid) that names the first difference.
Status check_same_job(const sql::Job& before, const sql::Job& now);

}  // namespace wrackline::engine
