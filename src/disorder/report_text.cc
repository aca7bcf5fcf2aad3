#include "disorder/report_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <span>

#include "base/text.h"
#include "disorder/delay_chart.h"
#include "disorder/series_chart.h"
#include "disorder/text_table.h"

namespace wrackline {

using disorder::Table;
using disorder::text_width;
using disorder::wrapped;

namespace {

constexpr size_t kPartitionsShown = 20;
constexpr size_t kNameWidthMax = 24;  // of a partition in a table; narrow terminals get less
constexpr size_t kNarrow = 80;

std::string share_text(int64_t part, int64_t whole) {
  if (whole == 0) return "-";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  if (percent < 0.001) return "<0.001 %";
  if (percent > 99.999) return ">99.999 %";
  // As many digits as tell it apart from none and all.
  const double far = std::min(percent, 100 - percent);
  return format("{:.{}f} %", percent, far >= 10 ? 1 : far >= 0.1 ? 2 : 3);
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? format("{} B", bytes) : format("{:.3g} {}", value, kUnits[unit]);
}

std::string records_word(int64_t count) {
  return with_thousands(count) + (count == 1 ? " record" : " records");
}

std::vector<std::string> quantile_row(std::string name, const std::optional<QuantileSet>& set) {
  if (!set) return {std::move(name), "not known"};
  return {std::move(name),      short_span(set->min),   short_span(set->p50), short_span(set->p95),
          short_span(set->p99), short_span(set->p99_9), short_span(set->max)};
}

std::string interval_text(const QuantileConfidence& confidence) {
  if (confidence.verdict == Verdict::kInsufficient) return "too few records to say";
  const auto end = [](const std::optional<int64_t>& span) {
    return span ? short_span(*span) : std::string("no bound");
  };
  return format("{} to {} ({})", end(confidence.low_us), end(confidence.high_us),
                to_string(confidence.verdict));
}

std::string rejected_text(const RejectedCounts& rejected) {
  std::string out;
  for (const auto& [reason, count] : rejected) {
    if (count > 0) out += format("{}{} {}", out.empty() ? "" : ", ", with_thousands(count), reason);
  }
  return out;
}

std::string summary_text(const DelaySummary& all) {
  Table quantiles;
  quantiles.add({"", "min", "p50", "p95", "p99", "p99.9", "max"});
  quantiles.add(quantile_row("delay", all.delay_us));
  quantiles.add(quantile_row("disorder", all.disorder_us));
  std::string out = quantiles.text(2) + "\n";
  Table facts;
  const auto fact = [&](std::string name, std::string text) {
    facts.add({std::move(name) + "  " + std::move(text)});
  };
  fact("behind  ", format("{} ({}) came behind a newer one", records_word(all.behind),
                          share_text(all.behind, all.records)));
  if (all.negative) {
    const std::string most =
        *all.negative > 0 ? format(", at most {}", short_span(*all.negative_most_us)) : std::string();
    fact("negative", format("{} ({}) arrived before they happened{}", records_word(*all.negative),
                            share_text(*all.negative, all.with_arrival), most));
    fact("future  ", format("{} too far ahead to move the watermark", records_word(*all.future)));
  }
  const bool split = all.split_us.has_value();
  for (const DelayMode& mode : all.modes) {
    if (!split) break;
    fact("mode    ", format("{}: {}, p50 {}, p99 {}{}", mode.name, share_text(mode.records, all.with_arrival),
                            short_span(mode.p50_us), short_span(mode.p99_us),
                            mode.name == "transport" ? format(", up to {}", short_span(*all.split_us)) : ""));
  }
  if (all.disorder_us) {
    fact("95 %    ", format("p99 of disorder: {}", interval_text(all.disorder_p99)));
    fact("        ", format("p99.9 of disorder: {}", interval_text(all.disorder_p99_9)));
  }
  return out + facts.text(2);
}

std::string chart_text(const DelaySummary& all, const ReportTextOptions& options) {
  const bool delays = all.delay_us.has_value();
  const auto& quantiles = delays ? all.delay_us : all.disorder_us;
  if (!quantiles) return {};
  std::vector<disorder::ChartMark> marks = {{"p50", quantiles->p50}, {"p99", quantiles->p99}};
  if (all.split_us) {
    marks.push_back({"split", *all.split_us});
    for (const DelayMode& mode : all.modes) marks.push_back({mode.name, mode.p50_us});
  }
  return format("\n  {}, share of records per column, logarithmic axis\n\n",
                delays ? "arrival delay" : "disorder") +
         disorder::delay_chart(delays ? all.delay : all.disorder, marks, options);
}

std::string name_cell(std::string_view name, size_t width) {
  return printable(name.empty() ? "(none)" : name, width <= kNarrow ? kNameWidthMax / 2 : kNameWidthMax);
}

// Positions of the partitions with the most records, ties in order of name.
template <class T>
std::vector<size_t> largest(const std::vector<T>& partitions) {
  std::vector<size_t> order(partitions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (partitions[a].records != partitions[b].records) return partitions[a].records > partitions[b].records;
    return partitions[a].partition < partitions[b].partition;
  });
  order.resize(std::min(order.size(), kPartitionsShown));
  return order;
}

std::string more_text(size_t partitions) {
  return partitions > kPartitionsShown
             ? format("  +{} more (all with --json)\n",
                      with_thousands(static_cast<int64_t>(partitions - kPartitionsShown)))
             : std::string();
}

std::string partitions_text(const ProfileReport& report, size_t width) {
  if (report.partitions.size() < 2) return {};
  const bool delays = report.all.with_arrival > 0;
  Table table;
  table.add(delays
                ? std::vector<std::string>{"partition", "records", "delay p50", "p99", "max", "disorder p99",
                                           "behind", "negative"}
                : std::vector<std::string>{"partition", "records", "disorder p50", "p99", "max", "behind"});
  for (const size_t at : largest(report.partitions)) {
    const DelaySummary& summary = report.partitions[at];
    std::vector<std::string> row = {name_cell(summary.partition, width), with_thousands(summary.records)};
    const auto& main = delays ? summary.delay_us : summary.disorder_us;
    for (const auto member : {&QuantileSet::p50, &QuantileSet::p99, &QuantileSet::max}) {
      row.push_back(main ? short_span((*main).*member) : "-");
    }
    if (delays) row.push_back(summary.disorder_us ? short_span(summary.disorder_us->p99) : "-");
    row.push_back(share_text(summary.behind, summary.records));
    if (delays) row.push_back(summary.negative ? share_text(*summary.negative, summary.with_arrival) : "-");
    table.add(std::move(row));
  }
  return format("\n{}{}", table.text(2), more_text(report.partitions.size()));
}

std::string findings_text(const std::vector<Finding>& findings, size_t width) {
  std::string out;
  for (const Finding& finding : findings) out += wrapped(finding.text, width, "  ! ");
  if (!out.empty()) out.insert(0, 1, '\n');
  return out;
}

std::string producers_text(const ProducersReport& producers, size_t width) {
  constexpr size_t kProducersShown = 12;
  Table table;
  table.add({printable(producers.column, kNameWidthMax), "records", "before they happened", "clock ahead",
             "about", "drift"});
  size_t faulty = 0;
  for (size_t i = 0; i < producers.list.size(); ++i) {
    const ProducerSummary& one = producers.list[i];
    faulty += one.fault != ClockFault::kNone;
    if (i >= kProducersShown) continue;
    const auto span = [](const std::optional<int64_t>& value) { return value ? short_span(*value) : "-"; };
    table.add({name_cell(one.producer, kNameWidthMax), with_thousands(one.records),
               with_thousands(one.negative),
               one.offset_proven_us ? ">= " + short_span(*one.offset_proven_us) : "-",
               span(one.offset_estimated_us), one.drift_ppm ? format("{:.0f} ppm", *one.drift_ppm) : "-"});
  }
  std::string out = table.text(2);
  if (producers.list.size() > kProducersShown)
    out += format("  +{} more (all with --json)\n", producers.list.size() - kProducersShown);
  out += wrapped(
      "\"clock ahead\" is proven by records that arrived before they happened; \"about\" is an estimate "
      "against the other producers, for one way alone cannot tell a slow clock from a long path.",
      width, "  ");
  constexpr size_t kNamedOfAFault = 3;
  std::map<ClockFault, size_t> seen;
  for (const ProducerSummary& one : std::span(producers.list).first(faulty)) {  // faults come first
    if (++seen[one.fault] > kNamedOfAFault) continue;
    out +=
        wrapped(format("{} \"{}\": {}.", producers.column, printable(one.producer), one.text), width, "  ! ");
  }
  for (const auto& [fault, count] : seen) {
    if (count > kNamedOfAFault)
      out += format("  ! {} more with the fault {} (all with --json)\n", count - kNamedOfAFault,
                    to_string(fault));
  }
  return out;
}

std::string headline(const ProfileReport& report, const RejectedCounts& rejected) {
  std::string out = records_word(report.all.records);
  if (report.partitions.size() > 1) {
    out += format(" in {} partitions", with_thousands(static_cast<int64_t>(report.partitions.size())));
  }
  const std::string refused = rejected_text(rejected);
  if (!refused.empty()) out += format("; not measured: {}", refused);
  return out;
}

std::string pairs_word(const BudgetReport& report) {
  return report.options.window ? "(record, window) pairs" : "records";
}

std::string reason_for_delay(const BudgetReport& report) {
  const BudgetOptions& options = report.options;
  const std::string target = options.target_late.percent_text();
  if (options.rule == BudgetRule::kNearestRank) {
    return format("the {} % delay of {} arrival delays by nearest rank",
                  options.target_late.complement().percent_text(), with_thousands(report.sample));
  }
  const std::string_view mode = report.from_transport_mode ? " of the transport mode" : "";
  if (report.verdict == Verdict::kInsufficient) {
    return format("covers all {} {}{} seen; too few to promise {} % late", with_thousands(report.sample),
                  pairs_word(report), mode, target);
  }
  return format("the smallest with at most {} % late, 95 % sure, of {} {}{} ({})", target,
                with_thousands(report.sample), pairs_word(report), mode, to_string(report.verdict));
}

std::string predicted_text(const BudgetReport& report, size_t width) {
  Table table;
  const BudgetCounts& counts = report.counts;
  const auto row = [&](std::string name, int64_t count) {
    table.add({std::move(name), share_text(count, counts.pairs), with_thousands(count)});
  };
  row("on time", counts.on_time);
  row("late, corrected", counts.corrected);
  row("late, ledgered", counts.ledgered);
  std::string out =
      format("Predicted, of {} {}\n{}", with_thousands(counts.pairs), pairs_word(report), table.text(2));
  if (report.latency && report.latency->windows > 0) {
    out += wrapped(format("windows come out {} after their end (p50), {} (p99), {} at most",
                          short_span(report.latency->p50_us), short_span(report.latency->p99_us),
                          short_span(report.latency->max_us)),
                   width, "  latency  ");
  }
  if (report.state) {
    const BudgetState& state = *report.state;
    const std::string_view what = state.basis == BudgetState::Basis::kMeasuredKeys   ? "(window, key) pairs"
                                  : state.basis == BudgetState::Basis::kExpectedKeys ? "windows times keys"
                                                                                     : "windows";
    const bool per_key = state.basis == BudgetState::Basis::kWindowsOnly;
    out += wrapped(format("at most {} {} at once, about {}{}", with_thousands(state.windows), what,
                          bytes_text(state.bytes), per_key ? " per key" : ""),
                   width, "  state    ");
  }
  return out;
}

std::string budget_partitions_text(const BudgetReport& report, size_t width) {
  if (report.partitions.size() < 2) return {};
  Table table;
  table.add({"partition", "records", "delay", "lateness", "late", "of all late", "verdict"});
  for (const size_t at : largest(report.partitions)) {
    const PartitionBudget& mine = report.partitions[at];
    table.add({name_cell(mine.partition, width), with_thousands(mine.records),
               mine.watermark_delay_us ? short_span(*mine.watermark_delay_us) : "-",
               mine.allowed_lateness_us ? short_span(*mine.allowed_lateness_us) : "-",
               share_text(mine.counts.pairs - mine.counts.on_time, mine.counts.pairs),
               format("{:.1f} %", 100 * mine.share_of_late), std::string(to_string(mine.verdict))});
  }
  return format("\nEach partition if it were alone, and its part in the common budget\n{}{}", table.text(2),
                more_text(report.partitions.size()));
}

}  // namespace

