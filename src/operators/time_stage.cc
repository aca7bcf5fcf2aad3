#include "operators/time_stage.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "data/value.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {
namespace {

// A local time to the instant that it names.
int64_t to_instant(int64_t local_us, const TimeZone* zone) {
  return zone == nullptr ? local_us : zone->instant_of_local(local_us);
}

TimeRead in_range(int64_t micros) {
  return micros >= -kEventMicrosLimit && micros <= kEventMicrosLimit ? TimeRead::kOk : TimeRead::kOutOfRange;
}

TimeRead read_epoch(std::optional<int64_t> micros, int64_t& out) {
  if (!micros) return TimeRead::kOutOfRange;
  out = *micros;
  return in_range(out);
}

// One row of a time column, for every type that a time column can have.
TimeRead read_time(const Column& column, const TimeColumnOptions& options, size_t row, int64_t& out) {
  if (column.is_null(row)) return TimeRead::kMissing;
  switch (column.type().kind) {
    case TypeKind::kTimestamp:
      out = column.values<int64_t>()[row];
      if (in_range(out) != TimeRead::kOk) return TimeRead::kOutOfRange;
      if (!column.type().with_zone) out = to_instant(out, options.zone);
      return in_range(out);
    case TypeKind::kDate: {
      const int64_t days = column.values<int64_t>()[row];
      if (days > kEventMicrosLimit / 86400000000 || days < -kEventMicrosLimit / 86400000000)
        return TimeRead::kOutOfRange;
      out = to_instant(days * 86400000000, options.zone);
      return in_range(out);
    }
    case TypeKind::kInteger: {
      const int64_t value = column.values<int64_t>()[row];
      if (options.missing && value == *options.missing) return TimeRead::kMissing;
      return read_epoch(epoch_to_micros(value, options.unit.value_or(TimeUnit::kMicros)), out);
    }
    case TypeKind::kNumeric: {
      const Decimal& value = column.values<Decimal>()[row];
      if (options.missing && value.scale == 0 && value.unscaled == *options.missing)
        return TimeRead::kMissing;
      return read_epoch(epoch_to_micros(value, options.unit.value_or(TimeUnit::kMicros)), out);
    }
    default:
      break;
  }
  WRACKLINE_CHECK(false, "a time column of a type that the binder refuses");
  return TimeRead::kMissing;
}

// The quick way for the usual column: timestamps with a zone or whole microseconds, none missing.
bool read_plain(const Column& column, const TimeColumnOptions& options, size_t rows,
                std::vector<int64_t>& out) {
  if (column.has_nulls() || options.missing) return false;
  int64_t scale = 1;
  if (column.type().kind == TypeKind::kInteger) {
    switch (options.unit.value_or(TimeUnit::kMicros)) {
      case TimeUnit::kSeconds:
        scale = 1000000;
        break;
      case TimeUnit::kMillis:
        scale = 1000;
        break;
      case TimeUnit::kMicros:
        break;
      case TimeUnit::kNanos:
        return false;
    }
  } else if (column.type().kind != TypeKind::kTimestamp || !column.type().with_zone) {
    return false;
  }
  const std::span<const int64_t> values = column.values<int64_t>();
  const int64_t limit = kEventMicrosLimit / scale;
  bool fits = true;
  for (size_t i = 0; i < rows; ++i) {
    fits &= values[i] >= -limit && values[i] <= limit;
    out[i] = static_cast<int64_t>(static_cast<uint64_t>(values[i]) * static_cast<uint64_t>(scale));
  }
  return fits;
}

std::string value_detail(const Batch& batch, size_t column, size_t row) {
  std::string text;
  append_text(text, batch.columns[column], row);
  return printable(text, 40);
}

}  // namespace

TimeStage::TimeStage(TimeStageOptions options)
    : options_(std::move(options)),
      tracker_({.delay = options_.watermark_delay, .max_future_skew = options_.max_future_skew}) {
  if (!options_.dedup) return;
  const auto arrival = options_.arrival ? std::optional(options_.arrival->column) : std::nullopt;
  dedup_.emplace(*options_.dedup, arrival);
}

PartitionIndex TimeStage::partition(std::string_view name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const PartitionIndex index = tracker_.add_partition();
  names_.emplace_back(name);
  by_name_.emplace(names_.back(), index);
  return index;
}

PartitionIndex TimeStage::silent_partition(std::string_view name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const PartitionIndex index = partition(name);
  tracker_.set_ended(index);
  return index;
}

void TimeStage::read(const Batch& batch, PartitionIndex split, WallTime read_at, RecordTimes& times) {
  times.set_aside.clear();
  times.duplicates.clear();
  times.after_idle.clear();
  times.usable.assign(batch.rows, 1);
  times.has_event.assign(batch.rows, 1);
  times.reject_partition = split;
  times.progress_before.resize(batch.rows + 1);
  times.watermark_before.resize(batch.rows + 1);
  read_event_times(batch, times);
  times.arrival_known = options_.arrival.has_value();
  times.arrival_read.assign(batch.rows, options_.arrival.has_value());
  for (const auto [row, read] : read_arrival_times(batch, read_at, times.arrival_us)) {
    times.arrival_read[row] = 0;
    if (read == TimeRead::kMissing || times.usable[row] == 0) continue;
    times.usable[row] = 0;
    times.set_aside.push_back({row, Reason::kOutOfRange,
                               format("the arrival time {} is outside the range of times",
                                      value_detail(batch, options_.arrival->column, row))});
  }
  read_partitions(batch, split, times);
  suspect_units(times, 0, batch.rows, units_ahead_);
  guard_future(batch, times);
  std::ranges::stable_sort(times.set_aside, {}, &SetAside::row);
  if (dedup_) dedup_->read(batch, times);
}

