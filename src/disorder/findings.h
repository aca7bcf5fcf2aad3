// What the figures say about clocks: wrong units, time-zone faults, clocks ahead, records far out. Named,
// counted, and told in a sentence; never corrected silently.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/snapshot.h"
#include "disorder/partition_groups.h"
#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

// Counts event times that make sense only when multiplied or divided by a power of 1000.
class UnitSuspicion {
 public:
  // Looks at a block; `arrival_us` may be empty, `has_arrival` too. Cost: a compare a record when all times
  // are plausible.
  void look(std::span<const int64_t> event_us, std::span<const int64_t> arrival_us,
            std::span<const uint8_t> has_arrival);
  void report(std::string_view declared_unit, std::vector<Finding>& findings) const;
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in);

 private:
  struct Suspect {
    int64_t records = 0;
    TimedRecord example;
    bool has_arrival = false;
  };
  void suspect(int64_t event_us, std::optional<int64_t> arrival_us);
  std::array<Suspect, 4> suspects_;  // too great by 10^3, by 10^6; too small by 10^3, by 10^6
};

// Counts delays near whole hours, and around them for comparison.
class ZoneSuspicion {
 public:
  void look(const PartitionRun& run) {
    if (!may_have_any(run.delay_us)) return;
    for (size_t i = 0; i < run.delay_us.size(); ++i) {
      if (near_some_hour(run.delay_us[i]) && run.has_arrival[i] != 0) count(run.partition, run.delay_us[i]);
    }
  }
  void report(int64_t resolution_us, const std::vector<std::string>& names,
              std::vector<Finding>& findings) const;

 private:
  static constexpr uint64_t kHour = 3'600'000'000;
  static constexpr int kHoursMax = 14;  // the widest UTC offset
  static constexpr uint64_t kLookFrom = kHour / 2;
  static constexpr uint64_t kLookTo = kHoursMax * kHour + kHour / 2;
  static bool near_some_hour(int64_t delay_us) {
    const uint64_t magnitude =
        delay_us < 0 ? 0 - static_cast<uint64_t>(delay_us) : static_cast<uint64_t>(delay_us);
    return magnitude - kLookFrom <= kLookTo - kLookFrom;
  }
  static bool may_have_any(std::span<const int64_t> delay_us);
  void count(PartitionId partition, int64_t delay_us);

  struct Hour {
    int64_t near = 0;
    int64_t around = 0;
    std::map<PartitionId, int64_t> near_by_partition;
  };
  std::array<Hour, 2 * kHoursMax + 1> hours_;
};

// Watches the order of records for what clocks and senders do to it: stores that are emptied later, times
// that stand still or go back, centuries that got lost.
class OrderSuspicion {
 public:
  // `late_us`: delays beyond it are old enough to have been stored. See kStoredTimes.
  explicit OrderSuspicion(int64_t late_us) : late_us_(late_us) {}
  static constexpr int64_t kStoredTimes = 10;  // of the median delay
  // One partition's records in order, has_arrival filled.
  void look(const PartitionRun& run);
  // All records in logged order.
  void look(const LogRows& rows);
  void report(const std::vector<std::string>& names, const ProfileReport& report,
              std::vector<Finding>& findings) const;
  // The records of the bursts in which stored records were sent.
  int64_t stored_records() const { return stored_records_; }

 private:
  // Consecutive old records of one partition whose event times do not fall while their delays do.
  struct Burst {
    int64_t records = 0;
    int64_t first_delay_us = 0;
    int64_t last_delay_us = 0;
    int64_t last_event_us = kMicrosMin;
  };
  void close(PartitionId partition, Burst& burst);
  void look_at_arrivals(const LogRows& rows);

  int64_t late_us_;
  std::vector<Burst> open_;  // by partition
  int64_t bursts_ = 0;
  int64_t stored_records_ = 0;
  int64_t longest_delay_us_ = 0;
  int64_t most_in_burst_ = 0;
  std::map<PartitionId, int64_t> stored_by_partition_;
  std::map<int64_t, std::pair<int64_t, TimedRecord>> lost_years_;  // years -> records, an example
  int64_t rows_ = 0;
  int64_t backward_ = 0;  // arrivals before the greatest so far
  int64_t backward_most_us_ = 0;
  int64_t max_arrival_us_ = kMicrosMin;
  int64_t first_event_us_ = 0;
  int64_t first_arrival_us_ = 0;
  bool events_vary_ = false;
  bool arrivals_vary_ = false;
  int64_t arrivals_ = 0;
};

// Regime changes, no arrival times at all, units that are mixed.
void add_stream_findings(const ProfileReport& report, std::vector<Finding>& findings);

// "12 records"; a span for people, in years when days would mean nothing.
std::string records_text(int64_t records);
std::string span_words(int64_t micros);

// Adds what the summaries themselves show. Requires: `report` is otherwise complete; `far_behind` records
// arrived later than options.warn_behind.
void add_clock_findings(const ProfileOptions& options, const ProfileReport& report, int64_t far_behind,
                        std::vector<Finding>& findings);

}  // namespace wrackline::disorder
