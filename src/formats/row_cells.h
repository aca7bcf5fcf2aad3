// Cells of published rows as text, with fast paths for what most cells are: integers, times, plain texts.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/text.h"
#include "data/column.h"
#include "data/time_text.h"
#include "data/value.h"

namespace wrackline::formats {

inline void append_integer(std::string& out, int64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, static_cast<size_t>(end.ptr - digits));
}

// True when no byte needs an escape in JSON and none belongs to a character beyond ASCII.
inline bool is_plain_json(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  // A byte of `word` is zero: the classic bit trick, exact when no high bit is set, and a high bit is refused
  // anyway.
  const auto has_zero = [](uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const uint64_t below_blank = (word - kOnes * 0x20) & ~word & kHigh;
    if ((word & kHigh) | below_blank | has_zero(word ^ kOnes * '"') | has_zero(word ^ kOnes * '\\'))
      return false;
  }
  for (; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') return false;
  }
  return true;
}

// The text form of the last time of a column: windows repeat theirs over many rows.
struct TimeMemo {
  int64_t micros = 0;
  std::string text;
};

// Appends the text form of a timestamp cell. Requires: not null.
inline void append_time_cell(std::string& out, const Column& column, size_t row, TimeMemo& memo) {
  const int64_t micros = column.values<int64_t>()[row];
  if (memo.text.empty() || memo.micros != micros) {
    memo.text.clear();
    memo.micros = micros;
    append_text(memo.text, column, row);
  }
  out += memo.text;
}

inline void append_json_cell(std::string& out, const Column& column, size_t row, TimeMemo& memo) {
  if (column.is_null(row)) {
    out += "null";
    return;
  }
  switch (column.type().kind) {
    case TypeKind::kInteger:
      append_integer(out, column.values<int64_t>()[row]);
      return;
    case TypeKind::kTimestamp:
      out += '"';
      append_time_cell(out, column, row, memo);
      out += '"';
      return;
    case TypeKind::kText: {
      const std::string_view text = column.values<std::string_view>()[row];
      if (!is_plain_json(text)) return append_json_quoted(out, text);
      out += '"';
      out += text;
      out += '"';
      return;
    }
    default:
      append_json(out, column, row);
  }
}

}  // namespace wrackline::formats
