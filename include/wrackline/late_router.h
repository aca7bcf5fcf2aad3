// Where a record stands against one window: the three lines of the law's table.
//
//   open               W < end                          on time (even if the record's own time is behind W)
//   closed, revisable  end <= W < end + lateness        late, corrects
//   sealed             W >= end + lateness              late, out of the stream's reach
//
// Source: docs/semantics.md section 4. Huge lateness saturates: a window then never seals.
#pragma once

#include <cstdint>

#include "wrackline/time.h"

namespace wrackline {

enum class Lateness : uint8_t { kOnTime, kCorrects, kSealed };

class LateRouter {
 public:
  // Requires: allowed_lateness >= 0.
  explicit constexpr LateRouter(Duration allowed_lateness) : allowed_us_(allowed_lateness.micros()) {}

  constexpr Duration allowed_lateness() const { return Duration(allowed_us_); }
  constexpr Lateness route(EventTime window_end, EventTime watermark) const {
    if (watermark < window_end) return Lateness::kOnTime;
    return watermark.micros() < sealed_at(window_end.micros()) ? Lateness::kCorrects : Lateness::kSealed;
  }
  // The watermark that seals a window with this end.
  constexpr int64_t sealed_at(int64_t window_end_us) const {
    return saturating_add(window_end_us, allowed_us_);
  }
  // How late: watermark - end, never negative for a late record.
  static constexpr Duration late_by(EventTime window_end, EventTime watermark) {
    return watermark - window_end;
  }

 private:
  int64_t allowed_us_;
};

}  // namespace wrackline
