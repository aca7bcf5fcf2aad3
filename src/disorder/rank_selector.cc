#include "disorder/rank_selector.h"

#include <algorithm>

#include "base/check.h"

namespace wrackline::disorder {

BucketTable::BucketTable(const DelayHistogram& histogram) : buckets_(histogram.buckets()) {
  before_.reserve(buckets_.size());
  uint64_t total = 0;
  for (const auto& bucket : buckets_) {
    before_.push_back(total);
    total += bucket.count;
  }
}

DelayHistogram::Located BucketTable::locate(uint64_t rank) const {
  WRACKLINE_CHECK(rank >= 1 && rank <= count(), "ranks go from 1 to the count");
  const auto after = std::ranges::upper_bound(before_, rank - 1);
  const auto at = static_cast<size_t>(after - before_.begin()) - 1;
  return {buckets_[at], before_[at]};
}

uint64_t BucketTable::count_at_most_index(DelayHistogram::BucketIndex index) const {
  const auto after = std::ranges::upper_bound(buckets_, index, {}, &DelayHistogram::Bucket::index);
  if (after == buckets_.begin()) return 0;
  const auto at = static_cast<size_t>(after - buckets_.begin()) - 1;
  return before_[at] + buckets_[at].count;
}

void CountedValues::change_value(int64_t value) {
  if (last_count_ > 0) fresh_.emplace_back(last_, last_count_);
  last_ = value;
  last_count_ = 1;
  // Compacting costs a merge of all distinct values, so wait until as many new ones came.
  constexpr size_t kFreshMin = 4096;
  if (fresh_.size() >= std::max(kFreshMin, sorted_.size())) compact();
}

void CountedValues::compact() {
  std::ranges::sort(fresh_);
  std::vector<Counted> all;
  all.reserve(sorted_.size() + fresh_.size());
  std::ranges::merge(sorted_, fresh_, std::back_inserter(all));
  sorted_.clear();
  for (const Counted& counted : all) {
    if (!sorted_.empty() && sorted_.back().first == counted.first) {
      sorted_.back().second += counted.second;
    } else {
      sorted_.push_back(counted);
    }
  }
  fresh_.clear();
}

int64_t CountedValues::at_rank(uint64_t rank) {
  if (last_count_ > 0) fresh_.emplace_back(last_, last_count_);
  last_count_ = 0;
  if (!fresh_.empty()) compact();
  uint64_t seen = 0;
  for (const Counted& counted : sorted_) {
    seen += counted.second;
    if (seen >= rank) return counted.first;
  }
  check_failed(__FILE__, __LINE__, "a rank lies among the values that were collected", {});
}

RankSelector::RankSelector(const BucketTable& table, const std::vector<uint64_t>& ranks) {
  for (const uint64_t rank : ranks) {
    if (rank < 1 || rank > table.count()) continue;
    const auto located = table.locate(rank);
    const bool known = std::ranges::any_of(
        targets_, [&](const Target& target) { return target.bucket.index == located.bucket.index; });
    if (known) continue;
    targets_.push_back({located.bucket, located.before, {}});
    if (located.bucket.lower != located.bucket.upper) {
      filter_[word_of(located.bucket.index)] |= bit_of(located.bucket.index);
      wants_any_ = true;
    }
  }
}

// Alone in its function: among other code the compiler gives this loop twice the time.
[[gnu::noinline]] void RankSelector::offer(std::span<const int64_t> values) {
  for (const int64_t value : values) offer(value);
}

void RankSelector::collect(DelayHistogram::BucketIndex bucket, int64_t value) {
  for (Target& target : targets_) {
    if (target.bucket.index != bucket) continue;
    if (target.bucket.lower != target.bucket.upper) target.values.add(value);
    return;
  }
}

int64_t RankSelector::value(uint64_t rank) {
  for (Target& target : targets_) {
    if (rank <= target.before || rank > target.before + target.bucket.count) continue;
    if (target.bucket.lower == target.bucket.upper) return target.bucket.lower;
    return target.values.at_rank(rank - target.before);
  }
  check_failed(__FILE__, __LINE__, "only ranks that were asked for have a value", {});
}

}  // namespace wrackline::disorder
