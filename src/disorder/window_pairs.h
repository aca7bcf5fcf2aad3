// The (record, window) pairs of a record and how far behind each comes: x = G - window end.
//
// Without a window the record itself is judged: that is the window [t, t + 1), because lag > d is the same as
// G - (t + 1) >= d on integers. From one window of a record to the one before it x grows by one slide.
//
// Source: docs/semantics.md sections 1 (window starts) and 4.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wrackline/time.h"

namespace wrackline::disorder {

class WindowPairs {
 public:
  struct Shape {
    int64_t size_us = 1;
    int64_t slide_us = 1;
    int64_t offset_us = 0;
  };
  explicit WindowPairs(Shape shape) : shape_(shape) {}

  // The windows of `event_us`: end(0) is the latest, end(k) = end(0) - k * slide.
  struct Windows {
    __int128 last_end = 0;  // wide, because ends near the range's limit lie beyond it
    int64_t slide_us = 1;
    int64_t count = 0;

    int64_t end(int64_t k) const { return clamp(last_end - static_cast<__int128>(k) * slide_us); }
    // x of window k when progress is G. Requires: G is not minus infinity.
    int64_t behind(int64_t progress_us, int64_t k) const {
      return clamp(progress_us - (last_end - static_cast<__int128>(k) * slide_us));
    }
    // The first k with x >= limit; count when none. All later ones have it too.
    int64_t first_behind(int64_t progress_us, int64_t limit) const {
      if (progress_us == kMicrosMin) return count;
      const __int128 short_by = static_cast<__int128>(limit) + last_end - progress_us;
      if (short_by <= 0) return 0;
      if (count == 1) return 1;
      const __int128 k = (short_by + slide_us - 1) / slide_us;
      return k < count ? static_cast<int64_t>(k) : count;
    }

   private:
    static int64_t clamp(__int128 value) {
      return static_cast<int64_t>(std::clamp<__int128>(value, kMicrosMin, kMicrosMax));
    }
  };

  Windows of(int64_t event_us) const {
    constexpr int64_t kPlain = int64_t{1} << 60;  // times and spans below it need no wide arithmetic
    if (event_us > -kPlain && event_us < kPlain && shape_.offset_us > -kPlain && shape_.offset_us < kPlain &&
        shape_.size_us < kPlain) {
      const int64_t from = event_us - shape_.offset_us;
      const int64_t into = from - floor_divide(from, shape_.slide_us) * shape_.slide_us;
      const int64_t count = shape_.size_us == shape_.slide_us
                                ? 1
                                : (shape_.size_us - into + shape_.slide_us - 1) / shape_.slide_us;
      return {event_us - into + shape_.size_us, shape_.slide_us, count};
    }
    const __int128 from_offset = static_cast<__int128>(event_us) - shape_.offset_us;
    __int128 remainder = from_offset % shape_.slide_us;
    if (remainder < 0) remainder += shape_.slide_us;
    const auto into = static_cast<int64_t>(remainder);  // how far into the last window's slide
    return {event_us - remainder + shape_.size_us, shape_.slide_us,
            (shape_.size_us - into + shape_.slide_us - 1) / shape_.slide_us};
  }

  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
};

}  // namespace wrackline::disorder
