// How late records are: exact quantiles of delay and of disorder, per partition and together, from one pass.
//
// Used by: `wrackline measure`, LatenessBudget, programs that measure their own streams.
// Terms:   delay       arrival time - event time of a record, signed.
//          disorder    greatest admissible event time so far, the record included, - its event time. So it is
//                      0 for a record that moves the maximum, positive for one behind it, negative only for
//                      one that the future guard kept from moving it. Per partition against the partition's
//                      own maximum; for "all" against the maximum over the order in which batches are added.
//          admissible  event time <= arrival time + max_future_skew; any record without an arrival time.
//          A record before the first admissible one has no disorder and is not in those figures.
// Exact:   every quantile is a value that occurred: nearest rank, the smallest value with at least p percent
//          of the samples at or below it. A histogram finds the bucket; one scan of a packed log of all
//          records finds the value.
// Units:   microseconds since 1970-01-01T00:00:00Z, and spans of them.
// Threads: not thread-safe.
// Source:  docs/semantics.md section 2; Hahn and Meeker, "Statistical Intervals" (order statistics).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wrackline/delay_histogram.h"
#include "wrackline/delay_producers.h"
#include "wrackline/time.h"

namespace wrackline {

using PartitionId = uint32_t;  // counts from 0 in the order in which partitions were named

// Some records in the order in which they are to be judged.
struct DelayBatch {
  // One per record, or empty: then all belong to `partition`.
  std::span<const PartitionId> partitions;
  PartitionId partition = 0;
  std::span<const int64_t> event_us;
  // One per record, or empty: no record has an arrival time.
  std::span<const int64_t> arrival_us;
  // One per record (0: this one has no arrival time, its arrival_us is not read), or empty: all of arrival_us
  // count.
  std::span<const uint8_t> has_arrival;
  // LatenessBudget only: one per record, a hash of its grouping key, or empty. The first batch decides.
  std::span<const uint64_t> key_hash;
};

// Room for the record log beyond memory: an unlinked temporary file, say. The library does no input or output
// itself.
class SpillFile {
 public:
  virtual ~SpillFile() = default;
  // Adds bytes at the end. The error is a sentence for people ("cannot write ...: no space left on device").
  virtual std::expected<void, std::string> append(std::span<const std::byte> bytes) = 0;
  // Fills `bytes` from `offset`; only what was appended is asked for.
  virtual std::expected<void, std::string> read(uint64_t offset, std::span<std::byte> bytes) = 0;
};

struct ProfileOptions {
  Duration max_future_skew = seconds(300);
  Duration warn_behind = seconds(86400);  // a finding names the records that arrived later than this
  // Of the record log; beyond it the spill file is used, when there is one.
  size_t memory_bytes_max = size_t{1} << 30;
  std::shared_ptr<SpillFile> spill;  // null: everything stays in memory
  // The unit that a numeric event-time column was read in, "s" | "ms" | "us" | "ns"; empty for text.
  std::string time_unit;
};

struct QuantileSet {
  int64_t min = 0;
  int64_t p50 = 0;
  int64_t p95 = 0;
  int64_t p99 = 0;
  int64_t p99_9 = 0;
  int64_t max = 0;
  friend bool operator==(const QuantileSet&, const QuantileSet&) = default;
};

// How much a tail quantile of this sample says about the stream it comes from.
enum class Verdict : uint8_t {
  kInsufficient,  // no finite upper bound exists at 95 % confidence
  kBounded,       // an upper bound exists, but fewer than 10 samples lie beyond the quantile
  kEstimated,     // 10 to 100 beyond
  kPrecise,       // 100 or more beyond
};
std::string_view to_string(Verdict verdict);  // "insufficient" ...

// A 95 % confidence interval of a quantile by order statistics: no assumption about the shape of the
// distribution. Records of one burst are not independent: the sample counts as records / design_effect.
struct QuantileConfidence {
  std::optional<int64_t> low_us;  // null: no finite bound
  std::optional<int64_t> high_us;
  // Null: too few samples beyond the quantile to estimate it; 1 was assumed.
  std::optional<double> design_effect;
  Verdict verdict = Verdict::kInsufficient;
};

// One hump of the delay distribution.
struct DelayMode {
  std::string name;  // "transport" | "offline"
  int64_t records = 0;
  double share = 0;
  int64_t p50_us = 0;
  int64_t p99_us = 0;
};

// A record that stands for others in a message.
struct TimedRecord {
  int64_t event_us = 0;
  int64_t arrival_us = 0;
};

struct DelaySummary {
  std::string partition;  // empty for "all"
  int64_t records = 0;
  int64_t with_arrival = 0;  // records that have a delay
  std::optional<QuantileSet> delay_us;
  std::optional<QuantileSet> disorder_us;
  int64_t behind = 0;  // records strictly behind the running maximum
  // The next three are null when no record has an arrival time.
  std::optional<int64_t> negative;          // records with delay < 0
  std::optional<int64_t> negative_most_us;  // the most negative delay as a positive span; 0: none is
  std::optional<int64_t> future;            // records beyond arrival + max_future_skew
  // A clock ran ahead by at least this, proven by negative delays; of 100 delays and more one percent are
  // left out as outliers. Null: nothing is proven.
  std::optional<int64_t> clock_ahead_us;
  std::vector<DelayMode> modes;     // one "transport", or "transport" and "offline"; empty without delays
  std::optional<int64_t> split_us;  // greatest delay of the transport mode; null when there is one mode
  QuantileConfidence disorder_p99;
  QuantileConfidence disorder_p99_9;
  QuantileConfidence delay_p99;
  QuantileConfidence delay_p99_9;
  std::optional<TimedRecord> furthest_behind;  // the record with the greatest delay
  std::optional<TimedRecord> furthest_ahead;   // the record with the smallest delay, when negative
  DelayHistogram delay;
  DelayHistogram disorder;
  // False: from a saved profile, where quantiles are upper edges of histogram buckets, at most 0.8 % too
  // great, and the records at the ends are not known.
  bool exact = true;
};

// Something about the clocks that a person should look at.
struct Finding {
  enum class Kind : uint8_t {
    kWrongUnit,        // timestamps whose magnitude fits another unit
    kTimeZone,         // delays within two minutes of a whole number of hours: probably a time-zone fault
    kClockAhead,       // a clock that is proven to run ahead
    kFuture,           // records beyond max_future_skew: they do not move the watermark
    kFarBehind,        // records beyond warn_behind
    kLostCentury,      // stamped 100 or 1900 years early: a year without its century
    kStuckClock,       // event time stands still while records go on arriving
    kClockDrift,       // a clock that runs fast or slow
    kOfflineMode,      // records that were stored and sent later, in order: bursts of old records
    kRegimeChange,     // the distribution of delays changed for good
    kRepeats,          // records that repeat earlier ones
    kNoArrival,        // no record has an arrival time: what can be said comes from order alone
    kUnsortedArrival,  // arrival times go back in the order of the records
    kMixedUnits,       // timestamps of several units in one column
    kConstantTimes,    // every event time, or every arrival time, is the same
  };
  Kind kind = Kind::kFuture;
  std::string partition;  // empty: found over all
  int64_t records = 0;
  // kTimeZone: the offset; kClockAhead: the bound; kFuture, kFarBehind: the greatest span.
  int64_t value_us = 0;
  std::string unit;  // kWrongUnit: the unit that would fit
  std::string text;  // one or two sentences for people
};
std::string_view to_string(Finding::Kind kind);  // "wrong_unit" ...

// The delays of the records that arrived within one interval.
struct DelayInterval {
  int64_t start_us = 0;  // arrival time
  int64_t records = 0;
  int64_t negative = 0;
  int64_t future = 0;
  // Quantiles are upper edges of histogram buckets, at most 0.8 % too great; min and max are exact.
  int64_t min_us = 0;
  int64_t p5_us = 0;
  int64_t p50_us = 0;
  int64_t p95_us = 0;
  int64_t p99_us = 0;
  int64_t max_us = 0;
  int64_t disorder_p50_us = 0;
  int64_t disorder_p99_us = 0;
  int64_t disorder_max_us = 0;
  DelayHistogram delay;
  DelayHistogram disorder;
};

// A time from which on delays come from another distribution than before.
struct RegimeChange {
  struct Side {
    int64_t p5_us = 0;
    int64_t p50_us = 0;
    int64_t p95_us = 0;
  };
  int64_t at_us = 0;  // start of the first interval of the new regime
  int64_t until_us =
      0;  // the same; or, when delays kept changing, the start of the interval from which they held
  Side before;
  Side after;
  double distance = 0;   // Kolmogorov-Smirnov distance of the two sides, from 0 to 1
  int64_t shift_us = 0;  // of the floor (p5), after minus before
  bool floor = false;    // found by the floor: a path or a clock changed, not its load
  std::string text;
};

struct DelaySeries {
  int64_t width_us = 0;                  // of an interval; 0: no record has an arrival time
  std::vector<DelayInterval> intervals;  // ascending, empty ones left out, at most 400
  std::vector<RegimeChange> changes;     // ascending
};

// Records that repeat earlier ones and are in no figure.
struct Repeats {
  int64_t records = 0;
  double share = 0;  // of all that were read
};

struct ProfileReport {
  DelaySummary all;
  // In the order in which they were named; those without records are left out.
  std::vector<DelaySummary> partitions;
  std::vector<Finding> findings;  // the gravest first
  // The step of the clocks: the greatest common divisor of sampled delays.
  int64_t resolution_us = 1;
  Duration max_future_skew;
  DelaySeries series;
  std::optional<ProducersReport> producers;  // when the caller tracked them
  std::optional<Repeats> repeats;            // when the caller left repeats out
};

class DelayProfile {
 public:
  explicit DelayProfile(ProfileOptions options);
  ~DelayProfile();
  DelayProfile(DelayProfile&&) noexcept;
  DelayProfile& operator=(DelayProfile&&) noexcept;

  // The id of this name, new or known. Cost: one hash look-up; keep the id.
  PartitionId partition(std::string_view name);

  // Requires: spans of equal length (or empty as DelayBatch says); every id came from partition().
  // Errors: what the spill file said. The record log is then incomplete and finish() returns the same error.
  // Cost: some nanoseconds a record; about 10 bytes a record of memory or spill.
  [[nodiscard]] std::expected<void, std::string> add(const DelayBatch& batch);

  // The figures of everything added. Called once, last. Cost: one scan of the record log.
  [[nodiscard]] std::expected<ProfileReport, std::string> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wrackline
