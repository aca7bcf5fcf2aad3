#include "disorder/findings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "data/time_text.h"
#include "disorder/kernels.h"
#include "disorder/report_text.h"

namespace wrackline::disorder {
namespace {

constexpr int64_t kPlausibleFirst = 946'684'800'000'000;  // 2000-01-01
constexpr int64_t kPlausibleEnd = 4'102'444'800'000'000;  // 2100-01-01
constexpr int64_t kYear = int64_t{366} * 86'400'000'000;

bool plausible(int64_t micros) {
  return micros >= kPlausibleFirst && micros < kPlausibleEnd;
}

struct Correction {
  int64_t factor;
  bool divide;  // the value as read is too great
};
constexpr std::array<Correction, 4> kCorrections = {
    {{1'000, true}, {1'000'000, true}, {1'000, false}, {1'000'000, false}}};

std::optional<int64_t> corrected(int64_t event_us, const Correction& correction) {
  if (correction.divide) return event_us / correction.factor;
  int64_t product = 0;
  if (__builtin_mul_overflow(event_us, correction.factor, &product)) return std::nullopt;
  return product;
}

std::string are_or_is(int64_t records) {
  return records == 1 ? "is" : "are";
}

// The number in the declared unit that was read as `event_us`, and the unit that it looks like.
std::optional<TimeUnit> unit_that_fits(std::string_view declared, int64_t event_us) {
  const auto unit = parse_time_unit(declared);
  if (!unit) return std::nullopt;
  int64_t raw = event_us;
  switch (*unit) {
    case TimeUnit::kSeconds:
      raw = floor_divide(event_us, 1'000'000);
      break;
    case TimeUnit::kMillis:
      raw = floor_divide(event_us, 1'000);
      break;
    case TimeUnit::kMicros:
      break;
    case TimeUnit::kNanos:
      if (__builtin_mul_overflow(event_us, int64_t{1'000}, &raw)) return std::nullopt;
      break;
  }
  const auto fits = plausible_unit(raw);
  return fits == unit ? std::nullopt : fits;
}

std::string_view unit_word(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return "seconds";
    case TimeUnit::kMillis:
      return "milliseconds";
    case TimeUnit::kMicros:
      return "microseconds";
    case TimeUnit::kNanos:
      return "nanoseconds";
  }
  return "microseconds";
}

}  // namespace

std::string records_text(int64_t records) {
  return records == 1 ? std::string("1 record") : with_thousands(records) + " records";
}

// Beyond some years, days mean nothing to a reader.
std::string span_words(int64_t micros) {
  return micros == kMicrosMin || std::abs(micros) > 2 * kYear ? short_span(micros) : span_text(micros);
}

void UnitSuspicion::look(std::span<const int64_t> event_us, std::span<const int64_t> arrival_us,
                         std::span<const uint8_t> has_arrival) {
  constexpr auto kSpan = static_cast<uint64_t>(kPlausibleEnd - kPlausibleFirst);
  if (count_outside(event_us, kPlausibleFirst, kSpan) == 0) return;
  for (size_t i = 0; i < event_us.size(); ++i) {
    if (plausible(event_us[i])) continue;
    const bool has = !arrival_us.empty() && (has_arrival.empty() || has_arrival[i] != 0);
    suspect(event_us[i], has ? std::optional(arrival_us[i]) : std::nullopt);
  }
}

void UnitSuspicion::suspect(int64_t event_us, std::optional<int64_t> arrival_us) {
  for (size_t i = 0; i < kCorrections.size(); ++i) {
    const auto fixed = corrected(event_us, kCorrections[i]);
    if (!fixed || !plausible(*fixed)) continue;
    // With an arrival time the corrected time must also be near it.
    if (arrival_us && (!plausible(*arrival_us) || std::abs(*fixed - *arrival_us) > kYear)) continue;
    Suspect& suspect = suspects_[i];
    if (suspect.records == 0) {
      suspect.example = {event_us, arrival_us.value_or(0)};
      suspect.has_arrival = arrival_us.has_value();
    }
    ++suspect.records;
    return;
  }
}

void UnitSuspicion::report(std::string_view declared_unit, std::vector<Finding>& findings) const {
  for (size_t i = 0; i < kCorrections.size(); ++i) {
    const Suspect& suspect = suspects_[i];
    if (suspect.records == 0) continue;
    Finding finding{.kind = Finding::Kind::kWrongUnit,
                    .partition = {},
                    .records = suspect.records,
                    .value_us = 0,
                    .unit = {},
                    .text = {}};
    const int64_t fixed = corrected(suspect.example.event_us, kCorrections[i]).value_or(0);
    const auto fits = unit_that_fits(declared_unit, suspect.example.event_us);
    finding.text = format("{} {} stamped ", records_text(suspect.records), are_or_is(suspect.records));
    if (fits) {
      finding.unit = to_string(*fits);
      finding.text +=
          format("in {} but read as {}", unit_word(*fits), unit_word(*parse_time_unit(declared_unit)));
    } else {
      finding.text += format("{} times too {}", with_thousands(kCorrections[i].factor),
                             kCorrections[i].divide ? "great" : "small");
    }
    finding.text +=
        format(": {} would be {}.", timestamp_text(suspect.example.event_us), timestamp_text(fixed));
    findings.push_back(std::move(finding));
  }
}

void UnitSuspicion::save(SnapshotWriter& out) const {
  out.section("unit");
  for (const Suspect& suspect : suspects_) {
    out.i64(suspect.records);
    out.i64(suspect.example.event_us);
    out.i64(suspect.example.arrival_us);
    out.u8(suspect.has_arrival ? 1 : 0);
  }
}

void UnitSuspicion::restore(SnapshotReader& in) {
  in.section("unit");
  for (size_t i = 0; i < suspects_.size(); ++i) {
    Suspect& suspect = suspects_[i];
    suspect.records = in.i64();
    suspect.example = {in.i64(), in.i64()};
    suspect.has_arrival = in.u8() != 0;
    if (suspect.records < 0) in.refuse("a count of records is negative");
    const auto fixed = corrected(suspect.example.event_us, kCorrections[i]);
    if (suspect.records != 0 && !(fixed && plausible(*fixed))) in.refuse("no unit would fit the example");
  }
}

// Most streams are never half an hour late or early.
bool ZoneSuspicion::may_have_any(std::span<const int64_t> delay_us) {
  const Extremes found = extremes(delay_us);
  constexpr auto kFrom = static_cast<int64_t>(kLookFrom);
  return found.max >= kFrom || found.min <= -kFrom;
}

void ZoneSuspicion::count(PartitionId partition, int64_t delay_us) {
  constexpr auto kHourSigned = static_cast<int64_t>(kHour);
  constexpr int64_t kNear = int64_t{120} * 1'000'000;
  const int64_t hours = floor_divide(delay_us + kHourSigned / 2, kHourSigned);
  if (hours == 0 || std::abs(hours) > kHoursMax) return;
  Hour& hour = hours_[static_cast<size_t>(hours + kHoursMax)];
  if (std::abs(delay_us - hours * kHourSigned) > kNear) {
    ++hour.around;
    return;
  }
  ++hour.near;
  ++hour.near_by_partition[partition];
}

void ZoneSuspicion::report(int64_t resolution_us, const std::vector<std::string>& names,
                           std::vector<Finding>& findings) const {
  if (resolution_us >= static_cast<int64_t>(kHour)) return;  // every delay is a whole hour
  constexpr double kNearShare = 4.0 / 56.0;  // minutes within two of the hour, against the rest of it
  constexpr int64_t kRecordsMin = 5;
  for (int offset = -kHoursMax; offset <= kHoursMax; ++offset) {
    const Hour& hour = hours_[static_cast<size_t>(offset + kHoursMax)];
    const double expected = static_cast<double>(hour.around) * kNearShare;
    const auto near = static_cast<double>(hour.near);
    if (hour.near < kRecordsMin || near < 3 * expected || near < expected + 5 * std::sqrt(expected + 1))
      continue;
    const auto most =
        std::ranges::max_element(hour.near_by_partition, {}, [](const auto& entry) { return entry.second; });
    Finding finding{.kind = Finding::Kind::kTimeZone,
                    .partition = {},
                    .records = hour.near,
                    .value_us = offset * static_cast<int64_t>(kHour),
                    .unit = {},
                    .text = {}};
    const std::string hours = format("{} hour{}", std::abs(offset), std::abs(offset) == 1 ? "" : "s");
    finding.text = format(
        "{} {} within 2 minutes of {} {} arrival, where about {:.0f} would lie by chance: "
        "probably a time-zone fault.",
        records_text(hour.near), are_or_is(hour.near), hours, offset < 0 ? "after" : "before", expected);
    if (names.size() > 1) {
      finding.text += format(" {} partition{}, most in \"{}\" ({}).", hour.near_by_partition.size(),
                             hour.near_by_partition.size() == 1 ? "" : "s", printable(names[most->first]),
                             with_thousands(most->second));
    }
    findings.push_back(std::move(finding));
  }
}

namespace {

constexpr size_t kPartitionsNamed = 5;  // findings of one kind before the rest is summed up

std::string partition_words(const DelaySummary& summary) {
  return summary.partition.empty() ? std::string()
                                   : format("partition \"{}\": ", printable(summary.partition));
}

void add_clocks_ahead(const ProfileReport& report, std::vector<Finding>& findings) {
  std::vector<const DelaySummary*> ahead;
  for (const DelaySummary& summary : report.partitions) {
    // Beyond some years it is no clock that is ahead but a broken number; the findings on units and future
    // name those.
    if (summary.clock_ahead_us.value_or(0) > 0 && *summary.clock_ahead_us < 10 * kYear)
      ahead.push_back(&summary);
  }
  std::ranges::stable_sort(ahead, std::greater<>(), [](const DelaySummary* s) { return *s->clock_ahead_us; });
  int64_t unnamed = 0;
  for (size_t i = 0; i < ahead.size(); ++i) {
    const DelaySummary& summary = *ahead[i];
    if (i >= kPartitionsNamed) {
      unnamed += *summary.negative;
      continue;
    }
    findings.push_back({Finding::Kind::kClockAhead,
                        summary.partition,
                        *summary.negative,
                        *summary.clock_ahead_us,
                        {},
                        format("{}a clock is ahead by at least {}: {} arrived before {} happened.",
                               partition_words(summary), span_words(*summary.clock_ahead_us),
                               records_text(*summary.negative), *summary.negative == 1 ? "it" : "they")});
  }
  if (unnamed > 0) {
    findings.push_back(
        {Finding::Kind::kClockAhead,
         {},
         unnamed,
         *ahead[kPartitionsNamed]->clock_ahead_us,
         {},
         format("{} more partitions have clocks that are ahead, by at most {}.",
                ahead.size() - kPartitionsNamed, span_words(*ahead[kPartitionsNamed]->clock_ahead_us))});
  }
}

std::string times_text(const TimedRecord& times) {
  return format("record time {}, arrival {}", timestamp_text(times.event_us),
                timestamp_text(times.arrival_us));
}

const DelaySummary& furthest(const ProfileReport& report, bool behind) {
  const DelaySummary* best = &report.all;
  for (const DelaySummary& summary : report.partitions) {
    if (!summary.delay_us) continue;
    const bool same = behind ? summary.delay_us->max == report.all.delay_us->max
                             : summary.delay_us->min == report.all.delay_us->min;
    if (same) return summary;
  }
  return *best;
}

}  // namespace

void add_clock_findings(const ProfileOptions& options, const ProfileReport& report, int64_t far_behind,
                        std::vector<Finding>& findings) {
  const DelaySummary& all = report.all;
  if (!all.delay_us) return;
  add_clocks_ahead(report, findings);
  if (*all.future > 0) {
    const DelaySummary& worst = furthest(report, false);
    findings.push_back({Finding::Kind::kFuture,
                        worst.partition,
                        *all.future,
                        *all.negative_most_us,
                        {},
                        format("{} {} further ahead than the limit of {} (max_future_skew) and {} not move "
                               "the watermark; the furthest, "
                               "by {}: {}, partition \"{}\".",
                               records_text(*all.future), are_or_is(*all.future),
                               span_words(options.max_future_skew.micros()), *all.future == 1 ? "does" : "do",
                               span_words(*all.negative_most_us), times_text(*all.furthest_ahead),
                               printable(worst.partition))});
  }
  // When most records are that old it is how the stream works, not a finding.
  if (far_behind > 0 && far_behind <= all.with_arrival / 2) {
    const DelaySummary& worst = furthest(report, true);
    findings.push_back(
        {Finding::Kind::kFarBehind,
         worst.partition,
         far_behind,
         all.delay_us->max,
         {},
         format("{} arrived later than the limit of {} (warn_behind); the furthest, by {}: {}, partition "
                "\"{}\".",
                records_text(far_behind), span_words(options.warn_behind.micros()),
                span_words(all.delay_us->max), times_text(*all.furthest_behind),
                printable(worst.partition))});
  }
}

}  // namespace wrackline::disorder
