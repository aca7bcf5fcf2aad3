#include "formats/json_line_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "formats/json_reader.h"

namespace wrackline::formats {
namespace {

constexpr int kBareDepthMax = 16;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_word(std::string_view text) {
  return text == "true" || text == "false" || text == "null";
}

// Eats one valid JSON value that has no string in it from the front of `text`. False: there is none.
bool eat_bare_value(std::string_view& text, int depth) {
  const auto eat_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); };
  if (text.empty()) return false;
  if (text.front() != '[' && text.front() != '{') {
    const std::string_view scalar = text.substr(0, text.find_first_of(" ,]}"));
    text.remove_prefix(scalar.size());
    return is_word(scalar) || is_json_number(scalar);
  }
  const char close = text.front() == '[' ? ']' : '}';
  text.remove_prefix(1);
  eat_blanks();
  if (text.starts_with(close)) {
    text.remove_prefix(1);
    return true;
  }
  if (close == '}' || depth >= kBareDepthMax) return false;  // an object with a key has a string
  for (;;) {
    if (!eat_bare_value(text, depth + 1)) return false;
    eat_blanks();
    if (text.empty()) return false;
    const char next = text.front();
    text.remove_prefix(1);
    if (next == close) return true;
    if (next != ',') return false;
    eat_blanks();
  }
}

bool is_bare_value(std::string_view text) {
  return eat_bare_value(text, 0) && text.empty();
}

// A bare slot's text as a value; kMissing if it is none.
JsonValue bare_value(std::string_view text) {
  JsonValue value;
  value.token = text;
  if (!is_bare_value(text)) return value;
  switch (text.front()) {
    case 'n':
      value.kind = JsonKind::kNull;
      break;
    case 't':
    case 'f':
      value.kind = JsonKind::kBoolean;
      break;
    case '[':
    case '{':
      value.kind = JsonKind::kContainer;
      break;
    default:
      value.kind = JsonKind::kNumber;
      break;
  }
  return value;
}

JsonValue string_value(std::string_view content) {
  JsonValue value;
  value.kind = JsonKind::kString;
  value.content = content;
  value.token = {content.data() - 1, content.size() + 2};
  return value;
}

}  // namespace

JsonLineReader::JsonLineReader(const std::vector<Field>& fields, const TimeZone* zone, SimdLevel level)
    : fields_(fields),
      zone_(zone),
      kernels_(line_kernels(level)),
      loose_(fields),
      slots_(kernels_, fields.size()),
      marks_(kChunkBytesMax + 64) {}

// ---- learning ----

void JsonLineReader::learn(std::string_view whole_line) {
  lessons_ = std::max(lessons_, lines_seen_ / kLinesPerLesson);
  if (lessons_ >= lines_seen_ / kLinesPerLesson + kLessonsMax) return;
  if (whole_line.find('\\') != std::string_view::npos) return;  // has no template
  const bool full = shapes_.size() == kShapesMax;
  const auto oldest = std::min_element(shapes_.begin(), shapes_.end(), [](const Shape& a, const Shape& b) {
    return a.last_used < b.last_used;
  });
  if (full && lines_seen_ - oldest->last_used < kStaleLines) return;
  ++lessons_;
  std::optional<JsonTemplate> form = learn_template(whole_line, fields_);
  if (!form) return;
  if (std::any_of(shapes_.begin(), shapes_.end(), [&](const Shape& shape) { return shape.form == *form; }))
    return;
  Shape& shape = full ? *oldest : shapes_.emplace_back();
  shape.form = std::move(*form);
  // No piece is empty; the first one begins where the line does.
  std::memcpy(&shape.head, shape.form.pieces.front().bytes.data(), sizeof shape.head);
  std::memcpy(&shape.head_mask, shape.form.pieces.front().mask.data(), sizeof shape.head_mask);
  shape.last_used = lines_seen_;
}

// ---- finding lines ----

