#include "formats/csv_line_reader.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "formats/json_reader.h"

namespace wrackline::formats {
namespace {

// Numbers and times begin with a digit or a minus where the quick way reads them.
bool may_be_number(std::string_view null_text) {
  return !null_text.empty() &&
         (null_text.front() == '-' || (null_text.front() >= '0' && null_text.front() <= '9'));
}

}  // namespace

CsvLineReader::CsvLineReader(const ParserOptions& options, SimdLevel level, ReadField read_field)
    : options_(options),
      kernels_(line_kernels(level)),
      read_field_(std::move(read_field)),
      quick_numbers_(!may_be_number(options.null_text)),
      slots_(kernels_, options.fields.size()),
      marks_(kChunkBytesMax + 64) {}

void CsvLineReader::set_places(size_t fields, const std::vector<size_t>& place) {
  wanted_.assign(fields, -1);
  values_.clear();
  for (size_t i = 0; i < place.size(); ++i) {
    if (!options_.fields[i].needed) continue;
    wanted_[place[i]] = static_cast<int>(values_.size());
    values_.emplace_back().column = i;
  }
}

// ---- finding records ----

void CsvLineReader::find_lines(std::string_view chunk, size_t lines_max) {
  WRACKLINE_CHECK(chunk.size() <= kChunkBytesMax, "a chunk larger than marks can count");
  lines_.start(chunk);
  for (FieldValues& values : values_) {
    values.plain.clear();
    values.quoted.clear();
  }
  ChunkBytes bytes;
  mark_count_ =
      kernels_.find_separators(chunk.data(), chunk.size(), options_.delimiter, marks_.data(), bytes);
  if (bytes.has_nul) return;
  size_t at = 0;
  size_t mark = 0;
  for (lines_max = std::min(lines_max, FoundLines::kMax); lines_.count < lines_max;) {
    const size_t begin = at;
    if (!walk_line(at, mark)) break;
    const size_t line = lines_.count;
    const std::string_view text = chunk.substr(begin, at - 1 - begin);
    if (!text.empty() && text != "\r") {
      lines_.table.begin[line] = static_cast<uint16_t>(begin);
      lines_.table.end[line] = static_cast<uint16_t>(text.ends_with('\r') ? at - 2 : at - 1);
      lines_.table.next[line] = static_cast<uint16_t>(at);
      lines_.number[line] = static_cast<uint16_t>(lines_.line_ends);
      lines_.is_read[line] = true;
      ++lines_.count;
    }
    ++lines_.line_ends;
    lines_.bytes = at;
    prefetch_next_chunk(chunk.data() + begin, at - begin);
  }
  if (bytes.is_ascii || is_utf8(chunk.substr(0, lines_.bytes))) return;
  for (size_t i = 0; i < lines_.count; ++i) lines_.is_read[i] = is_utf8(lines_.text(i));
}

// Walks the record or blank line at `at`, whose first mark is `mark`, and keeps the places of its values;
// moves both behind its line feed. False: it is not a plain record, or not wholly in the chunk.
bool CsvLineReader::walk_line(size_t& at, size_t& mark) {
  const char* const chunk = lines_.chunk.data();
  const size_t line = lines_.count;
  const auto fail = [&] {
    drop_values(line);
    return false;
  };
  const auto at_line_end = [&](size_t i) {  // the marks there are a line end
    if (chunk[marks_[i]] == '\n') return true;
    return chunk[marks_[i]] == '\r' && i + 1 < mark_count_ && marks_[i + 1] == marks_[i] + 1 &&
           chunk[marks_[i + 1]] == '\n';
  };
  const auto pass_line_end = [&](size_t i) {
    if (chunk[marks_[i]] == '\r') ++i;
    at = size_t{marks_[i]} + 1;
    mark = i + 1;
    return true;
  };
  if (mark < mark_count_ && marks_[mark] == at && at_line_end(mark))
    return pass_line_end(mark);  // a blank line
  size_t begin = at;
  size_t next = mark;
  for (size_t field = 0; field < wanted_.size(); ++field) {
    if (next >= mark_count_) return fail();
    const bool quoted = marks_[next] == begin && chunk[begin] == '"';
    size_t end = marks_[next];
    if (quoted) {
      if (next + 2 >= mark_count_ || chunk[marks_[next + 1]] != '"' ||
          marks_[next + 2] != marks_[next + 1] + 1) {
        return fail();
      }
      end = marks_[next + 1];
      next += 2;
    }
    const bool last = field + 1 == wanted_.size();
    if (last ? !at_line_end(next) : chunk[marks_[next]] != options_.delimiter) return fail();
    if (const int wanted = wanted_[field]; wanted >= 0) {
      FieldValues& values = values_[static_cast<size_t>(wanted)];
      (quoted ? values.quoted : values.plain).add(line, begin + (quoted ? 1 : 0), end);
    }
    if (last) return pass_line_end(next);
    begin = size_t{marks_[next++]} + 1;
  }
  return fail();
}

void CsvLineReader::drop_values(size_t line) {
  for (FieldValues& values : values_) {
    for (PlacedValues* const places : {&values.plain, &values.quoted}) {
      if (!places->lines.empty() && places->lines.back() == line) places->remove_last();
    }
  }
}

// ---- reading values ----

void CsvLineReader::read_lines(size_t row, Batch& batch) {
  for (const FieldValues& values : values_) {
    if (!values.plain.lines.empty()) {
      read_values(values.plain.slot(lines_.chunk.data()), false, values.column, row, batch);
    }
    if (!values.quoted.lines.empty()) {
      read_values(values.quoted.slot(lines_.chunk.data()), true, values.column, row, batch);
    }
  }
}

void CsvLineReader::read_values(const Slot& slot, bool quoted, size_t index, size_t row, Batch& batch) {
  Column& column = batch.columns[index];
  const Type& type = column.type();
  const bool quick = quoted || quick_numbers_;
  if (type.kind == TypeKind::kText && type.precision < 0) {
    read_text(slot, quoted, row, column);
  } else if (type.kind == TypeKind::kInteger && quick) {
    read_each(slot, slots_.read_integers(slot, lines_.count, row, column), quoted, index, row, batch);
  } else if (type.kind == TypeKind::kTimestamp && quick) {
    read_each(slot, slots_.read_times(slot, index, lines_.count, row, column), quoted, index, row, batch);
  } else {
    read_each(slot, all_indexes(slot.lines.size()), quoted, index, row, batch);
  }
}

void CsvLineReader::read_text(const Slot& slot, bool quoted, size_t row, Column& column) const {
  std::string_view* const values = column.values<std::string_view>().data() + row;
  for (size_t i = 0; i < slot.lines.size(); ++i) {
    const std::string_view text = slot.text(i);
    values[slot.lines[i]] = text;
    if (!quoted && text == options_.null_text) column.set_null(row + slot.lines[i]);
  }
}

void CsvLineReader::read_each(const Slot& slot, std::span<const uint16_t> chosen, bool quoted, size_t column,
                              size_t row, Batch& batch) {
  for (const uint16_t i : chosen) {
    const size_t line = slot.lines[i];
    if (!read_field_(slot.text(i), quoted, column, row + line, batch)) lines_.is_read[line] = false;
  }
}

}  // namespace wrackline::formats
