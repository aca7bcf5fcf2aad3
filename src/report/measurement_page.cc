#include "report/measurement_page.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/markup.h"
#include "report/profile_parts.h"

namespace wrackline::report {
namespace {

constexpr size_t kPartitionsDrawn = 24;
constexpr size_t kPartitionsListed = 100;

std::string records_text(int64_t count) {
  return format("{} {}", with_thousands(count), count == 1 ? "record" : "records");
}

std::string or_dash(const std::optional<QuantileSet>& set, int64_t QuantileSet::* member) {
  return set ? short_span((*set).*member) : "-";
}

std::string lead_text(const ProfileReport& profile, const RejectedCounts& rejected) {
  const DelaySummary& all = profile.all;
  std::string out = records_text(all.records);
  if (profile.partitions.size() > 1) {
    out += format(" in {} partitions", with_thousands(static_cast<int64_t>(profile.partitions.size())));
  }
  if (all.with_arrival == 0) {
    out += ", none with an arrival time";
  } else if (all.with_arrival < all.records) {
    out += format(", {} with an arrival time", with_thousands(all.with_arrival));
  }
  std::string left_out;
  for (const auto& [reason, count] : rejected) {
    if (count > 0) left_out += format("{}{} {}", left_out.empty() ? "" : ", ", with_thousands(count), reason);
  }
  return left_out.empty() ? out + "." : format("{}; not measured: {}.", out, left_out);
}

std::string confidence_text(std::string_view name, const QuantileConfidence& confidence, int64_t sample) {
  const auto bound = [](const std::optional<int64_t>& span) {
    return span ? short_span(*span) : std::string("no bound");
  };
  if (confidence.verdict == Verdict::kInsufficient) {
    return format("{}: {} are too few to bound it (insufficient).", name, records_text(sample));
  }
  const std::string effect =
      confidence.design_effect ? format(", design effect {:.3g}", *confidence.design_effect) : std::string();
  return format("{}: {} to {} with 95 % confidence ({}; n = {}{}).", name, bound(confidence.low_us),
                bound(confidence.high_us), to_string(confidence.verdict), with_thousands(sample), effect);
}

std::vector<SpanCell> cells_of(const DelayHistogram& histogram) {
  std::vector<SpanCell> cells;
  for (const auto& bucket : histogram.buckets()) {
    // The outermost buckets end where the records do.
    cells.push_back(
        {std::max(bucket.lower, histogram.min()), std::min(bucket.upper, histogram.max()), bucket.count});
  }
  return cells;
}

PageTable quantile_table(std::string caption, const QuantileSet& set, const QuantileConfidence& p99,
                         const QuantileConfidence& p99_9) {
  const auto interval = [](const QuantileConfidence& confidence) {
    if (confidence.verdict == Verdict::kInsufficient) return std::string("-");
    const auto bound = [](const std::optional<int64_t>& span) {
      return span ? short_span(*span) : std::string("no bound");
    };
    return format("{} to {}", bound(confidence.low_us), bound(confidence.high_us));
  };
  PageTable table{std::move(caption), {"quantile", "value", "95 % interval", "verdict"}, {}, {}};
  table.rows = {{"min", short_span(set.min), "", ""},
                {"p50", short_span(set.p50), "", ""},
                {"p95", short_span(set.p95), "", ""},
                {"p99", short_span(set.p99), interval(p99), std::string(to_string(p99.verdict))},
                {"p99.9", short_span(set.p99_9), interval(p99_9), std::string(to_string(p99_9.verdict))},
                {"max", short_span(set.max), "", ""}};
  return table;
}

std::vector<SpanMark> quantile_marks(const QuantileSet& set) {
  return {{"p50", set.p50, SpanMark::Kind::kQuantile, "half of the records are at or below"},
          {"p99", set.p99, SpanMark::Kind::kQuantile, "one record in a hundred is beyond"},
          {"p99.9", set.p99_9, SpanMark::Kind::kQuantile, "one record in a thousand is beyond"}};
}

Distribution delay_distribution(const DelaySummary& all, int64_t resolution_us) {
  Distribution delay;
  delay.id = "delay";
  delay.title = "Arrival delay";
  delay.lead =
      "Arrival time less event time of each record. Negative: it arrived before it says it happened.";
  delay.cells = cells_of(all.delay);
  delay.resolution_us = resolution_us;
  delay.split_us = all.split_us;
  delay.marks = quantile_marks(*all.delay_us);
  if (all.split_us) {
    delay.marks.push_back({"split", *all.split_us, SpanMark::Kind::kSplit,
                           "the valley between the transport mode and the offline mode"});
    for (const DelayMode& mode : all.modes) {
      delay.notes.push_back(format("{} mode: {} of the records, p50 {}, p99 {}.", mode.name,
                                   percent_text(mode.records, all.with_arrival), short_span(mode.p50_us),
                                   short_span(mode.p99_us)));
    }
  } else {
    delay.notes.emplace_back("One mode: no valley divides these delays.");
  }
  delay.notes.push_back(confidence_text("p99", all.delay_p99, all.with_arrival));
  delay.notes.push_back(confidence_text("p99.9", all.delay_p99_9, all.with_arrival));
  delay.notes.push_back(
      format("The clocks' step is {}: a value is drawn over the step around it.", short_span(resolution_us)));
  delay.table = quantile_table("Quantiles of delay", *all.delay_us, all.delay_p99, all.delay_p99_9);
  return delay;
}

Distribution disorder_distribution(const DelaySummary& all, int64_t resolution_us) {
  Distribution disorder;
  disorder.id = "disorder";
  disorder.title = "Disorder";
  disorder.lead =
      "How far each record's event time lies behind the greatest one before it: what a watermark delay has "
      "to "
      "cover. Zero: the record was the newest so far.";
  disorder.cells = cells_of(all.disorder);
  disorder.resolution_us = resolution_us;
  disorder.marks = quantile_marks(*all.disorder_us);
  disorder.notes.push_back(format("{} came behind a newer one: {}.", records_text(all.behind),
                                  percent_text(all.behind, all.records)));
  const auto sample = static_cast<int64_t>(all.disorder.count());
  disorder.notes.push_back(confidence_text("p99", all.disorder_p99, sample));
  disorder.notes.push_back(confidence_text("p99.9", all.disorder_p99_9, sample));
  disorder.table =
      quantile_table("Quantiles of disorder", *all.disorder_us, all.disorder_p99, all.disorder_p99_9);
  return disorder;
}

// Positions of the partitions with the most records, ties in order of name.
std::vector<size_t> largest(const std::vector<DelaySummary>& partitions, size_t at_most) {
  std::vector<size_t> order(partitions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (partitions[a].records != partitions[b].records) return partitions[a].records > partitions[b].records;
    return partitions[a].partition < partitions[b].partition;
  });
  order.resize(std::min(order.size(), at_most));
  return order;
}

std::string name_of(const std::string& partition) {
  return partition.empty() ? "(none)" : partition;
}

SpanRows partition_rows(const ProfileReport& profile) {
  SpanRows rows;
  rows.id = "partitions";
  rows.title = "Disorder by partition";
  rows.lead =
      "How far records come behind newer ones of the same partition; the partitions with the most records "
      "first.";
  rows.point_names = {"p50", "p99", "max"};
  rows.range_name = "p50 to max";
  for (const size_t at : largest(profile.partitions, kPartitionsDrawn)) {
    const DelaySummary& summary = profile.partitions[at];
    if (!summary.disorder_us) continue;
    const QuantileSet& set = *summary.disorder_us;
    rows.rows.push_back(
        {name_of(summary.partition),
         set.p50,
         set.max,
         {set.p50, set.p99, set.max},
         format("{}; p99 {}", records_text(summary.records), to_string(summary.disorder_p99.verdict))});
  }
  rows.table.caption = "Partitions";
  rows.table.columns = {"partition", "records",   "disorder p50", "p99",    "max",
                        "verdict",   "delay p50", "p99",          "behind", "negative"};
  for (const size_t at : largest(profile.partitions, kPartitionsListed)) {
    const DelaySummary& summary = profile.partitions[at];
    rows.table.rows.push_back(
        {name_of(summary.partition), with_thousands(summary.records),
         or_dash(summary.disorder_us, &QuantileSet::p50), or_dash(summary.disorder_us, &QuantileSet::p99),
         or_dash(summary.disorder_us, &QuantileSet::max),
         std::string(to_string(summary.disorder_p99.verdict)), or_dash(summary.delay_us, &QuantileSet::p50),
         or_dash(summary.delay_us, &QuantileSet::p99), percent_text(summary.behind, summary.records),
         summary.negative ? percent_text(*summary.negative, summary.with_arrival) : "-"});
  }
  if (profile.partitions.size() > rows.rows.size()) {
    rows.notes.push_back(format("{} of {} partitions are drawn.", rows.rows.size(),
                                with_thousands(static_cast<int64_t>(profile.partitions.size()))));
  }
  if (profile.partitions.size() > kPartitionsListed) {
    rows.table.more =
        format("{} more are in the JSON document.",
               with_thousands(static_cast<int64_t>(profile.partitions.size() - kPartitionsListed)));
  }
  return rows;
}

std::string finding_title(Finding::Kind kind) {
  std::string title(to_string(kind));
  std::ranges::replace(title, '_', ' ');
  return title;
}

void add_findings(Page& page, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    page.findings.push_back({finding_title(finding.kind), finding.partition, sentence(finding.text)});
  }
  page.no_findings = "Nothing about the clocks stands out: units, time zones and offsets look right.";
}

