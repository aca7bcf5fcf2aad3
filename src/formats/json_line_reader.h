// Reads runs of JSON lines by templates into columns.
//
// Used by: the JSONL parser, which reads what is left over through JsonReader.
// Invariant: a line that this reader takes, JsonReader takes too and gives the same values for. The reverse
// need not hold. Threads:   one reader belongs to one thread. Cost:      a line of 140 bytes with four wanted
// fields takes some 20 ns with AVX-512.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "formats/convert.h"
#include "formats/json_kernels.h"
#include "formats/json_loose_lines.h"
#include "formats/json_template.h"

namespace wrackline::formats {

class JsonLineReader {
 public:
  static constexpr size_t kLinesMax = LineTable::kLinesMax;  // found at a time

  // A line that was found.
  struct Line {
    std::string_view text;   // without its line end
    std::string_view whole;  // with it
    size_t number = 0;       // of the line in the chunk, from 0; blank lines are counted but not found
    bool is_shaped = false;  // it fits a template
    bool is_read = false;    // read_lines has put its values into the columns
  };

  JsonLineReader(const std::vector<Field>& fields, const TimeZone* zone, SimdLevel level);

  // Learns from a valid line, line end included; not from every line that it is shown.
  void learn(std::string_view whole_line);

  // Finds the whole lines at the front of `chunk`, at most `lines_max`; blank ones are left out.
  // Returns: how many there are. Requires: chunk.size() <= kChunkBytesMax; kKernelReachBytes readable on both
  // sides.
  size_t find_lines(std::string_view chunk, size_t lines_max);
  // Of the lines found last, blank ones included.
  size_t bytes_found() const { return bytes_found_; }
  size_t line_ends_found() const { return line_ends_found_; }

  // Reads the lines found last: line i into row `row` + i of the needed columns.
  // Requires: the columns have those rows, all valid.
  void read_lines(size_t row, Batch& batch);

  Line line(size_t index) const;
  // Writes the identity of the lines from `from` on that were read, up to the first that was not, for the
  // rows from batch.rows on; returns how many. The first record has offset `offset`, the chunk's first line
  // number `line`.
  size_t add_read_lines(size_t from, int64_t offset, int64_t line, Batch& batch) const;

 private:
  static constexpr size_t kShapesMax = 8;
  static constexpr int8_t kUnknown = -1;  // shapes of lines that fit none
  static constexpr int8_t kLoose = -2;
  static constexpr int64_t kStaleLines =
      10'000;  // a template that fits none of so many lines makes room for another
  static constexpr int64_t kLinesPerLesson = 64;
  static constexpr int64_t kLessonsMax = 16;  // that may be saved up

  struct Shape {
    JsonTemplate form;
    uint64_t head = 0;  // the first bytes of its lines
    uint64_t head_mask = 0;
    int64_t last_used = 0;                  // lines_seen_ when it fitted last
    std::span<const uint16_t> chosen;       // the lines found last that fit
    std::span<const uint16_t> first_marks;  // their first marks
    std::vector<uint16_t> chosen_room;      // where the spans point unless all lines fit
    std::vector<uint16_t> first_marks_room;
  };

  // One value of each of several lines.
  struct Slot {
    SlotRows rows;
    std::span<const uint16_t> lines;  // value i is one of line lines[i]
    bool is_string = false;
    bool is_checked = true;

    std::string_view text(size_t i) const {
      const uint16_t* const marks = rows.marks + rows.first_marks[i];
      const ptrdiff_t begin = marks[rows.begin.mark] + rows.begin.offset;
      const ptrdiff_t end = marks[rows.end.mark] + rows.end.offset;
      // Literals that overlap leave less than nothing between them: an empty text.
      return {rows.chunk + begin, static_cast<size_t>(end < begin ? 0 : end - begin)};
    }
  };

  bool match_run(LineStart start, size_t lines_max);
  bool match_shape(size_t shape, LineStart start, size_t lines_max);
  void add_other_line(LineStart start, size_t line_feed_mark);
  void judge_shapes();
  void check_utf8();
  void choose_lines();
  void choose_all_lines(Shape& shape);

  void read_shape(const Shape& shape, size_t row, Batch& batch);
  void read_loose_lines(size_t row, Batch& batch);
  Slot slot_of(const Shape& shape, const TemplateSlot& slot) const;
  Slot slot_of(const LooseLines::Values& values, size_t first, bool is_string) const;
  void read_slot(const Slot& slot, size_t field, size_t row, Batch& batch);
  std::span<const uint16_t> read_integers(const Slot& slot, size_t row, Column& column);
  std::span<const uint16_t> read_times(const Slot& slot, size_t field, size_t row, Column& column);
  void read_one(const Slot& slot, size_t i, size_t row, Column& column, Arena& arena);
  void check_bare(const Slot& slot);
  void remember_date_of(std::string_view text, size_t field);
  // Where the loops write a slot's values: straight into the column if it has one of all lines.
  int64_t* values_of(const Slot& slot, size_t row, Column& column);
  void place_values(const Slot& slot, size_t row, Column& column) const;

  const std::vector<Field>& fields_;
  const TimeZone* zone_;
  const JsonKernels& kernels_;
  std::vector<Shape> shapes_;
  size_t current_shape_ = 0;       // fitted last, is tried first
  size_t shape_pause_chunks_ = 0;  // chunks to come in which no template is tried, because few fitted lately
  int64_t lines_seen_ = 0;
  int64_t lessons_ = 0;            // taken
  std::vector<DateMemory> dates_;  // per column
  LooseLines loose_;

  // The chunk looked at last.
  std::string_view chunk_;
  std::vector<uint16_t> marks_;
  size_t mark_count_ = 0;
  size_t bytes_found_ = 0;
  size_t line_ends_found_ = 0;
  size_t line_count_ = 0;
  LineTable lines_;
  std::array<uint16_t, kLinesMax> numbers_;  // of the line in the chunk
  std::array<int8_t, kLinesMax> shape_of_;   // index of its template, or one of the above
  std::array<bool, kLinesMax> failed_;       // fits, but holds a value that does not convert
  std::array<uint16_t, kLinesMax> missed_;
  std::array<int64_t, kLinesMax> values_;  // of lines that do not stand one after the other, or of no column
};

}  // namespace wrackline::formats
