#include "runtime/input.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/arrival_order.h"

namespace wrackline::runtime {
namespace {

constexpr size_t kFirstRows = 256;  // first batch of one split among many: all of them are held at once
constexpr size_t kRowsMin = 64;
constexpr int64_t kDiscoverEveryUs = 500'000;
constexpr int64_t kQuietStepUsMax = 1'000'000;  // longest quiet time that one look can account for

}  // namespace

struct Input::Split {
  std::unique_ptr<SplitReader> reader;
  PartitionIndex partition = 0;   // of its rejects, and of its rows when no column names the partition
  int64_t event_us = kMicrosMin;  // greatest event time consumed from it that may move time
  bool ended = false;             // consumed to its end
  bool caught_up = false;
  bool has_batch = false;
  Batch batch;
  RecordTimes times;
  size_t next_row = 0;                 // rows before it are consumed
  ReadState state = ReadState::kRows;  // as of the last read
  size_t rows_wanted = 0;              // 0: as many as a step may have

  bool has_records() const { return batch.rows > 0 || !batch.rejects.empty(); }
};

Input::Input(InputOptions options, std::unique_ptr<Source> source, env::Clock& clock)
    : options_(std::move(options)), source_(std::move(source)), clock_(clock), stage_(options_.times) {}

Input::~Input() = default;

Status Input::open() {
  bounded_ = source_->bounded();
  WRACKLINE_ASSIGN(auto readers, source_->open());
  if (!options_.in_arrival_order) {
    add_splits(std::move(readers));
    return {};
  }
  // Every log is a partition before the first record, as ever; only the order of reading changes.
  if (partition_is_split()) {
    for (const auto& reader : readers) stage_.partition(reader->name());
  }
  auto split = std::make_unique<Split>();
  WRACKLINE_ASSIGN(auto merged,
                   read_in_arrival_order(std::move(readers), options_.fields, stage_, clock_.now()));
  merged_ = merged.get();
  split->reader = std::move(merged);
  splits_.push_back(std::move(split));
  return {};
}

void Input::add_splits(std::vector<std::unique_ptr<SplitReader>> readers) {
  for (auto& reader : readers) {
    auto split = std::make_unique<Split>();
    split->reader = std::move(reader);
    if (partition_is_split()) split->partition = stage_.partition(split->reader->name());
    if (bounded_ && readers.size() > 1) split->rows_wanted = kFirstRows;
    splits_.push_back(std::move(split));
  }
}

Result<Input::Step> Input::next() {
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
  }
  if (bounded_) return Step{};
  return look_around();
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
    if (splits_[at]->ended || splits_[at]->caught_up) continue;
    turn_ = at + 1;
    return splits_[at].get();
  }
  return nullptr;
}

Status Input::refill(Split& split) {
  const size_t rows =
      split.rows_wanted == 0 ? options_.rows_max : std::min(split.rows_wanted, options_.rows_max);
  if (last_batch_ == &split.batch) last_batch_ = nullptr;
  WRACKLINE_ASSIGN(split.state, split.reader->read(split.batch, rows));
  for (const std::string& text : split.reader->take_notices()) {
    notices_.push_back(format("source \"{}\", file \"{}\": {}", options_.name, split.reader->name(), text));
  }
  split.has_batch = true;
  split.next_row = 0;
  PartitionIndex partition = split.partition;
  if (partition_is_split() && options_.in_arrival_order) {
    partition = stage_.partition(merged_->split());
  } else if (!partition_is_split() && !split.batch.rejects.empty()) {
    // A record that cannot be parsed names no partition; it counts under its file, which holds no watermark.
    partition = stage_.silent_partition(split.batch.file);
  }
  stage_.read(split.batch, partition, clock_.now(), split.times);
  return {};
}

// How far the split may be consumed before another one is due.
size_t Input::run_end(Split& split) {
  if (!bounded_ || splits_.size() == 1) return split.batch.rows;
  int64_t others_us = kMicrosMax;
  for (const auto& other : splits_) {
    if (other.get() != &split && !other->ended) others_us = std::min(others_us, other->event_us);
  }
  if (others_us == kMicrosMax) return split.batch.rows;
  const int64_t limit = saturating_add(others_us, options_.alignment.micros());
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
  const RecordTimes& times = split.times;
  Step step{StepKind::kRecords, &split.batch, &split.times, split.next_row, run_end(split), false, {}};
  step.fresh = std::exchange(last_batch_, &split.batch) != &split.batch;
  consumed_ = &split;
  split.next_row = step.end;
  stage_.judge(split.times, step.begin, step.end);
  for (size_t row = step.begin; row < step.end; ++row) {
    const bool moves = times.event_us[row] > split.event_us && times.usable[row] != 0;
    if (moves && stage_.tracker().admissible(times.event_us[row], times.arrival_us[row])) {
      split.event_us = times.event_us[row];
    }
  }
  if (!bounded_) {
    spoke_at_quiet_us_.resize(stage_.partition_names().size(), quiet_us_);
    for (size_t row = step.begin; row < step.end; ++row) spoke_at_quiet_us_[times.partition(row)] = quiet_us_;
  }
  return step;
}

Input::Step Input::end_split(Split& split) {
  split.ended = true;
  Step step;
  step.kind = StepKind::kTime;
  if (partition_is_split() && !options_.in_arrival_order) {
    stage_.tracker().set_ended(split.partition);
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
    stage_.tracker().set_ended(stage_.partition(name));
    any = true;
  }
  return any;
}

// Every live split was caught up when last asked: looks for new ones, and for partitions that were silent for
// too long.
Result<Input::Step> Input::look_around() {
  const int64_t now = clock_.monotonic_us();
  if (looked_us_ != 0) quiet_us_ += std::min(now - looked_us_, kQuietStepUsMax);
  looked_us_ = now;
  for (auto& split : splits_) split->caught_up = false;
  if (now - discovered_us_ >= kDiscoverEveryUs) {
    discovered_us_ = now;
    WRACKLINE_ASSIGN(auto readers, source_->discover());
    for (const auto& reader : readers) {
      notices_.push_back(format("source \"{}\": found the new file \"{}\"", options_.name, reader->name()));
    }
    add_splits(std::move(readers));
  }
  const bool all_ended = std::ranges::all_of(splits_, [](const auto& split) { return split->ended; });
  WatermarkTracker& tracker = stage_.tracker();
  spoke_at_quiet_us_.resize(tracker.partition_count(), quiet_us_);
  Step step;
  step.kind = all_ended && !splits_.empty() ? StepKind::kEnded : StepKind::kQuiet;
  for (PartitionIndex i = 0; i < tracker.partition_count(); ++i) {
    if (tracker.partition_state(i) != PartitionState::kActive) continue;
    if (quiet_us_ - spoke_at_quiet_us_[i] < options_.idle_timeout.micros()) continue;
    tracker.set_idle(i);
    step.kind = StepKind::kTime;
  }
  return step;
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
