// A histogram of signed spans of time that never lies about ranks: the sketch under every delay and disorder.
//
// Used by: DelayProfile, LatenessBudget; on its own by programs that measure their own delays.
// Shape:   log-linear. A value v falls into a bucket by its sign and by u = |v|: below 256 each u has its own
//          bucket, above it each power of two is cut into 128 equal ones, so a bucket is at most 1/128
//          (0.79 %) as wide as its edge nearest to zero. All of int64 has a bucket: nothing is clipped,
//          nothing overflows into "other".
// Exact:   count, sum, the counts at bucket edges (count_at_least of a lower edge, count_at_most of an upper
//          one) and, until the first subtract, minimum and maximum. Integers only: the same values give the
//          same bits in any order on any machine.
// Algebra: merge is associative and commutative; subtract undoes merge.
// Memory:  a page of 128 counters (1 KiB) for each power of two that occurs; an empty histogram has none.
// Threads: not thread-safe.
// Units:   whatever the values are in; here microseconds.
// Source:  HdrHistogram's log-linear buckets (Gil Tene), with a sign and without a range to configure.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace wrackline {

__extension__ using WideSum = __int128;  // a sum of int64 values that cannot overflow

class DelayHistogram {
 public:
  // A bucket's place in ascending order of value: 0 holds exactly 0, negative indexes hold negative values.
  using BucketIndex = int32_t;

  struct Bucket {
    BucketIndex index = 0;
    int64_t lower = 0;  // smallest value that falls into it
    int64_t upper = 0;  // greatest value that falls into it
    uint64_t count = 0;
  };
  struct Located {
    Bucket bucket;
    uint64_t before = 0;  // how many values lie in lower buckets
  };

  static constexpr BucketIndex bucket_of(int64_t value) {
    const auto index = static_cast<BucketIndex>(magnitude_index(magnitude(value)));
    return value < 0 ? -index : index;
  }
  static constexpr int64_t lower_edge(BucketIndex index) {
    return index < 0 ? negated(magnitude_upper(-index)) : clamped(magnitude_lower(index));
  }
  static constexpr int64_t upper_edge(BucketIndex index) {
    return index < 0 ? negated(magnitude_lower(-index)) : clamped(magnitude_upper(index));
  }

  // Cost: 3 to 5 ns; a new power of two allocates a page.
  void add(int64_t value) {
    ++counter(value);
    ++count_;
    sum_ += value;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }
  // Adds every value. Cheaper than one by one, at most 2 ns each: buckets are found by vectors of values.
  void add(std::span<const int64_t> values);
  void add(int64_t value, uint64_t times);

  void merge(const DelayHistogram& other);
  // Takes back values that were added or merged before. Requires: every value of `other` is in this
  // histogram. Afterwards min() and max() are the outer edges of the outermost buckets left (extremes_exact()
  // is false), unless nothing is left.
  void subtract(const DelayHistogram& other);

  uint64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  WideSum sum() const { return sum_; }
  int64_t min() const { return min_; }  // Requires: not empty. So for max().
  int64_t max() const { return max_; }
  bool extremes_exact() const { return extremes_exact_; }

  // #{v >= value}, exact when `value` is a lower edge; else the whole bucket of `value` is counted in.
  uint64_t count_at_least(int64_t value) const;
  // #{v <= value}, exact when `value` is an upper edge; else the whole bucket of `value` is counted in.
  uint64_t count_at_most(int64_t value) const;
  uint64_t count_in(BucketIndex index) const;

  // The bucket that holds the value of this rank, counted from 1 in ascending order. Requires: 1 <= rank <=
  // count(). Cost: O(pages).
  Located locate(uint64_t rank) const;
  // Bounds of the value of this rank: the bucket's edges, tightened by min() and max(). The true value lies
  // between.
  int64_t rank_lower(uint64_t rank) const;
  int64_t rank_upper(uint64_t rank) const;

