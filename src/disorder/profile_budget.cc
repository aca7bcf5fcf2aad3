#include <algorithm>
#include <cmath>

#include "disorder/binomial.h"
#include "disorder/budget_notes.h"
#include "disorder/profile_scan.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {
namespace {

using disorder::kAlpha;

// The smallest delay that leaves at most `late` of the values later: lag > delay.
int64_t span_leaving(const DelayHistogram& lag, int64_t late) {
  const auto count = static_cast<int64_t>(lag.count());
  if (late >= count) return 0;
  return std::max<int64_t>(0, lag.rank_upper(static_cast<uint64_t>(count - late)));
}

struct Choice {
  int64_t delay_us = 0;
  int64_t lateness_us = 0;
  Verdict verdict = Verdict::kInsufficient;
  Verdict tail_verdict = Verdict::kInsufficient;
  double effective = 0;
};

Choice choose_exactly(const DelaySummary& summary, const BudgetOptions& options) {
  const DelayHistogram& lag = summary.disorder;
  Choice choice;
  if (lag.empty()) return choice;
  const double effect = summary.disorder_p99.design_effect.value_or(1);
  const auto count = static_cast<int64_t>(lag.count());
  choice.effective = std::floor(static_cast<double>(count) / effect);
  const auto n = static_cast<int64_t>(choice.effective);
  const int64_t allowed = disorder::late_allowed(n, options.target_late.value(), kAlpha);
  int64_t late = 0;
  if (allowed >= 0) {
    choice.verdict = disorder::verdict_of(choice.effective, options.target_late.complement().value());
    late = std::min(static_cast<int64_t>(std::floor(static_cast<double>(allowed) * effect)),
                    options.target_late.floor_of(count));
  }
  choice.tail_verdict = disorder::verdict_of(choice.effective, options.tail.value());
  choice.delay_us = span_leaving(lag, late);
  choice.lateness_us =
      std::max<int64_t>(0, span_leaving(lag, options.tail.complement().floor_of(count)) - choice.delay_us);
  return choice;
}

Choice choose_by_rank(const DelaySummary& summary, const BudgetOptions& options) {
  const DelayHistogram& delay = summary.delay;
  Choice choice;
  if (delay.empty()) return choice;
  const auto count = static_cast<int64_t>(delay.count());
  const auto at = [&](Share share) {
    const int64_t index = std::min(share.floor_of(count), count - 1);
    return std::max<int64_t>(0, delay.rank_upper(static_cast<uint64_t>(index + 1)));
  };
  choice.delay_us = at(options.target_late.complement());
  choice.lateness_us = std::max<int64_t>(0, at(options.tail) - choice.delay_us);
  choice.effective = static_cast<double>(count) / summary.delay_p99.design_effect.value_or(1);
  choice.verdict = disorder::verdict_of(choice.effective, options.target_late.complement().value());
  choice.tail_verdict = disorder::verdict_of(choice.effective, options.tail.value());
  return choice;
}

BudgetCounts counts_under(const DelaySummary& summary, int64_t delay_us, int64_t lateness_us) {
  BudgetCounts counts;
  const DelayHistogram& lag = summary.disorder;
  counts.pairs = static_cast<int64_t>(lag.count());
  if (lag.empty()) return counts;
  counts.on_time = static_cast<int64_t>(lag.count_at_most(delay_us));
  const auto in_time = static_cast<int64_t>(lag.count_at_most(saturating_add(delay_us, lateness_us)));
  counts.corrected = in_time - counts.on_time;
  counts.ledgered = counts.pairs - in_time;
  return counts;
}

}  // namespace

std::expected<BudgetReport, std::string> budget_from_profile(ProfileReport profile, BudgetOptions options) {
  const bool exact = options.rule == BudgetRule::kExact;
  if (!exact && profile.all.delay.empty()) {
    return std::unexpected<std::string>(
        "the nearest-rank rule needs arrival times, and the profile has none: it ranks arrival delays");
  }
  const auto choose = [&](const DelaySummary& summary) {
    return exact ? choose_exactly(summary, options) : choose_by_rank(summary, options);
  };
  BudgetReport report;
  report.from_profile = true;
  // Of several partitions the safe bound is the worst one: G is never ahead of a record's own partition.
  std::vector<Choice> choices;
  for (const DelaySummary& partition : profile.partitions) choices.push_back(choose(partition));
  Choice chosen = choose(profile.all);
  DelaySummary own = profile.all;  // each record against its own partition
  if (profile.partitions.size() > 1) {
    own.disorder = DelayHistogram();
    for (const DelaySummary& partition : profile.partitions) own.disorder.merge(partition.disorder);
    if (exact) chosen = choose(own);
  }
  report.watermark_delay_us = chosen.delay_us;
  report.allowed_lateness_us = chosen.lateness_us;
  report.verdict = chosen.verdict;
  report.tail_verdict = chosen.tail_verdict;
  report.counts = counts_under(own, chosen.delay_us, chosen.lateness_us);
  report.sample = exact ? report.counts.pairs : static_cast<int64_t>(own.delay.count());
  report.late_in_sample = report.counts.pairs - report.counts.on_time;
  const auto& effect = exact ? own.disorder_p99.design_effect : own.delay_p99.design_effect;
  report.design_effect_known = effect.has_value();
  report.design_effect = effect.value_or(1);
  if (exact && chosen.effective >= 1) {
    report.late_share_upper = disorder::share_upper_bound(
        static_cast<int64_t>(std::ceil(static_cast<double>(report.late_in_sample) / report.design_effect)),
        static_cast<int64_t>(chosen.effective), kAlpha);
  }
  for (size_t i = 0; i < profile.partitions.size(); ++i) {
    const DelaySummary& from = profile.partitions[i];
    PartitionBudget& to = report.partitions.emplace_back();
    to.partition = from.partition;
    to.records = from.records;
    to.verdict = choices[i].verdict;
    to.counts = counts_under(from, chosen.delay_us, chosen.lateness_us);
    if (!from.disorder.empty()) {
      to.watermark_delay_us = choices[i].delay_us;
      to.allowed_lateness_us = choices[i].lateness_us;
    }
    const int64_t late = to.counts.pairs - to.counts.on_time;
    to.share_of_late = report.late_in_sample == 0
                           ? 0
                           : static_cast<double>(late) / static_cast<double>(report.late_in_sample);
  }
  report.notes.push_back(
      "From a saved profile: records are judged against their own partition, which is safe for windows of "
      "any "
      "size. Measure the records themselves with --window for the exact figure, output latency and state.");
  options.window.reset();
  options.slide.reset();
  report.options = std::move(options);
  report.profile = std::move(profile);
  return report;
}

}  // namespace wrackline
