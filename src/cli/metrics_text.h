// The figures of a running job in Prometheus' text format, for a file that its node exporter reads
// (--collector.textfile) or a web server hands out.
//
// Source: Prometheus documentation, "Exposition formats", text format 0.0.4.
#pragma once

#include <string>

#include "runtime/runner.h"

namespace wrackline::cli {

// Times are seconds since 1970, spans seconds. Names stay as they are once published; docs/monitoring.md
// lists them.
std::string metrics_text(const runtime::RunReport& report);

}  // namespace wrackline::cli
