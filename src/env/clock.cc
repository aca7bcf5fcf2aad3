#include "env/clock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

namespace wrackline::env {
namespace {

class SystemClock : public Clock {
 public:
  WallTime now() override {
    return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count());
  }
  int64_t monotonic_us() override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void sleep(Duration duration) override {
    std::this_thread::sleep_for(std::chrono::microseconds(duration.micros()));
  }
};

class FileClock : public Clock {
 public:
  explicit FileClock(std::string path) : path_(std::move(path)) {}
  WallTime now() override {
    look();
    return WallTime(wall_us_.load(std::memory_order_relaxed));
  }
  int64_t monotonic_us() override {
    look();
    return monotonic_us_.load(std::memory_order_relaxed);
  }
  void sleep(Duration duration) override {
    constexpr int64_t kShortUs = 2000;
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(duration.micros(), kShortUs)));
  }

 private:
  void look() {
    std::ifstream file(path_);
    int64_t wall = 0;
    int64_t monotonic = 0;
    char end = 0;
    // The line end shows that the writer was done.
    if (!(file >> wall >> monotonic) || !file.get(end) || end != '\n') return;
    wall_us_.store(wall, std::memory_order_relaxed);
    int64_t before = monotonic_us_.load(std::memory_order_relaxed);
    while (monotonic > before && !monotonic_us_.compare_exchange_weak(before, monotonic)) {
    }
  }

  std::string path_;
  std::atomic<int64_t> wall_us_{0};
  std::atomic<int64_t> monotonic_us_{0};
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::unique_ptr<Clock> file_clock(std::string path) {
  return std::make_unique<FileClock>(std::move(path));
}

Clock& process_clock() {
  static const std::unique_ptr<Clock> from_file = [] {
    const char* path = std::getenv("WRACKLINE_TEST_CLOCK");
    return path == nullptr || *path == '\0' ? nullptr : file_clock(path);
  }();
  return from_file ? *from_file : system_clock();
}

}  // namespace wrackline::env
