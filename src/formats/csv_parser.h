// Comma-separated values by RFC 4180, strictly.
//
// A record is one line, or several if line ends stand inside quotes. What is not well formed becomes a Reject
// and ends at its first line end; reading goes on with the next line, so that a stray quote costs one line
// and not the rest of the file. Well formed means: valid UTF-8 without NUL, quotes only around whole fields
// and doubled inside them, closed within the longest record, as many fields as the header names, no lone
// carriage return outside quotes.
//
// Records on one line without doubled quotes are read many at a time (csv_line_reader.h), with the same
// results; csv_parser_fuzz holds both ways to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/convert.h"
#include "formats/csv_line_reader.h"
#include "formats/json_reader.h"
#include "formats/parser.h"
#include "formats/record_log.h"

namespace wrackline::formats {

class CsvParser final : public Parser {
 public:
  // `level` is for tests; all give the same results.
  explicit CsvParser(ParserOptions options, SimdLevel level = best_simd_level());

  CsvParser(const CsvParser&) = delete;
  CsvParser& operator=(const CsvParser&) = delete;

  // Errors: kNotFound for a declared column that the header does not name, kData for a header that is not
  // well
  //         formed or names a declared column twice, kOutOfRange for one longer than a record may be.
  Result<size_t> parse(std::string_view bytes, bool at_end, size_t rows_max, Batch& batch) override;
  int64_t records() const override { return log_.records; }
  int64_t lines() const override { return log_.lines; }
  std::vector<std::string> fields_seen() const override { return fields_seen_; }
  std::optional<ParserPlace> place() const override {
    if (oversize_.active()) return std::nullopt;
    return ParserPlace{log_.records, log_.lines, started_, header_read_};
  }
  std::vector<std::string> header() const override { return header_; }
  Status go_on(const ParserPlace& place, std::vector<std::string> header) override;

 private:
  // A field of the record being read.
  struct Slice {
    std::string_view text;  // between the quotes if there are any
    bool quoted = false;
    bool doubled = false;  // holds doubled quotes
  };
  enum class Outcome : uint8_t { kRecord, kBlank, kMalformed, kMore, kTooLong };
  // What stands at the front of a view. The slices are in slices_.
  struct Scan {
    Outcome outcome = Outcome::kMore;
    size_t bytes = 0;   // of the record, without its line end
    size_t eaten = 0;   // with it
    int64_t lines = 0;  // that it spans
    std::string fault;  // of kMalformed
  };

  Scan scan_record(std::string_view rest, bool at_end);
  bool scan_quoted(std::string_view bytes, bool final, size_t& at, Scan& scan);
  bool scan_plain(std::string_view bytes, size_t& at, Scan& scan);
  bool scan_line_end(std::string_view bytes, bool final, size_t at, Scan& scan) const;

  Result<size_t> parse_header(std::string_view rest, bool at_end);
  Status match_header(std::vector<std::string> names);
  std::vector<std::string> names_of_header() const;
  Error missing_column(const std::string& name, const std::vector<std::string>& names) const;
  Error header_error(ErrorCode code, std::string message, std::string detail, std::string hint) const;

  size_t parse_record(std::string_view rest, bool at_end, RowSpace& space, Batch& batch);
  size_t reject_line(std::string_view rest, bool at_end, std::string fault, Batch& batch);
  size_t skip_oversize(std::string_view rest, bool at_end, Batch& batch);
  void read_record(std::string_view raw, RowSpace& space, Batch& batch);
  void read_row(std::string_view raw, RowSpace& space, Batch& batch);
  bool lines_may_help(size_t bytes_before) const;
  size_t parse_chunk(std::string_view rest, size_t records_max, RowSpace& space, Batch& batch);
  void read_found_line(size_t i, RowSpace& space, Batch& batch);
  Conversion read_value(const Slice& slice, size_t row, Column& column, Arena& arena);

  ParserOptions options_;
  JsonReader json_{{}};  // checks jsonb columns
  RecordLog log_;
  OversizeLine oversize_;
  bool started_ = false;  // the byte order mark was looked for
  bool header_read_ = false;
  size_t fields_expected_ = 0;  // fields of a record
  std::vector<size_t> place_;   // per declared field: its place in a record
  std::vector<std::string> header_;
  std::vector<std::string> fields_seen_;
  std::vector<Slice> slices_;  // of the record being read

  CsvLineReader lines_;
  size_t bytes_per_line_ = 256;  // of the last chunk
  size_t pause_records_ = 0;     // records to read one by one because few were plain lately
  size_t last_pause_ = 0;
};

}  // namespace wrackline::formats
