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