std::vector<Fact> profile_facts(const DelaySummary& all) {
  std::vector<Fact> facts = {{"records", with_thousands(all.records), ""}};
  if (all.delay_us) {
    facts.push_back({"delay p50", short_span(all.delay_us->p50), ""});
    facts.push_back(
        {"delay p99", short_span(all.delay_us->p99), std::string(to_string(all.delay_p99.verdict))});
  }
  if (all.disorder_us) {
    facts.push_back(
        {"disorder p99", short_span(all.disorder_us->p99), std::string(to_string(all.disorder_p99.verdict))});
  }
  facts.push_back({"behind a newer one", percent_text(all.behind, all.records), records_text(all.behind)});
  if (all.negative) {
    facts.push_back({"negative delay", percent_text(*all.negative, all.with_arrival),
                     *all.negative > 0 ? format("{}, at most {}", records_text(*all.negative),
                                                short_span(*all.negative_most_us))
                                       : std::string("none")});
  }
  return facts;
}

void add_figures(Page& page, const ProfileReport& profile) {
  const DelaySummary& all = profile.all;
  if (all.delay_us) page.distributions.push_back(delay_distribution(all, profile.resolution_us));
  if (all.disorder_us) page.distributions.push_back(disorder_distribution(all, profile.resolution_us));
  if (profile.partitions.size() > 1) page.partitions = partition_rows(profile);
  page.series = series_part(profile.series);
  if (profile.producers) page.producers = producers_part(*profile.producers);
  if (all.with_arrival == 0) {
    page.notes.emplace_back(
        "Without arrival times only disorder is known: how far records come behind newer ones, not how late "
        "they are.");
  }
  page.notes.push_back(format(
      "Quantiles are exact: nearest rank, values that occurred. Intervals are order statistics at 95 % "
      "confidence; a verdict is precise with 100 or more records beyond the quantile, estimated with 10 to "
      "100, "
      "bounded with fewer, insufficient when no finite bound exists. Records more than {} ahead of their "
      "arrival "
      "do not move the maximum that disorder is measured against.",
      short_span(profile.max_future_skew.micros())));
}

