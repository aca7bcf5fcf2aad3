#include "cli/run_report.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "data/time_text.h"

namespace wrackline::cli {
namespace {

constexpr size_t kPartitionsShown = 20;

std::string by_reason(const std::array<int64_t, kReasonCount>& counts) {
  std::string text;
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (counts[i] == 0) continue;
    text += format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<Reason>(i)),
                   with_thousands(counts[i]));
  }
  return text;
}

std::string reasons_json(const std::array<int64_t, kReasonCount>& counts) {
  std::string json = "{";
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (counts[i] == 0) continue;
    json += format("{}\"{}\":{}", json.size() == 1 ? "" : ",", to_string(static_cast<Reason>(i)), counts[i]);
  }
  return json + "}";
}

std::string counts_json(const FateCounts& c) {
  return format(
      "\"read\":{},\"accepted\":{},\"accepted_partially\":{},\"ledgered\":{},\"duplicate\":{},\"filtered\":{}"
      ","
      "\"dropped\":{},\"held\":{},\"balanced\":{},\"corrected\":{},\"ledgered_by_reason\":{}",
      c.read, c.accepted, c.accepted_partially, c.ledgered, c.duplicate, c.filtered, reasons_json(c.dropped),
      c.held, c.balanced(), c.corrected, reasons_json(c.ledgered_by_reason));
}

// The columns of the law's equation; those that are zero throughout are left out, for they add nothing.
struct Column {
  std::string_view name;
  int64_t (*value)(const FateCounts&);
  bool always;
};
constexpr Column kColumns[] = {
    {"read", [](const FateCounts& c) { return c.read; }, true},
    {"accepted", [](const FateCounts& c) { return c.accepted; }, true},
    {"partially", [](const FateCounts& c) { return c.accepted_partially; }, false},
    {"ledgered", [](const FateCounts& c) { return c.ledgered; }, true},
    {"duplicate", [](const FateCounts& c) { return c.duplicate; }, false},
    {"dropped", [](const FateCounts& c) { return c.dropped_total(); }, false},
    {"filtered", [](const FateCounts& c) { return c.filtered; }, false},
    {"held", [](const FateCounts& c) { return c.held; }, false},
};

std::string view_text(const runtime::ViewReport& view) {
  const FateCounts total = view.balance.total();
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    if (column.always || column.value(total) != 0) columns.push_back(column);
  }
  // Partitions with the most records first; "all" comes last, as a sum does.
  std::vector<size_t> order;
  for (size_t i = 0; i < view.balance.by_partition().size(); ++i) {
    if (view.balance.by_partition()[i].read > 0) order.push_back(i);
  }
  const auto& counts = view.balance.by_partition();
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return counts[a].read > counts[b].read; });
  const size_t shown = order.size() == 1 ? 0 : std::min(order.size(), kPartitionsShown);

  size_t name_width = 9;
  for (size_t i = 0; i < shown; ++i) name_width = std::max(name_width, view.partitions[order[i]].size());
  name_width = std::min<size_t>(name_width, 40);
  std::string text = format("balance of view \"{}\" over source \"{}\"\n  {:<{}}", view.view, view.source,
                            "partition", name_width);
  for (size_t i = 0; i < columns.size(); ++i)
    text += format("  {}{:>11}", i == 0 ? "" : i == 1 ? "= " : "+ ", columns[i].name);
  text += '\n';
  const auto line = [&](std::string name, const FateCounts& c) {
    if (name.size() > name_width) name = "…" + name.substr(name.size() - name_width + 1);
    text += format("  {:<{}}", name, name_width);
    for (size_t i = 0; i < columns.size(); ++i) {
      text += format("  {}{:>11}", i == 0 ? "" : "  ", with_thousands(columns[i].value(c)));
    }
    text += '\n';
  };
  for (size_t i = 0; i < shown; ++i) line(printable(view.partitions[order[i]], 60), counts[order[i]]);
  if (order.size() > shown && shown > 0) {
    FateCounts rest;
    for (size_t i = shown; i < order.size(); ++i) rest += counts[order[i]];
    line(format("{} more", order.size() - shown), rest);
  }
  line("all", total);
  if (total.ledgered > 0) text += format("  ledgered: {}\n", by_reason(total.ledgered_by_reason));
  if (total.dropped_total() > 0) text += format("  dropped: {}\n", by_reason(total.dropped));
  text += format("  windows closed {}, rows published {}, corrections {} (from {} late records){}\n",
                 with_thousands(view.statistics.windows_closed), with_thousands(view.statistics.versions),
                 with_thousands(view.statistics.corrections), with_thousands(total.corrected),
                 view.balance.balanced() ? "; the balance adds up" : "; THE BALANCE DOES NOT ADD UP");
  return text;
}

