// The clocks of the outside world, behind an interface, so that a test or a simulation can set them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

// The clock of a program that a test may set: while the environment variable WRACKLINE_TEST_CLOCK names a
// file, its content "WALL MONOTONIC" (two counts of microseconds) is the time, read anew at every look;
// otherwise system_clock(). The file is replaced by renaming; a half-written one leaves the clock where it
// was. sleep() is short and real, for only the test moves this time.
Clock& process_clock();
// The clock that a file holds, for process_clock() and its test.
std::unique_ptr<Clock> file_clock(std::string path);

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
