// Work that goes on beside the program on a frozen copy of its memory: how state is saved without stopping.
//
// Why fork: the child sees every byte as it stood at that moment and shares the pages until one side writes
// to them, so state of any shape can be written out while the parent changes it: no locks, no second copy, no
// versioned containers. The parent stops for as long as the page tables take to copy (about a millisecond for
// each 100 MB of state in pages of 4 KiB), and pays a page fault for each page that it first changes while
// the child lives. At worst (every page changes) the child costs as much memory again.
//
// What the work may do: only the calling thread lives on in the child. Locks that another thread held at that
// moment stay held for ever. The C library mends its own (memory, streams); nobody mends those of our own
// threads, SQLite, libpq or a TLS library. So work reads the state that it was given, allocates, and writes
// files. It never touches a connection, a database, a queue, or a thread, and starts none.
// Where it must not be used: in a process whose memory is locked or shared on purpose (mmap MAP_SHARED, a
// GPU), under the thread sanitizer, and wherever a test wants the same order every time. kInline is for
// these.
//
// The child: never returns to the caller's code; runs no destructor and no exit handler; leaves the parent's
// descriptors alone (so it shares the parent's file locks: a state directory stays held until it has ended,
// too); ignores SIGINT, SIGTERM, SIGHUP and SIGQUIT, for these mean the parent, which decides what becomes of
// the work; is killed when the parent's calling thread ends; yields the processor and the disk to the parent;
// is the first that the system kills when memory runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"

namespace wrackline::env {

// What it returns is brought to the parent. Throws nothing; if it does, that is a failure.
using TaskWork = std::function<Result<std::string>()>;

struct TaskOutcome {
  // Errors: the work's; kUnavailable if the child could not be made or was killed.
  Result<std::string> result;
  int64_t work_us = 0;   // how long the work took
  int64_t stall_us = 0;  // how long start_task() held up the caller
};

// Threads: one. Destroyed while the work goes on, it kills it: files may then be half written.
class BackgroundTask {
 public:
  virtual ~BackgroundTask() = default;
  // nullopt while the work goes on. Does not block. The outcome is given once; CHECKs that it was not yet.
  virtual std::optional<TaskOutcome> poll() = 0;
  // The same, but waits. Signals do not end the wait.
  virtual TaskOutcome wait() = 0;
};

enum class TaskMode : uint8_t {
  kForked,
  kInline,  // done before start_task() returns, on the caller's memory and time
};

// Never null: a fork that fails is an outcome, too.
std::unique_ptr<BackgroundTask> start_task(TaskMode mode, const TaskWork& work);

}  // namespace wrackline::env
