// The sinks of one view of a job.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/view_output.h"
#include "sql/job.h"

namespace wrackline::engine {

// The sinks that the view is inserted into; standard output when there is none. `live`: the run has no end,
// so file sinks show every tick as it commits.
Result<std::vector<runtime::SinkBinding>> make_sinks(const sql::Job& job, size_t view,
                                                     const std::string& folder,
                                                     const std::string& stdout_format, bool live);
std::vector<OutputColumn> output_columns(const sql::ViewSpec& view);

}  // namespace wrackline::engine
