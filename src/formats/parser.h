// Bytes to batches: the interface of every input format.
//
// A parser is given a growing view of a partition's bytes and eats whole records from its front. It never
// guesses: what does not parse becomes a Reject with its line, offset, bytes and a sentence, and parsing goes
// on with the next record. Validity is strict: a JSON line is one object, wholly valid (UTF-8 too), with
// nothing after it, whatever columns are needed; a duplicate key keeps the last value, as PostgreSQL's jsonb
// does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "data/time_zone.h"

namespace wrackline::formats {

// Bytes, of any content, that are readable beyond the end of those given to parse.
inline constexpr size_t kPaddingBytes = 128;

struct ParserOptions {
  std::vector<Field> fields;                   // the declared columns
  const TimeZone* time_zone = nullptr;         // how zoneless times are read; nullptr: they are rejected
  size_t record_bytes_max = size_t{16} << 20;  // a longer record is a Reject(kOversize)
  char delimiter = ',';                        // CSV
  bool header = true;                          // CSV: the first record names the columns
  std::string null_text;                       // CSV: what, unquoted, means NULL (default: the empty field)
  std::string file;                            // for messages
  bool templates = true;                       // false: records one by one, slowly; same results, to compare
};

// Where a parser stands between two records. Another parser of the same options that is set there and given
// the bytes from there on goes on as this one would.
struct ParserPlace {
  int64_t records = 0;
  int64_t lines = 0;
  bool started = false;      // a byte order mark was looked for
  bool header_read = false;  // CSV: the header lies behind
};

class Parser {
 public:
  virtual ~Parser() = default;

  // Eats records from `bytes` into `batch` (appending rows and rejects) until `rows_max` records were eaten
  // or no whole record is left, and returns how many bytes it ate. `at_end`: nothing follows, so a last line
  // without a line end is a record. Eating nothing with rows_max > 0 means: give me a longer view. Blank
  // lines are no records, but count as lines. Call it with at_end once in any case, if need be with an empty
  // view: an oversize record may still wait for its end.
  // Requires: kPaddingBytes readable bytes after the view; the view starts where the last call stopped
  // eating. Errors:   only for what stops the whole input (a CSV header without a declared column).
  virtual Result<size_t> parse(std::string_view bytes, bool at_end, size_t rows_max, Batch& batch) = 0;

  virtual int64_t records() const = 0;  // eaten so far, rejects too: the next record's offset
  virtual int64_t lines() const = 0;    // lines eaten so far
  // Names of top-level fields seen in the first records but not declared, for hints. May be empty.
  virtual std::vector<std::string> fields_seen() const = 0;

  // nullopt: parts of a record that is too long were eaten, and not its end.
  virtual std::optional<ParserPlace> place() const = 0;
  // The names in a CSV header that was read.
  virtual std::vector<std::string> header() const = 0;
  // Requires: nothing was parsed. Errors: as parse(), for a header without a declared column.
  virtual Status go_on(const ParserPlace& place, std::vector<std::string> header) = 0;
};

enum class Format : uint8_t { kJsonl, kCsv };
Result<Format> parse_format(std::string_view name);
// From the file's name: .jsonl .ndjson .json .csv (and these with .gz or .zst).
Result<Format> guess_format(std::string_view file);
std::unique_ptr<Parser> make_parser(Format format, ParserOptions options);

}  // namespace wrackline::formats
