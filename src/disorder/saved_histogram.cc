#include "disorder/saved_histogram.h"

#include <string>
#include <string_view>
#include <vector>

namespace wrackline::disorder {
namespace {

constexpr int kGroupBits = 7;
constexpr uint8_t kMore = 0x80;

void append_number(std::string& out, uint64_t number) {
  for (; number >= kMore; number >>= kGroupBits) out += static_cast<char>(number | kMore);
  out += static_cast<char>(number);
}

// nullopt: the bytes end within a number, or it has more than 64 bits.
std::optional<uint64_t> take_number(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += kGroupBits) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    const uint64_t group = byte & (kMore - 1U);
    if (group << shift >> shift != group) return std::nullopt;
    number |= group << shift;
    if ((byte & kMore) == 0) return number;
  }
  return std::nullopt;
}

uint64_t zigzag(int64_t number) {
  return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
}

int64_t unzigzag(uint64_t number) {
  return static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1);
}

std::optional<std::vector<DelayHistogram::Bucket>> take_buckets(std::string_view bytes) {
  constexpr int64_t kIndexMost = INT32_MAX;
  std::vector<DelayHistogram::Bucket> buckets;
  int64_t index = 0;
  while (!bytes.empty()) {
    const auto step = take_number(bytes);
    const auto count = step ? take_number(bytes) : std::nullopt;
    if (!count) return std::nullopt;
    const int64_t by = unzigzag(*step);
    if (by > kIndexMost || by < -kIndexMost) return std::nullopt;
    index += by;
    if (index > kIndexMost || index < -kIndexMost) return std::nullopt;
    buckets.push_back({.index = static_cast<DelayHistogram::BucketIndex>(index), .count = *count});
  }
  return buckets;
}

}  // namespace

void save(const DelayHistogram& histogram, SnapshotWriter& out) {
  std::string buckets;
  int64_t index = 0;
  for (const DelayHistogram::Bucket& bucket : histogram.buckets()) {
    append_number(buckets, zigzag(bucket.index - index));
    append_number(buckets, bucket.count);
    index = bucket.index;
  }
  out.text(buckets);
  if (histogram.empty()) return;
  out.i64(histogram.min());
  out.i64(histogram.max());
  out.u64(static_cast<uint64_t>(histogram.sum()));
  out.i64(static_cast<int64_t>(histogram.sum() >> 64));
  out.u8(histogram.extremes_exact() ? 1 : 0);
}

DelayHistogram restore_histogram(SnapshotReader& in) {
  const auto buckets = take_buckets(in.text());
  if (buckets && buckets->empty()) return {};
  const int64_t min = in.i64();
  const int64_t max = in.i64();
  const uint64_t sum_low = in.u64();
  const auto sum_high = static_cast<WideSum>(in.i64());
  const bool exact = in.u8() != 0;
  auto histogram =
      buckets ? DelayHistogram::restore(*buckets, min, max, sum_high * (WideSum{1} << 64) + sum_low, exact)
              : std::nullopt;
  if (histogram) return std::move(*histogram);
  in.refuse("these are the buckets of no histogram");
  return {};
}

}  // namespace wrackline::disorder
