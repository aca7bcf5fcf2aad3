// What standard output and error are connected to.
#pragma once

#include <cstddef>

namespace wrackline::env {

enum class StandardStream { kInput = 0, kOutput = 1, kError = 2 };

bool is_terminal(StandardStream stream);
// Columns of the terminal; `otherwise` if it is none, or does not tell.
size_t terminal_width(StandardStream stream, size_t otherwise = 80);

}  // namespace wrackline::env