void JsonLineReader::find_lines(std::string_view chunk, size_t lines_max) {
  WRACKLINE_CHECK(chunk.size() <= kChunkBytesMax, "a chunk larger than marks can count");
  ChunkBytes bytes;
  mark_count_ = kernels_.find_marks(chunk.data(), chunk.size(), marks_.data(), bytes);
  lines_.start(chunk);
  loose_.clear();
  lines_max = std::min(lines_max, FoundLines::kMax);
  size_t mark = 0;  // the first of the next line
  while (lines_.count < lines_max) {
    const LineStart start{lines_.bytes, mark};
    if (match_run(start, lines_max)) {
      mark = lines_.table.first_mark[lines_.count - 1] + shapes_[current_shape_].form.marks;
      continue;
    }
    while (mark < mark_count_ && chunk[marks_[mark]] != '\n') ++mark;
    if (mark == mark_count_) break;  // the rest is no whole line
    add_other_line(start, mark++);
  }
  lines_seen_ += static_cast<int64_t>(lines_.count);
  judge_shapes();
  if (!bytes.is_ascii) check_utf8();
  choose_lines();
}

// Finds the lines from `start` on that fit one template. False: the next line fits none.
bool JsonLineReader::match_run(LineStart start, size_t lines_max) {
  if (shape_pause_chunks_ > 0) return false;
  if (current_shape_ < shapes_.size() && match_shape(current_shape_, start, lines_max)) return true;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (i != current_shape_ && match_shape(i, start, lines_max)) return true;
  }
  return false;
}

bool JsonLineReader::match_shape(size_t shape, LineStart start, size_t lines_max) {
  const JsonTemplate& form = shapes_[shape].form;
  uint64_t head = 0;
  std::memcpy(&head, lines_.chunk.data() + start.byte, sizeof head);
  if (((head ^ shapes_[shape].head) & shapes_[shape].head_mask) != 0) return false;
  const size_t last = start.mark + form.marks - 1;
  if (last >= mark_count_ || lines_.chunk[marks_[last]] != '\n') return false;
  const size_t before = lines_.count;
  lines_.count = kernels_.match_lines(form, lines_.chunk.data(), {marks_.data(), mark_count_}, start,
                                      lines_.table, before, lines_max);
  if (lines_.count == before) return false;
  current_shape_ = shape;
  for (size_t line = before; line < lines_.count; ++line) {
    lines_.number[line] = static_cast<uint16_t>(lines_.line_ends++);
    lines_.is_read[line] = true;
    shape_of_[line] = static_cast<int8_t>(shape);
  }
  lines_.bytes = lines_.table.next[lines_.count - 1];
  return true;
}

// Adds a line that fits no template, unless it is blank.
void JsonLineReader::add_other_line(LineStart start, size_t line_feed_mark) {
  const size_t line_feed = marks_[line_feed_mark];
  const size_t line = lines_.count;
  const std::string_view text = lines_.chunk.substr(start.byte, line_feed - start.byte);
  if (!std::all_of(text.begin(), text.end(), is_blank)) {
    const bool loose =
        loose_.add_line(lines_.chunk.data(), {marks_.data(), mark_count_}, start, line_feed_mark, line);
    lines_.table.begin[line] = static_cast<uint16_t>(start.byte);
    lines_.table.end[line] = static_cast<uint16_t>(text.ends_with('\r') ? line_feed - 1 : line_feed);
    lines_.table.next[line] = static_cast<uint16_t>(line_feed + 1);
    lines_.number[line] = static_cast<uint16_t>(lines_.line_ends);
    lines_.is_read[line] = loose;
    shape_of_[line] = loose ? kLoose : kUnknown;
    ++lines_.count;
  }
  ++lines_.line_ends;
  lines_.bytes = line_feed + 1;
  prefetch_next_chunk(lines_.chunk.data() + start.byte, lines_.bytes - start.byte);
}

