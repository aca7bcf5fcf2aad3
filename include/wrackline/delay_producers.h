// Whose clock is wrong: offset, drift and faults of each producer's clock, from the delays of its records.
//
// Used by: `wrackline measure --producer`, programs that watch their own senders.
// Terms:   a producer's floor is the least delay that it shows, or of 100 records and more their first
//          percentile. Delay is transport minus how far the producer's clock is ahead, and transport is never
//          negative: so a negative floor proves that the clock is ahead by at least as much. How far the
//          floor lies from that of the other producers is an estimate, because one way alone cannot tell a
//          slow clock from a long path.
//          drift   slope of the line below all (arrival, delay) points that lies closest to them, taken from
//          the lower convex hull. Positive: delays grow, the clock loses time. Both halves of the time must
//          lie along the line, or it is no drift.
// Memory:  about 4 to 12 KiB a producer. Beyond `producers_max` the ones with the fewest records are
//          forgotten; count_error_max then bounds by how much a count may be too small.
// Threads: not thread-safe.
// Units:   microseconds.
// Source:  Moon, Skelly and Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements",
//          INFOCOM 1999 (the line as a linear program, solved on the hull); Metwally et al., "Efficient
//          Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005 (bounded counting).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wrackline/time.h"

namespace wrackline {

enum class ClockFault : uint8_t {
  kNone,
  kWrongUnit,    // some times fit another unit
  kLostCentury,  // some times are 100 or 1900 years early
  kStuck,        // the time stands still while records go on arriving
  kTimeZone,     // off by a whole number of hours
  kAhead,        // proven to be ahead by more than max_future_skew
  kDrift,        // runs fast or slow
};
std::string_view to_string(ClockFault fault);  // "none", "wrong_unit" ...

struct ProducerSummary {
  std::string producer;
  int64_t records = 0;   // with an arrival time
  int64_t negative = 0;  // records that arrived before they happened
  int64_t delay_min_us = 0;
  int64_t delay_p50_us = 0;  // upper edge of a histogram bucket
  int64_t delay_max_us = 0;
  std::optional<int64_t> offset_proven_us;     // the clock is ahead by at least this
  std::optional<int64_t> offset_estimated_us;  // ahead by about this, against the other producers
  std::optional<double> drift_ppm;  // microseconds lost per second; null: not seen or not significant
  ClockFault fault = ClockFault::kNone;
  int64_t fault_records = 0;  // how many records show it
  std::string text;           // one sentence about the fault; empty without one
};

struct ProducersReport {
  std::string column;                       // where the names come from; the caller's
  std::vector<ProducerSummary> list;        // faults first, the gravest first, then by records
  int64_t forgotten_records = 0;            // of producers that are not in the list
  int64_t count_error_max = 0;              // by how much a count may be too small
  std::optional<int64_t> floor_median_us;   // of the producers; the estimate's reference
  std::optional<int64_t> offset_spread_us;  // median absolute deviation of floors, times 1.4826
};

struct ProducerOptions {
  size_t producers_max = 10'000;
  Duration max_future_skew = seconds(300);
  std::string time_unit;  // as ProfileOptions has it
};

class ProducerTracker {
 public:
  explicit ProducerTracker(ProducerOptions options);
  ~ProducerTracker();
  ProducerTracker(ProducerTracker&&) noexcept;
  ProducerTracker& operator=(ProducerTracker&&) noexcept;

  // Records in the order of their log. Cost: one hash look-up.
  void add(std::string_view producer, int64_t event_us, int64_t arrival_us);
  ProducersReport finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wrackline
