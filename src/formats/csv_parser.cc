#include "formats/csv_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "formats/convert.h"

namespace wrackline::formats {
namespace {

constexpr char kQuote = '"';

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// `text` with each doubled quote as one.
std::string_view undoubled(std::string_view text, Arena& arena) {
  char* const begin = arena.allocate(text.size());
  char* out = begin;
  for (size_t i = 0; i < text.size(); ++i) {
    *out++ = text[i];
    if (text[i] == kQuote) ++i;
  }
  return {begin, static_cast<size_t>(out - begin)};
}

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kShownMax = 50;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShownMax; ++i) {
    text += format("{}\"{}\"", i == 0 ? "" : ", ", printable(names[i]));
  }
  if (names.size() > kShownMax) text += format(" and {} more", names.size() - kShownMax);
  return text;
}

}  // namespace

CsvParser::CsvParser(ParserOptions options, SimdLevel level)
    : options_(std::move(options)),
      lines_(options_, level, [this](std::string_view text, bool quoted, size_t i, size_t row, Batch& batch) {
        return read_value({text, quoted}, row, batch.columns[i], batch.arena) == Conversion::kOk;
      }) {
  const std::string_view not_delimiters = "\"\r\n";
  WRACKLINE_CHECK(not_delimiters.find(options_.delimiter) == std::string_view::npos,
                  "a quote or line end as delimiter");
  if (options_.header) return;
  header_read_ = true;
  fields_expected_ = options_.fields.size();
  for (size_t i = 0; i < fields_expected_; ++i) place_.push_back(i);
  lines_.set_places(fields_expected_, place_);
}

Result<size_t> CsvParser::parse(std::string_view bytes, bool at_end, size_t rows_max, Batch& batch) {
  WRACKLINE_CHECK(batch.columns.size() == options_.fields.size(), "a batch of other columns");
  size_t eaten = 0;
  if (!started_) {
    const std::optional<size_t> mark = byte_order_mark(bytes, at_end);
    if (!mark) return 0;
    eaten = *mark;
    started_ = true;
  }
  if (!header_read_) {
    WRACKLINE_ASSIGN(const size_t header, parse_header(bytes.substr(eaten), at_end));
    eaten += header;
    if (!header_read_) return eaten;
  }
  batch.places = place_;
  RowSpace space(options_.fields, batch);
  const int64_t begin = log_.records;
  for (size_t records = 0; records < rows_max; records = static_cast<size_t>(log_.records - begin)) {
    const std::string_view rest = bytes.substr(eaten);
    size_t more = lines_may_help(eaten) ? parse_chunk(rest, rows_max - records, space, batch) : 0;
    if (more == 0) more = parse_record(rest, at_end, space, batch);
    if (more == 0) break;
    eaten += more;
  }
  return eaten;
}

// ---- finding the record ----

// Cuts the record at the front of `rest` into slices_. Only the first bytes, as many as a record may have,
// are looked at, so that how much of the input is in view changes nothing.
CsvParser::Scan CsvParser::scan_record(std::string_view rest, bool at_end) {
  constexpr size_t kLineEndMax = 2;
  const size_t window = options_.record_bytes_max + kLineEndMax;
  const bool final = at_end && rest.size() <= window;
  const std::string_view bytes = rest.substr(0, window);
  Scan scan;
  scan.outcome = rest.size() >= window ? Outcome::kTooLong : Outcome::kMore;  // unless something is found
  scan.lines = 1;
  slices_.clear();
  if (bytes.empty()) return scan;
  for (size_t at = 0;;) {
    const bool found = at < bytes.size() && bytes[at] == kQuote ? scan_quoted(bytes, final, at, scan)
                                                                : scan_plain(bytes, at, scan);
    if (!found) return scan;
    if (at < bytes.size() && bytes[at] == options_.delimiter) {
      ++at;
      continue;
    }
    if (scan_line_end(bytes, final, at, scan)) {
      scan.outcome = scan.bytes == 0                          ? Outcome::kBlank
                     : scan.bytes > options_.record_bytes_max ? Outcome::kTooLong
                                                              : Outcome::kRecord;
    }
    return scan;
  }
}

