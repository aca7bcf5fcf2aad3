// The lines that were found in a chunk of input, and how they become rows of a batch.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "data/batch.h"
#include "formats/line_kernels.h"
#include "formats/record_log.h"

namespace wrackline::formats {

// Line i of the chunk becomes row i behind the rows that the batch has, unless lines before it become none.
struct FoundLines {
  static constexpr size_t kMax = LineTable::kLinesMax;

  std::string_view chunk;
  size_t count = 0;      // blank lines are left out
  size_t bytes = 0;      // of the chunk that they take up, blank lines included
  size_t line_ends = 0;  // blank lines included
  LineTable table;
  std::array<uint16_t, kMax> number;  // of the line in the chunk, from 0, blank lines included
  std::array<bool, kMax> is_read;     // its values are in the columns

  void start(std::string_view new_chunk) {
    chunk = new_chunk;
    count = 0;
    bytes = 0;
    line_ends = 0;
  }
  std::string_view text(size_t i) const {
    return chunk.substr(table.begin[i], table.end[i] - table.begin[i]);
  }
  std::string_view whole(size_t i) const {
    return chunk.substr(table.begin[i], table.next[i] - table.begin[i]);
  }
};

// Gives the lines their places in the batch, in order; `read_other(i)` adds the row or Reject of a line that
// is not read or too long. Values of rows behind others that became none move up.
// Returns:  how many lines were not read.
// Requires: `space` has room for all lines.
size_t add_lines(const FoundLines& lines, size_t record_bytes_max, RowSpace& space, RecordLog& log,
                 Batch& batch, const std::function<void(size_t)>& read_other);

}  // namespace wrackline::formats
