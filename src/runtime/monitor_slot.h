// What a monitor keeps of one partition, or of all. Used by: runtime/monitor.cc, runtime/monitor_state.cc.
#pragma once

#include <algorithm>

#include "runtime/monitor.h"

namespace wrackline::runtime {

inline disorder::DriftOptions drift_options(const MonitorOptions& options) {
  const auto interval = static_cast<double>(std::max<int64_t>(options.interval.micros(), 1));
  return {.target_late = options.target_late,
          .intervals_between_false_alarms =
              std::max(1.0, static_cast<double>(options.false_alarm_every.micros()) / interval)};
}

struct Monitor::Slot {
  explicit Slot(const MonitorOptions& options) : watch(drift_options(options)) {}
  disorder::DriftWatch watch;
  // Of the interval at hand.
  int64_t late = 0;
  DelayHistogram disorder;
  DelayHistogram delay;
};

}  // namespace wrackline::runtime
