#include "disorder/record_log.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "disorder/kernels.h"

namespace wrackline::disorder {
namespace {

enum Column : size_t { kEvent, kDelay, kPartition, kArrival, kKey, kColumns };

struct ColumnHeader {
  uint64_t base = 0;
  uint8_t width = 0;
};
struct BlockHeader {
  uint32_t rows = 0;
  uint32_t has_key = 0;
  std::array<ColumnHeader, kColumns> columns;
};

constexpr size_t kValueBytesMax = kLogBlockRows * sizeof(uint64_t);
static_assert(sizeof(BlockHeader) % 8 == 0);
constexpr size_t kBlockBytesMax = sizeof(BlockHeader) + kColumns * kValueBytesMax;

void subtract_base(std::span<const int64_t> values, int64_t base, std::byte* to) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t distance = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(base);
    std::memcpy(to + i * sizeof(distance), &distance, sizeof(distance));
  }
}

void add_base(const std::byte* from, int64_t base, std::span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t distance = 0;
    std::memcpy(&distance, from + i * sizeof(distance), sizeof(distance));
    values[i] = static_cast<int64_t>(static_cast<uint64_t>(base) + distance);
  }
}

uint8_t width_for(uint64_t distance) {
  if (distance == 0) return 0;
  if (distance <= 0xFF) return 1;
  if (distance <= 0xFFFF) return 2;
  if (distance <= 0xFFFFFFFF) return 4;
  return 8;
}

