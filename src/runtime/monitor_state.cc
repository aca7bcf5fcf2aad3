// A monitor over a restart. Everything that a later interval, alarm or figure can depend on is saved: the
// interval at hand, the evidence of each series, the intervals of the last hour and day, what the automatic
// delay waits for, and what has been found but not taken yet.
//
// Not saved: the plan (it comes from the job), the slices that were looked up last.
#include <string>
#include <utility>

#include "base/text.h"
#include "disorder/saved_histogram.h"
#include "runtime/monitor.h"
#include "runtime/monitor_slot.h"

namespace wrackline::runtime {
namespace {

void save_optional(const std::optional<int64_t>& number, SnapshotWriter& out) {
  out.u8(number ? 1 : 0);
  out.i64(number.value_or(0));
}

std::optional<int64_t> restore_optional(SnapshotReader& in) {
  const bool has_value = in.u8() != 0;
  const int64_t value = in.i64();
  return has_value ? std::optional(value) : std::nullopt;
}

void save_quantiles(const MonitorQuantiles& quantiles, SnapshotWriter& out) {
  out.u64(quantiles.count);
  for (const int64_t upper_us : quantiles.upper_us) out.i64(upper_us);
}

MonitorQuantiles restore_quantiles(SnapshotReader& in) {
  MonitorQuantiles quantiles;
  quantiles.count = in.u64();
  for (int64_t& upper_us : quantiles.upper_us) upper_us = in.i64();
  return quantiles;
}

// Of so many records so many were late.
void expect_counts(SnapshotReader& in, int64_t records, int64_t late) {
  if (records < 0 || late < 0 || late > records) in.refuse("more records are late than there are");
}

void save_alarm(const MonitorAlarm& alarm, SnapshotWriter& out) {
  out.u8(static_cast<uint8_t>(alarm.kind));
  out.text(alarm.partition);
  for (const int64_t number :
       {alarm.interval_start_us, alarm.interval_end_us, alarm.records, alarm.late, alarm.delay_us})
    out.i64(number);
  save_optional(alarm.measured_us, out);
  for (const double number : {alarm.target_late, alarm.evidence, alarm.threshold}) out.f64(number);
}

MonitorAlarm restore_alarm(SnapshotReader& in) {
  MonitorAlarm alarm;
  const uint8_t kind = in.u8();
  if (kind > static_cast<uint8_t>(MonitorAlarm::Kind::kOverProvisioned)) {
    in.refuse("there is no such kind of alarm");
  } else {
    alarm.kind = static_cast<MonitorAlarm::Kind>(kind);
  }
  alarm.partition = in.text();
  for (int64_t* number :
       {&alarm.interval_start_us, &alarm.interval_end_us, &alarm.records, &alarm.late, &alarm.delay_us})
    *number = in.i64();
  alarm.measured_us = restore_optional(in);
  for (double* number : {&alarm.target_late, &alarm.evidence, &alarm.threshold}) *number = in.f64();
  return alarm;
}

}  // namespace

void Monitor::save(SnapshotWriter& out) const {
  out.section("moni");
  save_interval(out);
  save_slots(out);
  save_report(out);
  // These change once an interval.
  const auto revision = static_cast<uint64_t>(report_.intervals);
  out.piece(format("monitor of {}", source_), revision, [&](SnapshotWriter& kept) {
    for (const disorder::SlidingHistogram* ring :
         {&disorder_hour_, &disorder_day_, &delay_hour_, &delay_day_})
      ring->save(kept);
    disorder::save(disorder_sum_, kept);
    disorder::save(delay_sum_, kept);
    kept.u64(summed_);
  });
}

Status Monitor::restore(SnapshotReader& in) {
  in.section("moni");
  restore_interval(in);
  restore_slots(in);
  restore_report(in);
  in.piece(format("monitor of {}", source_), [&](SnapshotReader& kept) {
    for (disorder::SlidingHistogram* ring : {&disorder_hour_, &disorder_day_, &delay_hour_, &delay_day_})
      ring->restore(kept);
    disorder_sum_ = disorder::restore_histogram(kept);
    delay_sum_ = disorder::restore_histogram(kept);
    summed_ = kept.u64();
  });
  return in.status();
}

void Monitor::save_interval(SnapshotWriter& out) const {
  out.section("intv");
  for (const int64_t number :
       {start_us_, end_us_, newest_us_, records_, late_, delay_us_, block_begin_.records, block_begin_.late,
        block_start_us_, block_end_us_, gap_records_})
    out.i64(number);
  save_optional(gap_from_us_, out);
  out.u64(blocks_.size());
  for (const Block& block : blocks_) {
    out.i64(block.records);
    out.i64(block.late);
  }
  out.u64(effects_seen_);
  for (const double effect : effects_) out.f64(effect);
  follower_.save(out);
}

void Monitor::restore_interval(SnapshotReader& in) {
  in.section("intv");
  for (int64_t* number :
       {&start_us_, &end_us_, &newest_us_, &records_, &late_, &delay_us_, &block_begin_.records,
        &block_begin_.late, &block_start_us_, &block_end_us_, &gap_records_})
    *number = in.i64();
  expect_counts(in, records_, late_);
  expect_counts(in, block_begin_.records, block_begin_.late);
  gap_from_us_ = restore_optional(in);
  blocks_.assign(in.count(sizeof(Block)), {});
  for (Block& block : blocks_) {
    block.records = in.i64();
    block.late = in.i64();
    expect_counts(in, block.records, block.late);
  }
  effects_seen_ = in.u64();
  for (double& effect : effects_) effect = in.f64();
  follower_.restore(in);
}

void Monitor::save_slots(SnapshotWriter& out) const {
  out.section("slot");
  out.u64(active_slots_);
  all_->watch.save(out);
  for (const auto& slot : slots_) {
    out.u8(slot ? 1 : 0);
    if (!slot) continue;
    // With those that wait, which a restored one has counted.
    Slot counted = *slot;
    counted.count_waiting();
    counted.watch.save(out);
    out.i64(counted.records);
    out.i64(counted.late);
    disorder::save(counted.disorder, out);
    disorder::save(counted.delay, out);
  }
}

void Monitor::restore_slots(SnapshotReader& in) {
  in.section("slot");
  active_slots_ = in.u64();
  if (active_slots_ < 1 || active_slots_ > slots_.size()) in.refuse("there are not so many partitions");
  all_ = std::make_unique<Slot>(plan_.options);
  all_->watch.restore(in);
  for (auto& slot : slots_) {
    slot.reset();
    if (in.u8() == 0) continue;
    slot = std::make_unique<Slot>(plan_.options);
    slot->watch.restore(in);
    slot->records = in.i64();
    slot->late = in.i64();
    slot->disorder = disorder::restore_histogram(in);
    slot->delay = disorder::restore_histogram(in);
    expect_counts(in, slot->records, slot->late);
  }
}

void Monitor::save_report(SnapshotWriter& out) const {
  wrackline::runtime::save(report_, out);
  out.u64(alarms_.size());
  for (const MonitorAlarm& alarm : alarms_) save_alarm(alarm, out);
  out.u8(change_ ? 1 : 0);
  if (!change_) return;
  out.i64(change_->from_us);
  out.i64(change_->to_us);
  out.text(change_->reason);
}

void Monitor::restore_report(SnapshotReader& in) {
  MonitorReport report = restore_monitor_report(in);
  report.source = source_;
  report.automatic = plan_.follow.has_value();
  report.target_late = plan_.options.target_late;
  report_ = std::move(report);
  constexpr size_t kAlarmBytes = 1 + 8 + 5 * 8 + 9 + 3 * 8;
  alarms_.assign(in.count(kAlarmBytes), {});
  for (MonitorAlarm& alarm : alarms_) {
    alarm = restore_alarm(in);
    alarm.source = source_;
  }
  change_.reset();
  if (in.u8() == 0) return;
  DelayChange change;
  change.from_us = in.i64();
  change.to_us = in.i64();
  change.reason = in.text();
  change_ = std::move(change);
}

void save(const MonitorReport& report, SnapshotWriter& out) {
  out.section("rprt");
  out.text(report.source);
  out.u8(report.automatic ? 1 : 0);
  for (const int64_t number : {report.delay_us, report.intervals, report.interval_start_us,
                               report.interval_end_us, report.alarms, report.advices, report.delay_changes})
    out.i64(number);
  out.f64(report.target_late);
  out.f64(report.design_effect);
  save_optional(report.measured_us, out);
  save_optional(report.split_us, out);
  out.u64(report.series.size());
  for (const MonitorReport::Series& one : report.series) {
    out.text(one.partition);
    out.u8(static_cast<uint8_t>(one.status));
    out.i64(one.records);
    out.i64(one.late);
    out.u8(one.alarmed ? 1 : 0);
  }
  save_quantiles(report.disorder, out);
  out.u8(report.delay ? 1 : 0);
  if (report.delay) save_quantiles(*report.delay, out);
  out.u64(report.completeness.size());
  for (const MonitorReport::Completeness& one : report.completeness) {
    out.i64(one.window.start.micros());
    out.i64(one.window.end.micros());
    out.f64(one.share);
  }
}

MonitorReport restore_monitor_report(SnapshotReader& in) {
  MonitorReport report;
  in.section("rprt");
  report.source = in.text();
  report.automatic = in.u8() != 0;
  for (int64_t* number : {&report.delay_us, &report.intervals, &report.interval_start_us,
                          &report.interval_end_us, &report.alarms, &report.advices, &report.delay_changes})
    *number = in.i64();
  report.target_late = in.f64();
  report.design_effect = in.f64();
  if (!(report.design_effect >= 1)) in.refuse("a design effect is at least 1");
  report.measured_us = restore_optional(in);
  report.split_us = restore_optional(in);
  constexpr size_t kSeriesBytes = 8 + 1 + 8 + 8 + 1;
  report.series.assign(in.count(kSeriesBytes), {});
  for (MonitorReport::Series& one : report.series) {
    one.partition = in.text();
    const uint8_t status = in.u8();
    if (status > static_cast<uint8_t>(disorder::DriftStatus::kRed)) in.refuse("there is no such status");
    one.status = static_cast<disorder::DriftStatus>(status);
    one.records = in.i64();
    one.late = in.i64();
    one.alarmed = in.u8() != 0;
  }
  report.disorder = restore_quantiles(in);
  if (in.u8() != 0) report.delay = restore_quantiles(in);
  constexpr size_t kCompletenessBytes = 3 * 8;
  report.completeness.assign(in.count(kCompletenessBytes), {});
  for (MonitorReport::Completeness& one : report.completeness) {
    const int64_t start_us = in.i64();
    one.window = {EventTime(start_us), EventTime(in.i64())};
    one.share = in.f64();
    if (!(one.share >= 0 && one.share <= 1)) in.refuse("a share is from 0 to 1");
  }
  return report;
}

}  // namespace wrackline::runtime
