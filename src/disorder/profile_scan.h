// The second pass of a profile: what it looks for among the records of one partition, or of all, and what
// that says.
//
// Shape:   built from the histograms of the first pass, given every record again in order, then asked once.
#pragma once

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

// Watches how the values beyond one quantile are spread over the input: in bursts or evenly.
class Exceedances {
 public:
  Exceedances() = default;
  Exceedances(const BucketTable& table, uint64_t permille);
  // `at` counts the values from 0.
  void offer(int64_t value, uint64_t at) {
    if (value > threshold_) [[unlikely]]
      ++late_[block_of(at)];
  }
  std::optional<double> effect() const;

 private:
  size_t block_of(uint64_t at) const;
  uint64_t block_begin(size_t block) const;

  uint64_t total_ = 0;
  int64_t threshold_ = kMicrosMax;
  std::vector<uint64_t> late_;  // per block
};

// One quantity, delay or disorder.
struct ScannedQuantity {
  RankSelector selector;
  Exceedances beyond_p99;
  Exceedances beyond_p99_9;
  uint64_t seen = 0;

  void offer(int64_t value) {
    selector.offer(value);
    beyond_p99.offer(value, seen);
    beyond_p99_9.offer(value, seen);
    ++seen;
  }
};

class PartitionScan {
 public:
  // `resolution_us` is the step of the clocks.
  PartitionScan(const PartitionFigures& figures, int64_t resolution_us, const std::vector<RankOf>& extra);

  // Records in order; delays below `early` do not move the maximum. Requires: run.has_arrival is filled.
  void offer(const PartitionRun& run, int64_t early);

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
