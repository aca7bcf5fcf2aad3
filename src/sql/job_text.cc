#include "sql/job_text.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"

namespace wrackline::sql {
namespace {

constexpr size_t kFrameBefore = 90;  // bytes of a long line shown before and after the place
constexpr size_t kFrameAfter = 50;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Bytes of the character at text[at]; 0 if it is not valid UTF-8.
size_t character_bytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return at + length <= text.size() && is_valid_utf8(text.substr(at, length)) ? length : 0;
}

// Where the character that the byte `offset` belongs to begins; an invalid byte stands for itself.
size_t character_start(std::string_view text, size_t offset) {
  for (size_t back = 1; back < 4 && back <= offset && offset < text.size(); ++back) {
    if (character_bytes(text, offset - back) > back) return offset - back;
  }
  return offset;
}

// `part` of a source line as it can be printed: a control character would move the terminal's cursor.
std::string shown(std::string_view part) {
  std::string out;
  for (size_t at = 0; at < part.size();) {
    const size_t length = character_bytes(part, at);
    const auto byte = static_cast<unsigned char>(part[at]);
    if (length == 0 || (byte < 0x20 && byte != '\t') || byte == 0x7F) {
      out += '?';
    } else {
      out.append(part.substr(at, length));
    }
    at += std::max<size_t>(length, 1);
  }
  return out;
}

// Requires: character_bytes(text, at) == length > 0.
char32_t decode(std::string_view text, size_t at, size_t length) {
  const auto lead = static_cast<unsigned char>(text[at]);
  auto point = static_cast<char32_t>(length == 1 ? lead : lead & (0x7FU >> length));
  for (size_t i = 1; i < length; ++i) {
    point = point << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return point;
}

struct CharacterRange {
  char32_t first;
  char32_t last;
};
// What a terminal shows two cells wide, and what it puts over the character before. Coarse on purpose: a
// caret that is a cell off is no harm. Source: Unicode 15, EastAsianWidth.txt (W and F) and the combining
// blocks.
constexpr CharacterRange kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},  {0x3041, 0xA4CF},
                                    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},
                                    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                                    {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr CharacterRange kCombining[] = {
    {0x0300, 0x036F}, {0x200B, 0x200D}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

bool is_in(std::span<const CharacterRange> ranges, char32_t point) {
  return std::ranges::any_of(ranges,
                             [&](const CharacterRange& r) { return point >= r.first && point <= r.last; });
}

// Blanks as wide as `part` is shown: tabs as they are, two cells under wide characters, none under accents.
std::string blanks_under(std::string_view part) {
  std::string out;
  for (size_t at = 0; at < part.size();) {
    const size_t length = character_bytes(part, at);
    const char32_t point = length == 0 ? U'?' : decode(part, at, length);
    if (point == U'\t') {
      out += '\t';
    } else if (!is_in(kCombining, point)) {
      out += is_in(kWide, point) ? "  " : " ";
    }
    at += std::max<size_t>(length, 1);
  }
  return out;
}

}  // namespace

TextPlace JobText::place(size_t offset) const {
  const std::string_view before = text_.substr(0, character_start(text_, std::min(offset, text_.size())));
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  TextPlace place;
  place.line += std::ranges::count(before, '\n');
  for (size_t at = line_start; at < before.size(); ++place.column)
    at += std::max<size_t>(character_bytes(text_, at), 1);
  return place;
}

std::string JobText::code_frame(size_t offset) const {
  offset = std::min(offset, text_.size());
  offset = character_start(text_, offset);
  const size_t line_start = text_.substr(0, offset).rfind('\n') + 1;
  size_t line_end = std::min(text_.find('\n', offset), text_.size());
  if (line_end > offset && text_[line_end - 1] == '\r') --line_end;

  size_t from = offset - line_start > kFrameBefore ? offset - kFrameBefore : line_start;
  while (from > line_start && from < offset && is_continuation(text_[from])) ++from;
  size_t to = line_end - offset > kFrameAfter ? offset + kFrameAfter : line_end;
  while (to < line_end && is_continuation(text_[to])) ++to;

  const std::string number = format("{}", place(offset).line);
  const std::string_view cut = from > line_start ? "…" : "";
  const std::string_view before = text_.substr(from, offset - from);
  return format("  {} | {}{}{}{}\n  {} | {}{}^", number, cut, shown(before),
                shown(text_.substr(offset, to - offset)), to < line_end ? "…" : "",
                std::string(number.size(), ' '), cut.empty() ? "" : " ", blanks_under(before));
}

Error JobText::error(size_t offset, ErrorCode code, std::string message, std::string hint) const {
  return placed(offset, Error{code, std::move(message), {}, std::move(hint), {}});
}

Error JobText::placed(size_t offset, Error error) const {
  const TextPlace where = place(offset);
  error.where.file = path_;
  error.where.line = where.line;
  error.where.column = where.column;
  if (!error.detail.empty()) {
    error.hint = error.hint.empty() ? std::move(error.detail) : error.detail + " " + error.hint;
  }
  error.detail = code_frame(offset);
  return error;
}

}  // namespace wrackline::sql