// Where few lines fit a template, trying them all on each line costs more than they save.
void JsonLineReader::judge_shapes() {
  constexpr size_t kPauseChunks = 15;
  if (shape_pause_chunks_ > 0) {
    --shape_pause_chunks_;
    return;
  }
  const auto loose = loose_.lines().size();
  if (shapes_.size() == kShapesMax && loose * 4 > lines_.count * 3) shape_pause_chunks_ = kPauseChunks;
}

// No template sees whether its strings are valid UTF-8. Mostly all are.
void JsonLineReader::check_utf8() {
  if (is_utf8(lines_.chunk.substr(0, lines_.bytes))) return;
  for (size_t i = 0; i < lines_.count; ++i) {
    if (!is_utf8(lines_.text(i))) lines_.is_read[i] = false;
  }
}

// Sorts the lines by the templates that they fit.
void JsonLineReader::choose_lines() {
  for (Shape& shape : shapes_) {
    shape.chosen_room.clear();
    shape.first_marks_room.clear();
  }
  const bool one_shape =
      lines_.count > 0 && shape_of_[0] >= 0 &&
      std::all_of(shape_of_.begin(), shape_of_.begin() + static_cast<ptrdiff_t>(lines_.count),
                  [&](int8_t shape) { return shape == shape_of_[0]; });
  for (size_t i = 0; i < lines_.count && !one_shape; ++i) {
    if (shape_of_[i] < 0) continue;
    Shape& shape = shapes_[static_cast<size_t>(shape_of_[i])];
    shape.chosen_room.push_back(static_cast<uint16_t>(i));
    shape.first_marks_room.push_back(lines_.table.first_mark[i]);
  }
  for (Shape& shape : shapes_) {
    shape.chosen = shape.chosen_room;
    shape.first_marks = shape.first_marks_room;
    if (!shape.chosen.empty()) shape.last_used = lines_seen_;
  }
  if (one_shape) choose_all_lines(shapes_[static_cast<size_t>(shape_of_[0])]);
}

void JsonLineReader::choose_all_lines(Shape& shape) {
  shape.chosen = all_indexes(lines_.count);
  shape.first_marks = {lines_.table.first_mark.data(), lines_.count};
  shape.last_used = lines_seen_;
}

// ---- reading values ----

void JsonLineReader::read_lines(size_t row, Batch& batch) {
  for (const Shape& shape : shapes_) {
    if (!shape.chosen.empty()) read_shape(shape, row, batch);
  }
  if (loose_.lines().empty()) return;
  read_loose_lines(row, batch);
  for (const uint16_t line : loose_.lines()) {
    if (lines_.is_read[line]) learn(lines_.whole(line));
  }
}

void JsonLineReader::read_shape(const Shape& shape, size_t row, Batch& batch) {
  for (const TemplateSlot& part : shape.form.slots) {
    const Slot slot{{lines_.chunk.data(), marks_.data(), shape.first_marks, part.begin, part.end},
                    shape.chosen};
    const auto field = static_cast<size_t>(part.field);
    if (part.field < 0 || !fields_[field].needed) {
      if (!part.is_string && part.is_checked) check_bare(slot);
    } else if (part.is_string) {
      read_strings(slot, field, row, batch);
    } else if (part.is_checked) {
      read_bare(slot, field, row, batch);
    } else {
      read_containers(slot, field, row, batch);
    }
  }
  for (const size_t field : shape.form.absent_fields) {
    for (const uint16_t line : shape.chosen) batch.columns[field].set_null(row + line);
  }
}

