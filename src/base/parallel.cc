#include "base/parallel.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/check.h"

namespace wrackline {
namespace {

constexpr int kSpins = 500;  // a few microseconds: less than waking a thread costs

}  // namespace

struct WorkerPool::Shared {
  std::atomic<uint64_t> round{0};
  std::atomic<size_t> running{0};
  std::atomic<bool> stopping{false};
  const std::function<void(size_t)>* work = nullptr;
  std::vector<std::jthread> threads;

  void serve(size_t number) {
    for (uint64_t seen = 0;;) {
      int spins = 0;
      while (round.load(std::memory_order_acquire) == seen) {
        if (++spins < kSpins) continue;
        round.wait(seen, std::memory_order_acquire);
      }
      seen = round.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_acquire)) return;
      (*work)(number);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }
};

WorkerPool::WorkerPool(size_t workers) : shared_(std::make_unique<Shared>()) {
  WRACKLINE_CHECK(workers >= 1);
  for (size_t i = 1; i < workers; ++i) {
    shared_->threads.emplace_back([shared = shared_.get(), i] { shared->serve(i); });
  }
}

WorkerPool::~WorkerPool() {
  shared_->stopping.store(true, std::memory_order_release);
  shared_->round.fetch_add(1, std::memory_order_acq_rel);
  shared_->round.notify_all();
}

size_t WorkerPool::size() const {
  return shared_->threads.size() + 1;
}

void WorkerPool::run(const std::function<void(size_t)>& work) {
  Shared& shared = *shared_;
  shared.work = &work;
  shared.running.store(shared.threads.size(), std::memory_order_release);
  shared.round.fetch_add(1, std::memory_order_acq_rel);
  shared.round.notify_all();
  work(0);
  for (int spins = 0;;) {
    const size_t running = shared.running.load(std::memory_order_acquire);
    if (running == 0) return;
    if (++spins >= kSpins) shared.running.wait(running, std::memory_order_acquire);
  }
}

}  // namespace wrackline
