// How many distinct values there are: exact while they are few, then an estimate from 4,096 small counters
// (HyperLogLog).
//
// The first 384 distinct hashes are kept as they are, so small groups are exact (but for hashes that collide,
// one pair in 10^14 then). One more, and the group changes for good to registers: each holds the longest run
// of zeros among the hashes that fall to it. Both depend on the set of values alone, so order and merging do
// not show, and merging is exact: the merged sketch is the sketch of all values.
//
// Error: standard error of 1.04 / sqrt(4096) = 1.6 % beyond 384 values.
// State: 24 bytes; in the arena up to 8 KB for few values, 4 KB more for registers.
// Source: P. Flajolet et al., "HyperLogLog", 2007; the estimator is O. Ertl's, "New cardinality estimation
//         algorithms for HyperLogLog sketches", 2017, algorithm 6, which needs no table of corrections.
#pragma once

#include <cstdint>

#include "data/column.h"
#include "data/snapshot.h"
#include "expr/distinct_set.h"

namespace wrackline::expr {

class DistinctEstimate {
 public:
  void add(uint64_t hash, Arena& arena);
  void merge(const DistinctEstimate& other, Arena& arena);
  int64_t estimate() const;

  // Writes the state, and becomes what was written, in an empty one.
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in, Arena& arena);

 private:
  void make_registers(Arena& arena);
  void add_to_registers(uint64_t hash);
  uint8_t* registers() const { return address_in<uint8_t>(registers_); }

  DistinctSet<int64_t> few_;
  uint64_t registers_;  // their address, or 0 while the hashes are few
};

}  // namespace wrackline::expr
