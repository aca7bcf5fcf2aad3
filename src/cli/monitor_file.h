// The last figures of a running job's monitors, kept beside its state for `wrackline status`.
//
// Shape:   a snapshot in STATE/monitor, replaced as a whole, so a reader sees all of the old figures or all
// of the new. Written: when figures are reported (at ends of intervals, every ten seconds, at the end).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/monitor.h"
#include "runtime/runner.h"
#include "wrackline/time.h"

namespace wrackline::cli {

struct MonitorFigures {
  int64_t wall_us = 0;     // when they were written
  int64_t generation = 0;  // of the run that wrote them
  std::vector<runtime::MonitorReport> sources;
};

// Errors: as env::replace_file.
Status write_monitor_figures(const std::string& state, const runtime::RunReport& report, WallTime now);
// nullopt: there are none, as after a run that watched nothing. Errors: kData (damaged), kUnavailable.
Result<std::optional<MonitorFigures>> read_monitor_figures(const std::string& state);

}  // namespace wrackline::cli
