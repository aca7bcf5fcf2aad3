#include "runtime/input.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/arrival_order.h"
#include "runtime/input_split.h"

namespace wrackline::runtime {
namespace {

constexpr size_t kFirstRows = 256;  // first batch of one split among many: all of them are held at once
constexpr size_t kRowsMin = 64;
constexpr int64_t kLookEveryUs = 20'000;  // a busy input looks at its quiet splits as often as a quiet one

}  // namespace

Input::Input(InputOptions options, std::unique_ptr<Source> source, env::Clock& clock)
    : options_(std::move(options)), source_(std::move(source)), clock_(clock), stage_(options_.times) {}

Input::~Input() = default;

Status Input::open() {
  bounded_ = source_->bounded();
  WRACKLINE_ASSIGN(auto readers, source_->open());
  if (options_.replay != nullptr) {
    WRACKLINE_ASSIGN(const TickEntry* entry, options_.replay->peek());
    // Stopped before this source was opened, a run has nothing of it to be followed.
    if (entry != nullptr || !options_.goes_on_after_replay) return open_replay(std::move(readers));
    options_.replay = nullptr;
  }
  Step step;
  step.read_at = clock_.now();
  if (options_.in_arrival_order) {
    WRACKLINE_TRY(open_merged(std::move(readers), step.read_at));
  } else {
    add_splits(std::move(readers));
  }
  return record(step, TickKind::kOpen);
}

Status Input::open_merged(std::vector<std::unique_ptr<SplitReader>> readers, WallTime read_at) {
  // Every log is a partition before the first record, as ever; only the order of reading changes.
  if (partition_is_split()) {
    for (const auto& reader : readers) stage_.partition(reader->name());
  }
  auto split = std::make_unique<Split>();
  merged_at_ = read_at;
  WRACKLINE_ASSIGN(auto merged, read_in_arrival_order(std::move(readers), options_.fields, stage_, read_at));
  merged_ = merged.get();
  split->reader = std::move(merged);
  splits_.push_back(std::move(split));
  silent_.assign(stage_.partition_names().size(), false);
  return {};
}

void Input::add_split(std::unique_ptr<SplitReader> reader) {
  auto split = std::make_unique<Split>();
  split->reader = std::move(reader);
  if (partition_is_split()) {
    split->partition = stage_.partition(split->reader->name());
    // Partitions that a batch named in between were silent ones.
    silent_.resize(split->partition, true);
    silent_.push_back(false);
  }
  splits_.push_back(std::move(split));
}

void Input::add_splits(std::vector<std::unique_ptr<SplitReader>> readers) {
  for (auto& reader : readers) {
    add_split(std::move(reader));
    if (bounded_ && readers.size() > 1) splits_.back()->rows_wanted = kFirstRows;
  }
}

Result<Input::Step> Input::next() {
  if (options_.replay != nullptr) return next_replayed();
  WRACKLINE_ASSIGN(const Step step, choose());
  switch (step.kind) {
    case StepKind::kRecords:
      WRACKLINE_TRY(record(step, TickKind::kRecords));
      break;
    case StepKind::kTime:
      WRACKLINE_TRY(record(step, TickKind::kTime));
      break;
    case StepKind::kQuiet:
      break;
    case StepKind::kEnded:
      if (!std::exchange(end_logged_, true)) WRACKLINE_TRY(record(step, TickKind::kEnded));
      break;
  }
  return step;
}

Result<Input::Step> Input::choose() {
  if (merged_ != nullptr && (consumed_ == nullptr || consumed_->next_row >= consumed_->batch.rows) &&
      end_merged_splits()) {
    Step step;
    step.kind = StepKind::kTime;
    return step;
  }
  if (consumed_ != nullptr && consumed_->next_row >= consumed_->batch.rows) {
    // The batch of the step before is used up.
    Split& split = *std::exchange(consumed_, nullptr);
    split.has_batch = false;
    split.caught_up = split.state == ReadState::kCaughtUp;
    if (split.state == ReadState::kEnded) return end_split(split);
    if (bounded_) {
      // Whether a split has ended must not depend on where batches were cut, so its next batch is looked for
      // at once.
      WRACKLINE_TRY(refill(split));
      if (!split.has_records() && split.state == ReadState::kEnded) return end_split(split);
    }
  }
  if (!bounded_) {
    now_us_ = clock_.monotonic_us();
    if (std::exchange(clock_begins_, false)) go_on_at(now_us_);
    if (read_since_look_ && now_us_ - looked_us_ >= kLookEveryUs) {
      WRACKLINE_ASSIGN(const Step step, look());
      if (step.kind == StepKind::kTime) return step;
    }
    pause_and_resume();
  }
  while (Split* split = bounded_ ? furthest_behind() : next_in_turn()) {
    if (!split->has_batch) WRACKLINE_TRY(refill(*split));
    if (split->has_records()) return consume(*split);
    split->has_batch = false;
    split->caught_up = split->state == ReadState::kCaughtUp;
    if (split->state == ReadState::kEnded) return end_split(*split);
    if (bounded_ && split->caught_up) {
      // A pipe that is quiet for now: its writer decides when it goes on.
      Step step;
      step.kind = StepKind::kQuiet;
      return step;
    }
    note_end(*split);
  }
  if (bounded_) return Step{};
  return look();
}

// The split to go on with: the one at hand until another is due, then the one that is furthest behind.
Input::Split* Input::furthest_behind() {
  if (current_ != nullptr && !current_->ended) return current_;
  Split* best = nullptr;
  for (auto& split : splits_) {
    if (!split->ended && (best == nullptr || split->event_us < best->event_us)) best = split.get();
  }
  current_ = best;
  return best;
}

Input::Split* Input::next_in_turn() {
  for (size_t i = 0; i < splits_.size(); ++i) {
    const size_t at = (turn_ + i) % splits_.size();
    if (splits_[at]->ended || splits_[at]->caught_up || splits_[at]->paused) continue;
    turn_ = at + 1;
    return splits_[at].get();
  }
  return nullptr;
}

Status Input::refill(Split& split) {
  // The rest of a batch that was at hand when the input was saved.
  if (split.read_again > 0) return refill(split, split.read_again, split.read_at);
  const size_t rows =
      split.rows_wanted == 0 ? options_.rows_max : std::min(split.rows_wanted, options_.rows_max);
  return refill(split, rows, clock_.now());
}

Status Input::refill(Split& split, size_t rows, WallTime read_at) {
  if (last_batch_ == &split.batch) last_batch_ = nullptr;
  WRACKLINE_ASSIGN(split.state, split.reader->read(split.batch, rows));
  for (const std::string& text : split.reader->take_notices()) {
    notices_.push_back(format("source \"{}\", file \"{}\": {}", options_.name, split.reader->name(), text));
  }
  split.has_batch = true;
  split.next_row = 0;
  if (split.read_again > 0) {
    if (!split.has_records()) return lost_records(split);
    const uint64_t got = split.batch.rows + split.batch.rejects.size();
    split.read_again -= std::min(split.read_again, got);
  }
  split.read_at = read_at;
  PartitionIndex partition = split.partition;
  if (partition_is_split() && options_.in_arrival_order) {
    partition = stage_.partition(merged_->split());
  } else if (!partition_is_split() && !split.batch.rejects.empty()) {
    // A record that cannot be parsed names no partition; it counts under its file, which holds no watermark.
    partition = stage_.silent_partition(split.batch.file);
  }
  stage_.read(split.batch, partition, read_at, split.times);
  tell_of_units();
  return {};
}

std::unexpected<Error> Input::lost_records(const Split& split) const {
  Error error{ErrorCode::kData,
              format("source \"{}\" has lost records that the run has read", options_.name),
              format("File \"{}\" ends {} records before the place to which it was read.",
                     split.reader->name(), split.read_again),
              "Put the file back as it was and start again, or begin a new run without --resume.",
              {}};
  error.where.source = options_.name;
  error.where.file = split.reader->name();
  return fail(std::move(error));
}

// Once, when it is first seen: a live job must not wait for the report at its end. That has the numbers.
void Input::tell_of_units() {
  if (units_told_) return;
  for (const Finding& finding : stage_.unit_findings()) {
    notices_.push_back(
        format("source \"{}\": {} They stand as read; is time_unit right?", options_.name, finding.text));
    units_told_ = true;
  }
}

// How far the split may be consumed before another one is due, or before it is to be paused.
size_t Input::run_end(Split& split) {
  if (splits_.size() == 1 || (!bounded_ && !options_.max_drift)) return split.batch.rows;
  const int64_t others_us = slowest_us(&split);
  if (others_us == kMicrosMax) return split.batch.rows;
  const Duration ahead = bounded_ ? options_.alignment : *options_.max_drift;
  const int64_t limit = saturating_add(others_us, ahead.micros());
  const RecordTimes& times = split.times;
  for (size_t row = split.next_row; row < split.batch.rows; ++row) {
    if (times.usable[row] == 0 || times.event_us[row] <= limit) continue;
    if (!stage_.tracker().admissible(times.event_us[row], times.arrival_us[row])) continue;
    // What is left of a batch is evaluated again later, so batches follow the length of runs.
    split.rows_wanted = std::max(kRowsMin, (row + 1 - split.next_row) * 2);
    current_ = nullptr;
    return row + 1;
  }
  if (split.rows_wanted > 0) split.rows_wanted = std::min(options_.rows_max, split.rows_wanted * 2);
  return split.batch.rows;
}

Input::Step Input::consume(Split& split) {
  return consume(split, run_end(split));
}

Input::Step Input::consume(Split& split, size_t end) {
  const RecordTimes& times = split.times;
  Step step;
  step.kind = StepKind::kRecords;
  step.batch = &split.batch;
  step.times = &split.times;
  step.begin = split.next_row;
  step.end = end;
  step.fresh = std::exchange(last_batch_, &split.batch) != &split.batch;
  step.read_at = split.read_at;
  consumed_ = &split;
  split.next_row = step.end;
  // Before dedup takes out copies: they show how far the split is like any other record.
  for (size_t row = step.begin; row < step.end; ++row) {
    const bool moves = times.event_us[row] > split.event_us && times.usable[row] != 0;
    if (moves && stage_.tracker().admissible(times.event_us[row], times.arrival_us[row])) {
      split.event_us = times.event_us[row];
    }
  }
  stage_.judge(split.times, step.begin, step.end);
  if (!bounded_) note_records(split, step);
  return step;
}

Input::Step Input::end_split(Split& split) {
  split.ended = true;
  Step step;
  step.kind = StepKind::kTime;
  step.read_at = split.read_at;
  if (partition_is_split() && !options_.in_arrival_order) {
    stage_.tracker().set_ended(split.partition);
    events_.push_back({TickEvent::What::kEnded, split.partition});
    step.ended = split.partition;
  }
  return step;
}

// In arrival order a log ends when its last record is consumed. Returns true if one did, so that time may
// have moved.
bool Input::end_merged_splits() {
  bool any = false;
  for (const std::string& name : merged_->take_ended()) {
    if (!partition_is_split()) continue;
    const PartitionIndex partition = stage_.partition(name);
    if (stage_.tracker().partition_state(partition) == PartitionState::kEnded) continue;  // told by a log
    stage_.tracker().set_ended(partition);
    events_.push_back({TickEvent::What::kEnded, partition});
    any = true;
  }
  return any;
}

Status Input::flush() {
  stage_.tracker().flush();
  return record({}, TickKind::kFlush);
}

uint64_t Input::bytes_read() const {
  uint64_t bytes = 0;
  for (const auto& split : splits_) bytes += split->reader->bytes_read();
  return bytes;
}

std::optional<uint64_t> Input::bytes_total() const {
  uint64_t bytes = 0;
  for (const auto& split : splits_) {
    const std::optional<uint64_t> total = split->reader->bytes_total();
    if (!total) return std::nullopt;
    bytes += *total;
  }
  return bytes;
}

std::vector<std::string> Input::take_notices() {
  return std::exchange(notices_, {});
}

std::vector<std::string> Input::fields_seen() const {
  return splits_.empty() ? std::vector<std::string>() : splits_[0]->reader->fields_seen();
}

}  // namespace wrackline::runtime
