// The balance at the end of a run, for people and as the JSON document of `run --json`.
#pragma once

#include <string>

#include "runtime/runner.h"

namespace wrackline::cli {

std::string balance_text(const runtime::RunReport& report);
std::string balance_json(const runtime::RunReport& report);  // one line, no line end

}  // namespace wrackline::cli
