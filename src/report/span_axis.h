// A signed logarithmic axis of spans of time: negative ones mirrored on one side of zero, positive ones on
// the other, zero in a place of its own between them.
//
// Units: values in microseconds, places in pixels. `to` may be less than `from` (an axis that goes up).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace wrackline::report {

// What an axis has to show.
class SpanRange {
 public:
  void include(double micros);
  bool empty() const { return !zero_ && !negative_.used && !positive_.used; }

 private:
  friend class SpanAxis;
  struct Side {  // of magnitudes
    bool used = false;
    double low = 0;
    double high = 0;
  };
  Side negative_;
  Side positive_;
  bool zero_ = false;
};

struct AxisTick {
  double at = 0;
  std::string label;
};

class SpanAxis {
 public:
  struct Place {
    double from = 0;
    double to = 0;
  };
  // Each side is at least half an octave wide, so that a single value has an axis too. Requires: not empty.
  SpanAxis(const SpanRange& range, Place place);

  // Values beyond the range come to its end.
  double at(double micros) const;
  // The span at a place; 0 in the place of zero.
  double value_at(double place) const;
  bool has_zero() const { return zero_; }
  // Round spans, labels at least `gap` pixels apart (measured along the axis if `along`, else line by line).
  std::vector<AxisTick> ticks(double gap, bool along) const;

 private:
  struct Side {
    double low = 0;  // log10 of magnitudes
    double high = 0;
    double near = 0;  // the place of `low`
    double far = 0;   // the place of `high`
    bool used = false;
    double at(double magnitude) const;
    bool covers(double magnitude) const;
    bool holds(double place) const;
  };
  static Side side_of(const SpanRange::Side& range);

  Side negative_;
  Side positive_;
  bool zero_ = false;
  double zero_at_ = 0;
};

}  // namespace wrackline::report