// Columns begin at multiples of eight bytes, so that every width is aligned.
size_t padded(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// Packs a column to `to` and returns its end.
std::byte* pack(std::span<const int64_t> values, ColumnHeader& header, std::byte* to) {
  const Extremes found = extremes(values);
  header.base = static_cast<uint64_t>(found.min);
  // Distances are taken without a sign so that the whole int64 range has one.
  header.width = width_for(static_cast<uint64_t>(found.max) - static_cast<uint64_t>(found.min));
  switch (header.width) {
    case 1:
      narrow(values, found.min, reinterpret_cast<uint8_t*>(to));
      break;
    case 2:
      narrow(values, found.min, reinterpret_cast<uint16_t*>(to));
      break;
    case 4:
      narrow(values, found.min, reinterpret_cast<uint32_t*>(to));
      break;
    case 8:
      subtract_base(values, found.min, to);
      break;
    default:
      break;
  }
  return to + padded(values.size() * header.width);
}

// Columns of other types vary seldom or not at all; they go through int64.
template <class T>
std::byte* pack_other(std::span<const T> values, ColumnHeader& header, std::byte* to) {
  std::array<int64_t, kLogBlockRows> wide;
  for (size_t i = 0; i < values.size(); ++i) wide[i] = static_cast<int64_t>(values[i]);
  return pack(std::span<const int64_t>(wide).first(values.size()), header, to);
}

const std::byte* unpack(const std::byte* from, const ColumnHeader& header, std::span<int64_t> values) {
  const auto base = static_cast<int64_t>(header.base);
  switch (header.width) {
    case 1:
      widen(reinterpret_cast<const uint8_t*>(from), base, values);
      break;
    case 2:
      widen(reinterpret_cast<const uint16_t*>(from), base, values);
      break;
    case 4:
      widen(reinterpret_cast<const uint32_t*>(from), base, values);
      break;
    case 8:
      add_base(from, base, values);
      break;
    default:
      std::ranges::fill(values, base);
  }
  return from + padded(values.size() * header.width);
}

template <class T>
const std::byte* unpack_other(const std::byte* from, const ColumnHeader& header, std::span<T> values) {
  if (header.width == 0) {
    std::ranges::fill(values, static_cast<T>(header.base));
    return from;
  }
  std::array<int64_t, kLogBlockRows> wide;
  const std::byte* const end = unpack(from, header, std::span(wide).first(values.size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(wide[i]);
  return end;
}

// One decoded block.
struct Decoded {
  std::array<int64_t, kLogBlockRows> event_us;
  std::array<int64_t, kLogBlockRows> delay_us;
  std::array<PartitionId, kLogBlockRows> partition;
  std::array<uint8_t, kLogBlockRows> has_arrival;
  std::array<uint64_t, kLogBlockRows> key_hash;

  // Decodes the block at `from` and returns its end.
  const std::byte* read(const std::byte* from, LogRows& rows) {
    BlockHeader header;
    std::memcpy(&header, from, sizeof(header));
    from += sizeof(header);
    const size_t n = header.rows;
    WRACKLINE_CHECK(n > 0 && n <= kLogBlockRows, "a block of the record log has 1 to kLogBlockRows rows");
    from = unpack(from, header.columns[kEvent], std::span(event_us).first(n));
    from = unpack(from, header.columns[kDelay], std::span(delay_us).first(n));
    from = unpack_other(from, header.columns[kPartition], std::span(partition).first(n));
    from = unpack_other(from, header.columns[kArrival], std::span(has_arrival).first(n));
    rows = {};
    rows.event_us = std::span(event_us).first(n);
    rows.delay_us = std::span(delay_us).first(n);
    rows.partition = std::span(partition).first(n);
    rows.has_arrival = std::span(has_arrival).first(n);
    if (header.has_key != 0) {
      from = unpack_other(from, header.columns[kKey], std::span(key_hash).first(n));
      rows.key_hash = std::span(key_hash).first(n);
    }
    return from;
  }
};

void visit_chunk(std::span<const std::byte> bytes, Decoded& decoded,
                 const std::function<void(const LogRows&)>& visit) {
  const std::byte* at = bytes.data();
  const std::byte* end = at + bytes.size();
  LogRows rows;
  while (at != end) {
    at = decoded.read(at, rows);
    visit(rows);
  }
}

}  // namespace

RecordLog::RecordLog(size_t memory_bytes_max, std::shared_ptr<SpillFile> spill)
    : memory_bytes_max_(memory_bytes_max), spill_(std::move(spill)) {
  static_assert(kBlockBytesMax <= kChunkBytes);
}

std::expected<void, std::string> RecordLog::make_room(size_t bytes) {
  if (open_.bytes != nullptr && open_.used + bytes <= kChunkBytes) return {};
  if (open_.bytes != nullptr) {
    const bool keep = spill_ == nullptr || memory_bytes() + 2 * kChunkBytes <= memory_bytes_max_;
    if (keep && spilled_chunks_ == 0) {
      chunks_.push_back(std::move(open_));
    } else {
      // Whole chunks at fixed places, so that reading back needs no index.
      auto written = spill_->append({open_.bytes.get(), kChunkBytes});
      if (!written) return written;
      spilled_used_.push_back(open_.used);
      ++spilled_chunks_;
    }
  }
  if (open_.bytes == nullptr) open_.bytes = std::make_unique_for_overwrite<std::byte[]>(kChunkBytes);
  open_.used = 0;
  return {};
}

std::expected<void, std::string> RecordLog::append(const LogRows& rows) {
  const size_t n = rows.event_us.size();
  if (n == 0) return {};
  WRACKLINE_CHECK(n <= kLogBlockRows, "a block of the record log has at most kLogBlockRows rows");
  auto room = make_room(sizeof(BlockHeader) + kColumns * padded(n * sizeof(uint64_t)));
  if (!room) return room;
  std::byte* const start = open_.bytes.get() + open_.used;
  BlockHeader header;
  header.rows = static_cast<uint32_t>(n);
  std::byte* at = start + sizeof(header);
  at = pack(rows.event_us, header.columns[kEvent], at);
  at = pack(rows.delay_us, header.columns[kDelay], at);
  if (rows.partition.empty()) {
    header.columns[kPartition].base = rows.partition_all;
  } else {
    at = pack_other(rows.partition, header.columns[kPartition], at);
  }
  if (rows.has_arrival.empty()) {
    header.columns[kArrival].base = rows.arrival_all ? 1 : 0;
  } else {
    at = pack_other(rows.has_arrival, header.columns[kArrival], at);
  }
  if (!rows.key_hash.empty()) {
    header.has_key = 1;
    at = pack_other(rows.key_hash, header.columns[kKey], at);
  }
  std::memcpy(start, &header, sizeof(header));
  open_.used += static_cast<size_t>(at - start);
  rows_ += n;
  return {};
}

std::expected<void, std::string> RecordLog::scan(const std::function<void(const LogRows&)>& visit) const {
  const auto decoded = std::make_unique_for_overwrite<Decoded>();
  for (const Chunk& chunk : chunks_) visit_chunk({chunk.bytes.get(), chunk.used}, *decoded, visit);
  if (spilled_chunks_ > 0) {
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kChunkBytes);
    for (size_t i = 0; i < spilled_used_.size(); ++i) {
      auto read = spill_->read(i * kChunkBytes, {buffer.get(), spilled_used_[i]});
      if (!read) return read;
      visit_chunk({buffer.get(), spilled_used_[i]}, *decoded, visit);
    }
  }
  if (open_.bytes != nullptr) visit_chunk({open_.bytes.get(), open_.used}, *decoded, visit);
  return {};
}

}  // namespace wrackline::disorder
