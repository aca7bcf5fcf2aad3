#include "sql/job_text.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace wrackline::sql {
namespace {

constexpr size_t kFrameBefore = 90;  // bytes of a long line shown before and after the place
constexpr size_t kFrameAfter = 50;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// `part` of a source line as it can be printed: a control character would move the terminal's cursor.
std::string shown(std::string_view part) {
  std::string out(part);
  for (char& byte : out) {
    const auto value = static_cast<unsigned char>(byte);
    if ((value < 0x20 && byte != '\t') || value == 0x7F) byte = '?';
  }
  return out;
}

// Blanks as wide as `part` is printed: one a character, tabs as they are.
std::string blanks_under(std::string_view part) {
  std::string out;
  for (const char byte : part) {
    if (!is_continuation(byte)) out += byte == '\t' ? '\t' : ' ';
  }
  return out;
}

}  // namespace

TextPlace JobText::place(size_t offset) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  TextPlace place;
  place.line += std::ranges::count(before, '\n');
  const auto starts = [](char byte) { return !is_continuation(byte); };
  place.column += std::ranges::count_if(before.substr(line_start), starts);
  if (offset < text_.size() && is_continuation(text_[offset])) --place.column;
  return place;
}

std::string JobText::code_frame(size_t offset) const {
  offset = std::min(offset, text_.size());
  while (offset > 0 && offset < text_.size() && is_continuation(text_[offset])) --offset;
  const size_t line_start = text_.substr(0, offset).rfind('\n') + 1;
  size_t line_end = std::min(text_.find('\n', offset), text_.size());
  if (line_end > offset && text_[line_end - 1] == '\r') --line_end;

  size_t from = offset - line_start > kFrameBefore ? offset - kFrameBefore : line_start;
  while (from < offset && is_continuation(text_[from])) ++from;
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
