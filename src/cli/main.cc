#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "env/file.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write
  wrackline::env::allow_many_open_files();
  try {
    return wrackline::cli::run_command_line(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "wrackline: out of memory\nhint: Fewer keys, shorter windows or less allowed lateness need less "
        "state.\n",
        stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "wrackline: internal error: %s\nhint: Please report it with the command and the input.\n",
                 error.what());
  }
  return wrackline::cli::kFailed;
}
