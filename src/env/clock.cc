#include "env/clock.h"

#include <chrono>
#include <thread>

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

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace wrackline::env
