#include "cli/metrics_text.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace wrackline::cli {
namespace {

double to_seconds(int64_t us) {
  return static_cast<double>(us) / 1e6;
}

using Label = std::pair<std::string_view, std::string_view>;

std::string labels_text(const std::vector<Label>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += format("{}{}=\"", text.empty() ? "{" : ",", name);
    for (const char c : value) {
      if (c == '\\' || c == '"') text += '\\';
      if (c == '\n') {
        text += "\\n";
      } else {
        text += c;
      }
    }
    text += '"';
  }
  return text.empty() ? text : text + "}";
}

// All samples of a metric stand together, behind what it is.
class Metric {
 public:
  Metric(std::string& out, std::string_view name, std::string_view type, std::string_view help)
      : out_(out), name_(name) {
    out_ += format("# HELP wrackline_{} {}\n# TYPE wrackline_{} {}\n", name, help, name, type);
  }
  template <class Number>
  void add(const std::vector<Label>& labels, Number value) {
    out_ += format("wrackline_{}{} {}\n", name_, labels_text(labels), value);
  }

 private:
  std::string& out_;
  std::string_view name_;
};

void add_views(std::string& out, const runtime::RunReport& report) {
  Metric fates(out, "records_total", "counter", "Records of a view by fate.");
  for (const runtime::ViewReport& view : report.views) {
    const FateCounts total = view.balance.total();
    const auto add = [&](std::string_view fate, int64_t count) {
      fates.add({{"view", view.view}, {"source", view.source}, {"fate", fate}}, count);
    };
    add("accepted", total.accepted);
    add("accepted_partially", total.accepted_partially);
    add("ledgered", total.ledgered);
    add("duplicate", total.duplicate);
    add("dropped", total.dropped_total());
    add("filtered", total.filtered);
  }
  Metric reasons(out, "records_lost_total", "counter",
                 "Records that went to the ledger or were dropped, by reason.");
  for (const runtime::ViewReport& view : report.views) {
    const FateCounts total = view.balance.total();
    for (size_t i = 0; i < kReasonCount; ++i) {
      const std::string_view reason = to_string(static_cast<Reason>(i));
      if (total.ledgered_by_reason[i] > 0)
        reasons.add({{"view", view.view}, {"reason", reason}, {"fate", "ledgered"}},
                    total.ledgered_by_reason[i]);
      if (total.dropped[i] > 0)
        reasons.add({{"view", view.view}, {"reason", reason}, {"fate", "dropped"}}, total.dropped[i]);
    }
  }
  Metric windows(out, "windows_closed_total", "counter", "Windows of a view that the watermark has closed.");
  for (const runtime::ViewReport& view : report.views)
    windows.add({{"view", view.view}}, view.statistics.windows_closed);
  Metric versions(out, "rows_published_total", "counter",
                  "Rows that a view has published, corrections included.");
  for (const runtime::ViewReport& view : report.views)
    versions.add({{"view", view.view}}, view.statistics.versions);
  Metric corrections(out, "corrections_total", "counter",
                     "Rows that a view has revised because of late records.");
  for (const runtime::ViewReport& view : report.views)
    corrections.add({{"view", view.view}}, view.statistics.corrections);
}

void add_quantiles(std::string& out, const runtime::RunReport& report) {
  static constexpr std::string_view kNames[] = {"0.5", "0.9", "0.99", "0.999"};
  Metric disorder(
      out, "disorder_seconds", "gauge",
      "How far progress was beyond the end of a record's first window, over the last 60 intervals.");
  for (const runtime::MonitorReport& one : report.monitors) {
    for (size_t i = 0; one.disorder.count > 0 && i < std::size(kNames); ++i)
      disorder.add({{"source", one.source}, {"quantile", kNames[i]}}, to_seconds(one.disorder.upper_us[i]));
  }
  Metric delay(out, "arrival_delay_seconds", "gauge",
               "Arrival minus event time, over the last 60 intervals.");
  for (const runtime::MonitorReport& one : report.monitors) {
    if (!one.delay || one.delay->count == 0) continue;
    for (size_t i = 0; i < std::size(kNames); ++i)
      delay.add({{"source", one.source}, {"quantile", kNames[i]}}, to_seconds(one.delay->upper_us[i]));
  }
}

void add_monitors(std::string& out, const runtime::RunReport& report) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    Metric metric(out, name, type, help);
    for (const runtime::MonitorReport& one : report.monitors)
      metric.add({{"source", one.source}}, value(one));
  };
  using Report = runtime::MonitorReport;
  each("watermark_delay_seconds", "gauge", "The watermark delay that stands.",
       [](const Report& one) { return to_seconds(one.delay_us); });
  each("watermark_delay_changes_total", "counter", "Changes of an automatic watermark delay.",
       [](const Report& one) { return one.delay_changes; });
  each("monitor_intervals_total", "counter", "Intervals that were judged.",
       [](const Report& one) { return one.intervals; });
  each("alarms_total", "counter", "Alarms that the watermark delay no longer holds.",
       [](const Report& one) { return one.alarms; });
  Metric measured(out, "measured_delay_seconds", "gauge", "The delay that would meet the target late share.");
  for (const Report& one : report.monitors) {
    if (one.measured_us) measured.add({{"source", one.source}}, to_seconds(*one.measured_us));
  }
  Metric records(out, "interval_records", "gauge", "Records of the last interval.");
  for (const Report& one : report.monitors) {
    for (const Report::Series& series : one.series)
      records.add({{"source", one.source}, {"partition", series.partition}}, series.records);
  }
  Metric late(out, "interval_late_records", "gauge", "Records of the last interval that were late.");
  for (const Report& one : report.monitors) {
    for (const Report::Series& series : one.series)
      late.add({{"source", one.source}, {"partition", series.partition}}, series.late);
  }
  Metric alarmed(out, "alarmed", "gauge", "1 while an alarm stands.");
  for (const Report& one : report.monitors) {
    for (const Report::Series& series : one.series)
      alarmed.add({{"source", one.source}, {"partition", series.partition}}, series.alarmed ? 1 : 0);
  }
  Metric complete(
      out, "window_completeness", "gauge",
      "Share of a window's records so far that is expected to have arrived; window 0 is the newest.");
  for (const Report& one : report.monitors) {
    for (size_t i = 0; i < one.completeness.size(); ++i)
      complete.add({{"source", one.source}, {"window", std::string_view("01234").substr(i, 1)}},
                   one.completeness[i].share);
  }
}

}  // namespace

std::string metrics_text(const runtime::RunReport& report) {
  std::string out;
  Metric(out, "read_records_total", "counter", "Records that were read.").add({}, report.rows);
  Metric(out, "ticks_total", "counter", "Ticks of records.").add({}, report.ticks);
  Metric(out, "generation", "gauge", "Starts of this job.").add({}, report.generation);
  Metric watermark(out, "watermark_timestamp_seconds", "gauge", "The least watermark over the sources.");
  const bool finite =
      report.watermark != EventTime::minus_infinity() && report.watermark != EventTime::plus_infinity();
  if (finite) watermark.add({}, to_seconds(report.watermark.micros()));
  add_views(out, report);
  add_monitors(out, report);
  add_quantiles(out, report);
  return out;
}

}  // namespace wrackline::cli
