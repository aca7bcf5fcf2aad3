// The clocks of the outside world, behind an interface, so that a test or a simulation can set them.
#pragma once

#include <cstdint>

#include "wrackline/time.h"

namespace wrackline::env {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime now() = 0;          // this machine's clock; may step
  virtual int64_t monotonic_us() = 0;  // never goes back; only differences mean anything
  virtual void sleep(Duration duration) = 0;
};

// The real one. Thread-safe.
Clock& system_clock();

// Moves only when told, and by sleep().
class SettableClock : public Clock {
 public:
  explicit SettableClock(WallTime start) : now_us_(start.micros()) {}
  WallTime now() override { return WallTime(now_us_); }
  int64_t monotonic_us() override { return monotonic_us_; }
  void sleep(Duration duration) override { advance(duration); }
  void advance(Duration duration) {
    now_us_ += duration.micros();
    monotonic_us_ += duration.micros();
  }
  void set(WallTime now) { now_us_ = now.micros(); }  // a step: monotonic time does not see it

 private:
  int64_t now_us_;
  int64_t monotonic_us_ = 0;
};

}  // namespace wrackline::env
