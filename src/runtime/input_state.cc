// The part of Input that is saved and comes back.
//
// A split's position is where its consumed records end. What was read ahead is not kept: `left` says how many
// records that was, and they are read again as the same batch, with the clock reading of the first time.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "runtime/arrival_order.h"
#include "runtime/input_split.h"

namespace wrackline::runtime {
namespace {

constexpr std::string_view kTag = "INPT";
constexpr std::string_view kSplitTag = "SPLT";
constexpr std::string_view kTimeTag = "QUIE";
constexpr std::string_view kLogTag = "LOGD";
constexpr uint64_t kNoSplit = ~uint64_t{0};

void save_optional(const std::optional<int64_t>& value, SnapshotWriter& out) {
  out.u8(value ? 1 : 0);
  out.i64(value.value_or(0));
}

std::optional<int64_t> load_optional(SnapshotReader& from) {
  const bool has = from.u8() != 0;
  const int64_t value = from.i64();
  return has ? std::optional(value) : std::nullopt;
}

}  // namespace

// ---- saving ----

Status Input::save(SnapshotWriter& out) const {
  WRACKLINE_CHECK(records_left_ == 0, "saved in the middle of a tick");
  out.section(kTag);
  out.u8(bounded_ ? 1 : 0);
  out.u8(options_.in_arrival_order ? 1 : 0);
  out.u8(partition_is_split() ? 1 : 0);
  stage_.save(out);
  out.i64(merged_at_.micros());
  if (merged_ == nullptr) source_->save(out);
  out.u64(splits_.size());
  for (const auto& split : splits_) save_split(*split, out);
  const auto index_of = [&](const Split* of) {
    for (size_t i = 0; i < splits_.size(); ++i)
      if (splits_[i].get() == of) return static_cast<uint64_t>(i);
    return kNoSplit;
  };
  out.u64(index_of(current_));
  // Only one whose batch is used up is remembered: of another one the rest is read again.
  const bool used_up = consumed_ != nullptr && taken_and_left(*consumed_).second == 0;
  out.u64(index_of(used_up ? consumed_ : nullptr));
  out.u64(turn_);
  out.u8(units_told_ ? 1 : 0);
  save_time(out);
  save_logged(out);
  return {};
}

// Of the batch at hand: how many records were consumed, and how many were not, beside those to read again.
std::pair<uint64_t, uint64_t> Input::taken_and_left(const Split& split) const {
  const uint64_t all = split.batch.rows + split.batch.rejects.size();
  const bool consumed = &split == consumed_ && split.next_row >= split.batch.rows;
  // A replay consumes batches whole.
  if (!split.has_batch || consumed || options_.replay != nullptr) return {all, 0};
  uint64_t taken = split.next_row;
  for (const Reject& reject : split.batch.rejects) taken += reject.before_row < split.next_row ? 1 : 0;
  return {taken, all - taken};
}

void Input::save_split(const Split& split, SnapshotWriter& out) const {
  const auto [taken, left] = taken_and_left(split);
  out.section(kSplitTag);
  split.reader->save(out, taken);
  out.u64(left + split.read_again);
  out.i64(split.read_at.micros());
  out.i64(split.event_us);
  out.u8(split.ended ? 1 : 0);
  out.u8(split.caught_up ? 1 : 0);
  out.u8(static_cast<uint8_t>(split.state));
  out.u64(split.rows_wanted);
  out.u8(split.paused ? 1 : 0);
  out.u8(split.found_end_us ? 1 : 0);
  out.i64(now_us_ - split.found_end_us.value_or(now_us_));
  out.i64(split.silent_us);
}

// Moments of the monotonic clock mean nothing to another process: what has passed since them is saved.
void Input::save_time(SnapshotWriter& out) const {
  out.section(kTimeTag);
  out.u8(read_since_look_ ? 1 : 0);
  out.i64(now_us_ - looked_us_);
  out.u8(quiet_since_us_ ? 1 : 0);
  out.i64(now_us_ - quiet_since_us_.value_or(now_us_));
  out.i64(quiet_us_);
  out.u64(spoke_at_quiet_us_.size());
  for (const int64_t us : spoke_at_quiet_us_) out.i64(us);
}

void Input::save_logged(SnapshotWriter& out) const {
  out.section(kLogTag);
  out.i64(entry_.wall_us);
  out.u64(logged_splits_);
  out.u64(logged_partitions_);
  save_optional(logged_delay_us_, out);
  out.u8(end_logged_ ? 1 : 0);
  out.u64(silent_.size());
  for (const bool silent : silent_) out.u8(silent ? 1 : 0);
  out.u64(events_.size());
  for (const TickEvent& event : events_) {
    out.u8(static_cast<uint8_t>(event.what));
    out.u32(event.index);
  }
  save_optional(carried_to_us_, out);
}

// ---- restoring ----

Status Input::restore(SnapshotReader& from) {
  bounded_ = source_->bounded();
  from.section(kTag);
  const bool fits = (from.u8() != 0) == bounded_;
  const bool same_order = (from.u8() != 0) == options_.in_arrival_order;
  const bool same_partitions = (from.u8() != 0) == partition_is_split();
  WRACKLINE_TRY(from.status());
  if (!fits || !same_order || !same_partitions) {
    return fail(ErrorCode::kInvalid,
                format("the checkpoint is of another source \"{}\": {} differs", options_.name,
                       !fits         ? "follow"
                       : !same_order ? "order_by"
                                     : "partition_by"),
                {}, "Start the job as it was, or begin a new run without --resume.");
  }
  WRACKLINE_TRY(stage_.restore(from));
  merged_at_ = WallTime(from.i64());
  WRACKLINE_TRY(from.status());
  if (options_.in_arrival_order) {
    WRACKLINE_TRY(restore_merged(from));
  } else {
    WRACKLINE_TRY(source_->restore(from));
    for (size_t left = from.count(sizeof(uint64_t)); left > 0; --left) WRACKLINE_TRY(restore_split(from));
  }
  const uint64_t current = from.u64();
  const uint64_t consumed = from.u64();
  for (const uint64_t index : {current, consumed})
    if (index != kNoSplit && index >= splits_.size()) from.refuse("a split that is not there");
  turn_ = from.u64();
  units_told_ = from.u8() != 0;
  WRACKLINE_TRY(restore_time(from));
  restore_logged(from);
  WRACKLINE_TRY(from.status());
  if (current != kNoSplit) current_ = splits_[current].get();
  if (consumed != kNoSplit) {
    consumed_ = splits_[consumed].get();
    consumed_->has_batch = true;  // an empty one, used up
  }
  return merged_ == nullptr ? take_appeared() : Status();
}

Status Input::restore_merged(SnapshotReader& from) {
  WRACKLINE_ASSIGN(auto readers, source_->open());
  WRACKLINE_TRY(open_merged(std::move(readers), merged_at_));
  if (from.u64() != 1) from.refuse("another number of splits");
  return restore_split(from);
}

Status Input::restore_split(SnapshotReader& from) {
  from.section(kSplitTag);
  if (merged_ == nullptr) {
    auto reader = source_->open_at(from);
    if (!reader) {
      reader.error().where.source = options_.name;
      return fail(std::move(reader).error());
    }
    splits_.push_back(std::make_unique<Split>());
    splits_.back()->reader = std::move(*reader);
  } else {
    WRACKLINE_TRY(merged_->restore(from));
  }
  Split& split = *splits_.back();
  if (merged_ == nullptr && partition_is_split()) split.partition = stage_.partition(split.reader->name());
  split.read_again = from.u64();
  split.read_at = WallTime(from.i64());
  split.event_us = from.i64();
  split.ended = from.u8() != 0;
  split.caught_up = from.u8() != 0;
  const uint8_t state = from.u8();
  if (state > static_cast<uint8_t>(ReadState::kEnded)) from.refuse("a state that is not known");
  split.state = static_cast<ReadState>(state);
  split.rows_wanted = from.u64();
  split.paused = from.u8() != 0;
  if (from.u8() != 0) split.found_end_us = 0;
  const int64_t at_end_us = from.i64();
  if (split.found_end_us) split.found_end_us = saturating_subtract(0, at_end_us);
  split.silent_us = from.i64();
  if (at_end_us < 0 || split.silent_us < 0) from.refuse("a silence that cannot be");
  return from.status();
}

Status Input::restore_time(SnapshotReader& from) {
  from.section(kTimeTag);
  clock_begins_ = true;
  read_since_look_ = from.u8() != 0;
  looked_us_ = saturating_subtract(0, from.i64());
  if (from.u8() != 0) quiet_since_us_ = 0;
  const int64_t quiet_for_us = from.i64();
  if (quiet_since_us_) quiet_since_us_ = saturating_subtract(0, quiet_for_us);
  quiet_us_ = from.i64();
  if (looked_us_ > 0 || quiet_for_us < 0 || quiet_us_ < 0) from.refuse("a time that cannot be");
  for (size_t left = from.count(sizeof(int64_t)); left > 0; --left) spoke_at_quiet_us_.push_back(from.i64());
  if (spoke_at_quiet_us_.size() > stage_.partition_names().size())
    from.refuse("more partitions than there are");
  return from.status();
}

void Input::restore_logged(SnapshotReader& from) {
  from.section(kLogTag);
  entry_.wall_us = from.i64();
  logged_splits_ = from.u64();
  logged_partitions_ = from.u64();
  if (logged_splits_ > splits_.size() || logged_partitions_ > stage_.partition_names().size())
    from.refuse("more in the log than there is");
  logged_delay_us_ = load_optional(from);
  end_logged_ = from.u8() != 0;
  silent_.clear();
  for (size_t left = from.count(1); left > 0; --left) silent_.push_back(from.u8() != 0);
  constexpr size_t kEventBytes = sizeof(uint8_t) + sizeof(uint32_t);
  for (size_t left = from.count(kEventBytes); left > 0; --left) {
    const uint8_t what = from.u8();
    const bool known = what >= static_cast<uint8_t>(TickEvent::What::kIdle) &&
                       what <= static_cast<uint8_t>(TickEvent::What::kResumed);
    if (!known) from.refuse("an event that is not known");
    events_.push_back({static_cast<TickEvent::What>(what), from.u32()});
  }
  carried_to_us_ = load_optional(from);
}

// Bounded input goes on with the splits that it had.
Status Input::take_appeared() {
  WRACKLINE_ASSIGN(auto readers, source_->discover());
  for (const std::string& text : source_->take_notices())
    notices_.push_back(format("source \"{}\": {}", options_.name, text));
  if (options_.replay != nullptr) {
    waiting_ = std::move(readers);
    return {};
  }
  for (const auto& reader : readers)
    notices_.push_back(format("source \"{}\": found the new file \"{}\"", options_.name, reader->name()));
  add_splits(std::move(readers));
  return {};
}

// The first moment of this process's clock: silence goes on from here.
void Input::go_on_at(int64_t now_us) {
  looked_us_ += now_us;
  discovered_us_ = now_us;
  for (auto& split : splits_)
    if (split->found_end_us) *split->found_end_us += now_us;
  if (quiet_since_us_) *quiet_since_us_ += now_us;
}

}  // namespace wrackline::runtime