std::string source_text(const runtime::SourceReport& source) {
  std::string text;
  if (source.dedup) {
    const DedupStatistics& dedup = *source.dedup;
    text += format("dedup of source \"{}\": duplicate {}, conflict {}, past_horizon {}, without an id {}\n",
                   source.source, with_thousands(dedup.duplicates), with_thousands(dedup.conflicts),
                   with_thousands(dedup.too_old), with_thousands(dedup.without_id));
    text += format("  ids known: {} at most, in {} bytes; {} now\n",
                   with_thousands(static_cast<int64_t>(dedup.ids_max)),
                   with_thousands(static_cast<int64_t>(dedup.bytes_max)),
                   with_thousands(static_cast<int64_t>(dedup.ids)));
  }
  for (const Finding& finding : source.findings)
    text += format("source \"{}\": {} They stand as read.\n", source.source, finding.text);
  return text;
}

std::string source_json(const runtime::SourceReport& source) {
  std::string json = format("{{\"source\":{}", json_quoted(source.source));
  if (source.dedup) {
    const DedupStatistics& dedup = *source.dedup;
    json += format(
        ",\"dedup\":{{\"duplicates\":{},\"conflicts\":{},\"past_horizon\":{},\"without_id\":{},\"ids\":{},"
        "\"ids_max\":{},\"bytes_max\":{}}}",
        dedup.duplicates, dedup.conflicts, dedup.too_old, dedup.without_id, dedup.ids, dedup.ids_max,
        dedup.bytes_max);
  }
  json += ",\"findings\":[";
  for (const Finding& finding : source.findings) {
    json += format("{}{{\"kind\":{},\"unit\":{},\"records\":{},\"text\":{}}}", json.ends_with('[') ? "" : ",",
                   json_quoted(to_string(finding.kind)), json_quoted(finding.unit), finding.records,
                   json_quoted(finding.text));
  }
  return json + "]}";
}

}  // namespace

std::string balance_text(const runtime::RunReport& report) {
  std::string text;
  for (const runtime::ViewReport& view : report.views) text += view_text(view);
  for (const runtime::SourceReport& source : report.sources) text += source_text(source);
  for (const runtime::MonitorReport& monitor : report.monitors) text += runtime::monitor_text(monitor);
  const double rate = report.seconds > 0 ? static_cast<double>(report.rows) / report.seconds : 0;
  text += format("{} records in {:.2f} s ({} records/s), watermark {}, generation {}{}\n",
                 with_thousands(report.rows), report.seconds, with_thousands(static_cast<int64_t>(rate)),
                 timestamp_text(report.watermark.micros()), report.generation,
                 report.stopped ? ", stopped before the end" : "");
  return text;
}

std::string balance_json(const runtime::RunReport& report) {
  std::string json = "{\"balance\":[";
  for (const runtime::ViewReport& view : report.views) {
    json += format("{}{{\"view\":{},\"source\":{},{},\"by_partition\":{{", json.ends_with('[') ? "" : ",",
                   json_quoted(view.view), json_quoted(view.source), counts_json(view.balance.total()));
    for (size_t i = 0; i < view.balance.by_partition().size(); ++i) {
      if (view.balance.by_partition()[i].read == 0) continue;
      json += format("{}{}:{{{}}}", json.ends_with('{') ? "" : ",", json_quoted(view.partitions[i]),
                     counts_json(view.balance.by_partition()[i]));
    }
    json += "}}";
  }
  json += "],\"sources\":[";
  for (const runtime::SourceReport& source : report.sources)
    json += (json.ends_with('[') ? "" : ",") + source_json(source);
  json += "],\"monitor\":[";
  for (const runtime::MonitorReport& monitor : report.monitors)
    json += (json.ends_with('[') ? "" : ",") + runtime::monitor_json(monitor);
  json += "],\"views\":{";
  for (const runtime::ViewReport& view : report.views) {
    const ViewStatistics& s = view.statistics;
    json += format(
        "{}{}:{{\"windows_closed\":{},\"versions\":{},\"corrections\":{},\"retractions\":{},"
        "\"behind_watermark\":{}}}",
        json.ends_with('{') ? "" : ",", json_quoted(view.view), s.windows_closed, s.versions, s.corrections,
        s.retractions, s.behind_watermark);
  }
  const double rate = report.seconds > 0 ? static_cast<double>(report.rows) / report.seconds : 0;
  return json + format(
                    "}},\"watermark\":{},\"generation\":{},\"records\":{},\"seconds\":{:.6f},\"rows_per_"
                    "second\":{:.0f},"
                    "\"stopped\":{},\"balanced\":{}}}",
                    json_quoted(timestamp_text(report.watermark.micros())), report.generation, report.rows,
                    report.seconds, rate, report.stopped, report.balanced());
}

}  // namespace wrackline::cli
