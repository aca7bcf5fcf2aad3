#include "wrackline/delay_histogram.h"

#include <algorithm>

#include "base/check.h"
#include "disorder/kernels.h"

namespace wrackline {
namespace {

constexpr size_t kPart = 2048;  // values; stay in the first-level cache for the second look at them
constexpr int64_t kNothingMin = std::numeric_limits<int64_t>::max();
constexpr int64_t kNothingMax = std::numeric_limits<int64_t>::min();

}  // namespace

uint64_t DelayHistogram::allocate_page(size_t slot) {
  const size_t begin = pages_.size();
  // Exactly what is needed: with thousands of partitions the spare half of a doubled vector would be
  // gigabytes.
  pages_.reserve(begin + kPageBuckets);
  pages_.resize(begin + kPageBuckets);
  page_at_[slot] = static_cast<uint16_t>(begin);
  return begin;
}

void DelayHistogram::add(std::span<const int64_t> values) {
  constexpr size_t kFew = 8;  // below this, calls cost more than loops save
  if (values.size() < kFew) {
    for (const int64_t value : values) add(value);
    return;
  }
  for (; values.size() > kPart; values = values.subspan(kPart)) add_part(values.first(kPart));
  add_part(values);
}

// Alone in its function: among other code the compiler gives this loop twice the time.
[[gnu::noinline]] void DelayHistogram::count_all(std::span<const int64_t> values) {
  static_assert(disorder::kNegativePages == kPagesPerSign);
  std::array<uint32_t, kPart> places;
  disorder::find_places(values, places.data());
  uint64_t* pages = pages_.data();
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t slot = places[i] >> kSubBits;
    uint64_t page = page_at_[slot];
    if (page == kNoPage) [[unlikely]] {
      page = allocate_page(slot);
      pages = pages_.data();
    }
    ++pages[page + (places[i] & (kPageBuckets - 1))];
  }
}

void DelayHistogram::add_part(std::span<const int64_t> values) {
  count_all(values);
  const disorder::Extremes found = disorder::extremes(values);
  count_ += values.size();
  min_ = std::min(min_, found.min);
  max_ = std::max(max_, found.max);
  // The wrapped sum is the sum unless so many values of that size could have left the range.
  constexpr auto kRange = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (std::max(magnitude(found.min), magnitude(found.max)) <= kRange / values.size()) {
    sum_ += found.wrapped_sum;
  } else {
    for (const int64_t value : values) sum_ += value;
  }
}

