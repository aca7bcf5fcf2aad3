// What every candidate pair of watermark delay and allowed lateness would have done with recorded arrivals,
// exactly, from one pass.
//
// Used by: `wrackline sweep`, programs that choose their own watermark.
// How:     with one delay for all partitions, progress G does not depend on the delay. So whether a (record,
//          window) pair is late under a candidate is one comparison of x = G - window end: it is on time iff
//          x < delay and goes to the ledger iff x >= delay + lateness. Cut by all candidate spans at once,
//          the line of x has few cells, and counts per cell answer for every pair.
// Exact:   on-time, corrected and ledgered pairs and records, versions and corrections are those of an engine
//          run with that pair over the same records in the same order and ticks, flushed at its end, with
//          late = 'correct'. Keys are told apart by their 64-bit hashes within a window.
// Units:   microseconds. kMicrosMin stands for "no progress yet".
// Memory:  24 to 48 bytes for each (window, key) until it lies beyond the greatest delay + lateness.
// Threads: not thread-safe.
// Source:  docs/semantics.md sections 3, 4 and 9; the two staircases of (on-time, delay) and (ledgered,
// horizon) are independent because G is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wrackline/time.h"

namespace wrackline {

struct SweepOptions {
  // Windows of one size at equal distances. With listed windows (SweepBatch) only the ladder looks at them.
  Duration window = seconds(60);  // > 0
  Duration slide;                 // zero: the window's size; else 0 < slide <= window
  Duration offset;
  std::vector<Duration> delays;      // candidates, >= 0, any order; at least one
  std::vector<Duration> latenesses;  // candidates, >= 0, any order; at least one
};

// What a row of a batch is to the view.
enum class SweepRow : uint8_t {
  kSetAside = 0,  // in no window: unusable, refused
  kJudged = 1,
  kFiltered = 2,  // moves time, is in no window
};

// The records of one tick in logged order.
struct SweepBatch {
  std::span<const int64_t> event_us;
  std::span<const int64_t> arrival_us;       // empty: none is known, and there is no output latency
  std::span<const int64_t> progress_before;  // G before each record and after the last: one element more
  std::span<const SweepRow> rows;            // empty: all are judged
  std::span<const uint64_t> key_hash;        // of the grouping key; empty: there is one group
  // Windows of any other kind, listed: the ends of record i's windows are window_ends[window_first[i] ..
  // window_first[i + 1]), ascending. window_first has one element more than event_us, or is empty: then the
  // options say what the windows are. A record without windows only moves time.
  std::span<const int64_t> window_ends;
  std::span<const uint32_t> window_first;
};

// One step of the first staircase: what a delay buys.
struct SweepDelay {
  Duration delay;
  int64_t on_time = 0;  // (record, window) pairs
  int64_t late = 0;     // the others
  double late_share = 0;
  // How long after its end a window's first version comes out, in arrival time, over the windows that the
  // recorded arrivals closed. Null without arrival times.
  struct Latency {
    int64_t windows = 0;
    int64_t mean_us = 0;
    int64_t p50_us = 0;  // quantiles: upper edge of a histogram bucket, at most 0.8 % too great
    int64_t p99_us = 0;
    int64_t max_us = 0;
  };
  std::optional<Latency> latency;
  bool kept = true;  // false: a smaller candidate has as few late pairs
};

// One step of the second: what a horizon (delay + lateness) buys.
struct SweepHorizon {
  Duration horizon;
  int64_t ledgered = 0;          // pairs
  int64_t ledgered_records = 0;  // records that are in no window at all
  double ledgered_share = 0;     // of pairs
  int64_t state_peak = 0;        // most (window, key) states alive at once
  bool kept = true;
};

struct SweepCandidate {
  Duration delay;
  Duration lateness;
  int64_t on_time = 0;    // pairs
  int64_t corrected = 0;  // pairs
  int64_t ledgered = 0;   // pairs
  int64_t accepted = 0;   // records that are in all their windows
  int64_t accepted_partially = 0;
  int64_t ledgered_records = 0;
  int64_t versions = 0;     // rows published
  int64_t corrections = 0;  // of them, later than the window's close
  int64_t windows_closed = 0;
  int64_t state_peak = 0;
  bool pareto = true;  // no candidate is better in one respect and no worse in the others
};

struct SweepReport {
  SweepOptions options;
  int64_t judged = 0;    // records
  int64_t filtered = 0;  // records that moved time only
  int64_t pairs = 0;
  std::vector<SweepDelay> delays;          // ascending, each once
  std::vector<SweepHorizon> horizons;      // ascending, each once
  std::vector<SweepCandidate> candidates;  // delays x latenesses, row by row, both ascending
  std::optional<size_t> knee;              // index of a candidate: see sweep_knee
};

class LatenessSweep {
 public:
  // Requires: as SweepOptions says; delays x latenesses <= 1,000,000.
  explicit LatenessSweep(SweepOptions options);
  ~LatenessSweep();
  LatenessSweep(LatenessSweep&&) noexcept;
  LatenessSweep& operator=(LatenessSweep&&) noexcept;

  // Takes one tick: the corrections of a group within it are one version. Cost: a hash look-up per pair that
  // is not behind every candidate.
  void add(const SweepBatch& batch);
  // G moved without a record: a partition ended.
  void advance(int64_t progress_us);
  // Called once, last.
  SweepReport finish();

  size_t live_states() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Candidate spans that people would try: zero, then 1-2-5 steps of seconds, minutes, hours and days up to
// about 1440 windows.
std::vector<Duration> sweep_ladder(Duration window);

// Where more stops paying: the kept step that lies furthest below the line from the first step to the last,
// spans taken by their logarithm. `spans` ascending, `shares` falling. Null with fewer than three steps.
// Source: Satopaa et al., "Finding a Kneedle in a Haystack", ICDCSW 2011, for a convex falling curve.
std::optional<size_t> sweep_knee(std::span<const int64_t> spans, std::span<const double> shares);

}  // namespace wrackline