// Reads a field in quotes and moves `at` behind it. False: malformed, or its end is not in view.
bool CsvParser::scan_quoted(std::string_view bytes, bool final, size_t& at, Scan& scan) {
  const size_t begin = at + 1;
  bool doubled = false;
  size_t close = bytes.find(kQuote, begin);
  while (close != std::string_view::npos && close + 1 < bytes.size() && bytes[close + 1] == kQuote) {
    doubled = true;
    close = bytes.find(kQuote, close + 2);
  }
  if (close == std::string_view::npos) {
    if (final) {
      scan.outcome = Outcome::kMalformed;
      scan.fault = format("the quote that opens field {} is not closed before the end of the input",
                          slices_.size() + 1);
    }
    return false;
  }
  if (close + 1 == bytes.size() && !final) return false;  // it may be half of a doubled quote
  const std::string_view text = bytes.substr(begin, close - begin);
  slices_.push_back({text, true, doubled});
  scan.lines += std::count(text.begin(), text.end(), '\n');
  at = close + 1;
  if (at == bytes.size() || bytes[at] == options_.delimiter || bytes[at] == '\n' || bytes[at] == '\r')
    return true;
  scan.outcome = Outcome::kMalformed;
  scan.fault = format("text after the closing quote of field {}; a quote inside a field is written twice",
                      slices_.size());
  return false;
}

bool CsvParser::scan_plain(std::string_view bytes, size_t& at, Scan& scan) {
  const size_t begin = at;
  while (at < bytes.size() && bytes[at] != options_.delimiter && bytes[at] != '\n' && bytes[at] != '\r' &&
         bytes[at] != kQuote) {
    ++at;
  }
  slices_.push_back({bytes.substr(begin, at - begin)});
  if (at == bytes.size() || bytes[at] != kQuote) return true;
  scan.outcome = Outcome::kMalformed;
  scan.fault = format("a quote inside field {}, which does not begin with one", slices_.size());
  return false;
}

// Reads the line end at `at`, where a field ended that no delimiter follows. False: malformed or not in view.
bool CsvParser::scan_line_end(std::string_view bytes, bool final, size_t at, Scan& scan) const {
  scan.bytes = at;
  if (at == bytes.size()) {
    scan.eaten = at;
    return final;
  }
  if (bytes[at] == '\n') {
    scan.eaten = at + 1;
    return true;
  }
  if (at + 1 == bytes.size()) {  // a carriage return, and nothing behind it yet
    scan.eaten = at + 1;
    return final;
  }
  scan.eaten = at + 2;
  if (bytes[at + 1] == '\n') return true;
  scan.outcome = Outcome::kMalformed;
  scan.fault = format("a carriage return without a line feed in field {}, outside quotes", slices_.size());
  return false;
}

// ---- the header ----

Error CsvParser::header_error(ErrorCode code, std::string message, std::string detail,
                              std::string hint) const {
  Error error{code, std::move(message), std::move(detail), std::move(hint), {}};
  error.where.file = options_.file;
  error.where.line = log_.lines + 1;
  return error;
}

// Eats the header, and blank lines before it. Leaves header_read_ false if it is not wholly in view.
Result<size_t> CsvParser::parse_header(std::string_view rest, bool at_end) {
  size_t eaten = 0;
  for (;;) {
    const std::string_view view = rest.substr(eaten);
    const Scan scan = scan_record(view, at_end);
    switch (scan.outcome) {
      case Outcome::kMore:
        return eaten;
      case Outcome::kBlank:
        break;
      case Outcome::kTooLong:
        return fail(header_error(ErrorCode::kOutOfRange,
                                 format("the header of file \"{}\" has no end", options_.file),
                                 format("No line end in the first {} bytes.", options_.record_bytes_max),
                                 "Is it a CSV file? Its first line must name the columns."));
      case Outcome::kMalformed:
        return fail(header_error(ErrorCode::kData,
                                 format("the header of file \"{}\" is not CSV", options_.file),
                                 format("Found {}.", scan.fault), "Quote whole names, or none."));
      case Outcome::kRecord: {
        const std::string_view raw = view.substr(0, scan.bytes);
        if (!is_utf8(raw) || raw.find('\0') != std::string_view::npos) {
          return fail(header_error(
              ErrorCode::kData, format("the header of file \"{}\" is not text in UTF-8", options_.file), {},
              "Is it a CSV file? Convert it with iconv if it has another encoding."));
        }
        WRACKLINE_TRY(match_header(names_of_header()));
        header_read_ = true;
        break;
      }
    }
    log_.lines += scan.lines;
    eaten += scan.eaten;
    if (header_read_) return eaten;
  }
}

