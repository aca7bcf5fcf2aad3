#include "formats/json_template.h"

#include <algorithm>
#include <cstdlib>

#include "base/check.h"

namespace wrackline::formats {
namespace {

constexpr size_t kSlotsMax = 256;
constexpr int kDepthMax = 16;

// A value of the line by its bytes. Slots are in the order of their beginnings.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool is_string = false;
  bool is_checked = true;
  int field = -1;
};

// Cuts a valid line into literals and slots.
class Learner {
 public:
  Learner(std::string_view line, const std::vector<Field>& fields) : line_(line), fields_(fields) {
    for (size_t at = 0; at < line.size(); ++at) {
      if (is_mark(line[at])) marks_.push_back(at);
    }
  }

  std::optional<JsonTemplate> learn() {
    if (line_.find('\\') != std::string_view::npos || marks_.size() > UINT16_MAX) return std::nullopt;
    found_.assign(fields_.size(), false);
    skip_blanks();
    if (!read_object(0) || !cut_literals()) return std::nullopt;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].needed && !found_[i]) template_.absent_fields.push_back(i);
    }
    template_.marks = marks_.size();
    template_.line_end_bytes = line_.ends_with("\r\n") ? 2 : 1;
    return std::move(template_);
  }

 private:
  void skip_blanks() { at_ = std::min(line_.find_first_not_of(" \t\r\n", at_), line_.size()); }
  char next() const { return line_[at_]; }

  // The key at at_, without quotes.
  std::string_view read_string() {
    const size_t close = line_.find('"', at_ + 1);
    const std::string_view text = line_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    return text;
  }

  // The column of a top-level key, -1 if it has none. False: the key was there before.
  bool find_field(std::string_view key, int& field) {
    field = -1;
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].name != key) continue;
      if (found_[i]) return false;
      found_[i] = true;
      field = static_cast<int>(i);
    }
    return true;
  }

  bool read_object(int depth) {
    ++at_;
    for (skip_blanks(); next() != '}'; skip_blanks()) {
      if (next() == ',') {
        ++at_;
        continue;
      }
      const std::string_view key = read_string();
      int field = -1;
      if (depth == 0 && !find_field(key, field)) return false;
      skip_blanks();
      ++at_;  // the colon
      skip_blanks();
      if (!read_value(depth + 1, field)) return false;
    }
    ++at_;
    return true;
  }

  bool read_array(int depth) {
    ++at_;
    for (skip_blanks(); next() != ']'; skip_blanks()) {
      if (next() == ',') {
        ++at_;
        continue;
      }
      if (!read_value(depth + 1, -1)) return false;
    }
    ++at_;
    return true;
  }

  bool read_value(int depth, int field) {
    if (depth > kDepthMax || spans_.size() >= kSlotsMax) return false;
    if (next() == '"') {
      const size_t begin = at_ + 1;
      read_string();
      spans_.push_back({begin, at_ - 1, true, true, field});
      return true;
    }
    if (next() == '{' || next() == '[') return read_container(depth, field);
    const size_t end = line_.find_first_of(" \t\r\n,]}", at_);
    spans_.push_back({at_, end, false, true, field});
    at_ = end;
    return true;
  }

  // A container without strings is a bare slot; one with strings is taken apart, and if a column wants it
  // whole it is an unchecked slot around its parts.
  bool read_container(int depth, int field) {
    const size_t begin = at_;
    const size_t slot = spans_.size();
    spans_.push_back({begin, begin, false, false, field});
    if (!(next() == '{' ? read_object(depth) : read_array(depth))) return false;
    spans_[slot].end = at_;
    const std::string_view text = line_.substr(begin, at_ - begin);
    if (std::none_of(text.begin(), text.end(), is_mark)) {
      spans_.resize(slot + 1);
      spans_[slot].is_checked = true;
    } else if (field < 0) {
      spans_.erase(spans_.begin() + static_cast<ptrdiff_t>(slot));
    }
    return true;
  }

  // ---- places ----

  // `at` as seen from the nearest mark in [from, to): a literal. False: there is none near enough.
  bool place_of(size_t at, size_t from, size_t to, MarkPlace& place) const {
    auto mark = std::lower_bound(marks_.begin(), marks_.end(), at);
    if (mark == marks_.end() || *mark >= to ||
        (mark != marks_.begin() && *(mark - 1) >= from && at - *(mark - 1) < *mark - at)) {
      if (mark == marks_.begin()) return false;
      --mark;
    }
    const ptrdiff_t offset = static_cast<ptrdiff_t>(at) - static_cast<ptrdiff_t>(*mark);
    if (*mark < from || *mark >= to || std::abs(offset) > kMarkOffsetMax) return false;
    place = {static_cast<uint16_t>(mark - marks_.begin()), static_cast<int16_t>(offset)};
    return true;
  }

  // Adds the literal line_[from, to) in pieces, all as seen from one mark: only so do they stand side by side
  // in every line that has them.
  bool add_literal(size_t from, size_t to) {
    MarkPlace middle;
    if (!place_of(from + (to - from) / 2, from, to, middle)) return false;
    const size_t anchor = marks_[middle.mark];
    for (size_t at = from; at < to; at += LiteralPiece::kBytes) {
      const size_t size = std::min(LiteralPiece::kBytes, to - at);
      const ptrdiff_t offset = static_cast<ptrdiff_t>(at) - static_cast<ptrdiff_t>(anchor);
      if (std::abs(offset) > kMarkOffsetMax) return false;
      LiteralPiece piece;
      std::copy_n(line_.data() + at, size, piece.bytes.data());
      std::fill_n(piece.mask.data(), size, static_cast<char>(0xFF));
      piece.place = {middle.mark, static_cast<int16_t>(offset)};
      template_.pieces.push_back(piece);
    }
    return to > from;
  }

  // The literal that holds or touches a place, as the bytes between the slots around it.
  bool cut_literals() {
    std::vector<std::pair<size_t, size_t>> literals;
    size_t from = 0;
    for (const Span& span : spans_) {
      if (!span.is_checked) continue;
      literals.emplace_back(from, span.begin);
      from = span.end;
    }
    literals.emplace_back(from, line_.size());
    for (const auto& [begin, end] : literals) {
      if (!add_literal(begin, end)) return false;
    }
    if (!place_of(0, literals.front().first, literals.front().second, template_.begin)) return false;
    for (const Span& span : spans_) {
      TemplateSlot slot{{}, {}, span.is_string, span.is_checked, span.field};
      if (!place_near(span.begin, literals, false, slot.begin) ||
          !place_near(span.end, literals, true, slot.end))
        return false;
      template_.slots.push_back(slot);
    }
    return true;
  }

  // `at` seen from the literal that begins there (`after`) or ends there, or that it stands in.
  bool place_near(size_t at, const std::vector<std::pair<size_t, size_t>>& literals, bool after,
                  MarkPlace& place) const {
    for (const auto& [begin, end] : literals) {
      const bool inside = after ? begin <= at && at < end : begin < at && at <= end;
      if (inside) return place_of(at, begin, end, place);
    }
    return false;
  }

  std::string_view line_;
  const std::vector<Field>& fields_;
  std::vector<size_t> marks_;  // where they are in the line
  std::vector<bool> found_;    // per column
  std::vector<Span> spans_;
  size_t at_ = 0;
  JsonTemplate template_;
};

}  // namespace

std::optional<JsonTemplate> learn_template(std::string_view line, const std::vector<Field>& fields) {
  WRACKLINE_CHECK(line.ends_with('\n'), "a line without its end");
  return Learner(line, fields).learn();
}

}  // namespace wrackline::formats
