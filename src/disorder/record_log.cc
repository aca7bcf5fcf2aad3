#include "disorder/record_log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/check.h"

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
constexpr size_t kBlockBytesMax = sizeof(BlockHeader) + kColumns * kValueBytesMax;

uint8_t width_for(uint64_t distance) {
  if (distance == 0) return 0;
  if (distance <= 0xFF) return 1;
  if (distance <= 0xFFFF) return 2;
  if (distance <= 0xFFFFFFFF) return 4;
  return 8;
}

template <class Narrow, class T>
void pack_as(std::span<const T> values, T base, std::byte* to) {
  // Distances are taken without a sign so that the whole int64 range has one.
  for (size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<Narrow>(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(base));
    std::memcpy(to + i * sizeof(Narrow), &narrow, sizeof(Narrow));
  }
}

// Packs a column to `to` and returns its end.
template <class T>
std::byte* pack(std::span<const T> values, ColumnHeader& header, std::byte* to) {
  T low = values.front();
  T high = values.front();
  for (const T value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  header.base = static_cast<uint64_t>(low);
  header.width = width_for(static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
  switch (header.width) {
    case 1:
      pack_as<uint8_t>(values, low, to);
      break;
    case 2:
      pack_as<uint16_t>(values, low, to);
      break;
    case 4:
      pack_as<uint32_t>(values, low, to);
      break;
    case 8:
      pack_as<uint64_t>(values, low, to);
      break;
    default:
      break;
  }
  return to + values.size() * header.width;
}

template <class Narrow, class T>
void unpack_as(const std::byte* from, uint64_t base, std::span<T> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    Narrow narrow{};
    std::memcpy(&narrow, from + i * sizeof(Narrow), sizeof(Narrow));
    values[i] = static_cast<T>(base + narrow);
  }
}

template <class T>
const std::byte* unpack(const std::byte* from, const ColumnHeader& header, std::span<T> values) {
  switch (header.width) {
    case 1:
      unpack_as<uint8_t>(from, header.base, values);
      break;
    case 2:
      unpack_as<uint16_t>(from, header.base, values);
      break;
    case 4:
      unpack_as<uint32_t>(from, header.base, values);
      break;
    case 8:
      unpack_as<uint64_t>(from, header.base, values);
      break;
    default:
      std::ranges::fill(values, static_cast<T>(header.base));
  }
  return from + values.size() * header.width;
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
    from = unpack(from, header.columns[kPartition], std::span(partition).first(n));
    from = unpack(from, header.columns[kArrival], std::span(has_arrival).first(n));
    rows = {};
    rows.event_us = std::span(event_us).first(n);
    rows.delay_us = std::span(delay_us).first(n);
    rows.partition = std::span(partition).first(n);
    rows.has_arrival = std::span(has_arrival).first(n);
    if (header.has_key != 0) {
      from = unpack(from, header.columns[kKey], std::span(key_hash).first(n));
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
  auto room = make_room(sizeof(BlockHeader) + n * (4 * sizeof(uint64_t) + 1));
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
    at = pack(rows.partition, header.columns[kPartition], at);
  }
  if (rows.has_arrival.empty()) {
    header.columns[kArrival].base = rows.arrival_all ? 1 : 0;
  } else {
    at = pack(rows.has_arrival, header.columns[kArrival], at);
  }
  if (!rows.key_hash.empty()) {
    header.has_key = 1;
    at = pack(rows.key_hash, header.columns[kKey], at);
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
