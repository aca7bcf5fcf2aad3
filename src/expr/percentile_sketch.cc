#include "expr/percentile_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "data/decimal.h"
#include "expr/arena_memory.h"
#include "expr/ordering.h"
#include "expr/value_hash.h"

namespace wrackline::expr {
namespace {

constexpr int kCut = 52 - 7;  // bits of a double's fraction that a bucket does not tell apart
constexpr int kCountBits = 44;
constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;
constexpr uint32_t kZeroBucket = 1U << 19;

// Buckets in the order of their values: those of negative ones count down from zero's. Never 0.
uint32_t bucket_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(plain_double(value));
  const auto size = static_cast<uint32_t>((bits & ~(uint64_t{1} << 63)) >> kCut);
  return bits >> 63 != 0 ? kZeroBucket - 1 - size : kZeroBucket + size;
}

// The middle of a bucket; of whole numbers the middle of those that it holds.
double middle_of(uint32_t bucket, bool whole) {
  const bool negative = bucket < kZeroBucket;
  const uint64_t size = negative ? kZeroBucket - 1 - bucket : bucket - kZeroBucket;
  double lower = std::bit_cast<double>(size << kCut);
  double upper = std::bit_cast<double>((size + 1) << kCut);
  if (!std::isfinite(lower)) return negative ? -lower : lower;
  if (whole) {
    lower = std::ceil(lower);
    upper = std::ceil(upper) - 1;
  }
  const double middle = size == 0 ? 0 : std::isinf(upper) ? lower : lower + (upper - lower) / 2;
  return negative ? -middle : middle;
}

}  // namespace

void PercentileSketch::add(double value, Arena& arena) {
  if (count_ == 0 || compare_values(value, least_) < 0) least_ = value;
  if (count_ == 0 || compare_values(value, greatest_) > 0) greatest_ = value;
  ++count_;
  add_to_bucket(bucket_of(value), 1, arena);
}

uint64_t& PercentileSketch::place_of(uint32_t bucket) const {
  auto* places = address_in<uint64_t>(table_);
  size_t at = mix_bits(bucket) >> (64 - log_);
  while (places[at] != 0 && places[at] >> kCountBits != bucket) at = (at + 1) & (capacity() - 1);
  return places[at];
}

void PercentileSketch::add_to_bucket(uint32_t bucket, uint64_t times, Arena& arena) {
  if (table_ == 0) grow(arena);
  uint64_t* place = &place_of(bucket);
  if (*place == 0) {
    if (uint64_t{used_} + 1 > capacity() / 4 * 3) {
      grow(arena);
      place = &place_of(bucket);
    }
    *place = static_cast<uint64_t>(bucket) << kCountBits;
    ++used_;
  }
  WRACKLINE_CHECK(times <= kCountMask - (*place & kCountMask), "a bucket counts to 2^44");
  *place += times;
}

void PercentileSketch::grow(Arena& arena) {
  const auto* old_places = address_in<const uint64_t>(table_);
  const size_t old_capacity = table_ == 0 ? 0 : capacity();
  log_ = table_ == 0 ? 2 : log_ + 1;
  table_ = word_of(allocate_zeroed<uint64_t>(arena, capacity()));
  for (size_t i = 0; i < old_capacity; ++i) {
    if (old_places[i] != 0) place_of(static_cast<uint32_t>(old_places[i] >> kCountBits)) = old_places[i];
  }
}

void PercentileSketch::merge(const PercentileSketch& other, Arena& arena) {
  if (other.count_ == 0) return;
  if (count_ == 0 || compare_values(other.least_, least_) < 0) least_ = other.least_;
  if (count_ == 0 || compare_values(other.greatest_, greatest_) > 0) greatest_ = other.greatest_;
  count_ += other.count_;
  const auto* places = address_in<const uint64_t>(other.table_);
  for (size_t i = 0; i < other.capacity(); ++i) {
    if (places[i] == 0) continue;
    add_to_bucket(static_cast<uint32_t>(places[i] >> kCountBits), places[i] & kCountMask, arena);
  }
}

double PercentileSketch::percentile(const Decimal& fraction, bool whole) const {
  const __int128 unit = power_of_ten(fraction.scale);
  const __int128 exact = fraction.unscaled * static_cast<__int128>(count_);
  const auto rank = std::max<uint64_t>(static_cast<uint64_t>((exact + unit - 1) / unit), 1);
  if (rank == 1) return least_;
  if (rank == count_) return greatest_;
  std::vector<uint64_t> buckets;
  buckets.reserve(used_);
  const auto* places = address_in<const uint64_t>(table_);
  std::copy_if(places, places + capacity(), std::back_inserter(buckets), [](uint64_t at) { return at != 0; });
  std::ranges::sort(buckets);
  uint64_t before = 0;
  for (const uint64_t place : buckets) {
    before += place & kCountMask;
    if (before < rank) continue;
    const double middle = middle_of(static_cast<uint32_t>(place >> kCountBits), whole);
    if (compare_values(middle, least_) < 0) return least_;
    return compare_values(middle, greatest_) > 0 ? greatest_ : middle;
  }
  return greatest_;
}

void PercentileSketch::save(SnapshotWriter& out) const {
  out.u64(count_);
  out.f64(least_);
  out.f64(greatest_);
  out.u64(used_);
  const auto* places = address_in<const uint64_t>(table_);
  for (size_t i = 0; table_ != 0 && i < capacity(); ++i) {
    if (places[i] != 0) out.u64(places[i]);
  }
}

void PercentileSketch::restore(SnapshotReader& in, Arena& arena) {
  count_ = in.u64();
  least_ = in.f64();
  greatest_ = in.f64();
  uint64_t total = 0;
  for (size_t left = in.count(sizeof(uint64_t)); left > 0; --left) {
    const uint64_t place = in.u64();
    total += place & kCountMask;
    if (place >> kCountBits == 0 || total > kCountMask) {
      in.refuse("a bucket of a percentile cannot be");
      break;
    }
    add_to_bucket(static_cast<uint32_t>(place >> kCountBits), place & kCountMask, arena);
  }
  if (total != count_) in.refuse("the buckets of a percentile do not add up");
}

}  // namespace wrackline::expr
