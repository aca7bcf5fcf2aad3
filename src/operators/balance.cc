#include "operators/balance.h"

#include <algorithm>

namespace wrackline {
namespace {

// No count is negative or beyond what any input could have, so that the sums cannot overflow.
bool is_possible(const FateCounts& counts) {
  constexpr int64_t kMost = int64_t{1} << 56;
  const auto in_range = [](int64_t count) { return count >= 0 && count <= kMost; };
  return in_range(counts.read) && in_range(counts.accepted) && in_range(counts.accepted_partially) &&
         in_range(counts.ledgered) && in_range(counts.duplicate) && in_range(counts.filtered) &&
         in_range(counts.held) && in_range(counts.corrected) &&
         std::ranges::all_of(counts.dropped, in_range) &&
         std::ranges::all_of(counts.ledgered_by_reason, in_range) && counts.balanced();
}

}  // namespace

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

void Balance::save(SnapshotWriter& out) const {
  out.section("fate");
  out.u64(counts_.size());
  for (const FateCounts& counts : counts_) {
    for (const int64_t count : {counts.read, counts.accepted, counts.accepted_partially, counts.ledgered,
                                counts.duplicate, counts.filtered, counts.held, counts.corrected}) {
      out.i64(count);
    }
    for (const int64_t count : counts.dropped) out.i64(count);
    for (const int64_t count : counts.ledgered_by_reason) out.i64(count);
  }
}

void Balance::restore(SnapshotReader& in) {
  in.section("fate");
  counts_.assign(in.count((8 + 2 * kReasonCount) * sizeof(int64_t)), {});
  for (FateCounts& counts : counts_) {
    for (int64_t* count : {&counts.read, &counts.accepted, &counts.accepted_partially, &counts.ledgered,
                           &counts.duplicate, &counts.filtered, &counts.held, &counts.corrected}) {
      *count = in.i64();
    }
    for (int64_t& count : counts.dropped) count = in.i64();
    for (int64_t& count : counts.ledgered_by_reason) count = in.i64();
    if (!is_possible(counts)) in.refuse("the fates of a partition do not add up");
  }
}

}  // namespace wrackline
