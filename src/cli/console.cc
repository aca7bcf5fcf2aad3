#include "cli/console.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "base/text.h"
#include "connectors/sink_stdout.h"
#include "data/time_text.h"
#include "env/file.h"
#include "env/terminal.h"

namespace wrackline::cli {

int report(const Error& error) {
  if (connectors::is_output_closed(error)) return kFailed;
  std::cerr << "wrackline: " << error.to_string() << '\n';
  return error.code == ErrorCode::kUsage ? kUsage : kFailed;
}

void notice(std::string_view text) {
  std::cerr << "wrackline: " << text << '\n';
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  if (errno != EPIPE) {
    std::exit(report(system_error("cannot write to standard output", errno)));
  }
  std::_Exit(kFailed);
}

Result<std::string> read_text_file(const std::string& path, size_t bytes_max) {
  if (path != "-") return env::read_file(path, bytes_max);
  std::string text;
  char piece[65536];
  while (std::cin.read(piece, sizeof piece) || std::cin.gcount() > 0) {
    text.append(piece, static_cast<size_t>(std::cin.gcount()));
    if (text.size() > bytes_max) {
      return fail(ErrorCode::kOutOfRange, format("standard input has more than {} bytes", bytes_max), {},
                  "A job is a page of SQL: check what was piped in.");
    }
  }
  return text;
}

ProgressLine::ProgressLine() : enabled_(env::is_terminal(env::StandardStream::kError)) {}

void ProgressLine::show(const runtime::Progress& progress) {
  if (!enabled_ || progress.seconds < 1) return;
  std::string line =
      format("{} records, {}/s", with_thousands(progress.rows),
             with_thousands(static_cast<int64_t>(static_cast<double>(progress.rows) / progress.seconds)));
  if (progress.bytes_total && *progress.bytes_total > 0) {
    line = format("{:3.0f} %  ", 100.0 * static_cast<double>(progress.bytes_read) /
                                     static_cast<double>(*progress.bytes_total)) +
           line;
  }
  if (progress.watermark > EventTime::minus_infinity() && progress.watermark < EventTime::plus_infinity()) {
    line += ", watermark " + timestamp_text(progress.watermark.micros());
  }
  if (progress.late > 0) line += format(", late {}", with_thousands(progress.late));
  const size_t width = env::terminal_width(env::StandardStream::kError);
  if (line.size() >= width) line.resize(width - 1);
  std::cerr << '\r' << line << "\x1b[K" << std::flush;
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
  shown_ = false;
}

}  // namespace wrackline::cli
