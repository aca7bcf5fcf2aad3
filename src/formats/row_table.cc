// The table for people. It holds rows back until its first screenful is there, takes the widths from it and
// prints from then on as rows come; a wider cell later widens its column for the rows that follow.
#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "formats/row_cells.h"
#include "formats/row_writer.h"

namespace wrackline::formats {
namespace {

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kGap = "  ";

// Decodes the character at `at` and moves past it; a byte that starts none counts as itself.
uint32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  const size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  uint32_t code = more == 3 ? lead & 0x07U : more == 2 ? lead & 0x0FU : more == 1 ? lead & 0x1FU : lead;
  for (size_t i = 0; i < more && at < text.size() && (byte(at) & 0xC0) == 0x80; ++i)
    code = code << 6 | (byte(at++) & 0x3FU);
  return code;
}

struct Range {
  uint32_t first, last;
};
// The blocks of Unicode 15 that matter in names and messages, not the whole table of EastAsianWidth.txt.
constexpr std::array<Range, 7> kZeroWidth{{{0x0300, 0x036F},
                                           {0x0483, 0x0489},
                                           {0x0591, 0x05BD},
                                           {0x064B, 0x065F},
                                           {0x200B, 0x200F},
                                           {0x20D0, 0x20F0},
                                           {0xFE00, 0xFE0F}}};
constexpr std::array<Range, 9> kDoubleWidth{{{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0x33FF},
                                             {0x3400, 0x4DBF},
                                             {0x4E00, 0x9FFF},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFF00, 0xFF60},
                                             {0x1F300, 0x1FAFF}}};

template <size_t N>
bool is_in(const std::array<Range, N>& ranges, uint32_t code) {
  return std::ranges::any_of(ranges,
                             [code](Range range) { return code >= range.first && code <= range.last; });
}

size_t character_width(uint32_t code) {
  if (code < 0x300) return 1;
  if (is_in(kZeroWidth, code)) return 0;
  return is_in(kDoubleWidth, code) || (code >= 0x20000 && code <= 0x3FFFD) ? 2 : 1;
}

// The longest front of `text` that is at most `width` columns wide, in bytes.
size_t bytes_within(std::string_view text, size_t width) {
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    size_t next = at;
    used += character_width(next_character(text, next));
    if (used > width) return at;
    at = next;
  }
  return text.size();
}

// Times of the rows to come are hardly shorter than this, and counts grow: a first screenful of few rows must
// not leave the later ones ragged.
size_t least_width(const Type& type) {
  switch (type.kind) {
    case TypeKind::kTimestamp:
      return 20;  // 2024-05-01T12:00:00Z
    case TypeKind::kDate:
      return 10;
    case TypeKind::kInteger:
      return 6;
    default:
      return 0;
  }
}

bool is_number(const Type& type) {
  return type.kind == TypeKind::kInteger || type.kind == TypeKind::kNumeric || type.kind == TypeKind::kDouble;
}

class TableWriter final : public RowWriter {
 public:
  TableWriter(const std::vector<RowColumn>& columns, const TableOptions& options)
      : columns_(columns), options_(options), memos_(columns.size()) {
    for (RowColumn& column : columns_) {
      column.name = printable(column.name, options.text_width_max);
      widths_.push_back(std::max(display_width(column.name), least_width(column.type)));
    }
  }

  void begin(std::string& /*out*/) override {}

  void append(std::string& out, const Rows& rows) override {
    WRACKLINE_CHECK(rows.columns.size() == columns_.size(), format("{} columns", rows.columns.size()));
    for (size_t row = 0; row < rows.count; ++row) {
      read_cells(rows, row);
      if (started_) {
        print_row(out, cells_, mark_);
        continue;
      }
      waiting_.insert(waiting_.end(), cells_.begin(), cells_.end());
      waiting_marks_.push_back(mark_);
      if (waiting_marks_.size() >= options_.sample_rows) flush(out);
    }
  }

  void flush(std::string& out) override {
    if (waiting_marks_.empty()) return;
    print_header(out);
    for (size_t row = 0; row < waiting_marks_.size(); ++row) {
      print_row(out, std::span(waiting_).subspan(row * columns_.size(), columns_.size()),
                waiting_marks_[row]);
    }
    waiting_.clear();
    waiting_marks_.clear();
    started_ = true;
  }

