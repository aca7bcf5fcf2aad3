#include "formats/jsonl_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace wrackline::formats {
namespace {

std::vector<std::string> names_of(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const Field& field : fields) names.push_back(field.name);
  return names;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

JsonlParser::JsonlParser(ParserOptions options, SimdLevel level)
    : options_(std::move(options)),
      reader_(names_of(options_.fields)),
      lines_(options_.fields, options_.time_zone, level) {}

Result<size_t> JsonlParser::parse(std::string_view bytes, bool at_end, size_t rows_max, Batch& batch) {
  WRACKLINE_CHECK(batch.columns.size() == options_.fields.size(), "a batch of other columns");
  size_t eaten = 0;
  if (!started_) {
    const std::optional<size_t> mark = byte_order_mark(bytes, at_end);
    if (!mark) return 0;
    eaten = *mark;
    started_ = true;
  }
  RowSpace space(options_.fields, batch);
  const int64_t begin = log_.records;
  for (size_t records = 0; records < rows_max; records = static_cast<size_t>(log_.records - begin)) {
    const std::string_view rest = bytes.substr(eaten);
    size_t more = templates_may_help(eaten) ? parse_chunk(rest, rows_max - records, space, batch) : 0;
    if (more == 0) more = parse_line(rest, at_end, space, batch);
    if (more == 0) break;
    eaten += more;
  }
  return eaten;
}

// ---- line by line ----

JsonlParser::LineEnd JsonlParser::find_line_end(std::string_view rest) const {
  if (searched_ >= rest.size()) return {rest.size(), false};
  const void* const found = std::memchr(rest.data() + searched_, '\n', rest.size() - searched_);
  if (found == nullptr) return {rest.size(), false};
  return {static_cast<size_t>(static_cast<const char*>(found) - rest.data()), true};
}

// Eats one line, a blank one too, or a part of an oversize one. Returns 0 if `rest` holds no whole line.
size_t JsonlParser::parse_line(std::string_view rest, bool at_end, RowSpace& space, Batch& batch) {
  if (oversize_.active()) return skip_oversize(rest, at_end, batch);
  const LineEnd end = find_line_end(rest);
  const bool whole = end.found || at_end;
  const std::string_view line = whole ? without_return(rest.substr(0, end.size)) : rest;
  // A part of a line may still turn out to end with a carriage return, which is no part of the record.
  if (line.size() > options_.record_bytes_max + (whole ? 0 : 1)) {
    oversize_.start();
    searched_ = 0;
    return skip_oversize(rest, at_end, batch);
  }
  if (!whole || rest.empty()) {
    searched_ = rest.size();
    return 0;
  }
  searched_ = 0;
  if (pause_lines_ > 0) --pause_lines_;
  const size_t whole_size = end.size + (end.found ? 1 : 0);
  if (!is_blank(line) && read_line(line, space, batch) && end.found && options_.templates) {
    lines_.learn(rest.substr(0, whole_size));
  }
  ++log_.lines;
  return whole_size;
}

size_t JsonlParser::skip_oversize(std::string_view rest, bool at_end, Batch& batch) {
  const LineEnd end = find_line_end(rest);
  oversize_.take(rest.substr(0, end.size));
  if (!end.found && !at_end) return end.size;
  oversize_.finish(options_.record_bytes_max, log_, batch);
  ++log_.lines;
  return end.size + (end.found ? 1 : 0);
}

// Reads a line through simdjson into the next row. False: it became a Reject.
bool JsonlParser::read_line(std::string_view line, RowSpace& space, Batch& batch) {
  if (!reader_.read(line)) {
    log_.add_reject(Reason::kUnparseable, line, line.size(), reader_.fault(), batch);
    return false;
  }
  space.reserve(1);
  return read_row(line, space, batch);
}

// Converts the values that the reader found into the next row. False: one does not convert, the line became a
// Reject.
bool JsonlParser::read_row(std::string_view line, RowSpace& space, Batch& batch) {
  const size_t row = batch.rows;
  const std::span<const JsonValue> values = reader_.values();
  for (size_t i = 0; i < values.size(); ++i) {
    const Field& field = options_.fields[i];
    if (!field.needed) continue;
    const Conversion done = convert_json(values[i], options_.time_zone, batch.columns[i], row, batch.arena);
    if (done == Conversion::kOk) continue;
    space.clear_row(row);
    log_.add_reject(reason_of(done), line, line.size(), describe(done, field, values[i].token), batch);
    return false;
  }
  log_.add_row(line, batch);
  return true;
}

// ---- many lines by templates ----

// The loops read some bytes before the line, so the first lines of a view go the other way; the first records
// of all do so that their keys are seen.
bool JsonlParser::templates_may_help(size_t bytes_before) const {
  constexpr int64_t kFirstRecords = 4;
  return options_.templates && pause_lines_ == 0 && bytes_before >= kKernelReachBytes &&
         log_.records >= kFirstRecords && !oversize_.active();
}

// Eats the whole lines of a chunk at the front of `rest`, or as many as make `records_max` records. Returns 0
// if there is no whole line in it.
size_t JsonlParser::parse_chunk(std::string_view rest, size_t records_max, RowSpace& space, Batch& batch) {
  const size_t lines_max = std::min(records_max, FoundLines::kMax);
  const size_t wanted = lines_max * (bytes_per_line_ + bytes_per_line_ / 4) + kKernelReachBytes;
  lines_.find_lines(rest.substr(0, std::min(wanted, kChunkBytesMax)), lines_max);
  const FoundLines& found = lines_.lines();
  if (found.bytes == 0) return 0;
  searched_ = 0;
  if (found.count > 0) bytes_per_line_ = found.bytes / found.count + 1;
  space.reserve(found.count);
  lines_.read_lines(batch.rows, batch);
  const size_t unread = add_lines(found, options_.record_bytes_max, space, log_, batch,
                                  [&](size_t i) { read_found_line(i, space, batch); });
  judge_templates(found.count, unread);
  return found.bytes;
}

// A line that the templates could not read.
void JsonlParser::read_found_line(size_t i, RowSpace& space, Batch& batch) {
  const std::string_view line = lines_.lines().text(i);
  if (line.size() > options_.record_bytes_max) {
    log_.add_reject(Reason::kOversize, line, line.size(),
                    oversize_detail(line.size(), options_.record_bytes_max), batch);
  } else if (read_line(line, space, batch) && !lines_.is_shaped(i)) {
    lines_.learn(lines_.lines().whole(i));
  }
}

// Where most lines fit no template, looking for one is lost work: it pauses, longer each time.
void JsonlParser::judge_templates(size_t lines, size_t unread) {
  constexpr size_t kPauseMin = 256;
  constexpr size_t kPauseMax = size_t{1} << 15;
  if (unread * 2 <= lines) {  // also if there were only blank lines
    last_pause_ = 0;
    return;
  }
  last_pause_ = std::clamp(last_pause_ * 2, kPauseMin, kPauseMax);
  pause_lines_ = last_pause_;
}

}  // namespace wrackline::formats
