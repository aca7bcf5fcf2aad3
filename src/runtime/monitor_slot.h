// What a monitor keeps of one partition, or of all. Used by: runtime/monitor.cc, runtime/monitor_state.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "runtime/monitor.h"

namespace wrackline::runtime {

inline disorder::DriftOptions drift_options(const MonitorOptions& options) {
  const auto interval = static_cast<double>(std::max<int64_t>(options.interval.micros(), 1));
  return {.target_late = options.target_late,
          .intervals_between_false_alarms =
              std::max(1.0, static_cast<double>(options.false_alarm_every.micros()) / interval)};
}

struct Monitor::Slot {
  static constexpr int64_t kAllUpTo = 65'536;  // records of an interval; beyond, a quantile needs no more
  static constexpr int64_t kOneOf = 32;
  static constexpr size_t kWaiting = 128;

  explicit Slot(const MonitorOptions& options) : watch(drift_options(options)) {}
  disorder::DriftWatch watch;
  // Of the interval at hand.
  int64_t records = 0;
  int64_t late = 0;
  DelayHistogram disorder;
  DelayHistogram delay;
  // Single records wait until there are some: histograms are quicker that way.
  size_t waiting = 0;
  std::array<int64_t, kWaiting> waiting_disorder;
  std::array<int64_t, kWaiting> waiting_delay;

  void add(int64_t behind_us, int64_t delay_us, int64_t is_late) {
    late += is_late;
    waiting_disorder[waiting] = behind_us;
    waiting_delay[waiting] = delay_us;
    if (++waiting == kWaiting) count_waiting();
  }
  void add(std::span<const int64_t> behind_us, std::span<const int64_t> delay_us, int64_t are_late) {
    count_waiting();
    late += are_late;
    count(behind_us, delay_us);
  }
  void count_waiting() {
    count(std::span(waiting_disorder).first(waiting), std::span(waiting_delay).first(waiting));
    waiting = 0;
  }
  void clear() {
    records = late = 0;
    waiting = 0;
    disorder = DelayHistogram();
    delay = DelayHistogram();
  }

 private:
  void count(std::span<const int64_t> behind_us, std::span<const int64_t> delay_us) {
    const auto rows = static_cast<int64_t>(behind_us.size());
    const auto all = static_cast<size_t>(std::clamp<int64_t>(kAllUpTo - records, 0, rows));
    disorder.add(behind_us.first(all));
    delay.add(delay_us.first(all));
    // By the record's number in the interval, so that it does not matter how the input came in pieces.
    const int64_t first = records + static_cast<int64_t>(all) - kAllUpTo;
    for (auto i = all + static_cast<size_t>((kOneOf - first % kOneOf) % kOneOf); i < behind_us.size();
         i += static_cast<size_t>(kOneOf)) {
      disorder.add(behind_us[i], kOneOf);
      delay.add(delay_us[i], kOneOf);
    }
    records += rows;
  }
};

}  // namespace wrackline::runtime
