// A sweep for a terminal: two staircases with bars, the candidates around the knee, the pair of the job.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "disorder/report_text.h"
#include "disorder/text_table.h"

namespace wrackline {

using disorder::share_words;
using disorder::Table;
using disorder::wrapped;

namespace {

constexpr size_t kBarWidth = 24;

// A bar on a logarithmic scale from 0.001 % to 100 %: late shares that differ by ten are to look different.
std::string bar(double share, bool unicode) {
  if (share <= 0) return std::string(kBarWidth, ' ');
  const double place = std::clamp((std::log10(share) + 5) / 5, 0.0, 1.0);
  const auto cells = static_cast<size_t>(std::lround(place * kBarWidth));
  std::string out;
  const size_t filled = std::max<size_t>(cells, 1);
  for (size_t i = 0; i < filled; ++i) out += unicode ? "█" : "#";
  return out.append(kBarWidth - filled, ' ');
}

std::string mark(bool here, bool configured) {
  return here ? "<- knee" : configured ? "<- in the job" : "";
}

std::string delays_text(const SweepReport& report, const SweepSubject& subject,
                        const ReportTextOptions& options) {
  Table table;
  table.add({"delay", "late pairs", "share", "first version after", "", ""});
  for (size_t i = 0; i < report.delays.size(); ++i) {
    const SweepDelay& step = report.delays[i];
    const bool knee = report.knee && *report.knee / report.options.latenesses.size() == i;
    const bool configured = subject.configured_delay_us == step.delay.micros();
    if (!step.kept && !knee && !configured) continue;
    std::string latency = "-";
    if (step.latency && step.latency->windows > 0) {
      latency = format("{} (p99 {})", short_span(step.latency->p50_us), short_span(step.latency->p99_us));
    }
    table.add({short_span(step.delay.micros()), with_thousands(step.late), share_words(step.late_share),
               latency, mark(knee, configured), bar(step.late_share, options.unicode)});
  }
  return "  what the delay buys\n" + table.text(4);
}

std::string horizons_text(const SweepReport& report, const ReportTextOptions& options) {
  constexpr size_t kShown = 24;
  std::vector<const SweepHorizon*> kept;
  for (const SweepHorizon& step : report.horizons) {
    if (step.kept) kept.push_back(&step);
  }
  Table table;
  table.add({"delay + lateness", "ledgered pairs", "share", "states at most", ""});
  const size_t every = (kept.size() + kShown - 1) / kShown;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i % every != 0 && i + 1 != kept.size()) continue;
    table.add({short_span(kept[i]->horizon.micros()), with_thousands(kept[i]->ledgered),
               share_words(kept[i]->ledgered_share), with_thousands(kept[i]->state_peak),
               bar(kept[i]->ledgered_share, options.unicode)});
  }
  return "  what delay and lateness together buy\n" + table.text(4);
}

std::vector<std::string> candidate_row(const SweepCandidate& c, std::string_view note) {
  return {short_span(c.delay.micros()), short_span(c.lateness.micros()),
          with_thousands(c.on_time),    with_thousands(c.corrected),
          with_thousands(c.ledgered),   with_thousands(c.versions),
          with_thousands(c.state_peak), std::string(note)};
}

std::string candidates_text(const SweepReport& report, const SweepSubject& subject) {
  Table table;
  table.add({"delay", "lateness", "on time", "corrected", "ledgered", "versions", "states", ""});
  const size_t columns = report.options.latenesses.size();
  for (size_t i = 0; i < report.candidates.size(); ++i) {
    const SweepCandidate& c = report.candidates[i];
    const bool knee = report.knee == i;
    const bool configured = subject.configured_delay_us == c.delay.micros() &&
                            subject.configured_lateness_us == c.lateness.micros();
    const bool near = report.knee && c.pareto && *report.knee / columns == i / columns;
    if (knee || configured || near) table.add(candidate_row(c, mark(knee, configured)));
  }
  return "  candidates with the delay at the knee\n" + table.text(4);
}

}  // namespace

std::string sweep_text(const SweepReport& report, const SweepSubject& subject,
                       const ReportTextOptions& options) {
  const size_t width = std::max<size_t>(options.width, 60);
  std::string out =
      format("{} records of \"{}\" against {} pairs of delay and lateness, view \"{}\"\n\n",
             with_thousands(subject.records), printable(subject.source),
             with_thousands(static_cast<int64_t>(report.candidates.size())), printable(subject.view));
  if (report.judged == 0)
    return out + "  No record reached a window, so every pair does the same: nothing.\n";
  out += delays_text(report, subject, options) + "\n" + horizons_text(report, options) + "\n";
  out += candidates_text(report, subject) + "\n";
  if (report.knee) {
    const SweepCandidate& c = report.candidates[*report.knee];
    out +=
        wrapped(format("watermark_delay = '{}', allowed_lateness = '{}' is where more stops paying: {} of "
                       "the pairs are on time, {} corrected, {} ledgered. It is a place to start from; what "
                       "late results cost you is yours to say.",
                       span_literal(c.delay.micros()), span_literal(c.lateness.micros()),
                       with_thousands(c.on_time), with_thousands(c.corrected), with_thousands(c.ledgered)),
                width, "  ");
  }
  for (const std::string& note : subject.notes) out += wrapped("note: " + note + ".", width, "  ");
  return out;
}

}  // namespace wrackline
