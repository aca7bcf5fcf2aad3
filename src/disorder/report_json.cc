#include "disorder/report_json.h"

#include <cmath>
#include <iterator>
#include <optional>

#include "base/text.h"

namespace wrackline {
namespace {

std::string number(const std::optional<int64_t>& value) {
  return value ? format("{}", *value) : "null";
}

double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string rejected_json(const RejectedCounts& rejected) {
  std::string out = "{";
  for (const auto& [reason, count] : rejected) {
    out += format("{}{}:{}", out.size() > 1 ? "," : "", json_quoted(reason), count);
  }
  out += '}';
  return out;
}

std::string quantiles_json(const std::optional<QuantileSet>& set) {
  if (!set) return "null";
  return format(R"({{"min":{},"p50":{},"p95":{},"p99":{},"p99.9":{},"max":{}}})", set->min, set->p50,
                set->p95, set->p99, set->p99_9, set->max);
}

std::string interval_json(const QuantileConfidence& confidence) {
  return format("[{},{}]", number(confidence.low_us), number(confidence.high_us));
}

std::string confidence_json(const QuantileConfidence& p99, const QuantileConfidence& p99_9) {
  return format(R"({{"p99":{},"p99.9":{}}})", interval_json(p99), interval_json(p99_9));
}

std::string verdict_json(const QuantileConfidence& p99, const QuantileConfidence& p99_9) {
  return format(R"({{"p99":"{}","p99.9":"{}"}})", to_string(p99.verdict), to_string(p99_9.verdict));
}

std::string effect_json(const QuantileConfidence& p99, const QuantileConfidence& p99_9) {
  const auto text = [](const std::optional<double>& effect) {
    return effect ? format("{}", *effect) : "null";
  };
  return format(R"({{"p99":{},"p99.9":{}}})", text(p99.design_effect), text(p99_9.design_effect));
}

std::string modes_json(const std::vector<DelayMode>& modes) {
  std::string out = "[";
  for (const DelayMode& mode : modes) {
    out += format(R"({}{{"name":{},"records":{},"share":{},"p50_us":{},"p99_us":{}}})",
                  out.size() > 1 ? "," : "", json_quoted(mode.name), mode.records, mode.share, mode.p50_us,
                  mode.p99_us);
  }
  out += ']';
  return out;
}

// Cells of a quarter octave: [lower, upper, count] each, on edges of histogram buckets.
std::string histogram_json(const DelayHistogram& histogram) {
  if (histogram.empty()) return "null";
  const auto cell = [](int64_t value) {
    const double magnitude = std::abs(static_cast<double>(value));
    const auto place = static_cast<int64_t>(std::floor(4 * std::log2(1 + magnitude)));
    return value < 0 ? -1 - place : place;
  };
  std::string out = "[";
  int64_t lower = 0;
  int64_t upper = 0;
  uint64_t count = 0;
  const auto write = [&] {
    if (count == 0) return;
    out += format("{}[{},{},{}]", out.size() > 1 ? "," : "", lower, upper, count);
    count = 0;
  };
  for (const DelayHistogram::Bucket& bucket : histogram.buckets()) {
    if (count > 0 && cell(bucket.lower) != cell(lower)) write();
    if (count == 0) lower = bucket.lower;
    upper = bucket.upper;
    count += bucket.count;
  }
  write();
  return out + "]";
}

// The members of a summary, without braces.
std::string summary_members(const DelaySummary& summary) {
  std::string out = format(R"("records":{},"with_arrival":{})", summary.records, summary.with_arrival);
  out += format(R"(,"delay_us":{},"disorder_us":{})", quantiles_json(summary.delay_us),
                quantiles_json(summary.disorder_us));
  out += format(R"(,"behind":{{"count":{},"share":{}}})", summary.behind,
                share_of(summary.behind, summary.records));
  if (summary.negative) {
    out += format(R"(,"negative":{{"count":{},"share":{},"most_us":{}}},"future":{{"count":{}}})",
                  *summary.negative, share_of(*summary.negative, summary.with_arrival),
                  number(summary.negative_most_us), number(summary.future));
  } else {
    out += R"(,"negative":null,"future":null)";
  }
  out += format(R"(,"clock_ahead_us":{},"modes":{},"split_us":{})", number(summary.clock_ahead_us),
                modes_json(summary.modes), number(summary.split_us));
  out += format(R"(,"confidence":{},"verdict":{},"design_effect":{})",
                confidence_json(summary.disorder_p99, summary.disorder_p99_9),
                verdict_json(summary.disorder_p99, summary.disorder_p99_9),
                effect_json(summary.disorder_p99, summary.disorder_p99_9));
  if (summary.delay_us) {
    out += format(R"(,"delay_confidence":{},"delay_verdict":{},"delay_design_effect":{})",
                  confidence_json(summary.delay_p99, summary.delay_p99_9),
                  verdict_json(summary.delay_p99, summary.delay_p99_9),
                  effect_json(summary.delay_p99, summary.delay_p99_9));
  } else {
    out += R"(,"delay_confidence":null,"delay_verdict":null,"delay_design_effect":null)";
  }
  out += format(R"(,"histogram":{{"delay":{},"disorder":{}}})", histogram_json(summary.delay),
                histogram_json(summary.disorder));
  return out;
}

std::string finding_json(const Finding& finding) {
  return format(R"({{"kind":"{}","partition":{},"records":{},"value_us":{},"unit":{},"text":{}}})",
                to_string(finding.kind), finding.partition.empty() ? "null" : json_quoted(finding.partition),
                finding.records, finding.value_us, finding.unit.empty() ? "null" : json_quoted(finding.unit),
                json_quoted(finding.text));
}

std::string findings_json(const std::vector<Finding>& findings) {
  std::string out = "[";
  for (const Finding& finding : findings) {
    if (out.size() > 1) out += ',';
    out += finding_json(finding);
  }
  out += ']';
  return out;
}

std::string change_json(const RegimeChange& change) {
  const auto side = [](const RegimeChange::Side& of) {
    return format(R"({{"p5_us":{},"p50_us":{},"p95_us":{}}})", of.p5_us, of.p50_us, of.p95_us);
  };
  return format(
      R"({{"at_us":{},"until_us":{},"before":{},"after":{},"distance":{},"shift_us":{},"floor":{},"text":{}}})",
      change.at_us, change.until_us, side(change.before), side(change.after), change.distance,
      change.shift_us, change.floor, json_quoted(change.text));
}

std::string series_json(const DelaySeries& series) {
  std::string out = format(R"({{"width_us":{},"intervals":[)", series.width_us);
  for (const DelayInterval& at : series.intervals) {
    if (out.back() != '[') out += ',';
    out += format(R"({{"start_us":{},"records":{},"negative":{},"future":{})", at.start_us, at.records,
                  at.negative, at.future);
    out += format(R"(,"delay_us":{{"min":{},"p5":{},"p50":{},"p95":{},"p99":{},"max":{}}})", at.min_us,
                  at.p5_us, at.p50_us, at.p95_us, at.p99_us, at.max_us);
    out += format(R"(,"disorder_us":{{"p50":{},"p99":{},"max":{}}}}})", at.disorder_p50_us,
                  at.disorder_p99_us, at.disorder_max_us);
  }
  out += R"(],"changes":[)";
  for (const RegimeChange& change : series.changes) {
    if (out.back() != '[') out += ',';
    out += change_json(change);
  }
  return out + "]}";
}

std::string producers_json(const std::optional<ProducersReport>& report) {
  if (!report) return "null";
  std::string out = format(
      R"({{"column":{},"tracked":{},"forgotten_records":{},"count_error_max":{},"floor_median_us":{},"offset_spread_us":{},"list":[)",
      json_quoted(report->column), report->list.size(), report->forgotten_records, report->count_error_max,
      number(report->floor_median_us), number(report->offset_spread_us));
  for (const ProducerSummary& one : report->list) {
    if (out.back() != '[') out += ',';
    out += format(R"({{"producer":{},"records":{},"negative":{},"delay_us":{{"min":{},"p50":{},"max":{}}})",
                  json_quoted(one.producer), one.records, one.negative, one.delay_min_us, one.delay_p50_us,
                  one.delay_max_us);
    out += format(R"(,"offset_proven_us":{},"offset_estimated_us":{},"drift_ppm":{})",
                  number(one.offset_proven_us), number(one.offset_estimated_us),
                  one.drift_ppm ? format("{}", *one.drift_ppm) : "null");
    out += format(R"(,"fault":{},"fault_records":{},"text":{}}})",
                  one.fault == ClockFault::kNone ? "null" : json_quoted(to_string(one.fault)),
                  one.fault_records, json_quoted(one.text));
  }
  return out + "]}";
}

std::string repeats_json(const std::optional<Repeats>& repeats) {
  return repeats ? format(R"({{"records":{},"share":{}}})", repeats->records, repeats->share) : "null";
}

std::string shares_json(const BudgetCounts& counts) {
  const BudgetShares shares = counts.shares();
  return format(R"({{"on_time":{},"corrected":{},"ledgered":{}}})", shares.on_time, shares.corrected,
                shares.ledgered);
}

std::string counts_json(const BudgetCounts& counts) {
  return format(R"({{"pairs":{},"on_time":{},"corrected":{},"ledgered":{},"refused_future":{}}})",
                counts.pairs, counts.on_time, counts.corrected, counts.ledgered, counts.refused_future);
}

std::string_view basis_name(BudgetState::Basis basis) {
  switch (basis) {
    case BudgetState::Basis::kMeasuredKeys:
      return "measured_keys";
    case BudgetState::Basis::kExpectedKeys:
      return "expected_keys";
    case BudgetState::Basis::kWindowsOnly:
      return "windows_only";
  }
  return "windows_only";
}

std::string partition_budget_json(const PartitionBudget& budget) {
  std::string out = format(R"({{"partition":{},"records":{})", json_quoted(budget.partition), budget.records);
  out += format(R"(,"watermark_delay_us":{},"allowed_lateness_us":{},"verdict":"{}")",
                number(budget.watermark_delay_us), number(budget.allowed_lateness_us),
                to_string(budget.verdict));
  out += format(R"(,"predicted":{},"counts":{},"share_of_late":{},"windows_held":{}}})",
                shares_json(budget.counts), counts_json(budget.counts), budget.share_of_late,
                budget.windows_held);
  return out;
}

std::string sample_json(const BudgetReport& report) {
  std::string out = format(R"({{"size":{},"offline":{},"from_transport_mode":{})", report.sample,
                           report.offline_pairs, report.from_transport_mode);
  out += format(
      R"(,"design_effect":{},"late":{},"late_share_upper":{},"confidence":0.95,"point_delay_us":{},"both_modes_delay_us":{}}})",
      report.design_effect_known ? format("{}", report.design_effect) : "null", report.late_in_sample,
      report.late_share_upper, number(report.point_delay_us), number(report.both_modes_delay_us));
  return out;
}

// What the budget was for, what it says, and how it did on records that it had not seen.
std::string certificate_json(const BudgetReport& report) {
  std::string out = format(
      R"({{"input":"{:016x}","records":{},"rule":"{}","watermark_delay_us":{},"allowed_lateness_us":{},"predicted":{})",
      report.input_digest, report.profile.all.records, to_string(report.options.rule),
      report.watermark_delay_us, report.allowed_lateness_us, shares_json(report.counts));
  out += format(R"(,"late_share_upper":{},"confidence":0.95,"effective_samples":{},"split_us":{})",
                report.late_share_upper,
                static_cast<int64_t>(static_cast<double>(report.sample) / report.design_effect),
                number(report.profile.all.split_us));
  out += format(
      R"(,"assumes":{{"partitions":{},"max_future_skew_us":{},"from_profile":{},"no_idle_partition":true}},"backtest":{{"verdict":"{}","folds":[)",
      report.partitions.size(), report.options.profile.max_future_skew.micros(), report.from_profile,
      to_string(report.backtest.verdict));
  for (const BudgetBacktest::Fold& fold : report.backtest.folds) {
    if (out.back() != '[') out += ',';
    out += format(
        R"({{"trained_pairs":{},"tested_pairs":{},"watermark_delay_us":{},"late":{},"late_share":{},"held":{}}})",
        fold.trained_pairs, fold.tested_pairs, fold.watermark_delay_us, fold.late,
        share_of(fold.late, fold.tested_pairs), fold.held);
  }
  return out + "]}}";
}

}  // namespace

std::string profile_to_json(const ProfileReport& report, const RejectedCounts& rejected) {
  std::string out = format(R"({{"records":{},"rejected":{},"all":{{{}}},"partitions":[)", report.all.records,
                           rejected_json(rejected), summary_members(report.all));
  bool first = true;
  for (const DelaySummary& summary : report.partitions) {
    out += format(R"({}{{"partition":{},{}}})", first ? "" : ",", json_quoted(summary.partition),
                  summary_members(summary));
    first = false;
  }
  out += format(R"(],"findings":{},"resolution_us":{},"max_future_skew_us":{})",
                findings_json(report.findings), report.resolution_us, report.max_future_skew.micros());
  out += format(R"(,"series":{},"producers":{},"repeats":{}}})", series_json(report.series),
                producers_json(report.producers), repeats_json(report.repeats));
  return out;
}

std::string comparison_to_json(const ProfileComparison& comparison, const std::string& against) {
  std::string out = format(R"({{"against":{},"verdict":"{}","quantities":[)", json_quoted(against),
                           to_string(comparison.verdict));
  for (const QuantityComparison& of : comparison.quantities) {
    if (out.back() != '[') out += ',';
    out += format(R"({{"quantity":{},"ks":{},"ks_limit":{},"psi":{},"quantiles":[)", json_quoted(of.quantity),
                  of.ks, of.ks_limit, of.psi);
    for (const QuantityComparison::Moved& moved : of.quantiles) {
      if (out.back() != '[') out += ',';
      out += format(R"({{"quantile":{},"before_us":{},"after_us":{}}})", json_quoted(moved.quantile),
                    moved.before_us, moved.after_us);
    }
    out += "]}";
  }
  out += ']';
  const auto names = [&](std::string_view key, const std::vector<std::string>& list) {
    out += format(R"(,"{}":[)", key);
    for (const std::string& name : list) {
      if (out.back() != '[') out += ',';
      append_json_quoted(out, name);
    }
    out += ']';
  };
  names("partitions_changed", comparison.partitions_changed);
  names("partitions_new", comparison.partitions_new);
  names("partitions_gone", comparison.partitions_gone);
  return out + format(R"(,"text":{}}})", json_quoted(comparison.text));
}

std::string budget_to_json(const BudgetReport& report, const RejectedCounts& rejected) {
  const BudgetOptions& options = report.options;
  std::string out = format(R"({{"rule":"{}","watermark_delay_us":{},"allowed_lateness_us":{},"predicted":{})",
                           to_string(options.rule), report.watermark_delay_us, report.allowed_lateness_us,
                           shares_json(report.counts));
  if (report.latency) {
    out += format(R"(,"latency_us":{{"p50":{},"p99":{},"max":{},"windows":{},"windows_flushed":{}}})",
                  report.latency->p50_us, report.latency->p99_us, report.latency->max_us,
                  report.latency->windows, report.latency->windows_flushed);
  } else {
    out += R"(,"latency_us":null)";
  }
  if (report.state) {
    out += format(R"(,"state":{{"windows":{},"bytes":{},"basis":"{}"}})", report.state->windows,
                  report.state->bytes, basis_name(report.state->basis));
  } else {
    out += R"(,"state":null)";
  }
  out += R"(,"per_partition":[)";
  bool first = true;
  for (const PartitionBudget& budget : report.partitions) {
    if (!first) out += ',';
    out += partition_budget_json(budget);
    first = false;
  }
  const auto window = [](const std::optional<Duration>& span) {
    return number(span ? std::optional(span->micros()) : std::nullopt);
  };
  out += format(R"(],"target_late":{},"tail":{},"window_us":{},"slide_us":{})", options.target_late.value(),
                options.tail.value(), window(options.window), window(options.slide));
  out += format(
      R"(,"counts":{},"sample":{},"verdict":{{"watermark_delay":"{}","allowed_lateness":"{}"}},"notes":[)",
      counts_json(report.counts), sample_json(report), to_string(report.verdict),
      to_string(report.tail_verdict));
  first = true;
  for (const std::string& note : report.notes) {
    if (!first) out += ',';
    append_json_quoted(out, note);
    first = false;
  }
  out += format(R"(],"records":{},"rejected":{},"findings":{})", report.profile.all.records,
                rejected_json(rejected), findings_json(report.profile.findings));
  if (report.slowest) {
    const SlowestPartition& slowest = *report.slowest;
    out += format(
        R"(,"slowest":{{"partition":{},"windows_held":{},"latency_without_us":{{"p50":{},"p99":{},"max":{}}},"late_without":{}}})",
        json_quoted(slowest.partition), slowest.windows_held, slowest.without.p50_us, slowest.without.p99_us,
        slowest.without.max_us, slowest.late_without);
  } else {
    out += R"(,"slowest":null)";
  }
  return out + format(R"(,"certificate":{}}})", certificate_json(report));
}

std::string sweep_to_json(const SweepReport& report, const SweepSubject& subject) {
  std::string out = format(R"({{"job":{},"view":{},"source":{},"records":{},"rejected":{},"filtered":{})",
                           json_quoted(subject.job), json_quoted(subject.view), json_quoted(subject.source),
                           subject.records, rejected_json(subject.rejected), report.filtered);
  out += format(R"(,"partitions":{},"keys":{},"policy":{},"window_us":{},"slide_us":{},"offset_us":{})",
                subject.partitions, subject.keys, json_quoted(subject.policy), report.options.window.micros(),
                report.options.slide.micros(), report.options.offset.micros());
  out += format(R"(,"configured":{{"delay_us":{},"lateness_us":{}}},"judged":{},"pairs":{},"delays":[)",
                number(subject.configured_delay_us), number(subject.configured_lateness_us), report.judged,
                report.pairs);
  for (const SweepDelay& step : report.delays) {
    if (out.back() != '[') out += ',';
    out += format(R"({{"delay_us":{},"on_time":{},"late":{},"late_share":{},"latency_us":)",
                  step.delay.micros(), step.on_time, step.late, step.late_share);
    out += !step.latency ? "null"
                         : format(R"({{"windows":{},"mean":{},"p50":{},"p99":{},"max":{}}})",
                                  step.latency->windows, step.latency->mean_us, step.latency->p50_us,
                                  step.latency->p99_us, step.latency->max_us);
    out += format(R"(,"kept":{}}})", step.kept);
  }
  out += R"(],"horizons":[)";
  for (const SweepHorizon& step : report.horizons) {
    if (out.back() != '[') out += ',';
    out += format(
        R"({{"horizon_us":{},"ledgered":{},"ledgered_records":{},"ledgered_share":{},"state_peak":{},"kept":{}}})",
        step.horizon.micros(), step.ledgered, step.ledgered_records, step.ledgered_share, step.state_peak,
        step.kept);
  }
  out += R"(],"candidates":[)";
  for (const SweepCandidate& c : report.candidates) {
    if (out.back() != '[') out += ',';
    out += format(R"({{"delay_us":{},"lateness_us":{},"on_time":{},"corrected":{},"ledgered":{})",
                  c.delay.micros(), c.lateness.micros(), c.on_time, c.corrected, c.ledgered);
    out += format(R"(,"accepted":{},"accepted_partially":{},"ledgered_records":{},"versions":{})", c.accepted,
                  c.accepted_partially, c.ledgered_records, c.versions);
    out += format(R"(,"corrections":{},"windows_closed":{},"state_peak":{},"pareto":{}}})", c.corrections,
                  c.windows_closed, c.state_peak, c.pareto);
  }
  out += R"(],"knee":)";
  if (report.knee) {
    const SweepCandidate& c = report.candidates[*report.knee];
    out += format(R"({{"delay_us":{},"lateness_us":{}}})", c.delay.micros(), c.lateness.micros());
  } else {
    out += "null";
  }
  out += R"(,"notes":[)";
  for (const std::string& note : subject.notes) {
    if (out.back() != '[') out += ',';
    append_json_quoted(out, note);
  }
  return out + format(R"(],"seconds":{}}})", subject.seconds);
}

}  // namespace wrackline
