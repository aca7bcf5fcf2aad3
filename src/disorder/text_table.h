// Columns and paragraphs of plain text for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wrackline::disorder {

// Characters, not bytes: each takes one column.
size_t text_width(std::string_view text);

// A table: the first column to the left, the others to the right, as wide as their widest cell.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string text(size_t indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Words broken into lines of at most `width`, each after an indent as wide as `lead`; the first one starts
// with `lead` itself.
std::string wrapped(std::string_view text, size_t width, std::string_view lead);

// "12.5 %", "< 0.01 %", "none": how much of the whole a part is.
std::string share_words(double share);

}  // namespace wrackline::disorder
