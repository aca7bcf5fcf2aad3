// Progress of event time over the partitions of one source, and the watermark that follows from it.
//
//   M_p = greatest admissible event time seen on partition p
//   G   = max(G so far, min of M_p over the active partitions)
//   W   = G - delay, exclusive: every record with event time < W is believed to have arrived
//
// Threads: not thread-safe; one tracker belongs to one source.
// Units:   microseconds. kMicrosMin stands for "nothing yet", kMicrosMax for "the input has ended".
// Invariants:
//   1. progress(), watermark() and every partition's progress never go backwards.
//   2. watermark() <= progress().
//   3. G does not depend on the order in which partitions fell idle.
// Cost:    observe is O(1) for one partition and O(log partitions) when a partition's progress rises.
// Source:  docs/semantics.md section 3; Akidau et al., "Watermarks in Stream Processing Systems", PVLDB
// 14(12), 2021.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wrackline/time.h"

namespace wrackline {

using PartitionIndex = uint32_t;

enum class PartitionState : uint8_t { kActive, kIdle, kEnded };

class WatermarkTracker {
 public:
  struct Options {
    Duration delay;                           // watermark delay, >= 0
    Duration max_future_skew = seconds(300);  // event times further ahead of arrival do not move M_p
  };

  explicit WatermarkTracker(Options options);

  // Everything that the watermark depends on from now on, for a checkpoint: plain numbers, to be stored as
  // you like. The delay is part of it, because set_delay() may have changed it. A tracker made with the same
  // max_future_skew that takes it goes on as this one would.
  struct SavedPartition {
    EventTime progress{kMicrosMin};  // M_p
    PartitionState state = PartitionState::kActive;
    bool was_idle = false;
  };
  struct State {
    Duration delay;
    EventTime progress{kMicrosMin};  // G
    EventTime floor{kMicrosMin};     // W is never below it
    std::vector<SavedPartition> partitions;
  };
  State state() const;
  // Becomes a tracker with that state; partitions known before are forgotten. Requires: delay >= 0.
  void restore(const State& state);

  // Adds a partition. Register those that are known before the first record, so that one that has not spoken
  // holds the watermark. A partition that is known only by its records is added when it first speaks: it
  // cannot move G back.
  PartitionIndex add_partition();
  size_t partition_count() const { return partitions_.size(); }

  // Takes note of one record. An idle or ended partition that speaks is active again.
  void observe(PartitionIndex partition, EventTime event, ArrivalTime arrival);

  // The same for a run of records in logged order. progress_before[i] is G before record i, and
  // progress_before[n] is G after the last: so the span has one element more than `event_us`. Records with
  // usable[i] == 0 do not move time. `partitions` and `arrival_us` have one element per record, or exactly
  // one that holds for all. Shape: progress_before is non-decreasing.
  void observe(std::span<const PartitionIndex> partitions, std::span<const int64_t> event_us,
               std::span<const int64_t> arrival_us, std::span<const uint8_t> usable,
               std::span<int64_t> progress_before);

  // Leaves the partition out of the minimum until it speaks again. When none is active any more because the
  // rest is idle, G moves to the greatest M_p and holds there.
  void set_idle(PartitionIndex partition);
  // The partition will not speak again. When no partition is left, G holds where it is: see flush().
  void set_ended(PartitionIndex partition);
  // Whether every partition that has not ended is idle, and there is one.
  bool all_idle() const;
  // Raises G to `progress`: what wall time says when nothing else does (idle_close). Requires: all_idle().
  void carry_on(EventTime progress);
  // The whole input has ended: W moves to plus infinity.
  void flush();

  // Changes the delay. The watermark does not go back: a greater delay makes it wait.
  void set_delay(Duration delay);
  // Raises the floor under the watermark, for restore.
  void raise_watermark(EventTime floor);

  Duration delay() const { return options_.delay; }
  EventTime progress() const { return EventTime(progress_us_); }                 // G
  EventTime watermark() const { return EventTime(watermark_at(progress_us_)); }  // W
  // The watermark that stands when G is `progress_us`, for the span that observe() filled.
  int64_t watermark_at(int64_t progress_us) const {
    const int64_t behind =
        progress_us == kMicrosMax ? kMicrosMax : saturating_subtract(progress_us, options_.delay.micros());
    return behind > floor_us_ ? behind : floor_us_;
  }

  // Whether a record may move time: its event time is at most max_future_skew ahead of its arrival.
  bool admissible(int64_t event_us, int64_t arrival_us) const {
    // Unsigned, so that the difference of two far times cannot overflow.
    return event_us <= arrival_us || static_cast<uint64_t>(event_us) - static_cast<uint64_t>(arrival_us) <=
                                         static_cast<uint64_t>(options_.max_future_skew.micros());
  }
  EventTime partition_progress(PartitionIndex partition) const {
    return EventTime(partitions_[partition].progress_us);
  }
  PartitionState partition_state(PartitionIndex partition) const { return partitions_[partition].state; }
  // The partition fell idle and has not caught up with the watermark since: its late records are late after
  // idle.
  bool was_idle(PartitionIndex partition) const { return partitions_[partition].was_idle; }
  bool any_was_idle() const { return was_idle_count_ > 0; }
  void caught_up_after_idle(PartitionIndex partition);
  // The active partitions whose M_p is the least: those that hold G. Empty when none is active.
  std::vector<PartitionIndex> holders() const;
  // The first of them. Cost: O(log partitions).
  std::optional<PartitionIndex> holder() const;

 private:
  struct Partition {
    int64_t progress_us = kMicrosMin;
    PartitionState state = PartitionState::kActive;
    bool was_idle = false;
  };

  void grow_tree();
  void rise(PartitionIndex partition, int64_t event_us);
  void set_leaf(PartitionIndex partition, int64_t value);
  void advance();

  Options options_;
  int64_t progress_us_ = kMicrosMin;  // G
  int64_t floor_us_ = kMicrosMin;     // W never below this
  std::vector<Partition> partitions_;
  size_t was_idle_count_ = 0;
  // A tournament tree of minima: the active partitions' M_p at the leaves (kMicrosMax when not active), the
  // least at 1.
  std::vector<int64_t> tree_;
  size_t leaves_ = 0;
};

}  // namespace wrackline
