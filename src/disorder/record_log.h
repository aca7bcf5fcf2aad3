// All records of a run as packed columns, so that they can be scanned again: plain memory, then a spill file.
//
// Shape:   blocks of up to kLogBlockRows records. Each column of a block is stored as its minimum and, per
//          value, the distance from it in as many bytes (0, 1, 2, 4 or 8) as the greatest distance needs.
//          Real streams take 8 to 10 bytes a record; a column that does not vary takes none.
// Owns:    its chunks of bytes; the spill file is shared with the caller.
// Threads: not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

inline constexpr size_t kLogBlockRows = 2048;

// Records as the log takes and gives them. Spans are equally long; `delay_us` of a record without arrival
// means nothing.
struct LogRows {
  std::span<const int64_t> event_us;
  std::span<const int64_t> delay_us;
  std::span<const PartitionId> partition;  // appending: empty when all are of partition_all
  PartitionId partition_all = 0;
  std::span<const uint8_t> has_arrival;  // appending: empty when all have it, or none (arrival_all)
  bool arrival_all = true;
  std::span<const uint64_t> key_hash;  // empty: no keys
};

class RecordLog {
 public:
  RecordLog(size_t memory_bytes_max, std::shared_ptr<SpillFile> spill);

  // Appends at most kLogBlockRows records. Errors: the spill file's.
  std::expected<void, std::string> append(const LogRows& rows);

  // Calls `visit` with every block in order; all its spans but key_hash are filled (key_hash if it was
  // appended).
  std::expected<void, std::string> scan(const std::function<void(const LogRows&)>& visit) const;

  uint64_t rows() const { return rows_; }
  size_t memory_bytes() const { return chunks_.size() * kChunkBytes; }
  uint64_t spilled_bytes() const { return spilled_chunks_ * kChunkBytes; }

 private:
  static constexpr size_t kChunkBytes = size_t{1} << 20;
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t used = 0;
  };
  std::expected<void, std::string> make_room(size_t bytes);

  size_t memory_bytes_max_;
  std::shared_ptr<SpillFile> spill_;
  std::vector<Chunk> chunks_;         // full chunks in memory, oldest first
  std::vector<size_t> spilled_used_;  // used bytes of each chunk in the spill file, in order
  uint64_t spilled_chunks_ = 0;
  Chunk open_;  // being filled
  uint64_t rows_ = 0;
};

}  // namespace wrackline::disorder
