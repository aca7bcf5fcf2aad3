#include "disorder/text_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace wrackline::disorder {
namespace {

std::string_view bar_cell(size_t eighths, bool unicode) {
  constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 9> kPlain = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};
  return (unicode ? kBlocks : kPlain)[std::min<size_t>(eighths, 8)];
}

}  // namespace

std::string plot_bars(std::span<const double> heights, size_t rows, bool unicode) {
  std::string out;
  for (size_t row = rows; row-- > 0;) {
    std::string line;
    for (const double height : heights) {
      const double whole = std::clamp(height, 0.0, 1.0) * static_cast<double>(rows) * 8;
      const size_t eighths = height <= 0 ? 0 : std::max<size_t>(1, static_cast<size_t>(std::lround(whole)));
      line += bar_cell(eighths <= row * 8 ? 0 : eighths - row * 8, unicode);
    }
    append_plot_line(out, line);
  }
  return out;
}

void append_plot_line(std::string& out, std::string_view line) {
  const size_t end = line.find_last_not_of(' ');
  out.append(kPlotIndent, ' ');
  out += line.substr(0, end == std::string_view::npos ? 0 : end + 1);
  out += '\n';
}

bool place_label(std::string& line, size_t column, std::string_view label) {
  if (label.size() > line.size()) return false;
  const size_t half = label.size() / 2;
  const size_t from = std::min(column < half ? 0 : column - half, line.size() - label.size());
  const size_t before = from == 0 ? 0 : from - 1;
  const size_t after = std::min(from + label.size() + 1, line.size());
  if (line.find_first_not_of(' ', before) < after) return false;
  line.replace(from, label.size(), label);
  return true;
}

}  // namespace wrackline::disorder
