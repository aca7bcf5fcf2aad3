#include <cmath>

#include "base/text.h"
#include "data/time_text.h"
#include "runtime/monitor.h"

namespace wrackline::runtime {
namespace {

std::string share_text(int64_t part, int64_t whole) {
  if (whole == 0) return "0 %";
  return format("{:.3g} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string percent(double share) {
  return format("{:.3g} %", 100 * share);
}

std::string number_or_null(const std::optional<int64_t>& number) {
  return number ? format("{}", *number) : "null";
}

std::string quantiles_json(const MonitorQuantiles& quantiles) {
  return format("{{\"records\":{},\"p50\":{},\"p90\":{},\"p99\":{},\"p99_9\":{}}}", quantiles.count,
                quantiles.upper_us[0], quantiles.upper_us[1], quantiles.upper_us[2], quantiles.upper_us[3]);
}

}  // namespace

std::string_view to_string(MonitorAlarm::Kind kind) {
  switch (kind) {
    case MonitorAlarm::Kind::kLate:
      return "late";
    case MonitorAlarm::Kind::kCleared:
      return "cleared";
    case MonitorAlarm::Kind::kOverProvisioned:
      return "over_provisioned";
  }
  return "late";
}

std::string alarm_text(const MonitorAlarm& alarm) {
  const std::string whose = alarm.partition.empty() ? format("source \"{}\"", alarm.source)
                                                    : format("source \"{}\", partition \"{}\"", alarm.source,
                                                             printable(alarm.partition));
  const std::string figures =
      format("{} of {} records were late ({}, target {}) from {} to {}", with_thousands(alarm.late),
             with_thousands(alarm.records), share_text(alarm.late, alarm.records), percent(alarm.target_late),
             timestamp_text(alarm.interval_start_us), timestamp_text(alarm.interval_end_us));
  const std::string needed =
      alarm.measured_us ? format("; {} would meet the target", span_text(*alarm.measured_us)) : "";
  switch (alarm.kind) {
    case MonitorAlarm::Kind::kLate:
      return format("alarm: {}: watermark_delay {} no longer holds: {}{}", whose, span_text(alarm.delay_us),
                    figures, needed);
    case MonitorAlarm::Kind::kCleared:
      return format("alarm over: {}: {}", whose, figures);
    case MonitorAlarm::Kind::kOverProvisioned:
      return format("advice: {}: watermark_delay {} is more than records need: {}{}", whose,
                    span_text(alarm.delay_us), figures, needed);
  }
  return {};
}

std::string alarm_json(const MonitorAlarm& alarm) {
  return format(
      "{{\"kind\":\"{}\",\"source\":{},\"partition\":{},\"interval_start\":{},\"interval_end\":{},"
      "\"records\":{},\"late\":{},\"target_late\":{},\"watermark_delay_us\":{},\"measured_us\":{},"
      "\"evidence\":{:.3f},\"threshold\":{:.3f},\"text\":{}}}",
      to_string(alarm.kind), json_quoted(alarm.source),
      alarm.partition.empty() ? "null" : json_quoted(alarm.partition),
      json_quoted(timestamp_text(alarm.interval_start_us)),
      json_quoted(timestamp_text(alarm.interval_end_us)), alarm.records, alarm.late, alarm.target_late,
      alarm.delay_us, number_or_null(alarm.measured_us), alarm.evidence, alarm.threshold,
      json_quoted(alarm_text(alarm)));
}

std::string monitor_json(const MonitorReport& report) {
  std::string json = format(
      "{{\"source\":{},\"auto\":{},\"watermark_delay_us\":{},\"target_late\":{},\"intervals\":{},"
      "\"alarms\":{},\"advices\":{},\"delay_changes\":{},\"measured_us\":{},\"split_us\":{},"
      "\"disorder_us\":{},\"delay_us\":{}",
      json_quoted(report.source), report.automatic, report.delay_us, report.target_late, report.intervals,
      report.alarms, report.advices, report.delay_changes, number_or_null(report.measured_us),
      number_or_null(report.split_us), quantiles_json(report.disorder),
      report.delay ? quantiles_json(*report.delay) : "null");
  if (report.intervals > 0) {
    json += format(",\"last_interval\":{{\"start\":{},\"end\":{},\"design_effect\":{:.3f},\"series\":[",
                   json_quoted(timestamp_text(report.interval_start_us)),
                   json_quoted(timestamp_text(report.interval_end_us)), report.design_effect);
    for (const MonitorReport::Series& one : report.series) {
      json +=
          format("{}{{\"partition\":{},\"status\":\"{}\",\"records\":{},\"late\":{},\"alarmed\":{}}}",
                 json.ends_with('[') ? "" : ",", one.partition.empty() ? "null" : json_quoted(one.partition),
                 to_string(one.status), one.records, one.late, one.alarmed);
    }
    json += "]}";
  }
  json += ",\"completeness\":[";
  for (const MonitorReport::Completeness& one : report.completeness) {
    json += format("{}{{\"start\":{},\"end\":{},\"share\":{:.6f}}}", json.ends_with('[') ? "" : ",",
                   json_quoted(timestamp_text(one.window.start.micros())),
                   json_quoted(timestamp_text(one.window.end.micros())), one.share);
  }
  return json + "]}";
}

std::string monitor_text(const MonitorReport& report) {
  std::string text = format("monitor of source \"{}\": ", report.source);
  if (report.intervals == 0) return text + "too few records to judge watermark_delay\n";
  text += report.measured_us ? format("{} of delay would keep {} late", span_text(*report.measured_us),
                                      percent(report.target_late))
                             : "too few records for a measured delay";
  text += format(", watermark_delay is {}{}", span_text(report.delay_us), report.automatic ? " (auto)" : "");
  if (report.delay_changes > 0)
    text += format(" after {} change{}", with_thousands(report.delay_changes),
                   report.delay_changes == 1 ? "" : "s");
  text +=
      format("; {} interval{}, {} alarm{}", with_thousands(report.intervals),
             report.intervals == 1 ? "" : "s", with_thousands(report.alarms), report.alarms == 1 ? "" : "s");
  if (report.advices > 0) text += format(", {} times advice to wait less", with_thousands(report.advices));
  return text + "\n";
}

std::string completeness_text(const MonitorReport::Completeness& one) {
  // Rounded down: 100 % is said of what is complete.
  return format("{:5.1f} % of {} to {}", std::floor(one.share * 1000) / 10,
                timestamp_text(one.window.start.micros()), timestamp_text(one.window.end.micros()));
}

}  // namespace wrackline::runtime
