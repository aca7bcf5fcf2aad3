// Tumbling windows: time cut into equal, half-open pieces [start, end).
//
// start = floor((t - offset) / size) * size + offset, floor toward minus infinity, so that times before 1970
// fall right. Requires of every time given: |t| <= kEventMicrosLimit, so that no edge can overflow. Source:
// docs/semantics.md section 1.
#pragma once

#include <cstdint>

#include "wrackline/time.h"

namespace wrackline {

// Event times further from 1970 than this (about 73,000 years) are out of range for windows.
inline constexpr int64_t kEventMicrosLimit = int64_t{1} << 61;

struct Window {
  EventTime start;
  EventTime end;
  friend bool operator==(const Window&, const Window&) = default;
};

class TumblingWindows {
 public:
  // Requires: 0 < size <= kEventMicrosLimit. Any offset stands for itself modulo size.
  explicit constexpr TumblingWindows(Duration size, Duration offset = {})
      : size_us_(size.micros()),
        offset_us_(offset.micros() - floor_divide(offset.micros(), size.micros()) * size.micros()) {}

  constexpr Duration size() const { return Duration(size_us_); }
  constexpr Duration offset() const { return Duration(offset_us_); }

  constexpr int64_t start_of(int64_t event_us) const {
    return floor_divide(event_us - offset_us_, size_us_) * size_us_ + offset_us_;
  }
  constexpr Window window_of(EventTime event) const {
    const int64_t start = start_of(event.micros());
    return {EventTime(start), EventTime(start + size_us_)};
  }
  // The greatest window edge at or before the watermark: windows that end at or before it are closed, records
  // before it are late. Infinite watermarks give themselves; a finite one is clamped into the range of event
  // times.
  constexpr int64_t edge_at_or_before(int64_t watermark_us) const {
    if (watermark_us == kMicrosMin || watermark_us == kMicrosMax) return watermark_us;
    if (watermark_us < -kEventMicrosLimit) return kMicrosMin;
    return start_of(watermark_us < kEventMicrosLimit ? watermark_us : kEventMicrosLimit);
  }

 private:
  int64_t size_us_;
  int64_t offset_us_;
};

}  // namespace wrackline