std::string short_span(int64_t micros) {
  struct Unit {
    double micros;
    double below;  // used for magnitudes below this
    std::string_view name;
  };
  constexpr double kSecond = 1e6;
  constexpr double kDay = 86'400 * kSecond;
  constexpr double kYear = 365.25 * kDay;
  constexpr std::array<Unit, 7> kUnits = {{{1, 1e3, "us"},
                                           {1e3, kSecond, "ms"},
                                           {kSecond, 120 * kSecond, "s"},
                                           {60 * kSecond, 7200 * kSecond, "min"},
                                           {3600 * kSecond, 2 * kDay, "h"},
                                           {kDay, 2 * kYear, "d"},
                                           {kYear, 1e300, "y"}}};
  if (micros == 0) return "0 s";
  const auto value = static_cast<double>(micros);
  for (const Unit& unit : kUnits) {
    // Compared after rounding to three digits, so that 999.9 us is not "1e+03 us".
    if (std::abs(value) * (1 + 5e-4) >= unit.below) continue;
    const double number = value / unit.micros;
    const int digits = std::abs(number) >= 100 ? 0 : std::abs(number) >= 10 ? 1 : 2;
    std::string text = format("{:.{}f}", number, digits);
    if (text.find('.') != std::string::npos) {
      text.erase(text.find_last_not_of('0') + 1);
      if (text.ends_with('.')) text.pop_back();
    }
    return format("{} {}", text, unit.name);
  }
  return format("{} us", micros);
}

