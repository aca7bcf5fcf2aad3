// The part of Input that writes its steps down, and the part that follows such a log.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "runtime/arrival_order.h"
#include "runtime/input_split.h"

namespace wrackline::runtime {
namespace {

// Adds the records of [begin, end) of a batch to what a tick's entry says of its records.
void add_records(TickEntry& entry, const Batch& batch, size_t begin, size_t end) {
  const auto add = [&](int64_t offset, uint64_t bytes) {
    if (entry.records++ == 0) entry.first_offset = offset;
    entry.last_offset = offset;
    entry.bytes += bytes;
  };
  auto reject = batch.rejects.begin();
  while (reject != batch.rejects.end() && reject->before_row < begin) ++reject;
  for (size_t row = begin; row <= end; ++row) {
    const bool rejects_too = row < end || end == batch.rows;
    for (; rejects_too && reject != batch.rejects.end() && reject->before_row == row; ++reject)
      add(reject->offset, reject->raw_bytes);
    if (row < end) add(batch.offsets[row], batch.raw[row].size());
  }
}

}  // namespace

// ---- writing ----

Status Input::record(const Step& step, TickKind kind) {
  if (options_.log == nullptr) {
    events_.clear();
    carried_to_us_.reset();
    return {};
  }
  entry_.clear();
  entry_.kind = kind;
  entry_.source = options_.log_source;
  if (step.read_at != WallTime()) entry_.wall_us = step.read_at.micros();  // else no time has gone by
  for (; merged_ == nullptr && logged_splits_ < splits_.size(); ++logged_splits_)
    entry_.splits.push_back(splits_[logged_splits_]->reader->name());
  if (merged_ != nullptr && logged_splits_ == 0) {
    logged_splits_ = 1;
    entry_.splits.push_back(merged_->name());
  }
  const std::vector<std::string>& names = stage_.partition_names();
  silent_.resize(names.size(), true);
  for (; logged_partitions_ < names.size(); ++logged_partitions_)
    entry_.partitions.push_back({names[logged_partitions_], silent_[logged_partitions_]});
  const WatermarkTracker& tracker = stage_.tracker();
  if (logged_delay_us_ != tracker.delay().micros()) {
    entry_.delay_us = logged_delay_us_ = tracker.delay().micros();
  }
  entry_.events.swap(events_);
  entry_.carried_to_us = std::exchange(carried_to_us_, std::nullopt);
  if (kind == TickKind::kRecords) {
    while (splits_[entry_.split].get() != consumed_) ++entry_.split;
    entry_.file = step.batch->file;
    add_records(entry_, *step.batch, step.begin, step.end);
  }
  entry_.progress_us = tracker.progress().micros();
  entry_.watermark_us = tracker.watermark().micros();
  entry_.holder = tracker.holder();
  return options_.log->append(entry_);
}

// ---- following ----

Status Input::open_replay(std::vector<std::unique_ptr<SplitReader>> readers) {
  WRACKLINE_ASSIGN(const TickEntry* entry, options_.replay->peek());
  if (entry == nullptr || entry->kind != TickKind::kOpen || entry->source != options_.log_source) {
    return fail(
        ErrorCode::kData,
        format("the tick log does not open source \"{}\" here, so it is of another job", options_.name), {},
        "Replay a log with the job that wrote it; its text stands in the log.");
  }
  entry_ = *entry;
  options_.replay->pop();
  if (options_.in_arrival_order) {
    WRACKLINE_TRY(open_merged(std::move(readers), WallTime(entry_.wall_us)));
  } else {
    waiting_ = std::move(readers);
    WRACKLINE_TRY(take_splits(entry_));
  }
  WRACKLINE_TRY(apply(entry_));
  WRACKLINE_TRY(check_tick());
  return record_followed();
}

// The splits that the entry names, in its order; the names of those that were found but are not in the log
// yet wait.
Status Input::take_splits(const TickEntry& entry) {
  if (merged_ != nullptr) return {};
  bool looked = false;
  for (const std::string& name : entry.splits) {
    const auto named = [&](const auto& reader) { return reader->name() == name; };
    auto found = std::ranges::find_if(waiting_, named);
    if (found == waiting_.end() && !std::exchange(looked, true)) {
      WRACKLINE_ASSIGN(auto more, source_->discover());
      for (auto& reader : more) waiting_.push_back(std::move(reader));
      found = std::ranges::find_if(waiting_, named);
    }
    if (found == waiting_.end()) {
      Error error;
      error.code = ErrorCode::kNotFound;
      error.message =
          format("source \"{}\" has no file \"{}\", which the tick log reads", options_.name, name);
      error.detail = "What the log says is read again, so the input must be as it was.";
      error.hint = options_.goes_on_after_replay
                       ? "Put the file back and start again, or begin a new run without --resume."
                       : "Put the file back, or run the job anew without --replay.";
      error.where.source = options_.name;
      error.where.file = name;
      return fail(std::move(error));
    }
    auto reader = std::move(*found);
    waiting_.erase(found);
    auto split = std::make_unique<Split>();
    if (partition_is_split()) split->partition = stage_.partition(reader->name());
    split->reader = std::move(reader);
    splits_.push_back(std::move(split));
  }
  return {};
}

// What the entry changes before its records are read.
Status Input::apply(const TickEntry& entry) {
  WatermarkTracker& tracker = stage_.tracker();
  for (const TickEntry::Partition& partition : entry.partitions) {
    if (partition.silent) {
      stage_.silent_partition(partition.name);
    } else {
      stage_.partition(partition.name);
    }
  }
  if (entry.delay_us && *entry.delay_us != tracker.delay().micros())
    tracker.set_delay(Duration(*entry.delay_us));
  for (const TickEvent& event : entry.events) {
    const bool of_partition = event.what == TickEvent::What::kIdle || event.what == TickEvent::What::kEnded;
    if (of_partition && event.index >= tracker.partition_count())
      return differs("it has fewer partitions than the tick log", entry.file, entry.first_offset);
    const bool of_split = event.what == TickEvent::What::kPaused || event.what == TickEvent::What::kResumed;
    if (of_split && event.index < splits_.size())
      splits_[event.index]->paused = event.what == TickEvent::What::kPaused;
    if (event.what == TickEvent::What::kIdle) {
      tracker.set_idle(event.index);
      for (auto& split : splits_) {
        if (!partition_is_split() || merged_ != nullptr || split->partition != event.index) continue;
        split->silent_us = std::max(split->silent_us, options_.idle_timeout.micros());
        split->found_end_us = 0;
      }
    }
    if (event.what == TickEvent::What::kEnded) {
      tracker.set_ended(event.index);
      for (auto& split : splits_)
        split->ended |= partition_is_split() && !merged_ && split->partition == event.index;
    }
  }
  if (entry.carried_to_us) {
    if (!tracker.all_idle())
      return differs("a partition speaks that was idle", entry.file, entry.first_offset);
    tracker.carry_on(EventTime(*entry.carried_to_us));
  }
  // What follows the log is written into a log of its own as it stands there; nothing of it is new.
  logged_splits_ = splits_.size();
  logged_partitions_ = stage_.partition_names().size();
  logged_delay_us_ = tracker.delay().micros();
  return {};
}

Result<Input::Step> Input::next_replayed() {
  if (records_left_ > 0) return continue_tick();
  WRACKLINE_ASSIGN(const TickEntry* entry, options_.replay->peek());
  Step step;
  step.kind = StepKind::kEnded;
  if (entry == nullptr && !end_logged_ && options_.goes_on_after_replay) return go_on_after_replay();
  if (entry == nullptr || end_logged_) return step;
  if (entry->source != options_.log_source) {  // its turn comes when the other source has had its own
    step.kind = StepKind::kQuiet;
    return step;
  }
  entry_ = *entry;
  current_ = nullptr;  // restored; what the log says goes
  events_.clear();
  carried_to_us_.reset();
  WRACKLINE_TRY(take_splits(entry_));
  WRACKLINE_TRY(apply(entry_));
  step.read_at = WallTime(entry_.wall_us);
  if (entry_.kind == TickKind::kRecords) return begin_tick(entry_);
  options_.replay->pop();
  step.kind = entry_.kind == TickKind::kTime ? StepKind::kTime : StepKind::kEnded;
  end_logged_ = step.kind == StepKind::kEnded;
  WRACKLINE_TRY(check_tick());
  WRACKLINE_TRY(record_followed());
  return step;
}

// The log is used up, as after a crash: everything stands where the run that wrote it stood, but for what it
// had read ahead, which is read again.
Result<Input::Step> Input::go_on_after_replay() {
  options_.replay = nullptr;
  clock_begins_ = true;
  if (consumed_ != nullptr && consumed_->ended) consumed_ = nullptr;
  for (auto& split : splits_) split->has_batch = split.get() == consumed_;
  WRACKLINE_TRY(find_ended_splits());
  if (bounded_ && consumed_ != nullptr) {
    const int64_t others_us = slowest_us(consumed_);
    const bool another_is_due = others_us != kMicrosMax &&
                                consumed_->event_us > saturating_add(others_us, options_.alignment.micros());
    if (!another_is_due) current_ = consumed_;
  }
  if (bounded_) {  // what appeared since the run began is not part of it
    for (const auto& reader : waiting_) {
      notices_.push_back(
          format("source \"{}\": file \"{}\" appeared after the run began and is not part of it",
                 options_.name, reader->name()));
    }
    waiting_.clear();
  }
  add_splits(std::exchange(waiting_, {}));
  return next();
}

// Where a column names the partitions the log does not say which splits have ended. That of the last step is
// asked anyway.
Status Input::find_ended_splits() {
  if (!bounded_ || partition_is_split() || merged_ != nullptr) return {};
  for (auto& split : splits_) {
    if (split->ended || split.get() == consumed_) continue;
    WRACKLINE_TRY(refill(*split));
    if (split->has_records()) continue;
    split->has_batch = false;
    split->ended = split->state == ReadState::kEnded;
  }
  return {};
}

// Into the log of another run; a run that goes on in its own log has the entry there.
Status Input::record_followed() {
  if (options_.log == nullptr || options_.goes_on_after_replay) return {};
  return options_.log->append(entry_);
}

Result<Input::Step> Input::begin_tick(const TickEntry& entry) {
  if (entry.split >= splits_.size())
    return differs("it has fewer files than the tick log", entry.file, entry.first_offset);
  records_left_ = entry.records;
  seen_.clear();
  return continue_tick();
}

// Reads on until the tick's records are there. Readers give at most as many records as they are asked for, so
// a tick ends where it ended, and what has been read before is exactly what the log has before.
Result<Input::Step> Input::continue_tick() {
  Split& split = *splits_[entry_.split];
  const size_t rows = static_cast<size_t>(std::min<uint64_t>(records_left_, options_.rows_max));
  WRACKLINE_TRY(refill(split, rows, WallTime(entry_.wall_us)));
  if (!split.has_records()) {
    const int64_t at = seen_.records > 0 ? seen_.last_offset + 1 : entry_.first_offset;
    return differs("it ends there, but the tick log reads on", entry_.file, at);
  }
  const uint64_t before = seen_.records;
  add_records(seen_, split.batch, 0, split.batch.rows);
  seen_.file = split.batch.file;
  const uint64_t got = seen_.records - before;
  WRACKLINE_CHECK(got <= records_left_, "a reader gave more records than it was asked for");
  records_left_ -= got;
  Step step = consume(split, split.batch.rows);
  step.fresh = true;
  step.more = records_left_ > 0;
  if (!step.more) {
    options_.replay->pop();  // not before: the tick is to end before another source has its turn
    WRACKLINE_TRY(check_tick());
    WRACKLINE_TRY(record_followed());
  }
  return step;
}

// Whether the step came to what the log says. Of the records it compares place, size and effect on the
// watermark.
Status Input::check_tick() const {
  const WatermarkTracker& tracker = stage_.tracker();
  if (entry_.kind == TickKind::kRecords) {
    if (seen_.file != entry_.file)
      return differs(format("the tick log reads \"{}\" here", entry_.file), seen_.file, seen_.first_offset);
    if (seen_.first_offset != entry_.first_offset || seen_.last_offset != entry_.last_offset)
      return differs(format("the tick log has the records {} to {} here, the file {} to {}",
                            entry_.first_offset, entry_.last_offset, seen_.first_offset, seen_.last_offset),
                     entry_.file, entry_.first_offset);
    if (seen_.bytes != entry_.bytes)
      return differs(format("the {} records from there have {} bytes, not {} as in the tick log",
                            entry_.records, seen_.bytes, entry_.bytes),
                     entry_.file, entry_.first_offset);
  }
  if (tracker.progress().micros() == entry_.progress_us &&
      tracker.watermark().micros() == entry_.watermark_us)
    return {};
  if (entry_.kind != TickKind::kRecords && entry_.kind != TickKind::kTime) return {};
  return differs("its times moved the watermark elsewhere than in the tick log", entry_.file,
                 entry_.first_offset);
}

std::unexpected<Error> Input::differs(std::string what, const std::string& file, int64_t offset) const {
  Error error;
  error.code = ErrorCode::kData;
  error.message =
      format("the input of source \"{}\" is not what the tick log was written from", options_.name);
  error.detail = format("Tick {}: file \"{}\", offset {}: {}.", entry_.tick, file, offset, what);
  error.hint =
      options_.goes_on_after_replay
          ? "A run that goes on needs the files and the source's options as they were; begin a new one "
            "without --resume."
          : "A replay needs the files and the source's options as they were; run the job anew without "
            "--replay.";
  error.where.source = options_.name;
  error.where.file = file;
  error.where.offset = offset;
  return fail(std::move(error));
}

}  // namespace wrackline::runtime
