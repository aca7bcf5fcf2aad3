// JSON lines: one object a line.
//
// Most lines of a stream differ from the lines before only in their values. So a line is first compared with
// the templates learned from earlier lines (json_template.h). One that fits none but is flat is walked over
// (json_loose_lines.h). What is left, or holds a value that the quick converters do not take, goes through
// simdjson alone (json_reader.h). All ways accept the same lines and give the same values; jsonl_parser_fuzz
// holds them to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json_line_reader.h"
#include "formats/json_reader.h"
#include "formats/parser.h"
#include "formats/record_log.h"

namespace wrackline::formats {

class JsonlParser final : public Parser {
 public:
  // `level` is for tests; all give the same results.
  explicit JsonlParser(ParserOptions options, SimdLevel level = best_simd_level());

  Result<size_t> parse(std::string_view bytes, bool at_end, size_t rows_max, Batch& batch) override;
  int64_t records() const override { return log_.records; }
  int64_t lines() const override { return log_.lines; }
  std::vector<std::string> fields_seen() const override { return reader_.unknown_names(); }
  std::optional<ParserPlace> place() const override {
    if (oversize_.active()) return std::nullopt;
    return ParserPlace{log_.records, log_.lines, started_, false};
  }
  std::vector<std::string> header() const override { return {}; }
  Status go_on(const ParserPlace& place, std::vector<std::string>) override {
    log_ = {place.records, place.lines};
    started_ = place.started;
    return {};
  }

 private:
  // Where the next line of `rest` ends.
  struct LineEnd {
    size_t size = 0;     // bytes before the line feed, or all there are
    bool found = false;  // there is a line feed
  };
  LineEnd find_line_end(std::string_view rest) const;
  size_t parse_line(std::string_view rest, bool at_end, RowSpace& space, Batch& batch);
  size_t skip_oversize(std::string_view rest, bool at_end, Batch& batch);
  bool read_line(std::string_view line, RowSpace& space, Batch& batch);
  bool read_row(std::string_view line, RowSpace& space, Batch& batch);

  bool templates_may_help(size_t bytes_before) const;
  size_t parse_chunk(std::string_view rest, size_t records_max, RowSpace& space, Batch& batch);
  void read_found_line(size_t i, RowSpace& space, Batch& batch);
  void judge_templates(size_t lines, size_t unread);

  ParserOptions options_;
  JsonReader reader_;
  RecordLog log_;
  OversizeLine oversize_;
  bool started_ = false;  // the byte order mark was looked for
  size_t searched_ = 0;   // bytes at the front of the next view that hold no line end

  JsonLineReader lines_;
  size_t bytes_per_line_ = 256;  // of the last chunk
  size_t pause_lines_ = 0;       // lines to read without templates because they did not fit lately
  size_t last_pause_ = 0;
};

}  // namespace wrackline::formats
