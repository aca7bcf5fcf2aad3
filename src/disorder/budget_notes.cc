#include "disorder/budget_notes.h"

#include <algorithm>

#include "base/text.h"
#include "disorder/binomial.h"
#include "disorder/report_text.h"

namespace wrackline::disorder {
namespace {

using Notes = std::vector<std::string>;

double effective_sample(const BudgetReport& report) {
  return static_cast<double>(report.sample) / report.design_effect;
}

void note_sample(const BudgetReport& report, Notes& notes) {
  const Share target = report.options.target_late;
  if (report.verdict == Verdict::kInsufficient) {
    notes.push_back(
        format("The sample is too small to promise at most {} % late with 95 % confidence: {} independent "
               "records are needed, "
               "these count as {:.0f}. The delay only covers what was seen.",
               target.percent_text(), with_thousands(sample_minimum(target.complement().value(), kAlpha)),
               effective_sample(report)));
  }
  if (report.design_effect > 1.5) {
    notes.push_back(
        format("Late records come in bursts: the sample counts as {:.0f} independent ones (design effect "
               "{:.1f}).",
               effective_sample(report), report.design_effect));
  }
}

void note_modes(const BudgetReport& report, Notes& notes) {
  const DelaySummary& all = report.profile.all;
  if (!report.from_transport_mode || !all.split_us) return;
  notes.push_back(
      format("Delays have two modes: {:.3g} % of the records arrive within {}, the rest waited before they "
             "were sent. The delay "
             "covers the first mode; the second one is corrected or ledgered. A delay that meets the target "
             "for the records of "
             "both would be {}.",
             all.modes.front().share * 100, short_span(*all.split_us),
             short_span(report.both_modes_delay_us.value_or(0))));
}

void note_what_is_missing(const BudgetReport& report, Notes& notes) {
  if (report.profile.all.with_arrival == 0) {
    notes.push_back(
        "There are no arrival times: the budget follows from order alone. A record ahead of its time cannot "
        "be "
        "told from a newer one, and output latency is not known.");
  }
  if (!report.options.window) {
    notes.push_back(
        "No window was given: records are judged by their lag behind the watermark. Windows close later than "
        "their records, so fewer will be late; give --window for the exact figures.");
  }
  if (report.counts.refused_future > 0) {
    notes.push_back(
        format("{} {} more than {} in the future of their arrival are ledgered whatever the budget.",
               with_thousands(report.counts.refused_future),
               report.options.window ? "(record, window) pairs" : "records",
               short_span(report.options.max_future_accept.micros())));
  }
}

// Names the partition that most windows had to wait for.
void note_slowest(const BudgetReport& report, Notes& notes) {
  if (report.partitions.size() < 2 || !report.latency || report.latency->windows == 0) return;
  const auto most = std::ranges::max_element(report.partitions, {}, &PartitionBudget::windows_held);
  const double share = static_cast<double>(most->windows_held) / static_cast<double>(report.latency->windows);
  const double fair = 1 / static_cast<double>(report.partitions.size());
  if (share < 2 * fair) return;
  const double records = static_cast<double>(most->records) / static_cast<double>(report.profile.all.records);
  notes.push_back(
      format("Windows wait for the slowest partition: {:.3g} % of them could close only when \"{}\" spoke or "
             "ended, which holds {:.3g} % of the records.",
             100 * share, printable(most->partition), 100 * records));
  if (!report.slowest || report.slowest->without.windows == 0) return;
  notes.back() += format(
      " That costs the others {} of output latency in the middle and {} at p99: without waiting "
      "for it these would be {} and {}, and {} (record, window) pairs late.",
      short_span(report.latency->p50_us - report.slowest->without.p50_us),
      short_span(report.latency->p99_us - report.slowest->without.p99_us),
      short_span(report.slowest->without.p50_us), short_span(report.slowest->without.p99_us),
      with_thousands(report.slowest->late_without));
}

// Delay and disorder answer different questions; where they differ much, taking one for the other goes wrong.
void note_disagreement(const BudgetReport& report, Notes& notes) {
  const DelaySummary& all = report.profile.all;
  if (!all.delay_us || !all.disorder_us) return;
  const double delay = static_cast<double>(std::max<int64_t>(all.delay_us->p99, 0)) + 1;
  const double behind = static_cast<double>(std::max<int64_t>(all.disorder_us->p99, 0)) + 1;
  if (delay / behind <= 2 && behind / delay <= 2) return;
  notes.push_back(format(
      "Arrival delay and disorder disagree: their 99 % quantiles are {} and {}. {}",
      short_span(all.delay_us->p99), short_span(all.disorder_us->p99),
      delay > behind
          ? "Records are late together and do not overtake each other, so a watermark need not wait for the "
            "whole delay."
          : "Some clock or partition runs ahead of the others, so records fall further behind the watermark "
            "than their own delay."));
}

void note_backtest(const BudgetReport& report, Notes& notes) {
  const auto& folds = report.backtest.folds;
  if (report.backtest.verdict == BudgetBacktest::Verdict::kInsufficient) return;
  const auto worst = std::ranges::max_element(folds, {}, [](const BudgetBacktest::Fold& fold) {
    return static_cast<double>(fold.late) / static_cast<double>(fold.tested_pairs);
  });
  const double share = 100 * static_cast<double>(worst->late) / static_cast<double>(worst->tested_pairs);
  if (report.backtest.verdict == BudgetBacktest::Verdict::kHeld) {
    notes.push_back(
        format("Derived from earlier records and tried on later ones {} times, it held: at most {:.2f} % "
               "were late.",
               folds.size(), share));
  } else {
    notes.push_back(
        format("Derived from earlier records and tried on later ones it did not always hold: once {:.2f} % "
               "were late. The stream changed under way; measure shows when.",
               share));
  }
}

}  // namespace

std::vector<std::string> budget_notes(const BudgetReport& report) {
  if (report.profile.all.records == 0) return {"There are no records: nothing can be said."};
  Notes notes;
  note_sample(report, notes);
  note_modes(report, notes);
  note_what_is_missing(report, notes);
  note_slowest(report, notes);
  note_disagreement(report, notes);
  note_backtest(report, notes);
  return notes;
}

}  // namespace wrackline::disorder
