// Reads runs of JSON lines into columns: by templates, and flat lines of other shapes by a walk.
//
// Used by:   the JSONL parser, which reads what is left over through JsonReader.
// Invariant: a line that this reader takes, JsonReader takes too and gives the same values for. The reverse
//            need not hold.
// Threads:   one reader belongs to one thread.
// Cost:      with AVX-512 some 25 ns for a line of 140 bytes with four wanted fields; a walk some 150 ns.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "formats/convert.h"
#include "formats/found_lines.h"
#include "formats/json_loose_lines.h"
#include "formats/json_reader.h"
#include "formats/json_template.h"
#include "formats/line_kernels.h"
#include "formats/slot_reader.h"

namespace wrackline::formats {

class JsonLineReader {
 public:
  JsonLineReader(const std::vector<Field>& fields, const TimeZone* zone, SimdLevel level);

  // Learns from a valid line, line end included; not from every line that it is shown.
  void learn(std::string_view whole_line);

  // Finds the whole lines at the front of `chunk`, at most `lines_max`; blank ones are left out.
  // Requires: chunk.size() <= kChunkBytesMax; kKernelReachBytes readable on both sides.
  void find_lines(std::string_view chunk, size_t lines_max);

  // Reads the lines found last: line i into row `row` + i of the needed columns.
  // Requires: the columns have those rows, all valid.
  void read_lines(size_t row, Batch& batch);

  const FoundLines& lines() const { return lines_; }
  // Returns true if line `i` fits a template, so that there is nothing to learn from it.
  bool is_shaped(size_t i) const { return shape_of_[i] >= 0; }

 private:
  static constexpr size_t kShapesMax = 8;
  static constexpr int8_t kUnknown = -1;  // shapes of lines that fit none
  static constexpr int8_t kLoose = -2;
  // A template that fits none of so many lines makes room for another.
  static constexpr int64_t kStaleLines = 10'000;
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

  bool match_run(LineStart start, size_t lines_max);
  bool match_shape(size_t shape, LineStart start, size_t lines_max);
  void add_other_line(LineStart start, size_t line_feed_mark);
  void judge_shapes();
  void check_utf8();
  void choose_lines();
  void choose_all_lines(Shape& shape);

  void read_shape(const Shape& shape, size_t row, Batch& batch);
  void read_loose_lines(size_t row, Batch& batch);
  void read_strings(const Slot& slot, size_t field, size_t row, Batch& batch);
  void read_escaped(const Slot& slot, size_t field, size_t row, Batch& batch);
  void read_bare(const Slot& slot, size_t field, size_t row, Batch& batch);
  void read_containers(const Slot& slot, size_t field, size_t row, Batch& batch);
  void read_one(const JsonValue& value, size_t line, size_t field, size_t row, Batch& batch);
  void check_bare(const Slot& slot);
  void check_escaped(const PlacedValues& values);

  const std::vector<Field>& fields_;
  const TimeZone* zone_;
  const LineKernels& kernels_;
  std::vector<Shape> shapes_;
  size_t current_shape_ = 0;       // fitted last, is tried first
  size_t shape_pause_chunks_ = 0;  // chunks to come in which no template is tried, because few fitted lately
  int64_t lines_seen_ = 0;
  int64_t lessons_ = 0;  // taken
  LooseLines loose_;
  SlotReader slots_;
  JsonUnescaper unescaper_;

  // The chunk looked at last.
  std::vector<uint16_t> marks_;
  size_t mark_count_ = 0;
  FoundLines lines_;
  std::array<int8_t, FoundLines::kMax> shape_of_;  // index of the line's template, or one of the above
};

}  // namespace wrackline::formats
