#include "formats/json_loose_lines.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace wrackline::formats {

// A place in a line. Every step compares it with the next mark, so no mark is passed over.
class LooseLines::Walk {
 public:
  Walk(const char* chunk, std::span<const uint16_t> marks, LineStart start, size_t line_feed_mark)
      : chunk_(chunk), marks_(marks), at_(start.byte), mark_(start.mark), line_feed_mark_(line_feed_mark) {}

  void skip_spaces() {
    while (chunk_[at_] == ' ') ++at_;
  }
  bool eat(char wanted) { return chunk_[at_++] == wanted; }

  bool eat_key(std::string_view& key) {
    Found name;
    if (!eat_string(name) || name.is_escaped) return false;
    key = {chunk_ + name.begin, name.end - name.begin};
    skip_spaces();
    if (!eat(':')) return false;
    skip_spaces();
    return true;
  }

  // Eats a value and the comma or brace behind it; `last`: it was the brace.
  bool eat_value(Found& value, bool& last) {
    value.is_string = at_quote();
    if (!(value.is_string ? eat_string_value(value, last) : eat_bare_value(value, last))) return false;
    skip_spaces();
    return true;
  }

  bool eat_line_end() {
    if (at_ == marks_[mark_] && chunk_[at_] == '\r') {
      ++at_;
      ++mark_;
    }
    return mark_ == line_feed_mark_ && at_ == marks_[mark_];
  }

 private:
  bool at_quote() const { return at_ == marks_[mark_] && chunk_[at_] == '"'; }

  // Eats a string with its quotes. A mark behind a backslash is escaped by it and ends nothing.
  bool eat_string(Found& string) {
    if (!at_quote()) return false;
    string.begin = at_ + 1;
    size_t mark = mark_ + 1;
    for (; mark < line_feed_mark_ && chunk_[marks_[mark]] == '\\'; ++mark) {
      string.is_escaped = true;
      if (marks_[mark + 1] == marks_[mark] + 1) ++mark;
    }
    if (mark >= line_feed_mark_ || chunk_[marks_[mark]] != '"') return false;
    string.end = marks_[mark];
    at_ = string.end + 1;
    mark_ = mark + 1;
    return true;
  }

  bool eat_string_value(Found& value, bool& last) {
    if (!eat_string(value)) return false;
    skip_spaces();
    last = chunk_[at_] == '}';
    return eat(last ? '}' : ',');
  }

  // Up to the next mark, which is the next key or the end of the line, stand the value and what ends it.
  bool eat_bare_value(Found& value, bool& last) {
    const size_t next = marks_[mark_];
    const size_t stop = without_spaces(next);
    if (stop <= at_) return false;
    last = chunk_[next] != '"';
    if (chunk_[stop - 1] != (last ? '}' : ',')) return false;
    value.begin = at_;
    value.end = without_spaces(stop - 1);
    at_ = stop;
    return true;
  }

  // The end of what stands before `end` when spaces are left out.
  size_t without_spaces(size_t end) const {
    while (end > at_ && chunk_[end - 1] == ' ') --end;
    return end;
  }

  const char* chunk_;
  std::span<const uint16_t> marks_;
  size_t at_;
  size_t mark_;
  size_t line_feed_mark_;
};

LooseLines::LooseLines(const std::vector<Field>& fields)
    : usable_(fields.size() <= kFieldsMax), values_(fields.size()) {
  names_.resize(std::bit_ceil(fields.size() * 4 + 1));
  for (size_t i = 0; i < fields.size() && usable_; ++i) {
    if (!fields[i].needed) continue;
    needed_ |= uint64_t{1} << i;
    const std::string_view text = fields[i].name;
    const std::string padded = fields[i].name + std::string(sizeof(Name::head), '\0');
    const uint64_t head = head_of({padded.data(), text.size()});
    size_t slot = slot_of(head, text.size());
    while (names_[slot].field >= 0) slot = (slot + 1) & (names_.size() - 1);
    names_[slot] = {head, text, static_cast<int>(i)};
  }
}

void LooseLines::clear() {
  lines_.clear();
  absent_.clear();
  unwanted_bare_.clear();
  unwanted_escaped_.clear();
  for (FieldValues& values : values_) {
    values.strings.clear();
    values.escaped.clear();
    values.bare.clear();
  }
}

// The first eight bytes; of a shorter key all, with zeros behind. Reads eight bytes in any case.
uint64_t LooseLines::head_of(std::string_view key) {
  uint64_t head = 0;
  std::memcpy(&head, key.data(), sizeof head);
  return key.size() >= sizeof head ? head : head & ((uint64_t{1} << (key.size() * 8)) - 1);
}

size_t LooseLines::slot_of(uint64_t head, size_t size) const {
  const uint64_t mixed = (head + size) * 0x9E3779B97F4A7C15;
  return static_cast<size_t>(mixed >> 32) & (names_.size() - 1);
}

// The needed column of that name, or -1.
int LooseLines::find_field(std::string_view key) const {
  const uint64_t head = head_of(key);
  for (size_t slot = slot_of(head, key.size()); names_[slot].field >= 0;
       slot = (slot + 1) & (names_.size() - 1)) {
    const Name& name = names_[slot];
    if (name.head != head || name.text.size() != key.size()) continue;
    if (key.size() <= sizeof head || name.text == key) return name.field;
  }
  return -1;
}

// Fills found_.
bool LooseLines::find_values(Walk& walk) {
  found_.clear();
  found_fields_ = 0;
  walk.skip_spaces();
  if (!walk.eat('{')) return false;
  walk.skip_spaces();
  for (bool last = false; !last;) {
    std::string_view key;
    Found value;
    if (!walk.eat_key(key) || !walk.eat_value(value, last)) return false;
    value.field = find_field(key);
    if (value.field >= 0) {
      const uint64_t bit = uint64_t{1} << value.field;
      if ((found_fields_ & bit) != 0) return false;
      found_fields_ |= bit;
    }
    if (value.field >= 0 || !value.is_string || value.is_escaped) found_.push_back(value);
  }
  return walk.eat_line_end();
}

// Where the value belongs.
PlacedValues* LooseLines::values_for(const Found& found) {
  if (found.field < 0) return found.is_escaped ? &unwanted_escaped_ : &unwanted_bare_;
  FieldValues& values = values_[static_cast<size_t>(found.field)];
  if (found.is_escaped) return &values.escaped;
  return found.is_string ? &values.strings : &values.bare;
}

bool LooseLines::add_line(const char* chunk, std::span<const uint16_t> marks, LineStart start,
                          size_t line_feed_mark, size_t line) {
  Walk walk(chunk, marks, start, line_feed_mark);
  if (!usable_ || !find_values(walk)) return false;
  for (const Found& found : found_) values_for(found)->add(line, found.begin, found.end);
  lines_.push_back(static_cast<uint16_t>(line));
  absent_.push_back(needed_ & ~found_fields_);
  return true;
}

}  // namespace wrackline::formats
