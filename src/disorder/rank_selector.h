// Exact order statistics by two passes: a histogram says which buckets hold the wanted ranks, a scan of the
// values collects only those buckets.
//
// Used by: the profile and the budget, over the record log.
// Memory:  the values of the wanted buckets (a bucket is 0.79 % wide), equal ones counted once.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "wrackline/delay_histogram.h"

namespace wrackline::disorder {

// A histogram's buckets with running totals, for many look-ups.
class BucketTable {
 public:
  explicit BucketTable(const DelayHistogram& histogram);
  // Requires: 1 <= rank <= count.
  DelayHistogram::Located locate(uint64_t rank) const;
  const std::vector<DelayHistogram::Bucket>& buckets() const { return buckets_; }
  uint64_t count() const { return before_.empty() ? 0 : before_.back() + buckets_.back().count; }
  uint64_t count_at_most_index(DelayHistogram::BucketIndex index) const;

 private:
  std::vector<DelayHistogram::Bucket> buckets_;
  std::vector<uint64_t> before_;  // per bucket: values in lower ones
};

// Values with their counts; equal values cost no memory beyond the first once they are compacted.
class CountedValues {
 public:
  void add(int64_t value) {
    if (value == last_ && last_count_ > 0) {
      ++last_count_;
    } else {
      change_value(value);
    }
  }
  // The value of `rank` from 1. Requires: rank <= number of values added.
  int64_t at_rank(uint64_t rank);

 private:
  using Counted = std::pair<int64_t, uint64_t>;
  void change_value(int64_t value);
  void compact();

  int64_t last_ = 0;
  uint64_t last_count_ = 0;
  std::vector<Counted> sorted_;  // distinct, ascending
  std::vector<Counted> fresh_;
};

class RankSelector {
 public:
  RankSelector() = default;
  // Ranks count from 1 over the values that went into `table`'s histogram; those beyond its count are
  // ignored.
  RankSelector(const BucketTable& table, const std::vector<uint64_t>& ranks);

  // Give it every value again, in any order. Cost: a nanosecond for a value of no wanted bucket.
  void offer(int64_t value) {
    const DelayHistogram::BucketIndex bucket = DelayHistogram::bucket_of(value);
    if (may_want(bucket)) collect(bucket, value);
  }
  void offer(std::span<const int64_t> values);
  bool wants_any() const { return wants_any_; }

  // The exact value of a wanted rank. Requires: every value was offered.
  int64_t value(uint64_t rank);

 private:
  struct Target {
    DelayHistogram::Bucket bucket;
    uint64_t before = 0;
    CountedValues values;  // unused when the bucket holds a single value
  };
  void collect(DelayHistogram::BucketIndex bucket, int64_t value);

  // By the low ten bits of the bucket's index: nearly all values of other buckets are turned away at once.
  static constexpr size_t kFilterWords = 16;
  static size_t word_of(DelayHistogram::BucketIndex bucket) {
    return (static_cast<uint32_t>(bucket) / 64) % kFilterWords;
  }
  static uint64_t bit_of(DelayHistogram::BucketIndex bucket) {
    return uint64_t{1} << (static_cast<uint32_t>(bucket) % 64);
  }
  bool may_want(DelayHistogram::BucketIndex bucket) const {
    return (filter_[word_of(bucket)] & bit_of(bucket)) != 0;
  }
  std::array<uint64_t, kFilterWords> filter_{};
  bool wants_any_ = false;
  std::vector<Target> targets_;
};

}  // namespace wrackline::disorder
