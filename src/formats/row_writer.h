// Published rows to bytes: JSON lines, CSV, and a table for people.
//
// JSON lines and CSV carry _op, _version, _status and _generation after the selected columns, always. The
// table shows them only where they say something. Text forms are those of data/value.h. Threads: not
// thread-safe; a writer belongs to one sink. Cost:    no allocation per row once the output string has its
// size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/column.h"
#include "data/types.h"

namespace wrackline::formats {

// A column of few distinct words: row i says names[codes[i]].
struct CodedColumn {
  std::span<const uint8_t> codes;
  std::span<const std::string_view> names;
  std::string_view at(size_t row) const { return names[codes[row]]; }
};

// Shape: every span has `count` rows; `columns` are those that the writer was made with, in order.
struct Rows {
  size_t count = 0;
  std::span<const Column> columns;
  CodedColumn ops;  // insert, update, retract
  std::span<const int64_t> versions;
  CodedColumn statuses;  // early, on_time, correction, drain
  int64_t generation = 0;
};

struct RowColumn {
  std::string name;
  Type type;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // What stands before the first row: CSV's header. Called once, before append.
  virtual void begin(std::string& out) = 0;
  virtual void append(std::string& out, const Rows& rows) = 0;
  // What the writer still holds back (a table waits for its first screenful to find its widths).
  virtual void flush(std::string& out) = 0;
};

std::unique_ptr<RowWriter> make_jsonl_writer(const std::vector<RowColumn>& columns);
// RFC 4180 with LF line ends. NULL is the empty field, an empty text is "". No byte of a text is changed.
std::unique_ptr<RowWriter> make_csv_writer(const std::vector<RowColumn>& columns);

struct TableOptions {
  bool colour = false;         // ANSI escapes for the header and the marks
  size_t sample_rows = 40;     // rows that decide the widths
  size_t text_width_max = 48;  // wider texts are cut with an ellipsis; numbers and times never are
};
// The header once, aligned columns, numbers to the right, NULL where there is no value. Control characters in
// texts are escaped: a record cannot drive the terminal. A row that is more than a first, timely version ends
// with a mark: "v2 correction", "retracted".
std::unique_ptr<RowWriter> make_table_writer(const std::vector<RowColumn>& columns,
                                             const TableOptions& options = {});

// Columns that a terminal uses to show `text` (valid UTF-8): 0 for combining marks, 2 for wide East Asian
// characters.
size_t display_width(std::string_view text);

}  // namespace wrackline::formats