  // Non-empty buckets in ascending order.
  std::vector<Bucket> buckets() const;

  size_t bytes() const { return sizeof(*this) + pages_.capacity() * sizeof(uint64_t); }

  // A histogram from what one showed of itself: buckets as buckets() gives them (index and count are looked
  // at). nullopt when they are none of any histogram: not ascending, empty, beyond int64, or with ends
  // outside their buckets.
  static std::optional<DelayHistogram> restore(std::span<const Bucket> buckets, int64_t min, int64_t max,
                                               WideSum sum, bool extremes_exact = true);

  // Same counts and sum; minimum and maximum too where both know them exactly.
  friend bool operator==(const DelayHistogram& a, const DelayHistogram& b);

 private:
  static constexpr int kSubBits = 7;
  static constexpr uint64_t kPageBuckets = uint64_t{1} << kSubBits;
  static constexpr size_t kPagesPerSign = 58;  // magnitudes up to 2^63

  static constexpr uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  }
  static constexpr uint64_t magnitude_index(uint64_t u) {
    const int shift = static_cast<int>(std::bit_width(u | kPageBuckets)) - 1 - kSubBits;
    return (static_cast<uint64_t>(shift) << kSubBits) + (u >> shift);
  }
  static constexpr uint64_t magnitude_lower(BucketIndex index) {
    const auto i = static_cast<uint64_t>(index);
    if (i < 2 * kPageBuckets) return i;
    const uint64_t shift = (i >> kSubBits) - 1;
    return (i - (shift << kSubBits)) << shift;
  }
  static constexpr uint64_t magnitude_upper(BucketIndex index) {
    const auto i = static_cast<uint64_t>(index);
    if (i < 2 * kPageBuckets) return i;
    const uint64_t shift = (i >> kSubBits) - 1;
    return magnitude_lower(index) + ((uint64_t{1} << shift) - 1);
  }
  static constexpr int64_t clamped(uint64_t u) {
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return static_cast<int64_t>(u < kMax ? u : kMax);
  }
  static constexpr int64_t negated(uint64_t u) {
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    return u >= kLimit ? std::numeric_limits<int64_t>::min() : -static_cast<int64_t>(u);
  }

  // Where the value's counter is: its page, and its place in it.
  struct Place {
    size_t slot = 0;
    uint64_t within = 0;
  };
  static constexpr Place place_of(int64_t value) {
    const uint64_t index = magnitude_index(magnitude(value));
    return {(value < 0 ? kPagesPerSign : 0) + (index >> kSubBits), index & (kPageBuckets - 1)};
  }
  uint64_t& counter(int64_t value) {
    const Place place = place_of(value);
    uint64_t page = page_at_[place.slot];
    if (page == kNoPage) [[unlikely]]
      page = allocate_page(place.slot);
    return pages_[page + place.within];
  }
  void count_all(std::span<const int64_t> values);
  void add_part(std::span<const int64_t> values);
  uint64_t allocate_page(size_t slot);
  // Calls visit(Bucket) for non-empty buckets in ascending order until it returns false.
  template <class Visit>
  void visit_buckets(Visit visit) const;
  void tighten_extremes();
  int64_t last_upper_edge() const;

  static constexpr uint16_t kNoPage = 0xFFFF;
  using PageDirectory = std::array<uint16_t, 2 * kPagesPerSign>;
  static constexpr PageDirectory no_pages() {
    PageDirectory directory{};
    directory.fill(kNoPage);
    return directory;
  }
  // For each power of two (first those of values >= 0, then of negative ones): where its page begins in
  // pages_.
  PageDirectory page_at_ = no_pages();
  bool extremes_exact_ = true;
  std::vector<uint64_t> pages_;
  uint64_t count_ = 0;
  WideSum sum_ = 0;
  int64_t min_ = std::numeric_limits<int64_t>::max();
  int64_t max_ = std::numeric_limits<int64_t>::min();
};

}  // namespace wrackline
