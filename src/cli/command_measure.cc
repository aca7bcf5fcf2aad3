#include "cli/commands.h"
#include "cli/console.h"
#include "cli/input_arguments.h"
#include "cli/report_file.h"
#include "disorder/report_json.h"
#include "disorder/report_text.h"
#include "engine/measurement.h"
#include "report/measurement_page.h"

namespace wrackline::cli {

int measure(const MeasureCommand& command) {
  auto input = measure_input(command.input);
  if (!input) return report(input.error());
  ProgressLine progress;
  auto result =
      engine::measure(*input, ProfileOptions{}, [&](const runtime::Progress& p) { progress.show(p); });
  progress.clear();
  if (!result) return report(result.error());
  for (const std::string& text : result->notices) notice(text);
  print(command.json ? profile_to_json(result->profile, result->rejected) + "\n"
                     : profile_text(result->profile, result->rejected, report_text_options()));
  if (command.report.empty()) return kDone;
  return write_report(command.report, report::profile_page(result->profile, result->rejected,
                                                           report_title(command.input.paths)));
}

}  // namespace wrackline::cli
