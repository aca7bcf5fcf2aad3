// The figures of a page as inline SVG. Each is drawn for one width: wide for a desk and for paper, narrow for
// a phone.
#pragma once

#include <string>
#include <string_view>

#include "report/page.h"

namespace wrackline::report {

struct Canvas {
  std::string_view kind;  // class and suffix of ids: "wide" | "narrow"
  double width = 0;
  bool narrow() const { return width < 500; }
};
inline constexpr Canvas kWide{"wide", 720};
inline constexpr Canvas kNarrow{"narrow", 328};  // 360 pixels less the margins of the page

// Empty when there is nothing to draw.
std::string histogram_svg(const Distribution& distribution, const Canvas& canvas);
// Share of records beyond each span, both axes logarithmic.
std::string exceedance_svg(const Distribution& distribution, const Canvas& canvas);
std::string rows_svg(const SpanRows& rows, const Canvas& canvas);
std::string series_svg(const Series& series, const Canvas& canvas);
std::string staircase_svg(const Staircase& curve, const Canvas& canvas);

}  // namespace wrackline::report
