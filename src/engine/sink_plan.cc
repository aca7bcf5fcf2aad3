#include "engine/sink_plan.h"

#include <filesystem>

#include "connectors/sink_file.h"
#include "connectors/sink_postgres.h"
#include "connectors/sink_sqlite.h"
#include "connectors/sink_stdout.h"

namespace wrackline::engine {
namespace {

SinkMode mode_of(const sql::SinkSpec& spec) {
  if (spec.mode == "changelog") return SinkMode::kChangelog;
  return spec.mode == "append" ? SinkMode::kAppend : SinkMode::kUpsert;
}

std::string in_folder(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).string();
}

Result<std::unique_ptr<Sink>> make_sink(const sql::SinkSpec& spec, const std::string& folder,
                                        const std::string& stdout_format, bool live) {
  switch (spec.connector) {
    case sql::SinkConnector::kStdout: {
      connectors::StdoutSinkOptions options;
      options.format = spec.format.empty() ? stdout_format : spec.format;
      options.mode = mode_of(spec);
      return connectors::make_stdout_sink(options);
    }
    case sql::SinkConnector::kFile:
      return connectors::make_file_sink(
          {.path = in_folder(folder, spec.path), .format = spec.format, .mode = mode_of(spec), .live = live});
    case sql::SinkConnector::kSqlite:
      return connectors::make_sqlite_sink({.path = in_folder(folder, spec.path),
                                           .table = spec.table.empty() ? spec.name : spec.table,
                                           .mode = mode_of(spec)});
    case sql::SinkConnector::kPostgres:
      return connectors::make_postgres_sink({.url = spec.url, .table = spec.table, .mode = mode_of(spec)});
  }
  return fail(ErrorCode::kUnsupported, "unknown kind of sink");
}

}  // namespace

Result<std::vector<runtime::SinkBinding>> make_sinks(const sql::Job& job, size_t view,
                                                     const std::string& folder,
                                                     const std::string& stdout_format, bool live) {
  std::vector<runtime::SinkBinding> bindings;
  for (const sql::InsertSpec& insert : job.inserts) {
    if (insert.view != view) continue;
    const sql::SinkSpec& spec = job.sinks[insert.sink];
    WRACKLINE_ASSIGN(auto sink, make_sink(spec, folder, stdout_format, live));
    bindings.push_back({std::move(sink), mode_of(spec)});
  }
  if (bindings.empty()) {
    WRACKLINE_ASSIGN(auto sink, make_sink(sql::SinkSpec{}, folder, stdout_format, live));
    bindings.push_back({std::move(sink), SinkMode::kUpsert});
  }
  return bindings;
}

std::vector<OutputColumn> output_columns(const sql::ViewSpec& view) {
  std::vector<OutputColumn> columns;
  for (const sql::ViewColumn& column : view.columns) {
    columns.push_back({column.name, column.expression->type, column.identity});
  }
  return columns;
}

}  // namespace wrackline::engine
