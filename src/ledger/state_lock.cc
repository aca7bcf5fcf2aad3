#include "ledger/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"

namespace wrackline::ledger {
namespace {

// is_held() of another process holds a shared lock for microseconds: a refusal counts only when it lasts.
constexpr int kAttempts = 10;
constexpr std::chrono::milliseconds kBetweenAttempts{10};

std::string lock_path(const std::string& directory) {
  return directory + "/lock";
}

Status make_directory(const std::string& directory) {
  struct stat found{};
  if (stat(directory.c_str(), &found) == 0) {
    if (S_ISDIR(found.st_mode)) return {};
    return fail(ErrorCode::kUnavailable, format("state directory \"{}\" is a file", directory), {},
                "Give another path to --state, or move the file away.");
  }
  if (mkdir(directory.c_str(), 0777) == 0 || errno == EEXIST) return {};
  const int error = errno;
  Error failure = system_error(format("cannot make state directory \"{}\"", directory), error);
  failure.hint = error == ENOENT || error == ENOTDIR
                     ? "Make the folder that it stands in first."
                     : "Choose a place that you may write to with --state DIR.";
  return fail(std::move(failure));
}

std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  std::string_view pid(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  pid = pid.substr(0, pid.find('\n'));
  return pid.empty() ? "another process" : format("process {}", pid);
}

Result<bool> try_lock(int descriptor, const std::string& directory) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kBetweenAttempts);
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(system_error(format("cannot lock state directory \"{}\"", directory), errno));
    }
  }
  return false;
}

}  // namespace

StateLock::StateLock(StateLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

StateLock& StateLock::operator=(StateLock&& other) noexcept {
  if (this != &other) {
    release();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

StateLock::~StateLock() {
  release();
}

void StateLock::release() {
  if (descriptor_ < 0) return;
  static_cast<void>(ftruncate(descriptor_, 0) == 0);  // no pid where nobody holds the lock; only a courtesy
  close(descriptor_);
  descriptor_ = -1;
}

Result<StateLock> StateLock::take(const std::string& directory) {
  WRACKLINE_TRY(make_directory(directory));
  StateLock lock;
  lock.descriptor_ = open(lock_path(directory).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock.descriptor_ < 0) {
    Error error = system_error(format("state directory \"{}\" cannot be written", directory), errno);
    error.code = ErrorCode::kUnavailable;
    error.hint = "Choose a place that you may write to with --state DIR, or run with --state none.";
    return fail(std::move(error));
  }
  WRACKLINE_ASSIGN(const bool locked, try_lock(lock.descriptor_, directory));
  if (!locked) {
    const std::string holder = holder_of(lock.descriptor_);
    close(std::exchange(lock.descriptor_, -1));  // without emptying the holder's file
    return fail(
        ErrorCode::kUnavailable, format("state directory \"{}\" is in use by {}", directory, holder), {},
        "Wait for that run to end or stop it, or give this one a directory of its own with --state DIR.");
  }
  const std::string pid = format("{}\n", getpid());
  if (ftruncate(lock.descriptor_, 0) != 0 || pwrite(lock.descriptor_, pid.data(), pid.size(), 0) < 0) {
    Error error = system_error(format("state directory \"{}\" cannot be written", directory), errno);
    error.hint = "Free space on its file system, or choose another place with --state DIR.";
    return fail(std::move(error));
  }
  return lock;
}

bool StateLock::is_held(const std::string& directory) {
  const int descriptor = open(lock_path(directory).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool held = flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(descriptor);
  return held;
}

}  // namespace wrackline::ledger
