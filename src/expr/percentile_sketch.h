// Percentiles without keeping the values: how many fall into each of many buckets, cut in proportion to size.
//
// A bucket is a double's sign, exponent and first 7 bits of fraction, so each power of two has 128 buckets
// and a bucket is at most 1/128 as wide as its lower edge. The result is the middle of the bucket that holds
// the value of nearest rank (PostgreSQL's percentile_disc), or the least and the greatest value, which are
// exact.
//
// Error:   at most 1/256 (0.4 %) of the true value; of whole numbers, none below 256. Values under 2^-1022 in
//          size have no such bound: they are as good as 0.
// Exact:   the counts; integers only, so the sketch is the same in any order, and merging is exact.
// State:   40 bytes; in the arena 8 bytes a bucket in use, in a table between 3/8 and 3/4 full, and as much
//          again for tables outgrown. Values of a factor of 1,000 use at most 1,280 buckets.
// Source:  Masson, Rim, Lee, "DDSketch", VLDB 2019, for the error; HdrHistogram for the log-linear buckets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/column.h"
#include "data/snapshot.h"
#include "data/types.h"

namespace wrackline::expr {

class PercentileSketch {
 public:
  // NaN is above every number, as in PostgreSQL.
  void add(double value, Arena& arena);
  void merge(const PercentileSketch& other, Arena& arena);

  bool is_empty() const { return count_ == 0; }
  // The value of rank ceil(fraction * count), at least 1. `whole`: all values are whole numbers.
  // Requires: not empty; fraction from 0 to 1 with at most 18 digits after the point.
  double percentile(const Decimal& fraction, bool whole) const;

  // Writes the state, and becomes what was written, in an empty one.
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in, Arena& arena);

 private:
  // A place holds a bucket (20 bits, never 0) and its count (44 bits).
  uint64_t& place_of(uint32_t bucket) const;
  void add_to_bucket(uint32_t bucket, uint64_t times, Arena& arena);
  void grow(Arena& arena);
  size_t capacity() const { return size_t{1} << log_; }

  uint64_t table_;  // address of 2^log_ places; 0: none
  uint32_t used_;
  uint32_t log_;
  uint64_t count_;
  double least_;
  double greatest_;
};

}  // namespace wrackline::expr
