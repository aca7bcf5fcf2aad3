// Values of one column from many lines at once.
//
// Used by: the readers of JSON and CSV lines, which find where the values stand.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/column.h"
#include "formats/line_kernels.h"

namespace wrackline::formats {

// One value of each of several lines, in the order of the lines.
struct Slot {
  SlotRows rows;
  std::span<const uint16_t> lines;  // value i is one of line lines[i]

  std::string_view text(size_t i) const {
    const uint16_t* const marks = rows.marks + rows.first_marks[i];
    const ptrdiff_t begin = marks[rows.begin.mark] + rows.begin.offset;
    const ptrdiff_t end = marks[rows.end.mark] + rows.end.offset;
    // Literals that overlap leave less than nothing between them: an empty text.
    return {rows.chunk + begin, static_cast<size_t>(end < begin ? 0 : end - begin)};
  }
};

// 0, 1, 2 and so on. Requires: count <= LineTable::kLinesMax.
std::span<const uint16_t> all_indexes(size_t count);

// Values that were found one by one: value i is one of line lines[i], the chunk's bytes [places[2i],
// places[2i + 1]).
struct PlacedValues {
  std::vector<uint16_t> lines;
  std::vector<uint16_t> places;

  void clear() {
    lines.clear();
    places.clear();
  }
  void add(size_t line, size_t begin, size_t end) {
    lines.push_back(static_cast<uint16_t>(line));
    places.push_back(static_cast<uint16_t>(begin));
    places.push_back(static_cast<uint16_t>(end));
  }
  void remove_last() {
    lines.pop_back();
    places.resize(places.size() - 2);
  }
  // The values from `first` on, at most LineTable::kLinesMax.
  Slot slot(const char* chunk, size_t first = 0) const;
};

class SlotReader {
 public:
  SlotReader(const LineKernels& kernels, size_t field_count) : kernels_(kernels), dates_(field_count) {}

  // Each writes the values of `slot` that it can to rows `row` + line of `column` and returns the indexes of
  // the others, which live until the next call. `line_count` is that of the chunk.
  // Requires: an integer column, a timestamp column; at most LineTable::kLinesMax values.
  std::span<const uint16_t> read_integers(const Slot& slot, size_t line_count, size_t row, Column& column);
  std::span<const uint16_t> read_times(const Slot& slot, size_t field, size_t line_count, size_t row,
                                       Column& column);
  // The indexes of the values that are not plain integers.
  std::span<const uint16_t> find_others(const Slot& slot);

 private:
  int64_t* values_of(const Slot& slot, size_t line_count, size_t row, Column& column);
  void place_values(const Slot& slot, size_t line_count, size_t row, Column& column) const;
  void remember_date_of(std::string_view text, size_t field);

  const LineKernels& kernels_;
  std::vector<DateMemory> dates_;  // per column
  std::array<uint16_t, LineTable::kLinesMax> missed_;
  std::array<int64_t, LineTable::kLinesMax>
      values_;  // of lines that are not all lines of the chunk, or of no column
};

}  // namespace wrackline::formats
