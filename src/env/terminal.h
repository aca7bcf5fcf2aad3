// Whether a person is at the other end, and how wide their window is.
#pragma once

#include <cstddef>

namespace wrackline::env {

inline constexpr int kStandardOutput = 1;
inline constexpr int kStandardError = 2;

bool is_terminal(int descriptor);
// Columns of the terminal, or `otherwise` when there is none.
size_t terminal_width(int descriptor, size_t otherwise = 80);
// True if the locale's character set is UTF-8, so that block characters will show.
bool speaks_utf8();

}  // namespace wrackline::env
