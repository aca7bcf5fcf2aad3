// The lock of a state directory: at most one run at a time, whatever happens to the process.
//
// An advisory flock(2) on DIR/lock. The kernel drops it when its holder dies, so there is no stale lock to
// clean up; the pid inside the file is for people. The file itself stays: removing it would let two processes
// lock two files of one name. Threads: not thread-safe; one lock belongs to one run.
#pragma once

#include <string>

#include "base/error.h"

namespace wrackline::ledger {

class StateLock {
 public:
  StateLock() = default;
  StateLock(StateLock&& other) noexcept;
  StateLock& operator=(StateLock&& other) noexcept;
  ~StateLock();

  // Makes the directory when absent and takes its lock.
  // Errors: kUnavailable when another process holds it (its pid in the message), when the path is not a
  // directory or when it cannot be written; kNotFound when its parent is not there.
  static Result<StateLock> take(const std::string& directory);
  // True when some process holds the lock now. Takes a shared lock for an instant; take() waits that long.
  static bool is_held(const std::string& directory);

 private:
  void release();
  int descriptor_ = -1;
};

}  // namespace wrackline::ledger
