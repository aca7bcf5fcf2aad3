// Regroups records by partition, so that work per partition runs over many records at a time.
//
// Why:    with thousands of interleaved partitions each record touches another partition's histograms, and
//         every touch is a cache miss or ten. Collecting some hundred thousand records and sorting them by
//         partition (stable: a partition's records keep their order) turns that into a few misses per
//         partition and round. Blocks of one partition pass straight through.
// Memory: up to kRowsMax records, twice.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "disorder/kernels.h"
#include "disorder/record_log.h"

namespace wrackline::disorder {

// Consecutive records of one partition, as the log has them.
struct PartitionRun {
  PartitionId partition = 0;
  std::span<const int64_t> event_us;
  std::span<const int64_t> delay_us;     // 0 where there is none
  std::span<const uint8_t> has_arrival;  // empty: all have one when arrival_all, else none
  bool arrival_all = true;
};

class PartitionGroups {
 public:
  // Takes a block (spans as LogRows describes for appending, or filled) and calls visit(PartitionRun) for
  // what is ready, of at most kLogBlockRows records each. `partitions` is an upper bound of the ids so far.
  template <class Visit>
  void add(const LogRows& rows, size_t partitions, Visit visit) {
    const bool one = all_equal(rows.partition);
    if (one && used_ == 0) {
      const PartitionId id = rows.partition.empty() ? rows.partition_all : rows.partition.front();
      visit(PartitionRun{id, rows.event_us, rows.delay_us, rows.has_arrival, rows.arrival_all});
      return;
    }
    append(rows);
    if (used_ >= std::clamp(partitions * kRowsPerPartition, kRowsMin, kRowsMax)) flush(visit);
  }
  // Hands over what waits. Call it after the last block.
  template <class Visit>
  void flush(Visit visit) {
    sort();
    for (size_t from = 0; from < used_;) {
      const PartitionId id = waiting_[from].partition;
      const size_t count = std::min(ends_[id] - from, kLogBlockRows);
      for (size_t i = 0; i < count; ++i) {
        event_us_[i] = waiting_[from + i].event_us;
        delay_us_[i] = waiting_[from + i].delay_us;
        has_arrival_[i] = waiting_[from + i].has_arrival;
      }
      visit(PartitionRun{id, std::span(event_us_).first(count), std::span(delay_us_).first(count),
                         std::span(has_arrival_).first(count), true});
      from += count;
    }
    used_ = 0;
  }

 private:
  static constexpr size_t kRowsPerPartition = 64;
  static constexpr size_t kRowsMin = size_t{1} << 14;
  static constexpr size_t kRowsMax = size_t{1} << 18;
  // One place per record, so that moving it costs one cache line.
  struct Record {
    int64_t event_us;
    int64_t delay_us;
    PartitionId partition;
    uint8_t has_arrival;
  };
  void append(const LogRows& rows);
  void sort();

  std::vector<Record> waiting_;  // the first used_ of them
  std::vector<Record> sorted_;
  size_t used_ = 0;
  std::vector<size_t> ends_;  // after sort(): where each partition's records end
  // The run that is being visited.
  std::array<int64_t, kLogBlockRows> event_us_;
  std::array<int64_t, kLogBlockRows> delay_us_;
  std::array<uint8_t, kLogBlockRows> has_arrival_;
};

}  // namespace wrackline::disorder
