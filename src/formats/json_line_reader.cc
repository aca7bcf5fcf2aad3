#include "formats/json_line_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "data/time_text.h"
#include "formats/json_reader.h"
#include "wrackline/time.h"

namespace wrackline::formats {
namespace {

constexpr int64_t kDayMicros = 86'400'000'000;
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
      kernels_(json_kernels(level)),
      dates_(fields.size()),
      loose_(fields),
      marks_(kChunkBytesMax + 64) {}

// ---- learning ----

void JsonLineReader::learn(std::string_view whole_line) {
  lessons_ = std::max(lessons_, lines_seen_ / kLinesPerLesson - kLessonsMax);
  if (lessons_ >= lines_seen_ / kLinesPerLesson) return;
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

size_t JsonLineReader::find_lines(std::string_view chunk, size_t lines_max) {
  WRACKLINE_CHECK(chunk.size() <= kChunkBytesMax, "a chunk larger than marks can count");
  bool ascii = true;
  chunk_ = chunk;
  mark_count_ = kernels_.find_marks(chunk.data(), chunk.size(), marks_.data(), ascii);
  loose_.clear();
  line_count_ = 0;
  line_ends_found_ = 0;
  bytes_found_ = 0;
  lines_max = std::min(lines_max, kLinesMax);
  size_t mark = 0;  // the first of the next line
  while (line_count_ < lines_max) {
    const LineStart start{bytes_found_, mark};
    if (match_run(start, lines_max)) {
      mark = lines_.first_mark[line_count_ - 1] + shapes_[current_shape_].form.marks;
      continue;
    }
    while (mark < mark_count_ && chunk[marks_[mark]] != '\n') ++mark;
    if (mark == mark_count_) break;  // the rest is no whole line
    add_other_line(start, mark++);
  }
  lines_seen_ += static_cast<int64_t>(line_count_);
  judge_shapes();
  if (!ascii) check_utf8();
  choose_lines();
  return line_count_;
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
  std::memcpy(&head, chunk_.data() + start.byte, sizeof head);
  if (((head ^ shapes_[shape].head) & shapes_[shape].head_mask) != 0) return false;
  const size_t last = start.mark + form.marks - 1;
  if (last >= mark_count_ || chunk_[marks_[last]] != '\n') return false;
  const size_t before = line_count_;
  line_count_ = kernels_.match_lines(form, chunk_.data(), {marks_.data(), mark_count_}, start, lines_, before,
                                     lines_max);
  if (line_count_ == before) return false;
  current_shape_ = shape;
  for (size_t line = before; line < line_count_; ++line) {
    numbers_[line] = static_cast<uint16_t>(line_ends_found_++);
    shape_of_[line] = static_cast<int8_t>(shape);
  }
  bytes_found_ = lines_.next[line_count_ - 1];
  return true;
}

// Adds a line that fits no template, unless it is blank.
void JsonLineReader::add_other_line(LineStart start, size_t line_feed_mark) {
  const size_t line_feed = marks_[line_feed_mark];
  const std::string_view text = chunk_.substr(start.byte, line_feed - start.byte);
  if (!std::all_of(text.begin(), text.end(), is_blank)) {
    const bool loose =
        loose_.add_line(chunk_.data(), {marks_.data(), mark_count_}, start, line_feed_mark, line_count_);
    lines_.begin[line_count_] = static_cast<uint16_t>(start.byte);
    lines_.end[line_count_] = static_cast<uint16_t>(text.ends_with('\r') ? line_feed - 1 : line_feed);
    lines_.next[line_count_] = static_cast<uint16_t>(line_feed + 1);
    numbers_[line_count_] = static_cast<uint16_t>(line_ends_found_);
    shape_of_[line_count_] = loose ? kLoose : kUnknown;
    ++line_count_;
  }
  ++line_ends_found_;
  bytes_found_ = line_feed + 1;
  for (size_t at = start.byte; at < bytes_found_; at += 64)
    __builtin_prefetch(chunk_.data() + at + kChunkBytesMax, 0, 2);
}

// Where few lines fit a template, trying them all on each line costs more than they save.
void JsonLineReader::judge_shapes() {
  constexpr size_t kPauseChunks = 15;
  if (shape_pause_chunks_ > 0) {
    --shape_pause_chunks_;
    return;
  }
  const auto loose = loose_.lines().size();
  if (shapes_.size() == kShapesMax && loose * 4 > line_count_ * 3) shape_pause_chunks_ = kPauseChunks;
}

// No template sees whether its strings are valid UTF-8. Mostly all are.
void JsonLineReader::check_utf8() {
  if (is_utf8(chunk_.substr(0, bytes_found_))) return;
  for (size_t i = 0; i < line_count_; ++i) {
    if (!is_utf8(line(i).text)) shape_of_[i] = kUnknown;
  }
}

// Sorts the lines by the templates that they fit.
void JsonLineReader::choose_lines() {
  for (Shape& shape : shapes_) {
    shape.chosen_room.clear();
    shape.first_marks_room.clear();
  }
  const bool one_shape =
      line_count_ > 0 && shape_of_[0] >= 0 &&
      std::all_of(shape_of_.begin(), shape_of_.begin() + static_cast<ptrdiff_t>(line_count_),
                  [&](int8_t shape) { return shape == shape_of_[0]; });
  for (size_t i = 0; i < line_count_ && !one_shape; ++i) {
    if (shape_of_[i] < 0) continue;
    Shape& shape = shapes_[static_cast<size_t>(shape_of_[i])];
    shape.chosen_room.push_back(static_cast<uint16_t>(i));
    shape.first_marks_room.push_back(lines_.first_mark[i]);
  }
  for (Shape& shape : shapes_) {
    shape.chosen = shape.chosen_room;
    shape.first_marks = shape.first_marks_room;
    if (!shape.chosen.empty()) shape.last_used = lines_seen_;
  }
  if (one_shape) choose_all_lines(shapes_[static_cast<size_t>(shape_of_[0])]);
}

void JsonLineReader::choose_all_lines(Shape& shape) {
  static constexpr auto kAll = [] {
    std::array<uint16_t, kLinesMax> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    return all;
  }();
  shape.chosen = {kAll.data(), line_count_};
  shape.first_marks = {lines_.first_mark.data(), line_count_};
  shape.last_used = lines_seen_;
}

JsonLineReader::Line JsonLineReader::line(size_t index) const {
  const size_t begin = lines_.begin[index];
  Line line;
  line.text = chunk_.substr(begin, lines_.end[index] - begin);
  line.whole = chunk_.substr(begin, lines_.next[index] - begin);
  line.number = numbers_[index];
  line.is_shaped = shape_of_[index] >= 0;
  line.is_read = shape_of_[index] != kUnknown && !failed_[index];
  return line;
}

size_t JsonLineReader::add_read_lines(size_t from, int64_t offset, int64_t line, Batch& batch) const {
  size_t to = from;
  while (to < line_count_ && shape_of_[to] != kUnknown && !failed_[to]) ++to;
  const size_t count = to - from;
  const size_t row = batch.offsets.size();
  batch.offsets.resize(row + count);
  batch.lines.resize(row + count);
  batch.raw.resize(row + count);
  int64_t* const offsets = batch.offsets.data() + row;
  int64_t* const lines = batch.lines.data() + row;
  std::string_view* const raw = batch.raw.data() + row;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = lines_.begin[from + i];
    offsets[i] = offset + static_cast<int64_t>(i);
    lines[i] = line + numbers_[from + i];
    raw[i] = {chunk_.data() + begin, lines_.end[from + i] - begin};
  }
  batch.rows += count;
  return count;
}

// ---- reading values ----

void JsonLineReader::read_lines(size_t row, Batch& batch) {
  std::fill_n(failed_.begin(), line_count_, false);
  for (const Shape& shape : shapes_) {
    if (!shape.chosen.empty()) read_shape(shape, row, batch);
  }
  if (loose_.lines().empty()) return;
  read_loose_lines(row, batch);
  for (const uint16_t i : loose_.lines()) {
    if (const Line loose = line(i); loose.is_read) learn(loose.whole);
  }
}

void JsonLineReader::read_shape(const Shape& shape, size_t row, Batch& batch) {
  for (const TemplateSlot& slot : shape.form.slots) {
    const bool needed = slot.field >= 0 && fields_[static_cast<size_t>(slot.field)].needed;
    if (needed) {
      read_slot(slot_of(shape, slot), static_cast<size_t>(slot.field), row, batch);
    } else if (!slot.is_string && slot.is_checked) {
      check_bare(slot_of(shape, slot));
    }
  }
  for (const size_t field : shape.form.absent_fields) {
    for (const uint16_t line : shape.chosen) batch.columns[field].set_null(row + line);
  }
}

void JsonLineReader::read_loose_lines(size_t row, Batch& batch) {
  for (size_t field = 0; field < fields_.size(); ++field) {
    const LooseLines::FieldValues& values = loose_.values(field);
    if (!values.strings.lines.empty()) read_slot(slot_of(values.strings, 0, true), field, row, batch);
    if (!values.bare.lines.empty()) read_slot(slot_of(values.bare, 0, false), field, row, batch);
  }
  for (size_t first = 0; first < loose_.unwanted().lines.size(); first += kLinesMax) {
    check_bare(slot_of(loose_.unwanted(), first, false));
  }
  for (size_t i = 0; i < loose_.lines().size(); ++i) {
    for (uint64_t absent = loose_.absent()[i]; absent != 0; absent &= absent - 1) {
      batch.columns[static_cast<size_t>(std::countr_zero(absent))].set_null(row + loose_.lines()[i]);
    }
  }
}

JsonLineReader::Slot JsonLineReader::slot_of(const Shape& shape, const TemplateSlot& slot) const {
  const SlotRows rows{chunk_.data(), marks_.data(), shape.first_marks, slot.begin, slot.end};
  return {rows, shape.chosen, slot.is_string, slot.is_checked};
}

// At most kLinesMax values from `first` on: their places stand for marks, two a value.
JsonLineReader::Slot JsonLineReader::slot_of(const LooseLines::Values& values, size_t first,
                                             bool is_string) const {
  static constexpr auto kEven = [] {
    std::array<uint16_t, kLinesMax> even{};
    for (size_t i = 0; i < even.size(); ++i) even[i] = static_cast<uint16_t>(2 * i);
    return even;
  }();
  const size_t count = std::min(values.lines.size() - first, kLinesMax);
  const SlotRows rows{chunk_.data(), values.places.data() + 2 * first, {kEven.data(), count}, {0, 0}, {1, 0}};
  return {rows, {values.lines.data() + first, count}, is_string, true};
}

// Reads values by the quick way for their column's type where there is one, and what that misses one by one.
void JsonLineReader::read_slot(const Slot& slot, size_t field, size_t row, Batch& batch) {
  Column& column = batch.columns[field];
  const Type& type = column.type();
  if (type.kind == TypeKind::kText && type.precision < 0 && slot.is_string) {
    std::string_view* const values = column.values<std::string_view>().data() + row;
    for (size_t i = 0; i < slot.lines.size(); ++i) values[slot.lines[i]] = slot.text(i);
  } else if (type.kind == TypeKind::kInteger && !slot.is_string && slot.is_checked) {
    for (const uint16_t i : read_integers(slot, row, column)) read_one(slot, i, row, column, batch.arena);
  } else if (type.kind == TypeKind::kTimestamp && slot.is_string) {
    for (const uint16_t i : read_times(slot, field, row, column)) read_one(slot, i, row, column, batch.arena);
  } else {
    for (size_t i = 0; i < slot.lines.size(); ++i) read_one(slot, i, row, column, batch.arena);
  }
}

// Returns which values are left over.
std::span<const uint16_t> JsonLineReader::read_integers(const Slot& slot, size_t row, Column& column) {
  const size_t misses =
      kernels_.read_integers(slot.rows, column.type().bits, values_of(slot, row, column), missed_.data());
  place_values(slot, row, column);
  return {missed_.data(), misses};
}

std::span<const uint16_t> JsonLineReader::read_times(const Slot& slot, size_t field, size_t row,
                                                     Column& column) {
  const size_t misses =
      kernels_.read_times(slot.rows, dates_[field], values_of(slot, row, column), missed_.data());
  place_values(slot, row, column);
  if (misses > 0) remember_date_of(slot.text(missed_[misses - 1]), field);
  return {missed_.data(), misses};
}

int64_t* JsonLineReader::values_of(const Slot& slot, size_t row, Column& column) {
  return slot.lines.size() == line_count_ ? column.values<int64_t>().data() + row : values_.data();
}

void JsonLineReader::place_values(const Slot& slot, size_t row, Column& column) const {
  if (slot.lines.size() == line_count_) return;
  int64_t* const values = column.values<int64_t>().data() + row;
  for (size_t i = 0; i < slot.lines.size(); ++i) values[slot.lines[i]] = values_[i];
}

void JsonLineReader::read_one(const Slot& slot, size_t i, size_t row, Column& column, Arena& arena) {
  const std::string_view text = slot.text(i);
  const size_t line = slot.lines[i];
  JsonValue value;
  if (slot.is_string) {
    value = string_value(text);
  } else if (slot.is_checked) {
    value = bare_value(text);
  } else {
    value.kind = JsonKind::kContainer;
    value.token = text;
  }
  failed_[line] |= value.kind == JsonKind::kMissing ||
                   convert_json(value, zone_, column, row + line, arena) != Conversion::kOk;
}

// A value that no column wants still has to be one.
void JsonLineReader::check_bare(const Slot& slot) {
  const size_t misses = kernels_.read_integers(slot.rows, 64, values_.data(), missed_.data());
  for (size_t i = 0; i < misses; ++i)
    failed_[slot.lines[missed_[i]]] |= !is_bare_value(slot.text(missed_[i]));
}

// Only a plain date is remembered, so that what the quick way takes for one is one.
void JsonLineReader::remember_date_of(std::string_view text, size_t field) {
  constexpr size_t kDateBytes = 10;
  int64_t days = 0;
  if (text.size() <= kDateBytes || text.front() == '+' || text.front() == '-') return;
  const char separator = text[kDateBytes];
  if (separator != 'T' && separator != ' ' && separator != 't') return;
  if (parse_date(text.substr(0, kDateBytes), days) != TimeParse::kOk) return;
  remember_date(text, days * kDayMicros, dates_[field]);
}

}  // namespace wrackline::formats
