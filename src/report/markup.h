// The small pieces of HTML and SVG: escaping, numbers, and a drawing that grows shape by shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wrackline::report {

// `text` as the content of an element or of an attribute in double quotes. Control characters and bytes that
// are not UTF-8 become U+FFFD.
std::string escaped(std::string_view text);
// A name from the data: escaped, and isolated so that right-to-left letters do not reorder what follows.
std::string isolated(std::string_view name);
// A message in lower case as a sentence.
std::string sentence(std::string text);

// A coordinate with at most one decimal place: "12", "12.5"; never "-0".
std::string pixels(double value);
// "12.3 %", with as many digits as tell it apart from none and all: "<0.001 %" is not "0 %".
std::string percent_text(double share);
std::string percent_text(int64_t part, int64_t whole);
std::string bytes_text(double bytes);  // "1.5 MiB"

// How wide a label of the style sheet's size is drawn, near enough to keep labels apart.
double label_width(std::string_view text);
// As much of `text` as fits into so many pixels, the last character an ellipsis if something was cut.
std::string fitted(std::string_view text, double width);

enum class Anchor : uint8_t { kStart, kMiddle, kEnd };
struct Point {
  double x = 0;
  double y = 0;
};
struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

// One inline SVG. Coordinates are CSS pixels: it is shown at its own size or shrunk, never enlarged.
// Shapes take their colours from classes of the style sheet (style.h).
class Drawing {
 public:
  struct Head {
    std::string id;     // unique on the page
    std::string title;  // for those who cannot see it
    std::string description;
    double width = 0;
    double height = 0;
    std::string_view kind;  // class: "wide" | "narrow"
  };
  explicit Drawing(Head head);

  void line(Point from, Point to, std::string_view kind);
  void box(const Box& box, std::string_view kind, std::string_view tip = {});
  void path(std::string_view steps, std::string_view kind);
  void dot(Point at, double radius, std::string_view kind);
  void diamond(Point at, double radius, std::string_view kind);
  void text(Point at, Anchor anchor, std::string_view kind, std::string_view text);
  // Shapes until end_group() belong together, can be reached with the keyboard, and are told as `label`.
  void begin_mark(std::string_view label);
  void end_mark();

  std::string finish();

 private:
  std::string out_;
};

}  // namespace wrackline::report
