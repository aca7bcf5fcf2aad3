// One source of a job as the runtime's input.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "operators/source.h"
#include "runtime/input.h"
#include "sql/job.h"

namespace wrackline::engine {

Result<std::unique_ptr<Source>> make_source(const sql::SourceSpec& spec, const std::string& folder);
// `alignment` bounds how far one file may run ahead of another: the smallest window that reads the source.
runtime::InputOptions input_options(const sql::SourceSpec& spec, Duration alignment, size_t tick_rows);

}  // namespace wrackline::engine
