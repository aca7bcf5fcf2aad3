// Hopping windows: windows of one size that begin every slide, so that a time is in size / slide of them, or
// in none when the slide is longer than the size and the time lies between two.
//
// start = k * slide + offset for every integer k, end = start + size, half-open. Requires of every time
// given: |t| <= kEventMicrosLimit. Source: docs/semantics.md sections 1 and 4.
#pragma once

#include <cstdint>
#include <optional>

#include "wrackline/time.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {

class HoppingWindows {
 public:
  // Requires: 0 < slide <= kEventMicrosLimit, 0 < size <= kEventMicrosLimit. Any offset stands for itself
  // modulo slide.
  constexpr HoppingWindows(Duration slide, Duration size, Duration offset = {})
      : starts_(slide, offset), size_us_(size.micros()) {}

  constexpr Duration size() const { return Duration(size_us_); }
  constexpr Duration slide() const { return starts_.size(); }

  // The window with the earliest end that holds a time; nullopt if none does.
  constexpr std::optional<Window> first_window_of(EventTime event) const {
    // The first start after event - size.
    const int64_t start = starts_.start_of(event.micros() - size_us_) + slide().micros();
    if (start > event.micros()) return std::nullopt;
    return Window{EventTime(start), EventTime(start + size_us_)};
  }
  constexpr Window next_window(const Window& window) const {
    return {window.start + slide(), window.end + slide()};
  }
  // Calls visit(window) for every window that holds a time, in the order of their ends.
  template <class Visit>
  constexpr void for_each_window_of(EventTime event, Visit visit) const {
    const std::optional<Window> first = first_window_of(event);
    if (!first) return;
    for (Window window = *first; window.start <= event; window = next_window(window)) visit(window);
  }

 private:
  TumblingWindows starts_;
  int64_t size_us_;
};

}  // namespace wrackline
