#include "cli/monitor_file.h"

#include <utility>

#include "data/snapshot.h"
#include "env/file.h"

namespace wrackline::cli {
namespace {

std::string path_in(const std::string& state) {
  return state + "/monitor";
}

}  // namespace

Status write_monitor_figures(const std::string& state, const runtime::RunReport& report, WallTime now) {
  SnapshotWriter out;
  out.i64(now.micros());
  out.i64(report.generation);
  out.u64(report.monitors.size());
  for (const runtime::MonitorReport& monitor : report.monitors) save(monitor, out);
  return env::replace_file(path_in(state), out.finish());
}

Result<std::optional<MonitorFigures>> read_monitor_figures(const std::string& state) {
  const Result<std::string> bytes = env::read_file(path_in(state));
  if (!bytes) {
    if (bytes.error().code == ErrorCode::kNotFound) return std::optional<MonitorFigures>();
    return std::unexpected(bytes.error());
  }
  WRACKLINE_ASSIGN(SnapshotReader in, SnapshotReader::open(*bytes));
  MonitorFigures figures;
  figures.wall_us = in.i64();
  figures.generation = in.i64();
  for (size_t left = in.count(sizeof(uint64_t)); left > 0 && !in.failed(); --left)
    figures.sources.push_back(runtime::restore_monitor_report(in));
  WRACKLINE_TRY(in.finish());
  return std::optional(std::move(figures));
}

}  // namespace wrackline::cli
