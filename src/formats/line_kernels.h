// The inner loops of the quick readers, built for several levels of the machine and chosen at run time.
//
// All levels give the same results; the tests run each that the machine has.
// Memory: the loops read up to kKernelReachBytes beyond the lines on both sides. Whoever calls them sees to
// it
//         that these bytes are readable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/json_template.h"

namespace wrackline::formats {

enum class SimdLevel : uint8_t { kBaseline, kAvx2, kAvx512 };
// The highest level that this machine has.
SimdLevel best_simd_level();
std::string_view to_string(SimdLevel level);

inline constexpr size_t kKernelReachBytes = 128;
// Marks are counted in 16 bits: so much can be looked at in one go.
inline constexpr size_t kChunkBytesMax = size_t{1} << 15;

// Lines of a chunk, as places in it, one array per property.
struct LineTable {
  static constexpr size_t kLinesMax = 512;
  std::array<uint16_t, kLinesMax> begin;
  std::array<uint16_t, kLinesMax> end;         // without the line end
  std::array<uint16_t, kLinesMax> next;        // where the next line begins
  std::array<uint16_t, kLinesMax> first_mark;  // the line's first mark among the chunk's
};

// Where a line begins: its first byte and its first mark.
struct LineStart {
  size_t byte = 0;
  size_t mark = 0;
};

// One slot of many lines of one template.
struct SlotRows {
  const char* chunk = nullptr;
  const uint16_t* marks = nullptr;        // of the chunk
  std::span<const uint16_t> first_marks;  // per line
  MarkPlace begin;                        // of the slot
  MarkPlace end;
};

// The date of the last time that was read, so that its days are counted once.
struct DateMemory {
  uint64_t low = 0;  // its text, 11 bytes with the separator
  uint32_t high = 0;
  int64_t midnight_us = 0;
};

// What a chunk holds beside its marks.
struct ChunkBytes {
  bool is_ascii = true;
  bool has_nul = false;
};

struct LineKernels {
  // Writes the places of all marks (json_template.h) of chunk[0, size) to `marks`, with room for 64 more than
  // there are; returns their number. Requires: size <= kChunkBytesMax.
  size_t (*find_marks)(const char* chunk, size_t size, uint16_t* marks, ChunkBytes& bytes);

  // The same for the bytes that CSV gives a meaning: quote, `delimiter`, carriage return, line feed.
  size_t (*find_separators)(const char* chunk, size_t size, char delimiter, uint16_t* marks,
                            ChunkBytes& bytes);

  // Writes the lines that fit `shape` one after the other to `table` from `count` on, the first one at byte
  // `begin` with first mark `mark`, until one does not fit or the table has `lines_max`; returns the table's
  // new count.
  size_t (*match_lines)(const JsonTemplate& shape, const char* chunk, std::span<const uint16_t> marks,
                        LineStart start, LineTable& table, size_t count, size_t lines_max);

  // Reads a bare slot as integers of `bits` into values[i], i counting rows.first_marks; writes the i where
  // the quick way does not work to `missed` (with room for all) and returns their number. A missed value may
  // still be valid.
  size_t (*read_integers)(const SlotRows& rows, unsigned bits, int64_t* values, uint16_t* missed);

  // The same for a string slot as times in UTC, "2024-05-01T12:00:00.123456Z" with up to six digits of
  // fraction. Days are only known from `memory`; a time of another date is missed.
  size_t (*read_times)(const SlotRows& rows, const DateMemory& memory, int64_t* values, uint16_t* missed);
};

// Requires: the machine has `level`.
const LineKernels& line_kernels(SimdLevel level);

// Asks the memory for the bytes that stand one chunk behind these: the loops over marks outrun it otherwise.
inline void prefetch_next_chunk(const char* begin, size_t size) {
  for (size_t at = 0; at < size; at += 64) __builtin_prefetch(begin + at + kChunkBytesMax, 0, 2);
}

// Loads the date of `text` into `memory`: its first 11 bytes and its midnight. Requires: text.size() >= 11.
void remember_date(std::string_view text, int64_t midnight_us, DateMemory& memory);
// Returns true if `memory` has the date of `text`. Requires: text.size() >= 11.
bool is_remembered(std::string_view text, const DateMemory& memory);

}  // namespace wrackline::formats