// A timestamp with a zone has no unit that could be declared wrongly.
void TimeStage::suspect_units(const RecordTimes& times, size_t begin, size_t end,
                              disorder::UnitSuspicion& units) const {
  if (!options_.event.unit) return;
  const size_t rows = end - begin;
  const auto event_us = std::span<const int64_t>(times.event_us).subspan(begin, rows);
  if (!times.arrival_known) return units.look(event_us, {}, {});
  units.look(event_us, std::span<const int64_t>(times.arrival_us).subspan(begin, rows),
             std::span<const uint8_t>(times.arrival_read).subspan(begin, rows));
}

std::vector<Finding> TimeStage::unit_findings() const {
  std::vector<Finding> findings;
  if (!options_.event.unit) return findings;
  units_.report(to_string(*options_.event.unit), findings);
  if (findings.empty()) units_ahead_.report(to_string(*options_.event.unit), findings);
  return findings;
}

void TimeStage::arrival_times(const Batch& batch, WallTime read_at, std::vector<int64_t>& arrival_us) const {
  read_arrival_times(batch, read_at, arrival_us);
}

void TimeStage::read_event_times(const Batch& batch, RecordTimes& times) {
  times.event_us.resize(batch.rows);
  const Column& column = batch.columns[options_.event.column];
  if (read_plain(column, options_.event, batch.rows, times.event_us)) return;
  for (uint32_t row = 0; row < batch.rows; ++row) {
    const TimeRead read = read_time(column, options_.event, row, times.event_us[row]);
    if (read == TimeRead::kOk) continue;
    times.usable[row] = 0;
    times.has_event[row] = 0;
    times.event_us[row] = 0;
    if (read == TimeRead::kMissing) {
      times.set_aside.push_back({row, Reason::kNoEventTime, "the event time is null"});
    } else {
      times.set_aside.push_back({row, Reason::kOutOfRange,
                                 format("the event time {} is outside the range of times",
                                        value_detail(batch, options_.event.column, row))});
    }
  }
}

// Returns the rows without an arrival time of their own and why; they arrived when they were read.
std::vector<TimeStage::NoArrival> TimeStage::read_arrival_times(const Batch& batch, WallTime read_at,
                                                                std::vector<int64_t>& arrival_us) const {
  std::vector<NoArrival> without;
  arrival_us.resize(batch.rows);
  if (!options_.arrival) {
    std::fill(arrival_us.begin(), arrival_us.end(), read_at.micros());
    return without;
  }
  const Column& column = batch.columns[options_.arrival->column];
  if (read_plain(column, *options_.arrival, batch.rows, arrival_us)) return without;
  for (uint32_t row = 0; row < batch.rows; ++row) {
    const TimeRead read = read_time(column, *options_.arrival, row, arrival_us[row]);
    if (read == TimeRead::kOk) continue;
    arrival_us[row] = read_at.micros();
    without.push_back({row, read});
  }
  return without;
}

// A partition that is named here first has not spoken yet: it joins the minimum with its own record, not with
// the batch that happens to hold it, or fates would depend on where batches end.
void TimeStage::read_partitions(const Batch& batch, PartitionIndex split, RecordTimes& times) {
  if (!options_.partition_column) {
    times.partitions.assign(1, split);
    return;
  }
  const Column& column = batch.columns[*options_.partition_column];
  times.partitions.resize(batch.rows);
  if (column.type().kind == TypeKind::kInteger && !column.has_nulls()) {
    const std::span<const int64_t> values = column.values<int64_t>();
    int64_t last_value = 0;
    std::optional<PartitionIndex> last;
    for (size_t row = 0; row < batch.rows; ++row) {
      if (!last || values[row] != last_value) {
        last_value = values[row];
        auto known = by_integer_.find(last_value);
        if (known == by_integer_.end()) {
          known = by_integer_.emplace(last_value, silent_partition(format("{}", last_value))).first;
        }
        last = known->second;
      }
      times.partitions[row] = *last;
    }
    return;
  }
  for (size_t row = 0; row < batch.rows; ++row) {
    if (column.is_null(row)) {
      times.partitions[row] = silent_partition("(null)");
    } else if (column.type().kind == TypeKind::kText) {
      times.partitions[row] = silent_partition(column.values<std::string_view>()[row]);
    } else {
      scratch_.clear();
      append_text(scratch_, column, row);
      times.partitions[row] = silent_partition(scratch_);
    }
  }
}

