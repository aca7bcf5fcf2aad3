// Whether a configured delay still holds: the test of each interval, the alarm over many, and the delay that
// follows the measurement.
//
// Used by: runtime/monitor.h. Nothing here knows a clock; an interval is what the caller says it is.
// Threads: not thread-safe. Cost: microseconds an interval.
// Source:  exceedance test: Clopper and Pearson, Biometrika 1934. CUSUM: Page, Biometrika 1954; the bound on
//          its false alarms: Lorden, Annals of Mathematical Statistics 1971 (mean run length >= e^h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "data/snapshot.h"
#include "wrackline/delay_histogram.h"

namespace wrackline::disorder {

enum class DriftStatus : uint8_t {
  kNoData,  // too few records to say anything about the target share
  kGreen,   // the late share is at most the target, with 95 % confidence
  kAmber,   // neither
  kRed,     // the late share is above the target, with 95 % confidence
};
std::string_view to_string(DriftStatus status);  // "no_data" ...

struct DriftOptions {
  double target_late = 0.01;  // share of late records that the delay is to keep; 0 < target < 0.5
  // Mean number of intervals between false alarms, over all the series that are watched together; >= 1.
  double intervals_between_false_alarms = 525'600;
};

struct IntervalCount {
  int64_t records = 0;
  int64_t late = 0;
  double design_effect = 1;  // how much more the share varies than it would with independent records; >= 1
};

// Status of one interval alone. An interval is red by chance in one of twenty: that is no alarm.
DriftStatus interval_status(const IntervalCount& count, double target_late);

// One series of intervals: a binomial CUSUM upwards (target against twice the target), which alarms, and one
// downwards (against a quarter), which advises. After an alarm it stays silent until three intervals in a row
// were green.
class DriftWatch {
 public:
  struct Judgement {
    DriftStatus status = DriftStatus::kNoData;
    double evidence = 0;   // the CUSUM, as it was before an alarm put it back to 0
    double threshold = 0;  // h: it alarms when the evidence reaches this
    bool alarm = false;
    bool cleared = false;           // an alarm ended
    bool over_provisioned = false;  // far fewer are late than may be: the delay could be smaller
  };

  explicit DriftWatch(DriftOptions options);
  // `series`: how many are watched together; the threshold shares the false alarms out among them.
  Judgement judge(const IntervalCount& count, size_t series);
  bool alarmed() const { return alarmed_; }
  // Forgets the evidence, as when the delay was changed; an alarm stays.
  void restart() { up_ = down_ = 0; }
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in);

 private:
  DriftOptions options_;
  double up_ = 0;
  double down_ = 0;
  bool alarmed_ = false;
  int greens_ = 0;
};

// The last so many histograms and their sum.
class SlidingHistogram {
 public:
  explicit SlidingHistogram(size_t slices) : slices_max_(slices) {}
  void push(DelayHistogram slice);
  const DelayHistogram& total() const { return total_; }
  size_t slices() const { return slices_.size(); }
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in);

 private:
  size_t slices_max_;
  std::deque<DelayHistogram> slices_;
  DelayHistogram total_;
};

// The least delay whose late share (values >= delay) meets the target with its upper 95 % bound. With a
// `split`, only values up to it count, and it bounds the answer: the offline mode is for the allowed
// lateness. nullopt: too few values.
std::optional<int64_t> delay_for_target(const DelayHistogram& disorder, double target_late,
                                        double design_effect, std::optional<int64_t> split);

// A delay that follows: up at once; down by at most a tenth an hour, in steps of a fiftieth and more, only
// after the measured delay was below 0.8 of it for three intervals in a row.
class DelayFollower {
 public:
  struct Options {
    int64_t min_us = 0;
    int64_t max_us = INT64_C(86'400'000'000);
  };
  explicit DelayFollower(Options options) : options_(options) {}
  // What the delay is to be from now on; `current_us` when nothing changes. `target_us`: what was measured;
  // nullopt: too little to say. `interval_us`: how long the interval was.
  int64_t next(int64_t current_us, std::optional<int64_t> target_us, int64_t interval_us);
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in);

 private:
  Options options_;
  double fall_ = 0;  // the share that the delay may fall by now
  int lower_ = 0;    // intervals in a row with a much smaller target
};

}  // namespace wrackline::disorder
