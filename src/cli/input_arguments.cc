#include "cli/input_arguments.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "data/time_zone.h"
#include "env/terminal.h"

namespace wrackline::cli {
namespace {

// Whether the locale's character set is UTF-8, so that block characters will show.
bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace

Result<Duration> span_argument(std::string_view option, std::string_view text) {
  auto micros = parse_span_micros(text);
  if (!micros) {
    return fail(ErrorCode::kUsage, format("--{} \"{}\" is not a span of time", option, text),
                micros.error().message, format("For example: --{} '30 s', '5 min', '2 h', '1 day'.", option));
  }
  return Duration(*micros);
}

Result<engine::MeasureInput> measure_input(const InputArguments& arguments) {
  engine::MeasureInput input;
  if (arguments.paths.empty()) {
    return fail(ErrorCode::kUsage, "input is required", {}, "Name files or globs, or - for standard input.");
  }
  if (arguments.event_time.empty()) {
    return fail(ErrorCode::kUsage, "--event-time is required",
                "It names the column that says when a record happened.", "For example: --event-time at");
  }
  input.paths = arguments.paths;
  input.format = arguments.format;
  input.event_time = arguments.event_time;
  if (!arguments.arrival_time.empty()) input.arrival_time = arguments.arrival_time;
  if (!arguments.partition.empty()) input.partition = arguments.partition;
  if (!arguments.time_unit.empty()) {
    input.time_unit = parse_time_unit(arguments.time_unit);
    if (!input.time_unit) {
      return fail(ErrorCode::kUsage, format("--time-unit \"{}\" is not a unit", arguments.time_unit), {},
                  "The units are s, ms, us and ns.");
    }
  }
  if (!arguments.time_zone.empty()) {
    if (input.time_unit) {
      return fail(ErrorCode::kUsage, "--time-unit and --time-zone contradict each other",
                  "Numbers count from 1970-01-01T00:00:00Z and have no zone.",
                  "Keep the one that fits the columns.");
    }
    auto zone = TimeZone::find(arguments.time_zone);
    if (!zone) {
      Error error = zone.error();
      error.code = ErrorCode::kUsage;
      return fail(std::move(error));
    }
    input.time_zone = *zone;
  }
  if (arguments.time_missing && !input.time_unit) {
    return fail(ErrorCode::kUsage, "--time-missing needs --time-unit",
                "It names a number that means \"no time\".");
  }
  input.time_missing = arguments.time_missing;
  if (arguments.delimiter.size() != 1) {
    return fail(ErrorCode::kUsage, format("--delimiter \"{}\" is not one character", arguments.delimiter));
  }
  input.delimiter = arguments.delimiter[0];
  input.in_arrival_order = arguments.order_by == "arrival";
  if (input.in_arrival_order && !input.arrival_time) {
    return fail(ErrorCode::kUsage, "--order-by arrival needs --arrival-time");
  }
  for (size_t from = 0; !arguments.id.empty() && from <= arguments.id.size();) {
    const size_t comma = std::min(arguments.id.find(',', from), arguments.id.size());
    if (comma == from) {
      return fail(ErrorCode::kUsage, format("--id \"{}\" has an empty column name", printable(arguments.id)),
                  {}, "For example: --id vehicle,event_s");
    }
    input.id.push_back(arguments.id.substr(from, comma - from));
    from = comma + 1;
  }
  input.drop_repeats = arguments.drop_repeats;
  if (input.drop_repeats && !input.id.empty()) {
    return fail(ErrorCode::kUsage, "--id and --drop-repeats contradict each other",
                "--id leaves out records with a known id, --drop-repeats those with the same bytes.",
                "Keep one of them.");
  }
  WRACKLINE_ASSIGN(input.max_future_skew, span_argument("max-future-skew", arguments.max_future_skew));
  if (std::ranges::count(arguments.paths, "-") > 0 && arguments.format.empty()) {
    return fail(ErrorCode::kUsage, "standard input has no name to guess its format from", {},
                "Say --format jsonl or --format csv.");
  }
  return input;
}

ReportTextOptions report_text_options() {
  ReportTextOptions options;
  options.width = env::terminal_width(env::StandardStream::kOutput, 100);
  options.unicode = speaks_utf8();
  return options;
}

}  // namespace wrackline::cli
