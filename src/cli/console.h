// What the commands say to people: errors, notices, progress.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/commands.h"
#include "runtime/runner.h"

namespace wrackline::cli {

// Prints the error to standard error and returns the exit code that belongs to it.
int report(const Error& error);
void notice(std::string_view text);  // "wrackline: text" on standard error
// Writes all of `text` to standard output. A reader that went away ends the program quietly, with exit
// code 1.
void print(std::string_view text);

// Reads a file, or standard input for "-". Errors: kNotFound, kUnavailable; kInvalid beyond `bytes_max`.
Result<std::string> read_text_file(const std::string& path, size_t bytes_max);

// One line on standard error that is rewritten in place; silent when it is not a terminal, and for the first
// second.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  void show(const runtime::Progress& progress);
  void clear();  // before anything else is printed

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace wrackline::cli
