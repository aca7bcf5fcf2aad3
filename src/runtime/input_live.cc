// The part of Input that is about time passing without records: silence, idleness, pauses, new files.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/input_split.h"

namespace wrackline::runtime {
namespace {

constexpr int64_t kDiscoverEveryUs = 500'000;
constexpr int64_t kCarryStepUs = 1'000'000;  // each step is a tick, and nobody waits for less

}  // namespace

bool Input::is_silent(const Split& split) const {
  return split.found_end_us.has_value() && split.silent_us >= options_.idle_timeout.micros();
}

// The least event time among the splits that can hold the others back.
int64_t Input::slowest_us(const Split* except) const {
  int64_t slowest = kMicrosMax;
  for (const auto& split : splits_) {
    if (split.get() == except || split->ended || (!bounded_ && is_silent(*split))) continue;
    slowest = std::min(slowest, split->event_us);
  }
  return slowest;
}

// A paused split is not looked at, so its silence does not grow: it may have records, and is not idle.
void Input::pause_and_resume() {
  if (!options_.max_drift || bounded_) return;
  const int64_t slowest = slowest_us(nullptr);
  const int64_t limit =
      slowest == kMicrosMax ? kMicrosMax : saturating_add(slowest, options_.max_drift->micros());
  for (size_t i = 0; i < splits_.size(); ++i) {
    Split& split = *splits_[i];
    const bool pause = !split.ended && !is_silent(split) && split.event_us > limit;
    if (std::exchange(split.paused, pause) == pause) continue;
    if (pause) split.found_end_us.reset();
    events_.push_back(
        {pause ? TickEvent::What::kPaused : TickEvent::What::kResumed, static_cast<uint32_t>(i)});
  }
}

// The split had records: its silence is over, and so is that of the partitions that spoke.
void Input::note_records(Split& split, const Step& step) {
  read_since_look_ = true;
  split.found_end_us.reset();
  split.silent_us = 0;
  if (partition_is_split()) return;
  if (quiet_since_us_) quiet_us_ += now_us_ - *std::exchange(quiet_since_us_, std::nullopt);
  spoke_at_quiet_us_.resize(stage_.partition_names().size(), quiet_us_);
  for (size_t row = step.begin; row < step.end; ++row)
    spoke_at_quiet_us_[split.times.partition(row)] = quiet_us_;
}

void Input::note_end(Split& split) const {
  if (split.found_end_us) split.silent_us += now_us_ - *split.found_end_us;
  split.found_end_us = now_us_;
}

// Looks for new splits and for partitions that have been silent for too long, and lets every split be asked
// again. Called when each was found at its end or is paused, and now and then while some are busy.
Result<Input::Step> Input::look() {
  looked_us_ = now_us_;
  read_since_look_ = false;
  bool all_at_end = true;
  for (auto& split : splits_) {
    all_at_end &= split->ended || (split->caught_up && split->found_end_us.has_value());
    split->caught_up = false;
  }
  if (all_at_end) {
    if (quiet_since_us_) quiet_us_ += now_us_ - *quiet_since_us_;
    quiet_since_us_ = now_us_;
  }
  WRACKLINE_TRY(discover());
  const bool all_ended = std::ranges::all_of(splits_, [](const auto& split) { return split->ended; });
  Step step;
  step.kind = all_ended && !splits_.empty() ? StepKind::kEnded : StepKind::kQuiet;
  bool moved = find_idle();
  if (moved || (options_.idle_close && stage_.tracker().all_idle())) step.read_at = clock_.now();
  moved |= carry_on(step.read_at);
  if (moved) step.kind = StepKind::kTime;
  return step;
}

Status Input::discover() {
  if (now_us_ - discovered_us_ < kDiscoverEveryUs) return {};
  discovered_us_ = now_us_;
  WRACKLINE_ASSIGN(auto readers, source_->discover());
  for (const auto& reader : readers) {
    notices_.push_back(format("source \"{}\": found the new file \"{}\"", options_.name, reader->name()));
  }
  add_splits(std::move(readers));
  return {};
}

bool Input::find_idle() {
  bool any = false;
  const auto set_idle = [&](PartitionIndex partition) {
    if (stage_.tracker().partition_state(partition) != PartitionState::kActive) return;
    stage_.tracker().set_idle(partition);
    events_.push_back({TickEvent::What::kIdle, partition});
    any = true;
  };
  if (partition_is_split()) {
    for (const auto& split : splits_) {
      if (!split->ended && !split->paused && is_silent(*split)) set_idle(split->partition);
    }
    return any;
  }
  spoke_at_quiet_us_.resize(stage_.partition_names().size(), quiet_us_);
  for (PartitionIndex i = 0; i < spoke_at_quiet_us_.size(); ++i) {
    if (quiet_us_ - spoke_at_quiet_us_[i] >= options_.idle_timeout.micros()) set_idle(i);
  }
  return any;
}

// A stream that never spoke has no window to close, and its first records may be old: wall time leaves it
// alone.
bool Input::carry_on(WallTime wall) {
  WatermarkTracker& tracker = stage_.tracker();
  const int64_t progress_us = tracker.progress().micros();
  if (!options_.idle_close || progress_us == kMicrosMin || !tracker.all_idle()) return false;
  const int64_t to_us = saturating_subtract(wall.micros(), options_.idle_close->micros());
  if (to_us < saturating_add(progress_us, kCarryStepUs)) return false;
  tracker.carry_on(EventTime(to_us));
  carried_to_us_ = to_us;
  return true;
}

}  // namespace wrackline::runtime
