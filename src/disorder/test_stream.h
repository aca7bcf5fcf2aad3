// Random streams for tests, and what they hold, counted slowly and plainly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

struct TestRecord {
  PartitionId partition = 0;
  int64_t event_us = 0;
  std::optional<int64_t> arrival_us;
  uint64_t key = 0;
};

struct TestStreamOptions {
  size_t records = 1000;
  PartitionId partitions = 1;
  double without_arrival = 0;  // share
  bool absurd = false;         // times at the ends of the range now and then
  int64_t step_us = 1;         // all times are multiples of this
};

inline std::vector<TestRecord> random_stream(std::mt19937_64& random, const TestStreamOptions& options) {
  std::vector<TestRecord> records;
  int64_t now = 1'700'000'000'000'000;
  std::uniform_real_distribution<double> unit(0, 1);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (size_t i = 0; i < options.records; ++i) {
    now += below(40'000) / options.step_us * options.step_us;
    const double kind = unit(random);
    int64_t delay = 5'000 + below(295'000);
    if (kind > 0.9) delay = 1'000'000 + below(19'000'000);
    if (kind > 0.98) delay = -below(4'000'000);
    if (kind > 0.99) delay = -300'000'000 - below(3) + 1;  // about the future limit
    if (kind > 0.995) delay = -below(200'000'000'000);
    delay = delay / options.step_us * options.step_us;
    TestRecord record{static_cast<PartitionId>(random() % options.partitions), now - delay, now,
                      random() % 5};
    if (options.absurd && unit(random) < 0.02) {
      record.event_us = random() % 2 == 0 ? kMicrosMax - below(1000) : kMicrosMin + 1 + below(1000);
    }
    if (unit(random) < options.without_arrival) record.arrival_us.reset();
    records.push_back(record);
  }
  return records;
}

// A batch of records that owns its columns.
struct TestBatch {
  std::vector<PartitionId> partitions;
  std::vector<int64_t> event_us;
  std::vector<int64_t> arrival_us;
  std::vector<uint8_t> has_arrival;
  std::vector<uint64_t> keys;

  TestBatch(const std::vector<TestRecord>& records, size_t from, size_t count) {
    for (size_t i = from; i < from + count; ++i) {
      partitions.push_back(records[i].partition);
      event_us.push_back(records[i].event_us);
      arrival_us.push_back(records[i].arrival_us.value_or(12345));
      has_arrival.push_back(records[i].arrival_us ? 1 : 0);
      keys.push_back(records[i].key * 0x9E3779B97F4A7C15);
    }
  }
  DelayBatch view(bool with_keys = false) const {
    DelayBatch batch;
    batch.partitions = partitions;
    batch.event_us = event_us;
    batch.arrival_us = arrival_us;
    batch.has_arrival = has_arrival;
    if (with_keys) batch.key_hash = keys;
    return batch;
  }
};

inline std::string partition_name(PartitionId id) {
  return "p" + std::to_string(id);
}

// Adds all records in batches of random sizes: `batch_max` 1 is one by one. Target: DelayProfile or
// LatenessBudget.
template <class Target>
std::expected<void, std::string> feed(Target& target, const std::vector<TestRecord>& records,
                                      std::mt19937_64& random, size_t batch_max, bool with_keys = false) {
  for (size_t from = 0; from < records.size();) {
    const size_t count = std::min<size_t>(records.size() - from, 1 + random() % batch_max);
    const TestBatch batch(records, from, count);
    if (auto added = target.add(batch.view(with_keys)); !added) return added;
    from += count;
  }
  return {};
}

// Nearest rank by its definition.
inline int64_t plain_quantile(const std::vector<int64_t>& sorted, int64_t permille) {
  size_t rank = 1;
  while (static_cast<int64_t>(rank) * 1000 < permille * static_cast<int64_t>(sorted.size())) ++rank;
  return sorted[rank - 1];
}

inline std::optional<QuantileSet> plain_quantiles(std::vector<int64_t> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  return QuantileSet{values.front(),
                     plain_quantile(values, 500),
                     plain_quantile(values, 950),
                     plain_quantile(values, 990),
                     plain_quantile(values, 999),
                     values.back()};
}

// Keeps what is spilled in memory; can be told to fail.
class MemorySpill : public SpillFile {
 public:
  std::expected<void, std::string> append(std::span<const std::byte> more) override {
    if (appends_left == 0) return std::unexpected("no space left on device");
    --appends_left;
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  std::expected<void, std::string> read(uint64_t offset, std::span<std::byte> into) override {
    if (fail_reads || offset + into.size() > bytes.size()) return std::unexpected("cannot read back");
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }
  std::vector<std::byte> bytes;
  size_t appends_left = 1000;
  bool fail_reads = false;
};

}  // namespace wrackline::disorder
