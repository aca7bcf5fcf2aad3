// Reading the job that a command line names.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "sql/job.h"

namespace wrackline::cli {

// What --set ("source.option=value" each) and --follow say. Errors: kUsage for a malformed --set.
Result<sql::JobOptions> job_options_of(const std::vector<std::string>& set, bool follow);

// `set`: "source.option=value" each. Errors: kUsage for a malformed --set; those of the file and of the job.
Result<sql::Job> read_job(const std::string& path, const std::vector<std::string>& set, bool follow);

}  // namespace wrackline::cli
