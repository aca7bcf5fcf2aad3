// Turning the input options of measure and budget into what the engine measures.
#pragma once

#include "base/error.h"
#include "cli/commands.h"
#include "disorder/report_text.h"
#include "engine/measurement.h"

namespace wrackline::cli {

// Errors: kUsage for a word that is no unit, zone or span, and for options that contradict each other.
Result<engine::MeasureInput> measure_input(const InputArguments& arguments);
// A span such as "30 s", for the option of that name.
Result<Duration> span_argument(std::string_view option, std::string_view text);
// As wide as the terminal, in block characters where it shows them.
ReportTextOptions report_text_options();

}  // namespace wrackline::cli