std::string span_literal(int64_t micros) {
  struct Unit {
    int64_t micros;
    std::string_view name;
  };
  constexpr std::array<Unit, 4> kWhole = {
      {{3'600'000'000, "h"}, {60'000'000, "min"}, {1'000'000, "s"}, {1'000, "ms"}}};
  if (micros == 0) return "0 s";
  for (const Unit& unit : kWhole) {
    const bool readable = unit.micros > 1'000 || micros < 1'000'000;
    if (micros % unit.micros == 0 && readable) return format("{} {}", micros / unit.micros, unit.name);
  }
  if (micros < 1'000'000) return format("{} us", micros);
  std::string fraction = format("{:06}", micros % 1'000'000);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return format("{}.{} s", micros / 1'000'000, fraction);
}

std::string profile_text(const ProfileReport& report, const RejectedCounts& rejected,
                         const ReportTextOptions& options) {
  std::string out = format("{}\n\n", headline(report, rejected));
  if (report.all.records == 0) return out + "  Nothing can be said of no records.\n";
  out += summary_text(report.all);
  out += chart_text(report.all, options);
  if (const std::string course = disorder::series_chart(report.series, options); !course.empty()) {
    out += "\n" + course;
  }
  out += partitions_text(report, options.width);
  if (report.all.with_arrival == 0) {
    out +=
        "\n" +
        wrapped(
            "Without arrival times only disorder is known: how far records come behind newer ones, not how "
            "late they are.",
            options.width, "  ");
  }
  if (report.repeats && report.repeats->records > 0)
    out += format("  {} left out as copies of earlier ones\n", records_word(report.repeats->records));
  if (report.producers) out += "\n" + producers_text(*report.producers, options.width) + "\n";
  out += findings_text(report.findings, options.width);
  return out;
}

