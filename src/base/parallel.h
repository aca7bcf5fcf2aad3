// Work for several threads at once: one function, run for each of N numbers, the caller being one of them.
//
// Threads: run() is called by one thread at a time.
// Cost:    some 5 microseconds a run when the workers are still awake, some 50 when they sleep; they go to
//          sleep after a few ten microseconds without work, so an idle pool costs nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace wrackline {

class WorkerPool {
 public:
  // Starts workers - 1 threads: the caller of run() does the rest. Requires: workers >= 1.
  explicit WorkerPool(size_t workers);
  ~WorkerPool();

  size_t size() const;
  // Calls work(i) for each i in [0, size()), each in a thread of its own, and returns when all have returned.
  // Requires: `work` does not throw.
  void run(const std::function<void(size_t)>& work);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace wrackline
