#include "wrackline/delay_histogram.h"

#include <algorithm>

#include "base/check.h"

namespace wrackline {
namespace {

constexpr int64_t kNothingMin = std::numeric_limits<int64_t>::max();
constexpr int64_t kNothingMax = std::numeric_limits<int64_t>::min();

}  // namespace

uint64_t DelayHistogram::allocate_page(size_t slot) {
  // Exactly what is needed: with thousands of partitions the spare half of a doubled vector would be
  // gigabytes.
  pages_.reserve(pages_.size() + kPageBuckets);
  pages_.resize(pages_.size() + kPageBuckets);
  page_of_[slot] = static_cast<uint8_t>(pages_.size() >> kSubBits);
  return page_of_[slot];
}

void DelayHistogram::add(std::span<const int64_t> values) {
  WideSum sum = 0;
  int64_t low = min_;
  int64_t high = max_;
  for (const int64_t value : values) {
    ++counter(value);
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  count_ += values.size();
  sum_ += sum;
  min_ = low;
  max_ = high;
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
  for (size_t slot = 0; slot < page_of_.size(); ++slot) {
    const uint64_t theirs = other.page_of_[slot];
    if (theirs == 0) continue;
    if (page_of_[slot] == 0) allocate_page(slot);
    const uint64_t* from = other.pages_.data() + ((theirs - 1) << kSubBits);
    uint64_t* to = pages_.data() + ((uint64_t{page_of_[slot]} - 1) << kSubBits);
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
  for (size_t slot = 0; slot < page_of_.size(); ++slot) {
    const uint64_t theirs = other.page_of_[slot];
    if (theirs == 0) continue;
    const uint64_t* from = other.pages_.data() + ((theirs - 1) << kSubBits);
    const bool known = page_of_[slot] != 0;
    uint64_t* to = known ? pages_.data() + ((uint64_t{page_of_[slot]} - 1) << kSubBits) : nullptr;
    for (uint64_t i = 0; i < kPageBuckets; ++i) {
      const uint64_t have = known ? to[i] : 0;
      WRACKLINE_CHECK(from[i] <= have, "a histogram can only take back what was added to it");
      if (known) to[i] -= from[i];
    }
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
  max_ = std::min(max_, locate(count_).bucket.upper);
  extremes_exact_ = false;
}

uint64_t DelayHistogram::count_in(BucketIndex index) const {
  const auto at = static_cast<uint64_t>(index < 0 ? -index : index);
  const size_t slot = (index < 0 ? kPagesPerSign : 0) + (at >> kSubBits);
  const uint64_t page = page_of_[slot];
  return page == 0 ? 0 : pages_[((page - 1) << kSubBits) | (at & (kPageBuckets - 1))];
}

template <class Visit>
void DelayHistogram::visit_buckets(Visit visit) const {
  const auto visit_one = [&](size_t slot, uint64_t within) {
    const uint64_t count = pages_[((uint64_t{page_of_[slot]} - 1) << kSubBits) | within];
    if (count == 0) return true;
    const bool negative = slot >= kPagesPerSign;
    const uint64_t octave = slot - (negative ? kPagesPerSign : 0);
    const auto magnitude = static_cast<BucketIndex>((octave << kSubBits) | within);
    const BucketIndex index = negative ? -magnitude : magnitude;
    return visit(Bucket{index, lower_edge(index), upper_edge(index), count});
  };
  // Negative values ascend from the greatest magnitude down.
  for (size_t slot = 2 * kPagesPerSign; slot-- > kPagesPerSign;) {
    if (page_of_[slot] == 0) continue;
    for (uint64_t within = kPageBuckets; within-- > 0;) {
      if (!visit_one(slot, within)) return;
    }
  }
  for (size_t slot = 0; slot < kPagesPerSign; ++slot) {
    if (page_of_[slot] == 0) continue;
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

}  // namespace wrackline