void TimeStage::guard_future(const Batch& batch, RecordTimes& times) {
  const int64_t accept = options_.max_future_accept.micros();
  // The common case in one pass without branches; both times are within the range, so the difference cannot
  // overflow.
  int64_t furthest = kMicrosMin;
  for (size_t row = 0; row < batch.rows; ++row) {
    const int64_t ahead = times.event_us[row] - times.arrival_us[row];
    furthest = ahead > furthest ? ahead : furthest;
  }
  if (furthest <= accept) return;
  for (uint32_t row = 0; row < batch.rows; ++row) {
    const int64_t ahead = times.event_us[row] - times.arrival_us[row];
    if (ahead <= accept || times.usable[row] == 0) continue;
    times.usable[row] = 0;
    times.set_aside.push_back(
        {row, Reason::kFuture,
         format("the event time is {} ahead of arrival, more than max_future_accept ({})", span_text(ahead),
                span_text(accept))});
  }
}

void TimeStage::judge(RecordTimes& times, size_t begin, size_t end) {
  suspect_units(times, begin, end, units_);
  const size_t rows = end - begin;
  const std::span<int64_t> progress(times.progress_before.data() + begin, rows + 1);
  const std::span<const PartitionIndex> all(times.partitions);
  const auto partitions = all.size() == 1 || rows == 0 ? all : all.subspan(begin, rows);
  const auto event_us = std::span<const int64_t>(times.event_us).subspan(begin, rows);
  const auto arrival_us = std::span<const int64_t>(times.arrival_us).subspan(begin, rows);
  const auto usable = std::span<const uint8_t>(times.usable).subspan(begin, rows);
  if (rows == 0 || !tracker_.any_was_idle()) {
    tracker_.observe(partitions, event_us, arrival_us, usable, progress);
  } else {
    // Rare: record by record, to know which of them came back from idleness behind the watermark.
    times.after_idle.resize(times.event_us.size(), 0);
    for (size_t i = 0; i < rows; ++i) {
      const PartitionIndex partition = times.partition(begin + i);
      const bool behind = EventTime(event_us[i]) < tracker_.watermark();
      times.after_idle[begin + i] = behind && tracker_.was_idle(partition);
      tracker_.observe(std::span(&partition, 1), event_us.subspan(i, 1), arrival_us.subspan(i, 1),
                       usable.subspan(i, 1), progress.subspan(i, 2));
      if (!behind && usable[i] != 0) tracker_.caught_up_after_idle(partition);
    }
  }
  for (size_t i = begin; i <= end; ++i) {
    times.watermark_before[i] = tracker_.watermark_at(times.progress_before[i]);
  }
  if (dedup_) dedup_->judge(times, begin, end);
}

// ---- Snapshots

void TimeStage::save(SnapshotWriter& out) const {
  out.section("time");
  const WatermarkTracker::State state = tracker_.state();
  out.i64(state.delay.micros());
  out.i64(state.progress.micros());
  out.i64(state.floor.micros());
  out.u64(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    const WatermarkTracker::SavedPartition& partition = state.partitions[i];
    out.text(names_[i]);
    out.i64(partition.progress.micros());
    out.u8(static_cast<uint8_t>(partition.state));
    out.u8(partition.was_idle ? 1 : 0);
  }
  units_.save(out);
  out.u8(dedup_ ? 1 : 0);
  if (dedup_) dedup_->save(out);
}

Status TimeStage::restore(SnapshotReader& in) {
  in.section("time");
  WatermarkTracker::State state;
  state.delay = Duration(in.i64());
  state.progress = EventTime(in.i64());
  state.floor = EventTime(in.i64());
  if (state.delay < Duration()) in.refuse("the watermark delay is negative");
  restore_partitions(in, state);
  units_.restore(in);
  const bool has_dedup = in.u8() != 0;
  WRACKLINE_TRY(in.status());
  if (has_dedup != dedup_.has_value()) {
    return fail(ErrorCode::kInvalid, "cannot restore the source: dedup_key was added or taken away", {},
                "Declare the source as it was, or start without the checkpoint.");
  }
  tracker_.restore(state);
  return dedup_ ? dedup_->restore(in) : Status();
}

// by_integer_ needs no place in a snapshot: it is filled again through by_name_.
void TimeStage::restore_partitions(SnapshotReader& in, WatermarkTracker::State& state) {
  names_.clear();
  by_name_.clear();
  by_integer_.clear();
  constexpr size_t kBytesMin = 2 * sizeof(int64_t) + 2;
  for (size_t left = in.count(kBytesMin); left > 0 && !in.failed(); --left) {
    names_.emplace_back(in.text());
    const auto index = static_cast<PartitionIndex>(names_.size() - 1);
    if (!by_name_.emplace(names_.back(), index).second) in.refuse("two partitions have the same name");
    WatermarkTracker::SavedPartition partition;
    partition.progress = EventTime(in.i64());
    const uint8_t activity = in.u8();
    if (activity > static_cast<uint8_t>(PartitionState::kEnded)) in.refuse("no state of a partition");
    partition.state = static_cast<PartitionState>(activity);
    partition.was_idle = in.u8() != 0;
    state.partitions.push_back(partition);
  }
}

}  // namespace wrackline