// The two spans on the axes of delay and disorder.
void mark_budget(Page& page, const BudgetReport& budget) {
  const int64_t delay_us = budget.watermark_delay_us;
  const int64_t horizon_us = budget.watermark_delay_us + budget.allowed_lateness_us;
  for (Distribution& distribution : page.distributions) {
    if (distribution.id == "delay") {
      distribution.notes.emplace_back(
          "The settings d and d + l are judged against disorder, not delay: records that are late together "
          "do not "
          "overtake each other.");
    }
    distribution.marks.push_back({"d", delay_us, SpanMark::Kind::kSetting,
                                  "the watermark delay: a record no further behind is on time"});
    if (budget.allowed_lateness_us > 0) {
      distribution.marks.push_back(
          {"d + l", horizon_us, SpanMark::Kind::kSetting,
           "watermark delay and allowed lateness: beyond it records go to the ledger"});
    }
  }
}

PageTable budget_partitions(const BudgetReport& budget) {
  PageTable table{"Each partition if it were alone, and its part in the common budget",
                  {"partition", "records", "delay", "lateness", "late", "of all late", "verdict"},
                  {},
                  {}};
  for (const PartitionBudget& mine : budget.partitions) {
    if (table.rows.size() == kPartitionsListed) break;
    table.rows.push_back({name_of(mine.partition), with_thousands(mine.records),
                          mine.watermark_delay_us ? short_span(*mine.watermark_delay_us) : "-",
                          mine.allowed_lateness_us ? short_span(*mine.allowed_lateness_us) : "-",
                          percent_text(mine.counts.pairs - mine.counts.on_time, mine.counts.pairs),
                          percent_text(mine.share_of_late), std::string(to_string(mine.verdict))});
  }
  return table;
}

