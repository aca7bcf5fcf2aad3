#include "disorder/text_table.h"

#include <algorithm>

#include "base/text.h"

namespace wrackline::disorder {

size_t text_width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Table::text(size_t indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - text_width(row[i]), ' ');
      line += i == 0 ? format("{}{}", row[i], gap) : format("  {}{}", gap, row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string wrapped(std::string_view text, size_t width, std::string_view lead) {
  const std::string indent(text_width(lead), ' ');
  std::string out;
  std::string line(lead);
  bool empty = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!empty && text_width(line) + 1 + text_width(word) > width) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + "\n";
}

std::string share_words(double share) {
  if (share <= 0) return "none";
  if (share < 0.0001) return "< 0.01 %";
  return share < 0.1 ? format("{:.2f} %", share * 100) : format("{:.1f} %", share * 100);
}

}  // namespace wrackline::disorder
