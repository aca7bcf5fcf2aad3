// Commands that are started on the side: each gets a text on its standard input and is not waited for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace wrackline::env {

// Runs a shell command once for each text. What it writes to standard output goes to standard error, for
// standard output belongs to the caller. At most 16 run at a time. Threads: one. Destructor: waits up to five
// seconds for those that still run, then ends them.
class SideCommand {
 public:
  static constexpr size_t kTextMax = 60'000;  // bytes that fit into a pipe that nobody reads yet

  explicit SideCommand(std::string command) : command_(std::move(command)) {}
  ~SideCommand();
  SideCommand(const SideCommand&) = delete;
  SideCommand& operator=(const SideCommand&) = delete;

  // Returns at once. Errors: kUnavailable when no process can be started or too many still run; kOutOfRange
  // for a text beyond kTextMax.
  Status start(std::string_view text);
  // What went wrong since the last call, a line for each command that failed. Does not wait.
  std::vector<std::string> take_failures();
  // Waits until all have ended, for so long at most, and ends those that have not.
  void finish(int64_t wait_us);

 private:
  void reap();

  std::string command_;
  std::vector<pid_t> running_;
  std::vector<std::string> failures_;
};

}  // namespace wrackline::env
