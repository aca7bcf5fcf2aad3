// Disorder of consecutive records: the greatest admissible event time so far, this record included, minus
// their own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "wrackline/time.h"

namespace wrackline::disorder {

// Writes the disorder of each record to `to` and returns how many have one: those before the first admissible
// record have none. Delays below `early` do not move the maximum. `far`: some time is so far out that
// differences need saturation. Requires: `to` has room for all.
inline size_t disorder_of(std::span<const int64_t> event_us, const int64_t* delay_us, int64_t early, bool far,
                          int64_t& max_event_us, int64_t* to) {
  const size_t rows = event_us.size();
  int64_t max = max_event_us;
  size_t written = 0;
  size_t i = 0;
  for (; i < rows && (max == kMicrosMin || far); ++i) {
    if (delay_us[i] >= early) max = std::max(max, event_us[i]);
    if (max != kMicrosMin) to[written++] = saturating_subtract(max, event_us[i]);
  }
  for (; i < rows; ++i) {
    const int64_t candidate = delay_us[i] >= early ? event_us[i] : kMicrosMin;
    max = candidate > max ? candidate : max;
    to[written++] = max - event_us[i];
  }
  max_event_us = max;
  return written;
}

}  // namespace wrackline::disorder
