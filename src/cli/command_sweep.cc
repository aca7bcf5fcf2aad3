#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/input_arguments.h"
#include "cli/job_argument.h"
#include "cli/report_file.h"
#include "disorder/report_json.h"
#include "disorder/report_text.h"
#include "engine/sweep.h"
#include "report/sweep_page.h"

namespace wrackline::cli {
namespace {

constexpr size_t kSpansMost = 1000;  // candidates of one kind; all pairs of them are counted

// "0 s, 10 s, 1 min"
Result<std::optional<std::vector<Duration>>> span_list(std::string_view option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  std::vector<Duration> spans;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    WRACKLINE_ASSIGN(const Duration span, span_argument(option, text.substr(from, comma - from)));
    if (span < Duration(0)) {
      return fail(
          ErrorCode::kUsage,
          format("--{} has the negative span \"{}\"", option, printable(text.substr(from, comma - from))),
          "A delay or lateness is zero or more.");
    }
    spans.push_back(span);
    from = comma + 1;
  }
  if (spans.size() > kSpansMost) {
    return fail(ErrorCode::kUsage, format("--{} lists {} spans", option, spans.size()),
                format("At most {} are taken; their pairs are all counted.", kSpansMost));
  }
  return spans;
}

Result<engine::SweepRequest> request_of(const SweepCommand& command) {
  engine::SweepRequest request;
  request.view = command.view;
  request.tick_rows = command.tick_rows;
  WRACKLINE_ASSIGN(request.delays, span_list("delay", command.delay));
  WRACKLINE_ASSIGN(request.latenesses, span_list("lateness", command.lateness));
  return request;
}

}  // namespace

int sweep(const SweepCommand& command) {
  auto request = request_of(command);
  if (!request) return report(request.error());
  auto job = read_job(command.job, command.set, false);
  if (!job) return report(job.error());
  ProgressLine progress;
  auto result = engine::sweep(*job, *request, [&](const runtime::Progress& p) { progress.show(p); });
  progress.clear();
  if (!result) return report(result.error());
  for (const std::string& text : result->notices) notice(text);
  print(command.json ? sweep_to_json(result->report, result->subject) + "\n"
                     : sweep_text(result->report, result->subject, report_text_options()));
  if (command.report.empty()) return kDone;
  return write_report(command.report, report::sweep_page(result->report, result->subject));
}

}  // namespace wrackline::cli