void DelayHistogram::add(int64_t value, uint64_t times) {
  if (times == 0) return;
  counter(value) += times;
  count_ += times;
  sum_ += static_cast<WideSum>(value) * static_cast<WideSum>(times);
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

void DelayHistogram::merge(const DelayHistogram& other) {
  if (other.empty()) return;
  for (size_t slot = 0; slot < page_at_.size(); ++slot) {
    if (other.page_at_[slot] == kNoPage) continue;
    if (page_at_[slot] == kNoPage) allocate_page(slot);
    const uint64_t* const from = other.pages_.data() + other.page_at_[slot];
    uint64_t* const to = pages_.data() + page_at_[slot];
    for (uint64_t i = 0; i < kPageBuckets; ++i) to[i] += from[i];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  extremes_exact_ = extremes_exact_ && other.extremes_exact_;
}

void DelayHistogram::subtract(const DelayHistogram& other) {
  if (other.empty()) return;
  for (size_t slot = 0; slot < page_at_.size(); ++slot) {
    if (other.page_at_[slot] == kNoPage) continue;
    const uint64_t* const from = other.pages_.data() + other.page_at_[slot];
    uint64_t* const to = page_at_[slot] == kNoPage ? nullptr : pages_.data() + page_at_[slot];
    WRACKLINE_CHECK(to != nullptr || std::ranges::all_of(std::span(from, kPageBuckets),
                                                         [](uint64_t count) { return count == 0; }),
                    "a histogram can only take back what was added to it");
    if (to == nullptr) continue;
    uint64_t too_many = 0;
    for (uint64_t i = 0; i < kPageBuckets; ++i) too_many |= to[i] < from[i] ? 1 : 0;
    WRACKLINE_CHECK(too_many == 0, "a histogram can only take back what was added to it");
    for (uint64_t i = 0; i < kPageBuckets; ++i) to[i] -= from[i];
  }
  count_ -= other.count_;
  sum_ -= other.sum_;
  tighten_extremes();
}

void DelayHistogram::tighten_extremes() {
  if (count_ == 0) {
    min_ = kNothingMin;
    max_ = kNothingMax;
    extremes_exact_ = true;
    return;
  }
  // What was taken away may have been the extreme itself, so only the buckets still tell.
  min_ = std::max(min_, locate(1).bucket.lower);
  max_ = std::min(max_, last_upper_edge());
  extremes_exact_ = false;
}

// Of the last bucket that is not empty. Requires: there is one.
int64_t DelayHistogram::last_upper_edge() const {
  const auto edge = [&](size_t slot, uint64_t within) {
    const bool negative = slot >= kPagesPerSign;
    const uint64_t octave = slot - (negative ? kPagesPerSign : 0);
    const auto magnitude = static_cast<BucketIndex>((octave << kSubBits) | within);
    return upper_edge(negative ? -magnitude : magnitude);
  };
  // The other way round: positive values descend from the greatest magnitude, negative ones from the least.
  for (size_t slot = kPagesPerSign; slot-- > 0;) {
    if (page_at_[slot] == kNoPage) continue;
    for (uint64_t within = kPageBuckets; within-- > 0;) {
      if (pages_[page_at_[slot] + within] != 0) return edge(slot, within);
    }
  }
  for (size_t slot = kPagesPerSign; slot < 2 * kPagesPerSign; ++slot) {
    if (page_at_[slot] == kNoPage) continue;
    for (uint64_t within = 0; within < kPageBuckets; ++within) {
      if (pages_[page_at_[slot] + within] != 0) return edge(slot, within);
    }
  }
  check_failed(__FILE__, __LINE__, "a histogram that is not empty has a last bucket", {});
}

uint64_t DelayHistogram::count_in(BucketIndex index) const {
  const auto at = static_cast<uint64_t>(index < 0 ? -index : index);
  const size_t slot = (index < 0 ? kPagesPerSign : 0) + (at >> kSubBits);
  const uint64_t page = page_at_[slot];
  return page == kNoPage ? 0 : pages_[page + (at & (kPageBuckets - 1))];
}

template <class Visit>
void DelayHistogram::visit_buckets(Visit visit) const {
  const auto visit_one = [&](size_t slot, uint64_t within) {
    const uint64_t count = pages_[page_at_[slot] + within];
    if (count == 0) return true;
    const bool negative = slot >= kPagesPerSign;
    const uint64_t octave = slot - (negative ? kPagesPerSign : 0);
    const auto magnitude = static_cast<BucketIndex>((octave << kSubBits) | within);
    const BucketIndex index = negative ? -magnitude : magnitude;
    return visit(Bucket{index, lower_edge(index), upper_edge(index), count});
  };
  // Negative values ascend from the greatest magnitude down.
  for (size_t slot = 2 * kPagesPerSign; slot-- > kPagesPerSign;) {
    if (page_at_[slot] == kNoPage) continue;
    for (uint64_t within = kPageBuckets; within-- > 0;) {
      if (!visit_one(slot, within)) return;
    }
  }
  for (size_t slot = 0; slot < kPagesPerSign; ++slot) {
    if (page_at_[slot] == kNoPage) continue;
    for (uint64_t within = 0; within < kPageBuckets; ++within) {
      if (!visit_one(slot, within)) return;
    }
  }
}

uint64_t DelayHistogram::count_at_least(int64_t value) const {
  const BucketIndex from = bucket_of(value);
  uint64_t below = 0;
  visit_buckets([&](const Bucket& bucket) {
    if (bucket.index >= from) return false;
    below += bucket.count;
    return true;
  });
  return count_ - below;
}

uint64_t DelayHistogram::count_at_most(int64_t value) const {
  const BucketIndex to = bucket_of(value);
  uint64_t total = 0;
  visit_buckets([&](const Bucket& bucket) {
    if (bucket.index > to) return false;
    total += bucket.count;
    return true;
  });
  return total;
}

DelayHistogram::Located DelayHistogram::locate(uint64_t rank) const {
  WRACKLINE_CHECK(rank >= 1 && rank <= count_, "ranks go from 1 to the count");
  Located located;
  visit_buckets([&](const Bucket& bucket) {
    located.bucket = bucket;
    if (located.before + bucket.count >= rank) return false;
    located.before += bucket.count;
    return true;
  });
  return located;
}

int64_t DelayHistogram::rank_lower(uint64_t rank) const {
  return std::max(locate(rank).bucket.lower, min_);
}

int64_t DelayHistogram::rank_upper(uint64_t rank) const {
  return std::min(locate(rank).bucket.upper, max_);
}

std::vector<DelayHistogram::Bucket> DelayHistogram::buckets() const {
  std::vector<Bucket> found;
  visit_buckets([&](const Bucket& bucket) {
    found.push_back(bucket);
    return true;
  });
  return found;
}

bool operator==(const DelayHistogram& a, const DelayHistogram& b) {
  if (a.count_ != b.count_ || a.sum_ != b.sum_) return false;
  const bool know = a.extremes_exact_ && b.extremes_exact_;
  if (know && (a.min_ != b.min_ || a.max_ != b.max_)) return false;
  const auto left = a.buckets();
  const auto right = b.buckets();
  return std::ranges::equal(
      left, right, [](const auto& x, const auto& y) { return x.index == y.index && x.count == y.count; });
}

std::optional<DelayHistogram> DelayHistogram::restore(std::span<const Bucket> buckets, int64_t min,
                                                      int64_t max, WideSum sum, bool extremes_exact) {
  DelayHistogram histogram;
  if (buckets.empty())
    return min == histogram.min_ && max == histogram.max_ && sum == 0 ? std::optional(histogram)
                                                                      : std::nullopt;
  constexpr auto kIndexMost = static_cast<BucketIndex>((kPagesPerSign << kSubBits) - 1);
  constexpr auto kCountMost = uint64_t{1} << 62;
  const BucketIndex last_of_all = bucket_of(std::numeric_limits<int64_t>::max());
  std::optional<BucketIndex> before;
  uint64_t total = 0;
  for (const Bucket& bucket : buckets) {
    const bool known = bucket.index >= -kIndexMost && bucket.index <= last_of_all;
    if (!known || bucket.count == 0 || bucket.count > kCountMost || (before && bucket.index <= *before) ||
        bucket_of(lower_edge(bucket.index)) != bucket.index)
      return std::nullopt;
    total += bucket.count;
    if (total > kCountMost) return std::nullopt;
    before = bucket.index;
    histogram.add(lower_edge(bucket.index), bucket.count);
  }
  if (bucket_of(min) != buckets.front().index || bucket_of(max) != buckets.back().index || min > max)
    return std::nullopt;
  histogram.min_ = min;
  histogram.max_ = max;
  histogram.sum_ = sum;
  histogram.extremes_exact_ = extremes_exact;
  return histogram;
}

}  // namespace wrackline
