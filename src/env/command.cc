#include "env/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

extern char** environ;

namespace wrackline::env {
namespace {

constexpr size_t kRunningMax = 16;
constexpr int64_t kPollMs = 10;
constexpr int64_t kWaitAtEndUs = 5'000'000;

Status write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorCode::kUnavailable, "no pipe to a command", std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

SideCommand::~SideCommand() {
  finish(kWaitAtEndUs);
}

Status SideCommand::start(std::string_view text) {
  reap();
  if (running_.size() >= kRunningMax)
    return fail(ErrorCode::kUnavailable, format("{} commands still run", kRunningMax));
  if (text.size() > kTextMax) return fail(ErrorCode::kOutOfRange, "the text is too long for a command");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(ErrorCode::kUnavailable, "no pipe to a command", std::strerror(errno));
  // Before the command starts: it all fits into the pipe, so nothing waits and no reader can be missing.
  const Status written = write_whole(ends[1], text);
  ::close(ends[1]);
  pid_t process = 0;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  // A group of its own: an interrupt from the keyboard stops the job, not the alarm that is on its way.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  char shell[] = "/bin/sh";
  char flag[] = "-c";
  char* arguments[] = {shell, flag, command_.data(), nullptr};
  const int failed = written ? ::posix_spawn(&process, shell, &actions, &attributes, arguments, environ) : 0;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[0]);
  if (!written) return written;
  if (failed != 0)
    return fail(ErrorCode::kUnavailable, "the command cannot be started", std::strerror(failed));
  running_.push_back(process);
  return {};
}

void SideCommand::reap() {
  std::erase_if(running_, [&](pid_t process) {
    int state = 0;
    const pid_t ended = ::waitpid(process, &state, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended > 0 && WIFEXITED(state) && WEXITSTATUS(state) != 0)
      failures_.push_back(format("\"{}\" ended with {}", printable(command_), WEXITSTATUS(state)));
    if (ended > 0 && WIFSIGNALED(state))
      failures_.push_back(format("\"{}\" was ended by signal {}", printable(command_), WTERMSIG(state)));
    return true;
  });
}

std::vector<std::string> SideCommand::take_failures() {
  reap();
  return std::exchange(failures_, {});
}

void SideCommand::finish(int64_t wait_us) {
  for (reap(); !running_.empty() && wait_us > 0; wait_us -= kPollMs * 1000) {
    ::poll(nullptr, 0, static_cast<int>(kPollMs));
    reap();
  }
  for (const pid_t process : running_) {
    ::kill(-process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    failures_.push_back(format("\"{}\" did not end in time and was stopped", printable(command_)));
  }
  running_.clear();
}

}  // namespace wrackline::env
