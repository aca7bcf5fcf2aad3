#include "engine/source_plan.h"

#include "connectors/file_source.h"
#include "formats/parser.h"

namespace wrackline::engine {
namespace {

TimeColumnOptions time_column(const sql::TimeColumn& from) {
  return {.column = from.column, .unit = from.unit, .zone = from.zone, .missing = from.missing};
}

DedupOptions dedup_options(const sql::SourceSpec& spec) {
  DedupOptions options{.columns = spec.dedup->columns, .name = {}, .horizon = spec.dedup->horizon};
  for (const size_t column : options.columns)
    options.name += (options.name.empty() ? "" : ", ") + spec.fields[column].name;
  return options;
}

}  // namespace

Result<std::unique_ptr<Source>> make_source(const sql::SourceSpec& spec, const std::string& folder) {
  connectors::FileSourceOptions options;
  options.folder = folder;
  options.paths = spec.connector == sql::SourceConnector::kStdin ? std::vector<std::string>{"-"} : spec.paths;
  if (!spec.format.empty()) {
    WRACKLINE_ASSIGN(options.format, formats::parse_format(spec.format));
  }
  options.parser.fields = spec.fields;
  options.parser.time_zone = spec.time_zone;
  options.parser.record_bytes_max = spec.record_bytes_max;
  options.parser.delimiter = spec.delimiter;
  options.parser.header = spec.header;
  options.parser.null_text = spec.null_text;
  options.files = spec.files == sql::FilesMode::kSequence ? connectors::FilesMode::kSequence
                                                          : connectors::FilesMode::kParallel;
  options.follow = spec.follow;
  return connectors::make_file_source(std::move(options));
}

runtime::InputOptions input_options(const sql::SourceSpec& spec, Duration alignment, size_t tick_rows) {
  runtime::InputOptions options;
  options.name = spec.name;
  options.fields = spec.fields;
  options.times.event = time_column(spec.event_time);
  if (spec.arrival_time) options.times.arrival = time_column(*spec.arrival_time);
  options.times.partition_column = spec.partition;
  if (spec.dedup) options.times.dedup = dedup_options(spec);
  options.times.watermark_delay = spec.watermark_delay;
  options.times.max_future_skew = spec.max_future_skew;
  options.times.max_future_accept = spec.max_future_accept;
  options.in_arrival_order = spec.order == sql::InputOrder::kArrivalTime;
  options.idle_timeout = spec.idle_timeout;
  options.idle_close = spec.idle_close;
  options.max_drift = spec.max_drift;
  options.alignment = spec.max_drift.value_or(alignment);
  options.rows_max = tick_rows;
  return options;
}

}  // namespace wrackline::engine
