#include "wrackline/watermark_tracker.h"

#include <algorithm>

#include "base/check.h"

namespace wrackline {

WatermarkTracker::WatermarkTracker(Options options) : options_(options) {
  WRACKLINE_CHECK(options.delay.micros() >= 0);
}

PartitionIndex WatermarkTracker::add_partition() {
  const auto index = static_cast<PartitionIndex>(partitions_.size());
  partitions_.push_back({});
  if (partitions_.size() > leaves_) grow_tree();
  set_leaf(index, kMicrosMin);
  return index;
}

void WatermarkTracker::grow_tree() {
  leaves_ = std::max<size_t>(1, leaves_);
  while (leaves_ < partitions_.size()) leaves_ *= 2;
  tree_.assign(leaves_ * 2, kMicrosMax);
  for (size_t i = 0; i < partitions_.size(); ++i) {
    if (partitions_[i].state == PartitionState::kActive) tree_[leaves_ + i] = partitions_[i].progress_us;
  }
  for (size_t node = leaves_ - 1; node > 0; --node)
    tree_[node] = std::min(tree_[node * 2], tree_[node * 2 + 1]);
}

WatermarkTracker::State WatermarkTracker::state() const {
  State state{options_.delay, EventTime(progress_us_), EventTime(floor_us_), {}};
  for (const Partition& partition : partitions_) {
    state.partitions.push_back({EventTime(partition.progress_us), partition.state, partition.was_idle});
  }
  return state;
}

void WatermarkTracker::restore(const State& state) {
  WRACKLINE_CHECK(state.delay.micros() >= 0);
  options_.delay = state.delay;
  progress_us_ = state.progress.micros();
  floor_us_ = state.floor.micros();
  partitions_.clear();
  was_idle_count_ = 0;
  for (const SavedPartition& saved : state.partitions) {
    partitions_.push_back({saved.progress.micros(), saved.state, saved.was_idle});
    was_idle_count_ += saved.was_idle;
  }
  leaves_ = 0;
  tree_.clear();
  if (!partitions_.empty()) grow_tree();
}

void WatermarkTracker::set_leaf(PartitionIndex partition, int64_t value) {
  size_t node = leaves_ + partition;
  tree_[node] = value;
  while (node > 1) {
    node /= 2;
    const int64_t least = std::min(tree_[node * 2], tree_[node * 2 + 1]);
    if (tree_[node] == least) break;
    tree_[node] = least;
  }
}

void WatermarkTracker::advance() {
  // With no active partition the minimum is the neutral kMicrosMax, which says nothing about time.
  const int64_t least = tree_[1];
  if (least != kMicrosMax && least > progress_us_) progress_us_ = least;
}

void WatermarkTracker::rise(PartitionIndex partition, int64_t event_us) {
  Partition& p = partitions_[partition];
  if (p.state != PartitionState::kActive) {
    p.state = PartitionState::kActive;
    p.progress_us = std::max(p.progress_us, event_us);
    set_leaf(partition, p.progress_us);
    advance();
  } else if (event_us > p.progress_us) {
    p.progress_us = event_us;
    set_leaf(partition, event_us);
    advance();
  }
}

void WatermarkTracker::observe(PartitionIndex partition, EventTime event, ArrivalTime arrival) {
  if (admissible(event.micros(), arrival.micros())) {
    rise(partition, event.micros());
  } else {
    rise(partition, partitions_[partition].progress_us);  // it has spoken, which ends its idleness
  }
}

void WatermarkTracker::observe(std::span<const PartitionIndex> partitions, std::span<const int64_t> event_us,
                               std::span<const int64_t> arrival_us, std::span<const uint8_t> usable,
                               std::span<int64_t> progress_before) {
  const size_t rows = event_us.size();
  WRACKLINE_CHECK(progress_before.size() == rows + 1);
  WRACKLINE_CHECK(rows == 0 || (!partitions.empty() && !arrival_us.empty()));
  const bool one_arrival = arrival_us.size() == 1 && rows != 1;
  const bool alone = partitions_.size() == 1 && partitions_[0].state == PartitionState::kActive;
  if (alone) {
    // One partition: G is a running maximum. The loop keeps it in a register.
    int64_t greatest = partitions_[0].progress_us;
    int64_t progress = progress_us_;
    for (size_t i = 0; i < rows; ++i) {
      progress_before[i] = progress;
      const bool moves = usable[i] != 0 && admissible(event_us[i], arrival_us[one_arrival ? 0 : i]);
      greatest = moves && event_us[i] > greatest ? event_us[i] : greatest;
      progress = greatest > progress ? greatest : progress;
    }
    partitions_[0].progress_us = greatest;
    set_leaf(0, greatest);
    progress_us_ = progress;
  } else {
    const bool one_partition = partitions.size() == 1 && rows != 1;
    for (size_t i = 0; i < rows; ++i) {
      progress_before[i] = progress_us_;
      const PartitionIndex partition = partitions[one_partition ? 0 : i];
      const bool moves = usable[i] != 0 && admissible(event_us[i], arrival_us[one_arrival ? 0 : i]);
      rise(partition, moves ? event_us[i] : partitions_[partition].progress_us);
    }
  }
  progress_before[rows] = progress_us_;
}

void WatermarkTracker::set_idle(PartitionIndex partition) {
  Partition& p = partitions_[partition];
  if (p.state != PartitionState::kActive) return;
  p.state = PartitionState::kIdle;
  if (!p.was_idle) ++was_idle_count_;
  p.was_idle = true;
  set_leaf(partition, kMicrosMax);
  if (tree_[1] != kMicrosMax) {
    advance();
    return;
  }
  for (const Partition& other : partitions_) {
    if (other.state == PartitionState::kActive) return;  // active, but at plus infinity
  }
  for (const Partition& other : partitions_) progress_us_ = std::max(progress_us_, other.progress_us);
}

void WatermarkTracker::caught_up_after_idle(PartitionIndex partition) {
  if (!partitions_[partition].was_idle) return;
  partitions_[partition].was_idle = false;
  --was_idle_count_;
}

void WatermarkTracker::set_ended(PartitionIndex partition) {
  Partition& p = partitions_[partition];
  if (p.state == PartitionState::kEnded) return;
  p.state = PartitionState::kEnded;
  set_leaf(partition, kMicrosMax);
  bool any_active = false;
  bool any_idle = false;
  for (const Partition& other : partitions_) {
    any_active |= other.state == PartitionState::kActive;
    any_idle |= other.state == PartitionState::kIdle;
  }
  if (any_active) {
    advance();
  } else if (any_idle) {  // the rest is idle: the all-idle rule
    for (const Partition& other : partitions_) progress_us_ = std::max(progress_us_, other.progress_us);
  }
}

bool WatermarkTracker::all_idle() const {
  bool any_idle = false;
  for (const Partition& partition : partitions_) {
    if (partition.state == PartitionState::kActive) return false;
    any_idle |= partition.state == PartitionState::kIdle;
  }
  return any_idle;
}

void WatermarkTracker::carry_on(EventTime progress) {
  WRACKLINE_CHECK(all_idle(), "wall time moves the watermark although a partition is active");
  progress_us_ = std::max(progress_us_, progress.micros());
}

void WatermarkTracker::flush() {
  progress_us_ = kMicrosMax;
}

void WatermarkTracker::set_delay(Duration delay) {
  WRACKLINE_CHECK(delay.micros() >= 0);
  floor_us_ = watermark_at(progress_us_);
  options_.delay = delay;
}

void WatermarkTracker::raise_watermark(EventTime floor) {
  floor_us_ = std::max(floor_us_, floor.micros());
}

std::optional<PartitionIndex> WatermarkTracker::holder() const {
  if (partitions_.empty() || tree_[1] == kMicrosMax) return std::nullopt;
  size_t node = 1;
  while (node < leaves_) node = node * 2 + (tree_[node * 2] == tree_[node] ? 0 : 1);
  return static_cast<PartitionIndex>(node - leaves_);
}

std::vector<PartitionIndex> WatermarkTracker::holders() const {
  std::vector<PartitionIndex> result;
  int64_t least = kMicrosMax;
  for (PartitionIndex i = 0; i < partitions_.size(); ++i) {
    if (partitions_[i].state != PartitionState::kActive) continue;
    if (partitions_[i].progress_us < least || result.empty()) {
      least = partitions_[i].progress_us;
      result.clear();
    }
    if (partitions_[i].progress_us == least) result.push_back(i);
  }
  return result;
}

}  // namespace wrackline