Status CsvParser::go_on(const ParserPlace& place, std::vector<std::string> header) {
  log_ = {place.records, place.lines};
  started_ = place.started;
  if (!options_.header || !place.header_read) return {};
  header_read_ = true;
  return match_header(std::move(header));
}

std::vector<std::string> CsvParser::names_of_header() const {
  Arena arena;
  std::vector<std::string> names;
  for (const Slice& slice : slices_) {
    names.emplace_back(slice.doubled ? undoubled(slice.text, arena) : slice.text);
  }
  return names;
}

Status CsvParser::match_header(std::vector<std::string> names) {
  fields_expected_ = names.size();
  for (const Field& field : options_.fields) {
    const auto found = std::find(names.begin(), names.end(), field.name);
    if (found == names.end()) return fail(missing_column(field.name, names));
    if (std::find(found + 1, names.end(), field.name) != names.end()) {
      return fail(header_error(
          ErrorCode::kData, format("file \"{}\" has two columns \"{}\"", options_.file, field.name), {},
          "Rename one of them in the header, or leave the column out of the declaration."));
    }
    place_.push_back(static_cast<size_t>(found - names.begin()));
  }
  for (const std::string& name : names) {
    const bool declared = std::any_of(options_.fields.begin(), options_.fields.end(),
                                      [&](const Field& field) { return field.name == name; });
    if (!declared) fields_seen_.push_back(name);
  }
  lines_.set_places(fields_expected_, place_);
  header_ = std::move(names);
  return {};
}

Error CsvParser::missing_column(const std::string& name, const std::vector<std::string>& names) const {
  const auto folded = [](std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    return lower;
  };
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto same = std::find_if(names.begin(), names.end(),
                                 [&](const std::string& other) { return folded(other) == folded(name); });
  const std::string nearest = nearest_name(name, known);
  std::string hint = "Declare columns by the names in the header, or set header = 'off' if it is no header.";
  if (same != names.end()) {
    hint = format("Write \"{}\" in double quotes: SQL folds names without them to small letters.", *same);
  } else if (!nearest.empty()) {
    hint = format("Did you mean \"{}\"?", printable(nearest));
  }
  return header_error(ErrorCode::kNotFound, format("file \"{}\" has no column \"{}\"", options_.file, name),
                      format("Its header names {}.", joined(names)), std::move(hint));
}

// ---- records ----

// Eats what stands at the front of `rest`: a record, a blank line, a malformed line, or a part of an oversize
// one. Returns 0 if its end is not in view.
size_t CsvParser::parse_record(std::string_view rest, bool at_end, RowSpace& space, Batch& batch) {
  if (oversize_.active()) return skip_oversize(rest, at_end, batch);
  if (pause_records_ > 0) --pause_records_;
  Scan scan = scan_record(rest, at_end);
  switch (scan.outcome) {
    case Outcome::kMore:
      return 0;
    case Outcome::kMalformed:
      return reject_line(rest, at_end, std::move(scan.fault), batch);
    case Outcome::kTooLong:
      return reject_line(rest, at_end,
                         format("a quote is not closed within the {} bytes that a record may have",
                                options_.record_bytes_max),
                         batch);
    case Outcome::kRecord:
      read_record(rest.substr(0, scan.bytes), space, batch);
      break;
    case Outcome::kBlank:
      break;
  }
  log_.lines += scan.lines;
  return scan.eaten;
}

// Makes a Reject of the line at the front of `rest`, an oversize one if no record may be that long.
size_t CsvParser::reject_line(std::string_view rest, bool at_end, std::string fault, Batch& batch) {
  const size_t found = rest.find('\n');
  const bool ended = found != std::string_view::npos;
  const bool whole = ended || at_end;
  const std::string_view line = whole ? without_return(rest.substr(0, found)) : rest;
  if (line.size() > options_.record_bytes_max + (whole ? 0 : 1)) {
    oversize_.start();
    return skip_oversize(rest, at_end, batch);
  }
  if (!whole) return 0;
  log_.add_reject(Reason::kUnparseable, line, line.size(), std::move(fault), batch);
  ++log_.lines;
  return ended ? found + 1 : rest.size();
}

size_t CsvParser::skip_oversize(std::string_view rest, bool at_end, Batch& batch) {
  const size_t found = rest.find('\n');
  const bool ended = found != std::string_view::npos;
  const size_t size = ended ? found : rest.size();
  oversize_.take(rest.substr(0, size));
  if (!ended && !at_end) return size;
  oversize_.finish(options_.record_bytes_max, log_, batch);
  ++log_.lines;
  return size + (ended ? 1 : 0);
}

