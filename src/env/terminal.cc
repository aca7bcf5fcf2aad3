#include "env/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace wrackline::env {

bool is_terminal(StandardStream stream) {
  return ::isatty(static_cast<int>(stream)) == 1;
}

size_t terminal_width(StandardStream stream, size_t otherwise) {
  struct winsize size{};
  if (::ioctl(static_cast<int>(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col;
}

}  // namespace wrackline::env