void JsonLineReader::read_loose_lines(size_t row, Batch& batch) {
  const char* const chunk = lines_.chunk.data();
  for (size_t field = 0; field < fields_.size(); ++field) {
    const LooseLines::FieldValues& values = loose_.values(field);
    if (!values.strings.lines.empty()) read_strings(values.strings.slot(chunk), field, row, batch);
    if (!values.escaped.lines.empty()) read_escaped(values.escaped.slot(chunk), field, row, batch);
    if (!values.bare.lines.empty()) read_bare(values.bare.slot(chunk), field, row, batch);
  }
  for (size_t first = 0; first < loose_.unwanted_bare().lines.size(); first += FoundLines::kMax) {
    check_bare(loose_.unwanted_bare().slot(chunk, first));
  }
  check_escaped(loose_.unwanted_escaped());
  for (size_t i = 0; i < loose_.lines().size(); ++i) {
    for (uint64_t absent = loose_.absent()[i]; absent != 0; absent &= absent - 1) {
      batch.columns[static_cast<size_t>(std::countr_zero(absent))].set_null(row + loose_.lines()[i]);
    }
  }
}

void JsonLineReader::read_strings(const Slot& slot, size_t field, size_t row, Batch& batch) {
  Column& column = batch.columns[field];
  const Type& type = column.type();
  if (type.kind == TypeKind::kText && type.precision < 0) {
    std::string_view* const values = column.values<std::string_view>().data() + row;
    for (size_t i = 0; i < slot.lines.size(); ++i) values[slot.lines[i]] = slot.text(i);
  } else if (type.kind == TypeKind::kTimestamp) {
    for (const uint16_t i : slots_.read_times(slot, field, lines_.count, row, column)) {
      read_one(string_value(slot.text(i)), slot.lines[i], field, row, batch);
    }
  } else {
    for (size_t i = 0; i < slot.lines.size(); ++i) {
      read_one(string_value(slot.text(i)), slot.lines[i], field, row, batch);
    }
  }
}

void JsonLineReader::read_escaped(const Slot& slot, size_t field, size_t row, Batch& batch) {
  for (size_t i = 0; i < slot.lines.size(); ++i) {
    JsonValue value = string_value(slot.text(i));
    value.escaped = true;
    if (!unescaper_.unescape(slot.text(i), value.content)) value.kind = JsonKind::kMissing;
    read_one(value, slot.lines[i], field, row, batch);
  }
}

void JsonLineReader::read_bare(const Slot& slot, size_t field, size_t row, Batch& batch) {
  Column& column = batch.columns[field];
  if (column.type().kind == TypeKind::kInteger) {
    for (const uint16_t i : slots_.read_integers(slot, lines_.count, row, column)) {
      read_one(bare_value(slot.text(i)), slot.lines[i], field, row, batch);
    }
    return;
  }
  for (size_t i = 0; i < slot.lines.size(); ++i) {
    read_one(bare_value(slot.text(i)), slot.lines[i], field, row, batch);
  }
}

void JsonLineReader::read_containers(const Slot& slot, size_t field, size_t row, Batch& batch) {
  JsonValue value;
  value.kind = JsonKind::kContainer;
  for (size_t i = 0; i < slot.lines.size(); ++i) {
    value.token = slot.text(i);
    read_one(value, slot.lines[i], field, row, batch);
  }
}

void JsonLineReader::read_one(const JsonValue& value, size_t line, size_t field, size_t row, Batch& batch) {
  const bool done =
      value.kind != JsonKind::kMissing &&
      convert_json(value, zone_, batch.columns[field], row + line, batch.arena) == Conversion::kOk;
  if (!done) lines_.is_read[line] = false;
}

// A value that no column wants still has to be one.
void JsonLineReader::check_bare(const Slot& slot) {
  for (const uint16_t i : slots_.find_others(slot)) {
    if (!is_bare_value(slot.text(i))) lines_.is_read[slot.lines[i]] = false;
  }
}

// Nor may a string that no column wants have an escape that is none.
void JsonLineReader::check_escaped(const PlacedValues& values) {
  for (size_t i = 0; i < values.lines.size(); ++i) {
    const size_t begin = values.places[2 * i];
    const std::string_view text = lines_.chunk.substr(begin, values.places[2 * i + 1] - begin);
    std::string_view content;
    if (!unescaper_.unescape(text, content)) lines_.is_read[values.lines[i]] = false;
  }
}

}  // namespace wrackline::formats