 private:
  struct Cell {
    std::string text;
    size_t width = 0;
    bool null = false;
  };
  struct Mark {
    std::string text;
    std::string_view colour;
  };

  void read_cells(const Rows& rows, size_t row) {
    cells_.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      read_cell(rows.columns[i], row, cells_[i], memos_[i]);
      widths_[i] = std::max(widths_[i], cells_[i].width);
    }
    read_mark(rows, row);
  }

  void read_cell(const Column& column, size_t row, Cell& cell, TimeMemo& memo) const {
    cell.text.clear();
    cell.null = column.is_null(row);
    if (cell.null) {
      cell.text = "NULL";
    } else if (column.type().kind == TypeKind::kTimestamp) {
      append_time_cell(cell.text, column, row, memo);
    } else if (column.type().kind == TypeKind::kText || column.type().kind == TypeKind::kJson) {
      cell.text = shown(column.values<std::string_view>()[row]);
    } else {
      append_text(cell.text, column, row);
    }
    cell.width = display_width(cell.text);
  }

  std::string shown(std::string_view text) const {
    std::string escaped = printable(text, options_.text_width_max * 4);
    if (display_width(escaped) <= options_.text_width_max) return escaped;
    escaped.resize(bytes_within(escaped, options_.text_width_max - 1));
    return escaped + "…";
  }

  void read_mark(const Rows& rows, size_t row) {
    const bool retracted = rows.ops.at(row) == "retract";
    const std::string_view status = rows.statuses.at(row);
    mark_.text.clear();
    if (rows.versions[row] > 1) mark_.text = format("v{}", rows.versions[row]);
    const std::string_view word = retracted             ? std::string_view("retracted")
                                  : status == "on_time" ? ""
                                                        : status;
    if (!word.empty()) {
      if (!mark_.text.empty()) mark_.text += ' ';
      mark_.text += word;
    }
    mark_.colour = retracted ? kRed : status == "early" ? kDim : kYellow;
  }

  void print_header(std::string& out) const {
    std::string rule;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += kGap, rule += kGap;
      if (options_.colour) out += kBold;
      print_padded(out, columns_[i].name, display_width(columns_[i].name), i);
      if (options_.colour) out += kPlain;
      rule.append(widths_[i], '-');
    }
    out += '\n';
    out += rule;
    out += '\n';
  }

  void print_row(std::string& out, std::span<const Cell> cells, const Mark& mark) const {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += kGap;
      const bool dim = options_.colour && cells[i].null;
      if (dim) out += kDim;
      const bool last = i + 1 == cells.size() && mark.text.empty();
      if (last && !is_number(columns_[i].type)) {
        out += cells[i].text;  // no blanks at the end of a line
      } else {
        print_padded(out, cells[i].text, cells[i].width, i);
      }
      if (dim) out += kPlain;
    }
    if (!mark.text.empty()) {
      out += kGap;
      if (options_.colour) out += mark.colour;
      out += mark.text;
      if (options_.colour) out += kPlain;
    }
    out += '\n';
  }

  void print_padded(std::string& out, std::string_view text, size_t width, size_t column) const {
    const size_t padding = widths_[column] > width ? widths_[column] - width : 0;
    if (is_number(columns_[column].type)) out.append(padding, ' ');
    out += text;
    if (!is_number(columns_[column].type)) out.append(padding, ' ');
  }

  std::vector<RowColumn> columns_;
  TableOptions options_;
  std::vector<TimeMemo> memos_;
  std::vector<size_t> widths_;
  bool started_ = false;  // the header is out
  std::vector<Cell> waiting_;
  std::vector<Mark> waiting_marks_;
  std::vector<Cell> cells_;  // of the current row
  Mark mark_;
};

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += character_width(next_character(text, at));
  return width;
}

std::unique_ptr<RowWriter> make_table_writer(const std::vector<RowColumn>& columns,
                                             const TableOptions& options) {
  return std::make_unique<TableWriter>(columns, options);
}

}  // namespace wrackline::formats
