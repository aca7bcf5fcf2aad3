// The bytes of the tick log: entries and header to bytes and back. No I/O.
//
// An entry is written as differences to the entry before it of the same source, as variable-length integers;
// so coder and decoder each keep the same TickCoding per source. A frame is
//   length (varint, of the payload), CRC-32C of the payload (4 bytes, little-endian), payload.
// Source:  CRC-32C: RFC 3720 appendix B.4; variable-length integers: LEB128, zigzag for signed ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tick_log.h"

namespace wrackline::runtime {

inline constexpr std::string_view kTickMagic = "WRKTICKS";
inline constexpr uint8_t kTickFormatVersion = 2;

// What coder and decoder know of one source.
struct TickCoding {
  struct Split {
    int64_t next_offset = 0;
    uint32_t file = 0;
  };
  int64_t wall_us = 0;
  int64_t progress_us = kMicrosMin;
  int64_t delay_us = 0;
  std::optional<uint32_t> holder;
  uint32_t partition_count = 0;
  std::vector<Split> splits;
  std::vector<std::string> files;
};

// Appends the payload of `entry` and brings `coding` up to it. Requires: indexes are of things told before.
void encode_tick(const TickEntry& entry, TickCoding& coding, std::string& out);
// The payload back. `codings` is by source and grows when a source is met first. Errors: kData for bytes that
// are no entry; `codings` is then of no more use.
Status decode_tick(std::string_view payload, std::vector<TickCoding>& codings, TickEntry& entry);

void append_frame(std::string& out, std::string_view payload);
// The payload of the frame at `position`, which moves behind it; nullopt when there is no whole, sound one.
std::optional<std::string_view> read_frame(std::string_view bytes, size_t& position);

// A segment's beginning: magic, version, header frame.
struct TickSegmentHead {
  TickLogHeader log;
  uint64_t first_sequence = 0;
  int64_t ticks_before = 0;
};
void append_head(std::string& out, const TickSegmentHead& head);
// Moves `position` behind it. Errors: kData.
Result<TickSegmentHead> read_head(std::string_view bytes, size_t& position);

}  // namespace wrackline::runtime
