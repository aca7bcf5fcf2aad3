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

JsonlParser::JsonlParser(ParserOptions options)
    : options_(std::move(options)), reader_(names_of(options_.fields)) {}

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
  for (const int64_t begin = log_.records; static_cast<uint64_t>(log_.records - begin) < rows_max;) {
    const size_t more = parse_line(bytes.substr(eaten), at_end, space, batch);
    if (more == 0) break;
    eaten += more;
  }
  return eaten;
}

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
  if (!is_blank(line)) read_line(line, space, batch);
  ++log_.lines;
  return end.size + (end.found ? 1 : 0);
}

size_t JsonlParser::skip_oversize(std::string_view rest, bool at_end, Batch& batch) {
  const LineEnd end = find_line_end(rest);
  oversize_.take(rest.substr(0, end.size));
  if (!end.found && !at_end) return end.size;
  oversize_.finish(options_.record_bytes_max, log_, batch);
  ++log_.lines;
  return end.size + (end.found ? 1 : 0);
}

void JsonlParser::read_line(std::string_view line, RowSpace& space, Batch& batch) {
  if (!reader_.read(line)) {
    log_.add_reject(Reason::kUnparseable, line, line.size(), reader_.fault(), batch);
    return;
  }
  space.reserve(1);
  read_row(line, space, batch);
}

// Converts the values that the reader found into the next row, or makes a Reject of the first that does not
// convert.
void JsonlParser::read_row(std::string_view line, RowSpace& space, Batch& batch) {
  const size_t row = batch.rows;
  const std::span<const JsonValue> values = reader_.values();
  for (size_t i = 0; i < values.size(); ++i) {
    const Field& field = options_.fields[i];
    if (!field.needed) continue;
    const Conversion done = convert_json(values[i], options_.time_zone, batch.columns[i], row, batch.arena);
    if (done == Conversion::kOk) continue;
    space.clear_row(row);
    log_.add_reject(reason_of(done), line, line.size(), describe(done, field, values[i].token), batch);
    return;
  }
  log_.add_row(line, batch);
}

}  // namespace wrackline::formats
