#include "operators/balance.h"

#include <algorithm>

namespace wrackline {

FateCounts& FateCounts::operator+=(const FateCounts& other) {
  read += other.read;
  accepted += other.accepted;
  accepted_partially += other.accepted_partially;
  ledgered += other.ledgered;
  duplicate += other.duplicate;
  filtered += other.filtered;
  held += other.held;
  for (size_t i = 0; i < kReasonCount; ++i) {
    dropped[i] += other.dropped[i];
    ledgered_by_reason[i] += other.ledgered_by_reason[i];
  }
  corrected += other.corrected;
  return *this;
}

FateCounts Balance::total() const {
  FateCounts sum;
  for (const FateCounts& counts : counts_) sum += counts;
  return sum;
}

bool Balance::balanced() const {
  return std::all_of(counts_.begin(), counts_.end(),
                     [](const FateCounts& counts) { return counts.balanced(); });
}

}  // namespace wrackline
