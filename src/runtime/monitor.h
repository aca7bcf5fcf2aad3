// What a running job knows about the lateness of one source: measured all the time, judged at the end of each
// interval of arrival time.
//
// Everything here is a function of the records in logged order and of the delays that stood, so a replay
// finds the same intervals, alarms and figures. No clock is read.
//
//   late      a record whose first window (of the smallest windows that read the source) had closed when it
//             came; without windows, one behind the watermark. Copies and records that are set aside do not
//             count.
//   interval  ends with the first record that arrives `interval` or more after its start, once it has 400
//             records and 200 more for each further partition: below that nothing could be said.
//   disorder  how far G was beyond the end of a record's first window: a watermark delay beyond that would
//             have had it in time.
//
// Exact:   the counts, of records and of late ones. Distributions, too, for the first 65,536 records of a
//          partition in an interval; after that one record in 32 counts for all of them.
// Memory:  two histograms for each of at most 64 partitions and for the rest of them together, 60 intervals
//          and 24 sums of 60 of them for all.
// Cost:    3 to 4 ns a record of a busy partition, and 20 microseconds an interval.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/snapshot.h"
#include "disorder/drift.h"
#include "operators/record_times.h"
#include "wrackline/delay_histogram.h"
#include "wrackline/window_tumbling.h"

