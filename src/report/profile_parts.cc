#include "report/profile_parts.h"

#include <algorithm>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/figure_parts.h"
#include "report/markup.h"

namespace wrackline::report {
namespace {

constexpr size_t kProducersDrawn = 24;
constexpr size_t kProducersListed = 100;

std::string or_dash(const std::optional<int64_t>& span) {
  return span ? short_span(*span) : "-";
}

std::string fault_text(const ProducerSummary& producer) {
  if (producer.fault == ClockFault::kNone) return "-";
  std::string text(to_string(producer.fault));
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace

std::optional<Series> series_part(const DelaySeries& series) {
  if (series.intervals.size() < 2) return std::nullopt;
  Series part;
  part.id = "series";
  part.title = "Delay over time";
  part.lead =
      format("Quantiles of the delays of the records that arrived in each interval of {}; times are UTC.",
             short_span(series.width_us));
  part.names = {"p50", "p95", "p99"};
  part.table.caption = "Intervals";
  part.table.columns = {"from", "records", "min", "p50", "p95", "p99", "max", "disorder p99"};
  int64_t records = 0;
  for (const DelayInterval& interval : series.intervals) {
    part.points.push_back({interval.start_us,
                           interval.start_us + series.width_us,
                           interval.records,
                           {interval.p50_us, interval.p95_us, interval.p99_us}});
    part.table.rows.push_back({instant_text(interval.start_us), with_thousands(interval.records),
                               short_span(interval.min_us), short_span(interval.p50_us),
                               short_span(interval.p95_us), short_span(interval.p99_us),
                               short_span(interval.max_us), short_span(interval.disorder_p99_us)});
    records += interval.records;
  }
  for (const RegimeChange& change : series.changes)
    part.changes.push_back({change.at_us, sentence(change.text)});
  part.notes.push_back(
      format("n = {} records in {} intervals.", with_thousands(records), series.intervals.size()));
  part.notes.emplace_back(
      series.changes.empty()
          ? "No change of regime: sliding windows of intervals do not differ more than chance allows."
          : "Numbered lines mark changes of regime; they are told below.");
  return part;
}

std::optional<SpanRows> producers_part(const ProducersReport& producers) {
  if (producers.list.empty()) return std::nullopt;
  SpanRows part;
  part.id = "producers";
  part.title = "Clocks by producer";
  part.lead = format(
      "How far each clock of \"{}\" is ahead of arrival: estimated against the other producers, and "
      "proven by records that arrived before they happened.",
      producers.column);
  part.point_names = {"estimated offset", "proven offset"};
  part.table.caption = "Producers, those with a fault first";
  part.table.columns = {"producer",  "records", "fault", "estimated offset", "proven", "drift",
                        "delay min", "p50",     "max",   "negative"};
  for (const ProducerSummary& producer : producers.list) {
    if (part.table.rows.size() == kProducersListed) break;
    const std::string drift = producer.drift_ppm ? format("{:.3g} ppm", *producer.drift_ppm) : "-";
    part.table.rows.push_back({producer.producer.empty() ? "(none)" : producer.producer,
                               with_thousands(producer.records), fault_text(producer),
                               or_dash(producer.offset_estimated_us), or_dash(producer.offset_proven_us),
                               drift, short_span(producer.delay_min_us), short_span(producer.delay_p50_us),
                               short_span(producer.delay_max_us), with_thousands(producer.negative)});
    if (!producer.offset_estimated_us || part.rows.size() == kProducersDrawn) continue;
    SpanRow row{producer.producer.empty() ? "(none)" : producer.producer,
                {},
                {},
                {*producer.offset_estimated_us},
                producer.text};
    if (producer.offset_proven_us) row.points_us.push_back(*producer.offset_proven_us);
    part.rows.push_back(std::move(row));
  }
  for (const ProducerSummary& producer : producers.list) {
    if (producer.fault != ClockFault::kNone && part.notes.size() < 12)
      part.notes.push_back(format("{} {}: {}", producers.column, producer.producer, sentence(producer.text)));
  }
  if (producers.offset_spread_us) {
    part.notes.push_back(format("Healthy clocks scatter by about {} around each other.",
                                short_span(*producers.offset_spread_us)));
  }
  if (producers.list.size() > kProducersListed) {
    part.table.more = format("{} more are in the JSON document.",
                             with_thousands(static_cast<int64_t>(producers.list.size() - kProducersListed)));
  }
  if (producers.forgotten_records > 0) {
    part.notes.push_back(
        format("{} records of rarer producers are not told apart; a count may be too small by {}.",
               with_thousands(producers.forgotten_records), with_thousands(producers.count_error_max)));
  }
  return part;
}

}  // namespace wrackline::report
