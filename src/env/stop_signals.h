// SIGINT and SIGTERM as a polite request to stop.
#pragma once

#include <atomic>

namespace wrackline::env {

// While one lives, the first SIGINT or SIGTERM sets requested() and calls `on_stop`; a second one ends the
// process as the system would have. Waits and blocking reads return early. The destructor puts back what was
// there before. Only the command line makes one, and only one at a time: a library has no business with
// signals.
class StopSignals {
 public:
  // `on_stop` (may be null) runs inside the signal handler: it may only set atomics. `context` is handed to
  // it.
  explicit StopSignals(void (*on_stop)(void*) = nullptr, void* context = nullptr);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const { return signal() != 0; }
  // The signal that came, or 0. A process that stops because of it exits with 128 + signal, by custom.
  int signal() const;
};

}  // namespace wrackline::env