namespace wrackline::runtime {

struct MonitorOptions {
  Duration interval = seconds(60);
  double target_late = 0.01;
  Duration false_alarm_every = seconds(365 * INT64_C(86'400));  // mean time between false alarms of a source
};

// How a source is to be watched.
struct MonitorPlan {
  MonitorOptions options;
  // The slice of time that holds a record; its end is when the record's first window closes. Null: no slices,
  // a window closes `closes_after` the record (sessions; without windows the least there is).
  std::function<Window(int64_t event_us)> slice;
  Duration closes_after = micros(1);
  bool arrivals_mean_something = true;  // false: bounded input without arrival times; delays say nothing
  std::optional<disorder::DelayFollower::Options> follow;  // watermark_delay = 'auto'
};

struct MonitorAlarm {
  enum class Kind : uint8_t {
    kLate,             // more records are late than the target
    kCleared,          // no longer
    kOverProvisioned,  // the delay could be smaller; advice only
  };
  Kind kind = Kind::kLate;
  std::string source;
  std::string partition;  // empty: all
  int64_t interval_start_us = 0;
  int64_t interval_end_us = 0;
  int64_t records = 0;
  int64_t late = 0;
  double target_late = 0;
  int64_t delay_us = 0;                // that was configured
  std::optional<int64_t> measured_us;  // that would meet the target
  double evidence = 0;
  double threshold = 0;
};
std::string_view to_string(MonitorAlarm::Kind kind);  // "late", "cleared", "over_provisioned"
std::string alarm_text(const MonitorAlarm& alarm);    // for people, one line
std::string alarm_json(const MonitorAlarm& alarm);

// A change of the delay, as `watermark_delay = 'auto'` wants it.
struct DelayChange {
  int64_t from_us = 0;
  int64_t to_us = 0;
  std::string reason;
};

struct MonitorQuantiles {
  static constexpr std::array<double, 4> kShares = {0.5, 0.9, 0.99, 0.999};
  uint64_t count = 0;
  std::array<int64_t, 4> upper_us{};  // the quantile is at most this, by less than 0.8 %
};

struct MonitorReport {
  struct Series {
    std::string partition;  // empty: all
    disorder::DriftStatus status = disorder::DriftStatus::kNoData;
    int64_t records = 0;  // of the last interval
    int64_t late = 0;
    bool alarmed = false;
  };
  struct Completeness {
    Window window;
    double share = 0;  // of what has happened in it so far, what has arrived
  };
  std::string source;
  bool automatic = false;  // watermark_delay = 'auto'
  int64_t delay_us = 0;
  double target_late = 0;
  int64_t intervals = 0;
  int64_t interval_start_us = 0;  // of the last interval
  int64_t interval_end_us = 0;
  double design_effect = 1;
  int64_t alarms = 0;
  int64_t advices = 0;
  int64_t delay_changes = 0;
  std::optional<int64_t> measured_us;  // the delay that would meet the target, over the last hours
  std::optional<int64_t> split_us;     // delays beyond it are of another mode
  std::vector<Series> series;          // all first, then partitions when there are several
  MonitorQuantiles disorder;
  std::optional<MonitorQuantiles> delay;   // nullopt: nothing says when records arrived
  std::vector<Completeness> completeness;  // newest windows first
};
std::string monitor_json(const MonitorReport& report);
std::string monitor_text(const MonitorReport& report);                  // for people, one line
std::string completeness_text(const MonitorReport::Completeness& one);  // " 98.7 % of [start] to [end]"
// For those who look at a running job from outside. What no report can have been is an error of the reader.
void save(const MonitorReport& report, SnapshotWriter& out);
MonitorReport restore_monitor_report(SnapshotReader& in);

class Monitor {
 public:
  Monitor(std::string source, MonitorPlan plan);
  ~Monitor();

  // Takes the judged rows [begin, end). `delay` is what stood when they were judged; `names` are the
  // partitions'.
  void feed(const RecordTimes& times, size_t begin, size_t end, Duration delay,
            const std::vector<std::string>& names);
  // The input has ended: what there is of the last interval is judged.
  void finish(const std::vector<std::string>& names);

  std::vector<MonitorAlarm> take_alarms();
  // The delay that is to stand from the next tick on, once; nullopt: no change. A replay leaves it.
  std::optional<DelayChange> take_delay_change();
  int64_t intervals() const { return report_.intervals; }
  MonitorReport report() const;

  // Between two feeds. One that is restored, with the same plan, goes on as the saved one would have.
  // Shape: some 100 kB, nearly all of it in one piece ("monitor of SOURCE") that changes once an interval.
  void save(SnapshotWriter& out) const;
  // Errors: kData. Then the monitor is to be thrown away.
  Status restore(SnapshotReader& in);

 private:
  struct Slot;
  void save_interval(SnapshotWriter& out) const;
  void restore_interval(SnapshotReader& in);
  void save_slots(SnapshotWriter& out) const;
  void restore_slots(SnapshotReader& in);
  void save_report(SnapshotWriter& out) const;
  void restore_report(SnapshotReader& in);
  void begin_interval(int64_t arrival_us);
  void begin_block(int64_t arrival_us);
  void move_clock(int64_t arrival_us, const std::vector<std::string>& names);
  void end_block();
  void close_interval(const std::vector<std::string>& names);
  double design_effect();
  void judge(Slot& slot, std::string partition, double effect, size_t series);
  void find_split(double effect);
  void look_for_gap();
  void follow(double effect, std::optional<int64_t> now);
  void add_completeness(MonitorReport& report) const;
  bool feed_together(const RecordTimes& times, size_t begin, size_t end);
  void feed_one_by_one(const RecordTimes& times, size_t begin, size_t end,
                       const std::vector<std::string>& names);
  void find_ends(std::span<const int64_t> event_us, std::span<int64_t> ends_us);
  int64_t end_of(int64_t event_us);
  Slot& slot_of(PartitionIndex partition);
  int64_t records_needed() const;
  const DelayHistogram& delays() const;

  std::string source_;
  MonitorPlan plan_;
  std::vector<int64_t> scratch_behind_;  // of one piece
  std::vector<int64_t> scratch_delay_;
  std::vector<std::unique_ptr<Slot>> slots_;  // by partition, the rest of them in the last; null: none yet
  std::unique_ptr<Slot> all_;
  disorder::DelayFollower follower_;

  // The interval at hand.
  int64_t start_us_ = 0;
  int64_t end_us_ = INT64_MIN;  // not begun
  int64_t newest_us_ = 0;       // arrival
  int64_t records_ = 0;
  int64_t late_ = 0;
  int64_t delay_us_ = -1;
  struct Block {
    int64_t records = 0;
    int64_t late = 0;
  };
  std::vector<Block> blocks_;
  Block block_begin_;
  int64_t block_start_us_ = INT64_MAX;
  int64_t block_end_us_ = INT64_MIN;
  std::array<double, 8> effects_{};
  size_t effects_seen_ = 0;
  size_t active_slots_ = 1;

  disorder::SlidingHistogram disorder_hour_;
  disorder::SlidingHistogram disorder_day_;
  disorder::SlidingHistogram delay_hour_;
  disorder::SlidingHistogram delay_day_;
  DelayHistogram disorder_sum_;  // of the intervals that no part of the day has yet
  DelayHistogram delay_sum_;
  size_t summed_ = 0;

  int64_t gap_records_ = 0;  // late ones that stand apart, in a row of intervals
  std::optional<int64_t> gap_from_us_;

  std::array<Window, 2> cached_{};  // empty ones
  std::vector<MonitorAlarm> alarms_;
  std::optional<DelayChange> change_;
  MonitorReport report_;  // what closed intervals have left
};

}  // namespace wrackline::runtime
