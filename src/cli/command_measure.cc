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

struct Measured {
  ProfileReport profile;
  RejectedCounts rejected;
};

Result<Measured> measure_records(const MeasureCommand& command) {
  WRACKLINE_ASSIGN(engine::MeasureInput input, measure_input(command.input));
  if (!command.producer.empty()) {
    if (command.input.arrival_time.empty()) {
      return fail(ErrorCode::kUsage, "--producer needs --arrival-time",
                  "A clock is judged by when its records arrive.",
                  "Name the column that says when records arrived.");
    }
    input.producer = command.producer;
  }
  ProgressLine progress;
  auto result =
      engine::measure(input, ProfileOptions{}, [&](const runtime::Progress& p) { progress.show(p); });
  progress.clear();
  if (!result) return fail(std::move(result).error());
  for (const std::string& text : result->notices) notice(text);
  return Measured{std::move(result->profile), std::move(result->rejected)};
}

Result<Measured> measured(const MeasureCommand& command) {
  if (!are_profiles(command.input.paths)) return measure_records(command);
  if (!command.input.event_time.empty() || !command.producer.empty()) {
    return fail(ErrorCode::kUsage, "a saved profile has no columns",
                "The inputs are profiles that `wrackline measure --out` wrote; they are added up.",
                "Leave out the options that name columns.");
  }
  WRACKLINE_ASSIGN(ProfileReport profile, read_profiles(command.input.paths));
  return Measured{std::move(profile), {}};
}

// Prints the comparison; returns the exit code.
Result<int> compare_with_saved(const MeasureCommand& command, const ProfileReport& profile) {
  WRACKLINE_ASSIGN(const ProfileReport before, read_profiles({command.against}));
  const ProfileComparison comparison = compare_profiles(before, profile);
  print(command.json ? comparison_to_json(comparison, command.against) + "\n"
                     : comparison_text(comparison, command.against, report_text_options()));
  return comparison.verdict == ProfileVerdict::kChanged ? kNotClean : kDone;
}

}  // namespace

int measure(const MeasureCommand& command) {
  auto result = measured(command);
  if (!result) return report(result.error());
  int code = kDone;
  if (command.against.empty()) {
    print(command.json ? profile_to_json(result->profile, result->rejected) + "\n"
                       : profile_text(result->profile, result->rejected, report_text_options()));
  } else {
    const auto compared = compare_with_saved(command, result->profile);
    if (!compared) return report(compared.error());
    code = *compared;
  }
  if (!command.out.empty()) {
    const Status written = write_profile(command.out, result->profile);
    if (!written) return report(written.error());
    notice(format("profile: {}", printable(command.out, 400)));
  }
  if (command.report.empty()) return code;
  const int page = write_report(command.report, report::profile_page(result->profile, result->rejected,
                                                                     report_title(command.input.paths)));
  return page == kDone ? code : page;
}

}  // namespace wrackline::cli