void CsvParser::read_record(std::string_view raw, RowSpace& space, Batch& batch) {
  const auto reject = [&](std::string fault) {
    log_.add_reject(Reason::kUnparseable, raw, raw.size(), std::move(fault), batch);
  };
  if (!is_utf8(raw)) return reject("not valid UTF-8");
  if (raw.find('\0') != std::string_view::npos) return reject("a NUL byte");
  if (slices_.size() != fields_expected_) {
    return reject(format("{} field{} where {} expected", slices_.size(), slices_.size() == 1 ? "" : "s",
                         fields_expected_ == 1 ? "1 is" : format("{} are", fields_expected_)));
  }
  space.reserve(1);
  read_row(raw, space, batch);
}

// Converts the slices into the next row, or makes a Reject of the first that does not convert.
void CsvParser::read_row(std::string_view raw, RowSpace& space, Batch& batch) {
  const size_t row = batch.rows;
  for (size_t i = 0; i < options_.fields.size(); ++i) {
    const Field& field = options_.fields[i];
    if (!field.needed) continue;
    const Slice& slice = slices_[place_[i]];
    const Conversion done = read_value(slice, row, batch.columns[i], batch.arena);
    if (done == Conversion::kOk) continue;
    space.clear_row(row);
    log_.add_reject(reason_of(done), raw, raw.size(), describe(done, field, format("\"{}\"", slice.text)),
                    batch);
    return;
  }
  log_.add_row(raw, batch);
}

Conversion CsvParser::read_value(const Slice& slice, size_t row, Column& column, Arena& arena) {
  if (!slice.quoted && slice.text == options_.null_text) {
    column.set_null(row);
    return Conversion::kOk;
  }
  const std::string_view text = slice.doubled ? undoubled(slice.text, arena) : slice.text;
  if (column.type().kind == TypeKind::kJson && !json_.is_valid(text)) return Conversion::kMalformed;
  return convert_text(text, options_.time_zone, column, row);
}

// ---- many records at once ----

// The loops read some bytes before the record, so the first records of a view go the other way.
bool CsvParser::lines_may_help(size_t bytes_before) const {
  return options_.templates && pause_records_ == 0 && bytes_before >= kKernelReachBytes &&
         !oversize_.active();
}

// Eats the plain records at the front of `rest`, at most `records_max`. Returns 0 if the first one is not
// plain or not wholly there. Where few are plain, looking for them is lost work: it pauses, longer each time.
size_t CsvParser::parse_chunk(std::string_view rest, size_t records_max, RowSpace& space, Batch& batch) {
  constexpr size_t kFewLines = 8;
  constexpr size_t kPauseMin = 16;
  constexpr size_t kPauseMax = 4096;
  const size_t lines_max = std::min(records_max, FoundLines::kMax);
  const size_t wanted = lines_max * (bytes_per_line_ + bytes_per_line_ / 4) + kKernelReachBytes;
  lines_.find_lines(rest.substr(0, std::min(wanted, kChunkBytesMax)), lines_max);
  const FoundLines& found = lines_.lines();
  if (found.count >= std::min(kFewLines, lines_max)) {
    last_pause_ = 0;
  } else {
    last_pause_ = std::clamp(last_pause_ * 2, kPauseMin, kPauseMax);
    pause_records_ = last_pause_;
  }
  if (found.bytes == 0) return 0;
  if (found.count > 0) bytes_per_line_ = found.bytes / found.count + 1;
  space.reserve(found.count);
  lines_.read_lines(batch.rows, batch);
  add_lines(found, options_.record_bytes_max, space, log_, batch,
            [&](size_t i) { read_found_line(i, space, batch); });
  return found.bytes;
}

// A plain record with a value that does not convert, or one that is too long.
void CsvParser::read_found_line(size_t i, RowSpace& space, Batch& batch) {
  const std::string_view line = lines_.lines().text(i);
  if (line.size() > options_.record_bytes_max) {
    log_.add_reject(Reason::kOversize, line, line.size(),
                    oversize_detail(line.size(), options_.record_bytes_max), batch);
    return;
  }
  const Scan scan = scan_record(lines_.lines().whole(i), true);
  WRACKLINE_CHECK(scan.outcome == Outcome::kRecord && scan.bytes == line.size(),
                  "a record is judged in two ways");
  read_record(line, space, batch);
}

}  // namespace wrackline::formats
