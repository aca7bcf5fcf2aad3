#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/input_arguments.h"
#include "cli/report_file.h"
#include "disorder/report_json.h"
#include "disorder/report_text.h"
#include "engine/measurement.h"
#include "report/measurement_page.h"

namespace wrackline::cli {
namespace {

Result<Share> percent_argument(std::string_view option, std::string_view text) {
  const std::optional<Share> share = Share::parse_percent(text);
  if (!share) {
    return fail(ErrorCode::kUsage, format("--{} \"{}\" is not a percentage", option, text),
                "It is a number from 0 to 100 with at most ten decimal places.",
                format("For example: --{} 1%", option));
  }
  return *share;
}

Result<BudgetOptions> budget_options(const BudgetCommand& command) {
  BudgetOptions options;
  if (command.rule == "nearest-rank") options.rule = BudgetRule::kNearestRank;
  WRACKLINE_ASSIGN(options.target_late, percent_argument("target-late", command.target_late));
  WRACKLINE_ASSIGN(options.tail, percent_argument("tail", command.tail));
  if (!command.window.empty()) {
    WRACKLINE_ASSIGN(options.window, span_argument("window", command.window));
    if (options.window->micros() <= 0) return fail(ErrorCode::kUsage, "--window must be longer than zero");
  }
  if (!command.slide.empty()) {
    WRACKLINE_ASSIGN(options.slide, span_argument("slide", command.slide));
    if (!options.window || options.slide->micros() <= 0 || *options.slide > *options.window) {
      return fail(ErrorCode::kUsage, "--slide must be longer than zero and at most --window");
    }
  }
  if (!command.offset.empty()) {
    WRACKLINE_ASSIGN(options.window_offset, span_argument("offset", command.offset));
  }
  options.keys = command.keys;
  if (command.keys && *command.keys <= 0) return fail(ErrorCode::kUsage, "--keys must be at least 1");
  if (command.keys && !command.key.empty()) {
    return fail(ErrorCode::kUsage, "--key and --keys contradict each other",
                "--key counts the keys of a column, --keys states how many to expect.", "Keep one of them.");
  }
  if (options.rule == BudgetRule::kNearestRank && command.input.arrival_time.empty()) {
    return fail(ErrorCode::kUsage, "--rule nearest-rank needs --arrival-time",
                "It is a quantile of arrival delays.");
  }
  return options;
}

}  // namespace

int budget(const BudgetCommand& command) {
  auto input = measure_input(command.input);
  if (!input) return report(input.error());
  auto options = budget_options(command);
  if (!options) return report(options.error());
  if (!command.key.empty()) input->key = command.key;
  if (options->window) input->alignment = options->slide.value_or(*options->window);
  ProgressLine progress;
  auto result =
      engine::budget(*input, std::move(*options), [&](const runtime::Progress& p) { progress.show(p); });
  progress.clear();
  if (!result) return report(result.error());
  for (const std::string& text : result->notices) notice(text);
  print(command.json ? budget_to_json(result->budget, result->rejected) + "\n"
                     : budget_text(result->budget, result->rejected, report_text_options()));
  if (command.report.empty()) return kDone;
  return write_report(command.report, report::budget_page(result->budget, result->rejected,
                                                          report_title(command.input.paths)));
}

}  // namespace wrackline::cli
