// Fates and the balance: every record has exactly one fate in a view, and the counts must add up.
//
// Law (docs/semantics.md section 5), per view, source and partition:
//   read = accepted + accepted_partially + ledgered + duplicate + dropped + filtered + held
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/snapshot.h"
#include "wrackline/watermark_tracker.h"

namespace wrackline {

struct FateCounts {
  int64_t read = 0;
  int64_t accepted = 0;
  int64_t accepted_partially = 0;
  int64_t ledgered = 0;
  int64_t duplicate = 0;
  int64_t filtered = 0;
  int64_t held = 0;
  std::array<int64_t, kReasonCount> dropped{};
  // Beside the fates: ledgered records by reason, and accepted ones that corrected a closed window.
  std::array<int64_t, kReasonCount> ledgered_by_reason{};
  int64_t corrected = 0;

  int64_t dropped_total() const {
    int64_t sum = 0;
    for (const int64_t count : dropped) sum += count;
    return sum;
  }
  bool balanced() const {
    return read == accepted + accepted_partially + ledgered + duplicate + filtered + held + dropped_total();
  }
  FateCounts& operator+=(const FateCounts& other);
};

// The fates of one view over one source, by partition.
class Balance {
 public:
  FateCounts& of(PartitionIndex partition) {
    if (partition >= counts_.size()) counts_.resize(partition + 1);
    return counts_[partition];
  }
  const std::vector<FateCounts>& by_partition() const { return counts_; }
  FateCounts total() const;
  bool balanced() const;
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in);

 private:
  std::vector<FateCounts> counts_;
};

}  // namespace wrackline
