#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/input_arguments.h"
#include "cli/profile_files.h"
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
  if (options.rule == BudgetRule::kNearestRank && command.input.arrival_time.empty() &&
      command.profile.empty()) {
    return fail(ErrorCode::kUsage, "--rule nearest-rank needs --arrival-time",
                "It is a quantile of arrival delays.");
  }
  return options;
}

struct Budgeted {
  BudgetReport budget;
  RejectedCounts rejected;
};

Result<Budgeted> budget_of_records(const BudgetCommand& command, BudgetOptions options) {
  WRACKLINE_ASSIGN(engine::MeasureInput input, measure_input(command.input));
  if (!command.key.empty()) input.key = command.key;
  if (options.window) input.alignment = options.slide.value_or(*options.window);
  ProgressLine progress;
  auto result =
      engine::budget(input, std::move(options), [&](const runtime::Progress& p) { progress.show(p); });
  progress.clear();
  if (!result) return fail(std::move(result).error());
  for (const std::string& text : result->notices) notice(text);
  return Budgeted{std::move(result->budget), std::move(result->rejected)};
}

Result<Budgeted> budget_of_profile(const BudgetCommand& command, BudgetOptions options) {
  if (!command.input.paths.empty()) {
    return fail(ErrorCode::kUsage, "--profile and input files contradict each other",
                "A budget is derived from records or from a saved profile.", "Keep one of them.");
  }
  if (!command.window.empty() || !command.key.empty() || command.keys) {
    return fail(
        ErrorCode::kUsage, "--profile has no records to sort into windows",
        "A profile holds how late records are, not when they were; --window, --key and --keys need them.",
        "Leave them out: the budget of a profile is safe for windows of any size.");
  }
  WRACKLINE_ASSIGN(ProfileReport profile, read_profiles({command.profile}));
  auto report = budget_from_profile(std::move(profile), std::move(options));
  if (!report) return fail(ErrorCode::kInvalid, report.error());
  return Budgeted{std::move(*report), {}};
}

Result<std::optional<SettingsTarget>> settings_target(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto target = parse_settings_target(name);
  if (target) return target;
  return fail(ErrorCode::kUsage, format("--emit \"{}\" is not a system", printable(name)), {},
              "The systems are wrackline, flink, flink-sql, spark, kafka-streams and beam.");
}

}  // namespace

int budget(const BudgetCommand& command) {
  const auto target = settings_target(command.emit);
  if (!target) return report(target.error());
  auto options = budget_options(command);
  if (!options) return report(options.error());
  auto result = command.profile.empty() ? budget_of_records(command, std::move(*options))
                                        : budget_of_profile(command, std::move(*options));
  if (!result) return report(result.error());
  if (*target) {
    print(
        command.json
            ? format(
                  "{{\"target\":{},\"watermark_delay_us\":{},\"allowed_lateness_us\":{},\"settings\":{}}}\n",
                  json_quoted(command.emit), result->budget.watermark_delay_us,
                  result->budget.allowed_lateness_us, json_quoted(budget_settings(result->budget, **target)))
            : budget_settings(result->budget, **target));
  } else {
    print(command.json ? budget_to_json(result->budget, result->rejected) + "\n"
                       : budget_text(result->budget, result->rejected, report_text_options()));
  }
  if (command.report.empty()) return kDone;
  return write_report(command.report, report::budget_page(result->budget, result->rejected,
                                                          report_title(command.input.paths)));
}

}  // namespace wrackline::cli
