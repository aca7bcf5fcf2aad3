// JSON lines: one object a line.
//
// Most lines of a stream differ from the lines before only in their values. So a line is first matched
// against the templates learned from earlier lines (json_template.h); what matches none, or holds a value
// that the quick converters do not take, goes through simdjson alone (json_reader.h). Both ways accept the
// same lines and give the same values.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_reader.h"
#include "formats/parser.h"
#include "formats/record_log.h"

namespace wrackline::formats {

class JsonlParser final : public Parser {
 public:
  explicit JsonlParser(ParserOptions options);

  Result<size_t> parse(std::string_view bytes, bool at_end, size_t rows_max, Batch& batch) override;
  int64_t records() const override { return log_.records; }
  int64_t lines() const override { return log_.lines; }
  std::vector<std::string> fields_seen() const override { return reader_.unknown_names(); }

 private:
  // Where the next line of `rest` ends.
  struct LineEnd {
    size_t size = 0;     // bytes before the line feed, or all there are
    bool found = false;  // there is a line feed
  };
  LineEnd find_line_end(std::string_view rest) const;
  size_t parse_line(std::string_view rest, bool at_end, RowSpace& space, Batch& batch);
  size_t skip_oversize(std::string_view rest, bool at_end, Batch& batch);
  void read_line(std::string_view line, RowSpace& space, Batch& batch);
  void read_row(std::string_view line, RowSpace& space, Batch& batch);

  ParserOptions options_;
  JsonReader reader_;
  RecordLog log_;
  OversizeLine oversize_;
  bool started_ = false;  // the byte order mark was looked for
  size_t searched_ = 0;   // bytes at the front of the next view that hold no line end
};

}  // namespace wrackline::formats