std::vector<Fact> budget_facts(const BudgetReport& budget) {
  const BudgetCounts& counts = budget.counts;
  std::vector<Fact> facts = {
      {"watermark delay d", short_span(budget.watermark_delay_us), std::string(to_string(budget.verdict))},
      {"allowed lateness l", short_span(budget.allowed_lateness_us),
       std::string(to_string(budget.tail_verdict))},
      {"on time", percent_text(counts.on_time, counts.pairs), with_thousands(counts.on_time)},
      {"corrected", percent_text(counts.corrected, counts.pairs), with_thousands(counts.corrected)},
      {"ledgered", percent_text(counts.ledgered, counts.pairs), with_thousands(counts.ledgered)}};
  if (budget.latency) {
    facts.push_back({"output latency p50", short_span(budget.latency->p50_us),
                     format("p99 {}", short_span(budget.latency->p99_us))});
  }
  if (budget.state) {
    facts.push_back({"state", bytes_text(static_cast<double>(budget.state->bytes)),
                     format("at most {} at once", with_thousands(budget.state->windows))});
  }
  return facts;
}

}  // namespace

Page profile_page(const ProfileReport& profile, const RejectedCounts& rejected, std::string title) {
  Page page;
  page.kind = "Delay and disorder of";
  page.title = std::move(title);
  page.lead = lead_text(profile, rejected);
  add_findings(page, profile.findings);
  if (profile.all.records == 0) return page;
  page.facts = profile_facts(profile.all);
  add_figures(page, profile);
  return page;
}

Page budget_page(const BudgetReport& budget, const RejectedCounts& rejected, std::string title) {
  Page page = profile_page(budget.profile, rejected, std::move(title));
  page.kind = "Watermark delay and allowed lateness for";
  page.facts = budget_facts(budget);
  page.setting = format(
      "-- source\nWITH (..., watermark_delay = '{}')\n-- view\nWITH (late = 'correct', allowed_lateness = "
      "'{}')",
      span_literal(budget.watermark_delay_us), span_literal(budget.allowed_lateness_us));
  mark_budget(page, budget);
  page.notes.insert(page.notes.begin(), budget.notes.begin(), budget.notes.end());
  if (budget.partitions.size() > 1 && page.partitions) page.budget_partitions = budget_partitions(budget);
  return page;
}

}  // namespace wrackline::report
