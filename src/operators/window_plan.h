// Windows whose edges do not depend on the records: tumbling, hopping and cumulative ones, in uniform time or
// by the calendar of a time zone.
//
// Time is cut into slices by edges E(k), k any integer; a window is a run of slices. A record goes into its
// slice alone, so that its cost does not depend on how many windows it is in (slicing: Traub et al.,
// "Scotty", EDBT 2019).
//
//   tumbling    window k = [E(k), E(k + 1))
//   hopping     window j = [E(j p), E(j p + q)), slices of gcd(size, slide), p = slide / gcd, q = size / gcd
//   cumulative  window (m, i) = [E(m n), E(m n + i)), 1 <= i <= n; slices of the step
//
// Uniform:     E(k) = offset + k * unit.
// Calendar:    E(k) is the instant at which the zone's clock shows the k-th multiple of days, weeks (from
//              Monday) or months since 1970; a time that the clock skips stands for the moment it skips, of a
//              time that it shows twice the first counts. So days have 23 to 25 hours where clocks change.
//              Of a unit shorter than a day every moment counts at which the clock shows a multiple of it, so
//              a repeated hour is two windows; such windows can only tumble.
// Requires of every time given: |t| <= kEventMicrosLimit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/time_zone.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {

enum class WindowKind : uint8_t { kTumble, kHop, kCumulate };

// A length of calendar or uniform time: months, or days, or microseconds; exactly one is not nothing.
struct WindowLength {
  int32_t months = 0;
  int64_t micros = 0;  // a day has 86,400 seconds here; with a zone, whole days are calendar days
};

class WindowPlan {
 public:
  struct Options {
    WindowKind kind = WindowKind::kTumble;
    WindowLength size;
    WindowLength slide;  // hop: the slide; cumulate: the step; tumble: unused
    Duration offset;
    const TimeZone* zone = nullptr;  // nullptr: UTC
  };
  // Requires: is_possible(options).
  explicit WindowPlan(Options options);
  // Why these windows cannot be, in words for the user; empty if they can.
  static std::string impossible(const Options& options);
  static WindowPlan tumbling(Duration size, Duration offset = {}) {
    return WindowPlan({.size = {.micros = size.micros()}, .slide = {}, .offset = offset});
  }

  WindowKind kind() const { return options_.kind; }
  const Options& options() const { return options_; }
  // Every window is one slice: tumbling.
  bool window_is_slice() const { return slices_per_window_ == 1 && slices_per_slide_ == 1; }

  // The slice that holds a time.
  Window slice_of(int64_t event_us) const;
  // Of the windows that hold a slice, the one with the earliest end; nullopt if the slice lies between
  // windows (a slide longer than the size).
  std::optional<Window> first_window(const Window& slice) const;
  // The window with the least end after an edge. Requires: a finite edge.
  Window first_window_after(int64_t edge_us) const;
  // The window with the next greater end.
  Window next_window(const Window& window) const;
  static bool holds(const Window& window, const Window& slice) {
    return window.start <= slice.start && slice.end <= window.end;
  }
  // Every window that holds a time, in order of their end.
  void windows_of(int64_t event_us, std::vector<Window>& windows) const;
  // The end of the last window that holds a slice; the slice's end if none does.
  int64_t last_end(const Window& slice) const;

  // The greatest window end at or before the watermark: windows that end at or before it are closed, and a
  // record is late for some window exactly if its time lies before it. Infinite watermarks give themselves; a
  // finite one is clamped into the range of event times.
  int64_t edge_at_or_before(int64_t watermark_us) const;
  // The least window end after an edge; minus infinity is followed by the next number.
  int64_t next_edge(int64_t edge_us) const;
  // About how long a slice and a window are, for sizing.
  Duration slice_length() const { return Duration(unit_us_); }
  Duration window_length() const { return Duration(unit_us_ * slices_per_window_); }

 private:
  bool is_uniform() const { return uniform_; }
  bool is_indexed() const { return uniform_ || unit_months_ > 0 || unit_days_ > 0; }
  int64_t index_of(int64_t event_us) const;
  int64_t edge(int64_t index) const;
  Window local_slice_of(int64_t event_us) const;
  Window slice_at(int64_t index) const;
  int64_t first_slide_of(int64_t index) const;
  Window window_at(int64_t first, int64_t count) const;

  Options options_;
  bool uniform_ = true;
  int64_t unit_us_ = 0;      // of a slice; about, when the calendar decides
  int64_t unit_months_ = 0;  // calendar
  int64_t unit_days_ = 0;    // calendar
  int64_t offset_us_ = 0;    // modulo unit when uniform
  int64_t slices_per_slide_ = 1;
  int64_t slices_per_window_ = 1;
};

}  // namespace wrackline
