#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "data/time_text.h"
#include "disorder/findings.h"
#include "disorder/kernels.h"
#include "disorder/report_text.h"

namespace wrackline::disorder {
namespace {

constexpr int64_t kBurstRecordsMin = 8;
constexpr double kStoredShareMin = 0.005;
constexpr double kYearUs = 365.2425 * 86'400e6;
constexpr int64_t kYearsLookFrom = 90;  // delays of fewer years are no lost century

}  // namespace

void OrderSuspicion::close(PartitionId partition, Burst& burst) {
  // A store that is emptied: old records, oldest first, whose delays shrink as it runs dry.
  if (burst.records >= kBurstRecordsMin && burst.last_delay_us < burst.first_delay_us) {
    ++bursts_;
    stored_records_ += burst.records;
    stored_by_partition_[partition] += burst.records;
    longest_delay_us_ = std::max(longest_delay_us_, burst.first_delay_us);
    most_in_burst_ = std::max(most_in_burst_, burst.records);
  }
  burst.records = 0;
}

void OrderSuspicion::look(const PartitionRun& run) {
  if (open_.size() <= run.partition) open_.resize(run.partition + 1);
  Burst& burst = open_[run.partition];
  if (count_above(run.delay_us, late_us_) == 0) {
    close(run.partition, burst);
    return;
  }
  for (size_t i = 0; i < run.event_us.size(); ++i) {
    const bool stored = run.has_arrival[i] != 0 && run.delay_us[i] > late_us_ && late_us_ > 0;
    if (burst.records > 0 && (!stored || run.event_us[i] < burst.last_event_us)) close(run.partition, burst);
    if (!stored) continue;
    if (burst.records == 0) burst.first_delay_us = run.delay_us[i];
    ++burst.records;
    burst.last_event_us = run.event_us[i];
    burst.last_delay_us = run.delay_us[i];
  }
}

void OrderSuspicion::look_at_arrivals(const LogRows& rows) {
  // In order, as nearly always: two plain loops over the block find that out.
  const size_t count = rows.event_us.size();
  const bool plain = all_set(rows.has_arrival) && !any_far(rows.event_us) && !any_far(rows.delay_us) &&
                     count <= kLogBlockRows;
  if (plain && arrivals_ > 0 && arrivals_vary_) {
    std::array<int64_t, kLogBlockRows> arrival_us;
    for (size_t i = 0; i < count; ++i) arrival_us[i] = rows.event_us[i] + rows.delay_us[i];
    bool back = rows.event_us[0] + rows.delay_us[0] < max_arrival_us_;
    for (size_t i = 1; i < count; ++i) back |= arrival_us[i] < arrival_us[i - 1];
    if (!back) {
      arrivals_ += static_cast<int64_t>(count);
      max_arrival_us_ = arrival_us[count - 1];
      return;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (rows.has_arrival[i] == 0) continue;
    const int64_t arrival_us = saturating_add(rows.event_us[i], rows.delay_us[i]);
    if (arrivals_++ == 0) first_arrival_us_ = arrival_us;
    arrivals_vary_ |= arrival_us != first_arrival_us_;
    if (arrival_us < max_arrival_us_) {
      ++backward_;
      backward_most_us_ = std::max(backward_most_us_, saturating_subtract(max_arrival_us_, arrival_us));
    } else {
      max_arrival_us_ = arrival_us;
    }
  }
}

void OrderSuspicion::look(const LogRows& rows) {
  if (rows.event_us.empty()) return;
  if (rows_ == 0) first_event_us_ = rows.event_us.front();
  rows_ += static_cast<int64_t>(rows.event_us.size());
  events_vary_ = events_vary_ || count_outside(rows.event_us, first_event_us_, 1) > 0;
  look_at_arrivals(rows);
  constexpr auto kFrom = static_cast<int64_t>(static_cast<double>(kYearsLookFrom) * kYearUs);
  if (count_above(rows.delay_us, kFrom) == 0) return;
  for (size_t i = 0; i < rows.event_us.size(); ++i) {
    if (rows.has_arrival[i] == 0 || rows.delay_us[i] <= kFrom) continue;
    const auto years = static_cast<int64_t>(std::lround(static_cast<double>(rows.delay_us[i]) / kYearUs));
    if (years != 100 && years != 1900) continue;
    auto& [records, example] = lost_years_[years];
    if (records++ == 0) example = {rows.event_us[i], saturating_add(rows.event_us[i], rows.delay_us[i])};
  }
}

void OrderSuspicion::report(const std::vector<std::string>& names, const ProfileReport& report,
                            std::vector<Finding>& findings) const {
  OrderSuspicion done = *this;
  for (PartitionId id = 0; id < done.open_.size(); ++id) done.close(id, done.open_[id]);
  const auto found = [&](Finding::Kind kind, int64_t records, int64_t value_us, std::string text) {
    findings.push_back({kind, {}, records, value_us, {}, std::move(text)});
  };
  for (const auto& [years, counted] : done.lost_years_) {
    const auto& [records, example] = counted;
    found(Finding::Kind::kLostCentury, records, saturating_subtract(example.arrival_us, example.event_us),
          format("{} stamped {} years too early: {} arrived {}; a year without its century.",
                 records_text(records) + (records == 1 ? " is" : " are"), years,
                 timestamp_text(example.event_us), timestamp_text(example.arrival_us)));
  }
  const double share =
      arrivals_ == 0 ? 0 : static_cast<double>(done.stored_records_) / static_cast<double>(arrivals_);
  if (share >= kStoredShareMin) {
    const auto most = std::ranges::max_element(done.stored_by_partition_, {},
                                               [](const auto& entry) { return entry.second; });
    found(Finding::Kind::kOfflineMode, done.stored_records_, done.longest_delay_us_,
          format("{} ({:.1f} %) came in {} bursts of stored records, oldest first, up to {} old and {} at a "
                 "time: a sender that stores while it is offline. Most are of partition \"{}\". Where they "
                 "fall behind other records, allowed_lateness is for them, not watermark_delay.",
                 records_text(done.stored_records_), share * 100, with_thousands(done.bursts_),
                 span_words(done.longest_delay_us_), with_thousands(done.most_in_burst_),
                 printable(names[most->first])));
  }
  if (backward_ > 0) {
    found(
        Finding::Kind::kUnsortedArrival, backward_, backward_most_us_,
        format(
            "{} arrived before the record in front of {}, by up to {}: the input is not in order of arrival. "
            "Disorder is judged in the order of the input; --order-by arrival sorts it first.",
            records_text(backward_), backward_ == 1 ? "it" : "them", span_words(backward_most_us_)));
  }
  if (rows_ > 1 && !events_vary_) {
    found(Finding::Kind::kConstantTimes, rows_, 0,
          format("every record has the event time {}: nothing can be said about disorder.",
                 timestamp_text(first_event_us_)));
  } else if (arrivals_ > 1 && !arrivals_vary_) {
    found(Finding::Kind::kConstantTimes, arrivals_, 0,
          format("every record arrived at {}: these are ages at the time of a copy, not delays.",
                 timestamp_text(first_arrival_us_)));
  }
  if (report.all.records > 0 && report.all.with_arrival == 0) {
    found(Finding::Kind::kNoArrival, report.all.records, 0,
          "no record has an arrival time: disorder, and so a watermark delay, follow from the order of the "
          "records alone; delay, clocks and output latency cannot be known.");
  }
}

void add_stream_findings(const ProfileReport& report, std::vector<Finding>& findings) {
  constexpr size_t kChangesNamed = 6;
  const std::vector<RegimeChange>& changes = report.series.changes;
  for (const RegimeChange& change : changes) {
    if (changes.size() > kChangesNamed) break;
    Finding finding{.kind = Finding::Kind::kRegimeChange,
                    .partition = {},
                    .records = 0,
                    .value_us = change.at_us,
                    .unit = {},
                    .text = change.text};
    constexpr int64_t kHour = 3'600'000'000;
    const int64_t hours = floor_divide(saturating_add(change.shift_us, kHour / 2), kHour);
    const bool whole = hours != 0 && std::abs(hours) <= 14 &&
                       std::abs(saturating_subtract(change.shift_us, hours * kHour)) <= kHour / 15;
    if (change.floor && whole) {
      finding.text += format(", by {} hour{}: probably a change of clocks that a zoneless time does not show",
                             std::abs(hours), std::abs(hours) == 1 ? "" : "s");
    }
    finding.text += ". One budget over both sides fits neither.";
    findings.push_back(std::move(finding));
  }
  if (changes.size() > kChangesNamed) {
    findings.push_back(
        {Finding::Kind::kRegimeChange,
         {},
         0,
         changes.front().at_us,
         {},
         format("delays changed {} times between {} and {}: no one budget fits all of it.", changes.size(),
                timestamp_text(changes.front().at_us), timestamp_text(changes.back().at_us))});
  }
  int64_t misread = 0;
  for (const Finding& finding : findings) {
    if (finding.kind == Finding::Kind::kWrongUnit) misread += finding.records;
  }
  if (misread > 0 && misread < report.all.records && 100 * misread >= report.all.records) {
    findings.push_back(
        {Finding::Kind::kMixedUnits,
         {},
         misread,
         0,
         {},
         format("units are mixed in one column: {} of {} fit another unit than the rest, and no "
                "single --time-unit reads both.",
                with_thousands(misread), records_text(report.all.records))});
  }
}

}  // namespace wrackline::disorder
