// Reads runs of CSV records that are one line each into columns.
//
// The marks here are the bytes that CSV gives a meaning: delimiter, quote, carriage return, line feed. A
// record is walked from mark to mark: an unquoted field ends at the next one, a quoted field between two
// quotes. What is not a well-formed record on one line, doubled quotes included, ends the run; the CSV parser
// reads it the other way.
//
// Invariant: a record that this reader takes, CsvParser's slow way takes too and gives the same values for.
// Threads:   one reader belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "formats/found_lines.h"
#include "formats/line_kernels.h"
#include "formats/parser.h"
#include "formats/slot_reader.h"

namespace wrackline::formats {

class CsvLineReader {
 public:
  // Converts one field the slow way: its text, whether it stood in quotes, its column's index, and its row.
  // False: it does not convert.
  using ReadField = std::function<bool(std::string_view, bool, size_t, size_t, Batch&)>;

  CsvLineReader(const ParserOptions& options, SimdLevel level, ReadField read_field);

  // A record has `fields` fields; column i is field place[i].
  void set_places(size_t fields, const std::vector<size_t>& place);

  // Finds the records at the front of `chunk`, at most `lines_max`, up to the first that is not plain.
  // Requires: the chunk is what follows a line feed or the view's beginning; chunk.size() <= kChunkBytesMax;
  //           kKernelReachBytes readable on both sides.
  void find_lines(std::string_view chunk, size_t lines_max);
  // Reads the records found last: line i into row `row` + i of the needed columns.
  // Requires: the columns have those rows, all valid.
  void read_lines(size_t row, Batch& batch);
  const FoundLines& lines() const { return lines_; }

 private:
  // Where the values of one column stand.
  struct FieldValues {
    size_t column = 0;
    PlacedValues plain;
    PlacedValues quoted;
  };
  bool walk_line(size_t& at, size_t& mark);
  void drop_values(size_t line);
  void read_values(const Slot& slot, bool quoted, size_t column, size_t row, Batch& batch);
  void read_text(const Slot& slot, bool quoted, size_t row, Column& column) const;
  void read_each(const Slot& slot, std::span<const uint16_t> chosen, bool quoted, size_t column, size_t row,
                 Batch& batch);

  const ParserOptions& options_;
  const LineKernels& kernels_;
  ReadField read_field_;
  bool quick_numbers_;       // no number or time is the text that means NULL
  std::vector<int> wanted_;  // per field of a record: index into values_, or -1
  std::vector<FieldValues> values_;
  SlotReader slots_;
  std::vector<uint16_t> marks_;
  size_t mark_count_ = 0;
  FoundLines lines_;
};

}  // namespace wrackline::formats