std::string budget_text(const BudgetReport& report, const RejectedCounts& rejected,
                        const ReportTextOptions& options) {
  std::string out = format("Budget from {} (rule: {})\n\n", headline(report.profile, rejected),
                           to_string(report.options.rule));
  out += wrapped(reason_for_delay(report), options.width,
                 format("  {:<17} {:>9}  ", "watermark delay", short_span(report.watermark_delay_us)));
  out += wrapped(
      format("up to the {} % tail ({})", report.options.tail.percent_text(), to_string(report.tail_verdict)),
      options.width, format("  {:<17} {:>9}  ", "allowed lateness", short_span(report.allowed_lateness_us)));
  out += '\n';
  out += predicted_text(report, options.width);
  out += "\nTo use it\n";
  out += format("  source:  WITH (..., watermark_delay = '{}')\n", span_literal(report.watermark_delay_us));
  out += format("  view:    WITH (late = 'correct', allowed_lateness = '{}')\n",
                span_literal(report.allowed_lateness_us));
  out += budget_partitions_text(report, options.width);
  if (!report.notes.empty()) out += "\nNotes\n";
  for (const std::string& note : report.notes) out += wrapped(note, options.width, "  - ");
  out += findings_text(report.profile.findings, options.width);
  return out;
}

std::string comparison_text(const ProfileComparison& comparison, std::string_view against,
                            const ReportTextOptions& options) {
  std::string out = format("compared with {}: {}\n\n", printable(against), to_string(comparison.verdict));
  Table table;
  table.add({"", "", "before", "now"});
  for (const QuantityComparison& of : comparison.quantities) {
    for (const QuantityComparison::Moved& moved : of.quantiles)
      table.add({of.quantity, moved.quantile, short_span(moved.before_us), short_span(moved.after_us)});
  }
  out += table.text(2);
  for (const QuantityComparison& of : comparison.quantities) {
    if (of.quantiles.empty()) continue;
    out += format("  {}: distance (KS) {:.3f}, by chance at most {:.3f}; stability index (PSI) {:.3f}\n",
                  of.quantity, of.ks, of.ks_limit, of.psi);
  }
  const auto listed = [&](std::string_view what, const std::vector<std::string>& names) {
    constexpr size_t kNamed = 8;
    if (names.empty()) return;
    std::string list;
    for (size_t i = 0; i < std::min(names.size(), kNamed); ++i)
      list += format("{}\"{}\"", i == 0 ? "" : ", ", printable(names[i]));
    if (names.size() > kNamed) list += format(" and {} more", names.size() - kNamed);
    out += wrapped(format("partitions {}: {}", what, list), options.width, "  ");
  };
  listed("that changed", comparison.partitions_changed);
  listed("that are new", comparison.partitions_new);
  listed("that are gone", comparison.partitions_gone);
  return out + "\n" + wrapped(comparison.text, options.width, "  ");
}

}  // namespace wrackline
