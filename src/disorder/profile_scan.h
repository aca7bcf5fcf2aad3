// The second pass of a profile: what it looks for among the records of one partition, or of all, and what
// that says.
//
// Shape:   built from the histograms of the first pass, given every record again in order, then asked once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "disorder/modes.h"
#include "disorder/partition_groups.h"
#include "disorder/rank_selector.h"
#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

// The rank (from 1) of the smallest value with at least `permille` thousandths of `count` values at or below
// it.
uint64_t nearest_rank(uint64_t count, uint64_t permille);

// A rank that a caller wants beside the usual ones, as a function of the number of delays. Returns 0 for
// none.
using RankOf = std::function<uint64_t(uint64_t count)>;

// What the first pass counts.
struct PartitionFigures {
  std::string name;
  int64_t records = 0;
  int64_t with_arrival = 0;
  int64_t future = 0;
  int64_t far_behind = 0;             // delays beyond warn_behind
  int64_t max_event_us = kMicrosMin;  // greatest admissible event time
  TimedRecord behind;                 // the record of delay.max(); so for ahead and min()
  TimedRecord ahead;
  DelayHistogram delay;
  DelayHistogram disorder;
};

// Watches how the values beyond p99 and beyond p99.9 are spread over the input: in bursts or evenly.
class Exceedances {
 public:
  Exceedances() = default;
  explicit Exceedances(const BucketTable& table);
  // `at` counts the values before these. Cost: a compare a value, nearly always.
  void offer(std::span<const int64_t> values, uint64_t at);
  std::optional<double> effect_p99() const { return effect(p99_); }
  // A tenth as many samples lie beyond p99.9, too few to see most bursts: what p99 shows holds for it too.
  std::optional<double> effect_p99_9() const { return std::max(effect(p99_), effect(p99_9_)); }

 private:
  struct Tail {
    int64_t threshold = kMicrosMax;
    std::vector<uint64_t> late;  // per block; empty: nothing can be said
  };
  Tail tail_of(const BucketTable& table, uint64_t permille) const;
  void count(int64_t value, uint64_t at);
  std::optional<double> effect(const Tail& tail) const;
  size_t block_of(uint64_t at) const;
  uint64_t block_begin(size_t block) const;

  uint64_t total_ = 0;
  Tail p99_;
  Tail p99_9_;  // its threshold is not below that of p99_
};

// One quantity, delay or disorder.
struct ScannedQuantity {
  RankSelector selector;
  Exceedances beyond;
  uint64_t seen = 0;

  void offer(std::span<const int64_t> values) {
    selector.offer(values);
    beyond.offer(values, seen);
    seen += values.size();
  }
};

class PartitionScan {
 public:
  // `resolution_us` is the step of the clocks.
  PartitionScan(const PartitionFigures& figures, int64_t resolution_us, const std::vector<RankOf>& extra);

  // Records in order, as disorder_of takes them. Requires: run.has_arrival is filled; at most kLogBlockRows
  // records.
  void offer(const PartitionRun& run, int64_t early, bool far);

  // Once every record was offered. Takes the histograms out of `figures`; leaves the partition's name to the
  // caller.
  DelaySummary summarise(PartitionFigures& figures);
  // Delays of the extra ranks, in their order; empty without delays.
  std::vector<int64_t> extra_values();

 private:
  uint64_t transport_rank(uint64_t permille) const { return nearest_rank(transport_, permille); }
  uint64_t offline_rank(uint64_t permille) const {
    return transport_ + nearest_rank(total_ - transport_, permille);
  }
  void summarise_delay(const PartitionFigures& figures, DelaySummary& summary);
  void summarise_modes(DelaySummary& summary);

  ScannedQuantity delay_;
  ScannedQuantity disorder_;
  int64_t max_event_us_ = kMicrosMin;
  std::optional<ModeSplit> split_;
  uint64_t transport_ = 0;  // delays of the transport mode
  uint64_t total_ = 0;      // delays
  std::vector<uint64_t> extra_ranks_;
};

}  // namespace wrackline::disorder
