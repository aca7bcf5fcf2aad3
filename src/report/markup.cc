#include "report/markup.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace wrackline::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The bytes of the well-formed UTF-8 character at the front, 0 if there is none.
size_t character_bytes(std::string_view text) {
  for (size_t size = 1; size <= std::min<size_t>(4, text.size()); ++size) {
    if (is_valid_utf8(text.substr(0, size))) return size;
  }
  return 0;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return (first < 0x20 && first != '\t' && first != '\n') || first == 0x7F;
  return character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string_view entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string_view anchor_name(Anchor anchor) {
  constexpr std::array<std::string_view, 3> kNames = {"start", "middle", "end"};
  return kNames[static_cast<size_t>(anchor)];
}

// Pixels of a character's first byte at 12 px in DejaVu Sans, which is wider than most; later bytes have
// none.
double advance(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if ((byte & 0xC0) == 0x80) return 0;
  if (byte >= 0xE0) return 12.5;  // among them the letters of East Asia
  if (byte >= 0xC0) return 8.5;
  if (std::string_view("mwMWQO@%").find(c) != std::string_view::npos) return 11.8;
  if (std::string_view(" .,:;'|!ijlIft()[]-").find(c) != std::string_view::npos) return 4.8;
  if (c >= 'A' && c <= 'Z') return 8.8;
  return 7.7;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    text.remove_prefix(character.size());
    if (size == 0 || is_control(character)) {
      out += kReplacement;
    } else if (const std::string_view named = entity(character[0]); !named.empty()) {
      out += named;
    } else {
      out += character;
    }
  }
  return out;
}

std::string isolated(std::string_view name) {
  return format("<bdi>{}</bdi>", escaped(name));
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (text.back() != '.') text += '.';
  return text;
}

std::string pixels(double value) {
  const auto tenths = static_cast<int64_t>(std::lround(value * 10));
  const std::string sign = tenths < 0 ? "-" : "";
  const int64_t size = std::abs(tenths);
  return size % 10 == 0 ? format("{}{}", sign, size / 10) : format("{}{}.{}", sign, size / 10, size % 10);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (percent <= 0) return "0 %";
  if (percent >= 100) return "100 %";
  if (percent < 0.001) return "<0.001 %";
  if (percent > 99.999) return ">99.999 %";
  const double far = std::min(percent, 100 - percent);
  return format("{:.{}f} %", percent, far >= 10 ? 1 : far >= 0.1 ? 2 : 3);
}

std::string percent_text(int64_t part, int64_t whole) {
  return whole == 0 ? "-" : percent_text(static_cast<double>(part) / static_cast<double>(whole));
}

std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return format("{:.3g} {}", bytes, kUnits[unit]);
}

double label_width(std::string_view text) {
  double width = 0;
  for (const char c : text) width += advance(c);
  return width;
}

std::string fitted(std::string_view text, double width) {
  if (label_width(text) <= width) return std::string(text);
  double used = label_width("…");
  size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    used += advance(text[bytes]);
    if (used > width) break;
  }
  while (bytes > 0 && bytes < text.size() && (text[bytes] & 0xC0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes)) + "…";
}

Drawing::Drawing(Head head) {
  out_ = format(
      R"(<svg class="{0}" id="{1}" viewBox="0 0 {2} {3}" width="{2}" height="{3}" role="group" aria-labelledby="{1}-title {1}-desc"><title id="{1}-title">{4}</title><desc id="{1}-desc">{5}</desc>)",
      head.kind, head.id, pixels(head.width), pixels(head.height), escaped(head.title),
      escaped(head.description));
  out_ += '\n';
}

void Drawing::line(Point from, Point to, std::string_view kind) {
  out_ += format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", kind, pixels(from.x),
                 pixels(from.y), pixels(to.x), pixels(to.y));
}

void Drawing::box(const Box& box, std::string_view kind, std::string_view tip) {
  out_ += format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", kind, pixels(box.left),
                 pixels(box.top), pixels(box.width), pixels(box.height));
  out_ += tip.empty() ? std::string("/>\n") : format("><title>{}</title></rect>\n", escaped(tip));
}

void Drawing::path(std::string_view steps, std::string_view kind) {
  if (!steps.empty()) out_ += format("<path class=\"{}\" d=\"{}\"/>\n", kind, steps);
}

void Drawing::dot(Point at, double radius, std::string_view kind) {
  out_ += format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", kind, pixels(at.x), pixels(at.y),
                 pixels(radius));
}

void Drawing::diamond(Point at, double radius, std::string_view kind) {
  path(
      format("M{} {}L{} {}L{} {}L{} {}Z", pixels(at.x - radius), pixels(at.y), pixels(at.x),
             pixels(at.y - radius), pixels(at.x + radius), pixels(at.y), pixels(at.x), pixels(at.y + radius)),
      kind);
}

void Drawing::text(Point at, Anchor anchor, std::string_view kind, std::string_view text) {
  out_ += format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", kind, pixels(at.x),
                 pixels(at.y), anchor_name(anchor), escaped(text));
}

void Drawing::begin_mark(std::string_view label) {
  const std::string told = escaped(label);
  out_ +=
      format("<g class=\"mark\" tabindex=\"0\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\n", told);
}

void Drawing::end_mark() {
  out_ += "</g>\n";
}

std::string Drawing::finish() {
  return std::move(out_) + "</svg>\n";
}

}  // namespace wrackline::report
