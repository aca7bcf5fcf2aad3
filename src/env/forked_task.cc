#include "env/forked_task.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::env {
namespace {

int64_t now_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

Result<std::string> guarded(const TaskWork& work) {
  try {
    return work();
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::kUnavailable, "work in the background failed", thrown.what());
  } catch (...) {
    return fail(ErrorCode::kUnavailable, "work in the background failed");
  }
}

class InlineTask : public BackgroundTask {
 public:
  explicit InlineTask(TaskOutcome outcome) : outcome_(std::move(outcome)) {}
  std::optional<TaskOutcome> poll() override { return wait(); }
  TaskOutcome wait() override {
    WRACKLINE_CHECK(outcome_.has_value(), "an outcome is given once");
    return *std::exchange(outcome_, std::nullopt);
  }

 private:
  std::optional<TaskOutcome> outcome_;
};

// Child to parent: whether it went well, how long it took, how many texts; each text behind its length.
void put(std::string& out, uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string message_of(const Result<std::string>& result, int64_t work_us) {
  std::string out;
  put(out, result.has_value() ? 1 : 0);
  put(out, static_cast<uint64_t>(work_us));
  put(out, result ? 0 : static_cast<uint64_t>(result.error().code));
  const std::string none;
  const auto texts = result
                         ? std::array{&*result, &none, &none}
                         : std::array{&result.error().message, &result.error().detail, &result.error().hint};
  for (const std::string* text : texts) put(out, text->size());
  for (const std::string* text : texts) out += *text;
  return out;
}

bool take(std::string_view& from, uint64_t& number) {
  if (from.size() < sizeof number) return false;
  std::memcpy(&number, from.data(), sizeof number);
  from.remove_prefix(sizeof number);
  return true;
}

// Nothing if the message is not whole: the child was killed before it ended.
std::optional<TaskOutcome> outcome_of(std::string_view message) {
  uint64_t good = 0;
  uint64_t work_us = 0;
  uint64_t code = 0;
  std::array<uint64_t, 3> sizes{};
  if (!take(message, good) || !take(message, work_us) || !take(message, code)) return std::nullopt;
  for (uint64_t& size : sizes) {
    if (!take(message, size)) return std::nullopt;
  }
  std::array<std::string, 3> texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (message.size() < sizes[i]) return std::nullopt;
    texts[i] = message.substr(0, sizes[i]);
    message.remove_prefix(sizes[i]);
  }
  TaskOutcome outcome;
  outcome.work_us = static_cast<int64_t>(work_us);
  if (good == 1) {
    outcome.result = std::move(texts[0]);
  } else {
    outcome.result = fail(Error{static_cast<ErrorCode>(code), texts[0], texts[1], texts[2], {}});
  }
  return outcome;
}

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // nobody listens any more
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// All of this is done as well as the system lets us: the work is right without.
void step_back() {
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 10));
  constexpr int kWhoProcess = 1;
  constexpr int kBestEffortLowest = (2 << 13) | 7;
  static_cast<void>(::syscall(SYS_ioprio_set, kWhoProcess, 0, kBestEffortLowest));
  if (const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); score >= 0) {
    write_all(score, "1000");
    ::close(score);
  }
}

[[noreturn]] void be_child(const TaskWork& work, pid_t parent, int report, const sigset_t& signals) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  step_back();
  const int64_t began_us = now_us();
  const Result<std::string> result = guarded(work);
  write_all(report, message_of(result, now_us() - began_us));
  ::_exit(0);
}

class ForkedTask : public BackgroundTask {
 public:
  ForkedTask(pid_t child, int report) : child_(child), report_(report) {}
  ForkedTask(const ForkedTask&) = delete;
  ForkedTask& operator=(const ForkedTask&) = delete;
  ~ForkedTask() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      reap(0);
    }
    if (report_ >= 0) ::close(report_);
  }

  std::optional<TaskOutcome> poll() override {
    WRACKLINE_CHECK(child_ > 0, "an outcome is given once");
    listen();
    if (!reap(WNOHANG)) return std::nullopt;
    listen();
    return ended();
  }

  TaskOutcome wait() override {
    WRACKLINE_CHECK(child_ > 0, "an outcome is given once");
    // The child waits while the pipe is full. Its end is seen by asking, too: another child may hold the
    // pipe.
    for (;;) {
      if (auto outcome = poll()) return *std::move(outcome);
      struct pollfd wanted{report_, POLLIN, 0};
      static_cast<void>(::poll(&wanted, 1, closed_ ? 1 : 20));
    }
  }

  void stalled(int64_t stall_us) { stall_us_ = stall_us; }

 private:
  void listen() {
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t got = ::read(report_, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      closed_ |= got == 0;
      if (got <= 0) return;
      message_.append(bytes.data(), static_cast<size_t>(got));
    }
  }

  // Whether the child is gone. One that somebody else has waited for is.
  bool reap(int options) {
    pid_t got = 0;
    do {
      got = ::waitpid(child_, &status_, options);
    } while (got < 0 && errno == EINTR);
    if (got == 0) return false;
    if (got < 0) status_ = 0;
    child_ = -1;
    return true;
  }

  TaskOutcome ended() {
    std::optional<TaskOutcome> outcome = outcome_of(message_);
    if (!outcome) {
      outcome.emplace();
      const std::string how =
          WIFSIGNALED(status_)
              ? format("It was ended by signal {} ({}).", WTERMSIG(status_), ::strsignal(WTERMSIG(status_)))
              : std::string("It ended before it had said how its work went.");
      outcome->result = fail(ErrorCode::kUnavailable, "work in the background was cut short", how,
                             WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL
                                 ? "If memory ran out, give the machine more or the job less state."
                                 : "");
    }
    outcome->stall_us = stall_us_;
    return *std::move(outcome);
  }

  pid_t child_;  // -1: gone
  int report_;
  int status_ = 0;
  bool closed_ = false;
  int64_t stall_us_ = 0;
  std::string message_;
};

std::unique_ptr<BackgroundTask> failed(std::string message, int error) {
  TaskOutcome outcome;
  outcome.result = fail(system_error(std::move(message), error));
  return std::make_unique<InlineTask>(std::move(outcome));
}

std::unique_ptr<BackgroundTask> start_forked(const TaskWork& work) {
  const int64_t began_us = now_us();
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return failed("cannot make a pipe", errno);
  static_cast<void>(::fcntl(pipe[0], F_SETFL, O_NONBLOCK));
  const pid_t parent = ::getpid();
  // A signal that meets the child before it ignores it would run the parent's handler there.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    be_child(work, parent, pipe[1], before);
  }
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(pipe[1]);
  if (child < 0) {
    ::close(pipe[0]);
    return failed("cannot start a process for work in the background", error);
  }
  auto task = std::make_unique<ForkedTask>(child, pipe[0]);
  task->stalled(now_us() - began_us);
  return task;
}

}  // namespace

std::unique_ptr<BackgroundTask> start_task(TaskMode mode, const TaskWork& work) {
  if (mode == TaskMode::kForked) return start_forked(work);
  const int64_t began_us = now_us();
  TaskOutcome outcome;
  outcome.result = guarded(work);
  outcome.work_us = outcome.stall_us = now_us() - began_us;
  return std::make_unique<InlineTask>(std::move(outcome));
}

}  // namespace wrackline::env
