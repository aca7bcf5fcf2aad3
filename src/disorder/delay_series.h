// Delay over time: a histogram for each interval of arrival time, and the times at which the distribution
// changed for good.
//
// Shape:   intervals of one width, a step of a ladder from a second to a year; when there are too many, the
//          width goes up a step and neighbours are merged, which is exact.
// Source:  two-sample distances over sliding windows of intervals. Each interval counts as at most 20 values:
//          the records of one burst are not independent, and a busy day must not drown two weeks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "disorder/profile_scan.h"
#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

class SeriesBuilder {
 public:
  struct Interval {
    DelayHistogram delay;
    DelayHistogram disorder;
    int64_t future = 0;
  };

  explicit SeriesBuilder(int64_t early_us) : early_us_(early_us) {}
  // Records in logged order. has_arrival: empty means all. Cost: two histogram counts a record.
  void add(std::span<const int64_t> event_us, std::span<const int64_t> delay_us,
           std::span<const uint8_t> has_arrival, bool far);
  // Adds intervals of the same width that another builder made, to merge saved profiles.
  void add_interval(int64_t start_us, int64_t width_us, const Interval& interval);

  // Hands the histograms over; called last.
  DelaySeries finish();
  int64_t width_us() const { return width_us_; }
  const std::map<int64_t, Interval>& intervals() const { return intervals_; }  // by start / width
  // Widens to at least this width.
  void widen_to(int64_t width_us);

 private:
  Interval& at(int64_t arrival_us);
  void widen();

  int64_t early_us_;
  int64_t width_us_ = 1'000'000;
  std::map<int64_t, Interval> intervals_;
  Interval* current_ = nullptr;
  int64_t current_index_ = 0;
  int64_t max_event_us_ = kMicrosMin;
};

// Where the distribution of delays changes along the intervals, for good. Public for tests.
std::vector<RegimeChange> find_changes(const std::map<int64_t, SeriesBuilder::Interval>& intervals,
                                       int64_t width_us);

}  // namespace wrackline::disorder
