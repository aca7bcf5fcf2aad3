#include "formats/found_lines.h"

namespace wrackline::formats {
namespace {

// Writes the identity of the lines [from, to), which are read.
void add_identities(const FoundLines& lines, size_t from, size_t to, int64_t lines_before, RecordLog& log,
                    Batch& batch) {
  const size_t row = batch.rows;
  const size_t count = to - from;
  batch.offsets.resize(row + count);
  batch.lines.resize(row + count);
  batch.raw.resize(row + count);
  int64_t* const offset = batch.offsets.data() + row;
  int64_t* const line = batch.lines.data() + row;
  std::string_view* const raw = batch.raw.data() + row;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = lines.table.begin[from + i];
    offset[i] = log.records + static_cast<int64_t>(i);
    line[i] = lines_before + lines.number[from + i] + 1;
    raw[i] = {lines.chunk.data() + begin, lines.table.end[from + i] - begin};
  }
  log.records += static_cast<int64_t>(count);
  batch.rows += count;
}

}  // namespace

size_t add_lines(const FoundLines& lines, size_t record_bytes_max, RowSpace& space, RecordLog& log,
                 Batch& batch, const std::function<void(size_t)>& read_other) {
  const size_t first_row = batch.rows;
  const int64_t lines_before = log.lines;
  const auto is_row = [&](size_t i) { return lines.is_read[i] && lines.text(i).size() <= record_bytes_max; };
  size_t others = 0;
  for (size_t i = 0; i < lines.count;) {
    size_t end = i;
    while (end < lines.count && is_row(end)) ++end;
    if (first_row + i != batch.rows) {
      for (size_t j = i; j < end; ++j) space.move_row(first_row + j, batch.rows + (j - i));
    }
    add_identities(lines, i, end, lines_before, log, batch);
    if (end < lines.count) {
      log.lines = lines_before + lines.number[end];
      space.clear_row(batch.rows);
      read_other(end++);
      ++others;
    }
    i = end;
  }
  for (size_t row = batch.rows; row < first_row + lines.count; ++row) space.clear_row(row);
  log.lines = lines_before + static_cast<int64_t>(lines.line_ends);
  return others;
}

}  // namespace wrackline::formats
