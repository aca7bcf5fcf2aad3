// Bars and labels of plain text: what the pictures for a terminal share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace wrackline::disorder {

inline constexpr size_t kPlotIndent = 2;

// Columns of bars, `rows` lines high, in eighths of a character where block characters are shown and in
// fourths else. Heights are parts of the whole from 0 to 1; 0 is no bar, and any more is one that can be
// seen.
std::string plot_bars(std::span<const double> heights, size_t rows, bool unicode);

// Adds `line` with the plot's indent and without blanks at its end.
void append_plot_line(std::string& out, std::string_view line);

// Puts `label` into `line` near `column` if the place is free. Returns whether it did.
bool place_label(std::string& line, size_t column, std::string_view label);

}  // namespace wrackline::disorder
