#include "report/sweep_page.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/markup.h"

namespace wrackline::report {
namespace {

constexpr size_t kCandidatesListed = 60;

std::string count_text(int64_t count) {
  return with_thousands(count);
}

// The pair that the page speaks for: the knee, else none.
const SweepCandidate* knee_of(const SweepReport& sweep) {
  return sweep.knee ? &sweep.candidates[*sweep.knee] : nullptr;
}

std::vector<SpanMark> delay_marks(const SweepReport& sweep, const SweepSubject& subject) {
  std::vector<SpanMark> marks;
  if (const SweepCandidate* knee = knee_of(sweep)) {
    marks.push_back(
        {"knee", knee->delay.micros(), SpanMark::Kind::kSetting, "where a greater delay stops paying"});
  }
  if (subject.configured_delay_us) {
    marks.push_back(
        {"job", *subject.configured_delay_us, SpanMark::Kind::kSplit, "the watermark delay of the job file"});
  }
  return marks;
}

std::vector<SpanMark> horizon_marks(const SweepReport& sweep, const SweepSubject& subject) {
  std::vector<SpanMark> marks;
  if (const SweepCandidate* knee = knee_of(sweep)) {
    marks.push_back({"knee", knee->delay.micros() + knee->lateness.micros(), SpanMark::Kind::kSetting,
                     "delay and lateness where more stops paying"});
  }
  if (subject.configured_delay_us && subject.configured_lateness_us) {
    marks.push_back({"job", *subject.configured_delay_us + *subject.configured_lateness_us,
                     SpanMark::Kind::kSplit, "delay and lateness of the job file"});
  }
  return marks;
}

Staircase curve_of(std::string id, std::string title, std::string setting, Staircase::Unit unit,
                   std::vector<SpanMark> marks) {
  Staircase curve;
  curve.id = std::move(id);
  curve.title = std::move(title);
  curve.setting_name = std::move(setting);
  curve.unit = unit;
  curve.marks = std::move(marks);
  return curve;
}

void add_delay_curves(Staircases& out, const SweepReport& sweep, const SweepSubject& subject) {
  const std::vector<SpanMark> marks = delay_marks(sweep, subject);
  Staircase late = curve_of("sweep-late", "Late pairs", "watermark delay d", Staircase::Unit::kShare, marks);
  Staircase latency = curve_of("sweep-latency", "Median wait for the first version", "watermark delay d",
                               Staircase::Unit::kSpan, marks);
  for (const SweepDelay& step : sweep.delays) {
    late.steps.push_back({step.delay.micros(), step.late_share});
    if (step.latency && step.latency->windows > 0) {
      latency.steps.push_back({step.delay.micros(), static_cast<double>(step.latency->p50_us)});
    }
  }
  late.notes.push_back(
      format("n = {} (record, window) pairs; counted, not estimated.", count_text(sweep.pairs)));
  out.curves.push_back(std::move(late));
  if (latency.steps.empty()) {
    out.notes.emplace_back("Without arrival times the wait for the first version is not known.");
    return;
  }
  latency.notes.emplace_back(
      "From the end of a window to its first version, in arrival time, over the windows that the records "
      "closed.");
  out.curves.push_back(std::move(latency));
}

void add_horizon_curves(Staircases& out, const SweepReport& sweep, const SweepSubject& subject) {
  const std::vector<SpanMark> marks = horizon_marks(sweep, subject);
  Staircase ledgered = curve_of("sweep-ledgered", "Pairs that go to the ledger", "delay plus lateness d + l",
                                Staircase::Unit::kShare, marks);
  Staircase state = curve_of("sweep-state", "States alive at once", "delay plus lateness d + l",
                             Staircase::Unit::kCount, marks);
  for (const SweepHorizon& step : sweep.horizons) {
    ledgered.steps.push_back({step.horizon.micros(), step.ledgered_share});
    state.steps.push_back({step.horizon.micros(), static_cast<double>(step.state_peak)});
  }
  ledgered.notes.push_back(format("n = {} (record, window) pairs.", count_text(sweep.pairs)));
  state.notes.emplace_back(subject.keys ? "The most (window, key) states that were kept at any moment."
                                        : "The most windows that were kept at any moment.");
  out.curves.push_back(std::move(ledgered));
  out.curves.push_back(std::move(state));
}

std::vector<std::string> candidate_row(const SweepCandidate& c, std::string_view note) {
  return {format("{} + {}", short_span(c.delay.micros()), short_span(c.lateness.micros())),
          std::string(note),
          count_text(c.on_time),
          count_text(c.corrected),
          count_text(c.ledgered),
          count_text(c.versions),
          count_text(c.state_peak)};
}

PageTable candidates_table(const SweepReport& sweep, const SweepSubject& subject) {
  PageTable table{"Pairs of delay and lateness that no other beats in every respect",
                  {"d + l", "", "on time", "corrected", "ledgered", "versions", "states"},
                  {},
                  {}};
  int64_t left_out = 0;
  for (size_t i = 0; i < sweep.candidates.size(); ++i) {
    const SweepCandidate& c = sweep.candidates[i];
    const bool knee = sweep.knee == i;
    const bool configured = subject.configured_delay_us == c.delay.micros() &&
                            subject.configured_lateness_us == c.lateness.micros();
    if (!knee && !configured && !c.pareto) continue;
    if (!knee && !configured && table.rows.size() >= kCandidatesListed) {
      ++left_out;
      continue;
    }
    table.rows.push_back(candidate_row(c, knee ? "knee" : configured ? "job" : ""));
  }
  if (left_out > 0) table.more = format("{} more are in the JSON document.", count_text(left_out));
  return table;
}

PageTable steps_table(const SweepReport& sweep) {
  PageTable table{"What each delay buys", {"delay d", "late", "share", "wait p50", "wait p99"}, {}, {}};
  for (const SweepDelay& step : sweep.delays) {
    if (!step.kept) continue;
    const bool known = step.latency && step.latency->windows > 0;
    table.rows.push_back({short_span(step.delay.micros()), count_text(step.late),
                          percent_text(step.late_share), known ? short_span(step.latency->p50_us) : "-",
                          known ? short_span(step.latency->p99_us) : "-"});
  }
  return table;
}

PageTable horizons_table(const SweepReport& sweep) {
  PageTable table{"What delay and lateness together buy", {"d + l", "ledgered", "share", "states"}, {}, {}};
  for (const SweepHorizon& step : sweep.horizons) {
    if (!step.kept) continue;
    table.rows.push_back({short_span(step.horizon.micros()), count_text(step.ledgered),
                          percent_text(step.ledgered_share), count_text(step.state_peak)});
  }
  return table;
}

std::vector<Fact> facts_of(const SweepReport& sweep) {
  std::vector<Fact> facts = {
      {"pairs judged", count_text(sweep.pairs), format("of {} records", count_text(sweep.judged))}};
  const SweepCandidate* knee = knee_of(sweep);
  if (knee == nullptr) return facts;
  facts.push_back({"delay at the knee", short_span(knee->delay.micros()), ""});
  facts.push_back({"lateness at the knee", short_span(knee->lateness.micros()), ""});
  facts.push_back({"on time there", percent_text(knee->on_time, sweep.pairs), count_text(knee->on_time)});
  facts.push_back(
      {"corrected there", percent_text(knee->corrected, sweep.pairs), count_text(knee->corrected)});
  facts.push_back({"ledgered there", percent_text(knee->ledgered, sweep.pairs), count_text(knee->ledgered)});
  return facts;
}

}  // namespace

Page sweep_page(const SweepReport& sweep, const SweepSubject& subject) {
  Page page;
  page.kind = "What every delay and lateness would have done with";
  page.title = subject.view.empty() ? subject.job : subject.view;
  page.lead = format("{} records of \"{}\" against {} pairs of watermark delay and allowed lateness.",
                     count_text(subject.records), subject.source,
                     count_text(static_cast<int64_t>(sweep.candidates.size())));
  for (const std::string& note : subject.notes)
    page.findings.push_back({"a run would count otherwise", "", note + "."});
  page.no_findings = "A run with any of these pairs counts what is shown here.";
  if (sweep.judged == 0 || sweep.pairs == 0) {
    page.notes.emplace_back("No record reached a window, so every pair does the same: nothing.");
    return page;
  }
  page.facts = facts_of(sweep);
  if (const SweepCandidate* knee = knee_of(sweep)) {
    page.setting = format(
        "-- where more stops paying; what late results cost is yours to say\nwatermark_delay = "
        "'{}'\nallowed_lateness = '{}'",
        span_literal(knee->delay.micros()), span_literal(knee->lateness.micros()));
  }
  Staircases staircases;
  staircases.title = "Staircases";
  staircases.lead =
      "The delay alone decides what is on time and how long first results take; delay and lateness together "
      "decide "
      "what is lost to the ledger and how much is kept in memory.";
  add_delay_curves(staircases, sweep, subject);
  add_horizon_curves(staircases, sweep, subject);
  staircases.tables = {steps_table(sweep), horizons_table(sweep), candidates_table(sweep, subject)};
  page.staircases = std::move(staircases);
  return page;
}

}  // namespace wrackline::report
