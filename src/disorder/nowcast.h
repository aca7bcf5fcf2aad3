// How complete the records of a moment are by now.
//
// Used by: runtime/monitor.h. Statements are about records that arrive within the time that was watched: what
// never arrives is invisible to a distribution of arrivals.
// Threads: not thread-safe.
// Source:  reverse-time hazard: Kalbfleisch and Lawless, "Inference based on retrospective ascertainment",
//          JASA 1989; product-limit form as in Lagakos, Barraj and De Gruttola, Biometrika 1988.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "wrackline/delay_histogram.h"

namespace wrackline::disorder {

// The share of records that have arrived at most `age` after they happened. Right while the rate of records
// does not change much within a typical delay; else DelayTriangle. nullopt: no delays are known.
std::optional<double> share_arrived(const DelayHistogram& delay, int64_t age_us);

// The mean of that over a window: of the records of [start, end), or of its part before `now`, the share that
// has arrived by `now`. nullopt: no delays are known, or the window has not begun.
std::optional<double> window_completeness(const DelayHistogram& delay, int64_t start_us, int64_t end_us,
                                          int64_t now_us);

// Delays by when the records happened, for data whose end is not in yet: records of the last minutes with
// long delays have not arrived, so a plain histogram shows too few of these when the rate grows. Here each
// delay is judged only among cohorts that are old enough to have shown it.
class DelayTriangle {
 public:
  // Cohorts and delays in cells of `cell_us`; delays beyond `cells` of them are not told apart.
  DelayTriangle(int64_t cell_us, size_t cells);
  // Requires: arrival_us <= the `now` of later questions. Events before the first one seen by more than
  // `cohorts kept` cells are left out. Cost: O(1).
  void add(int64_t event_us, int64_t arrival_us);
  // The share of a cohort's records that has arrived at `age`, of those that arrive within the cells.
  // nullopt: nothing old enough. Cost: O(cohorts x cells).
  std::optional<double> share_arrived(int64_t age_us, int64_t now_us) const;

 private:
  struct Cohort {
    int64_t index = 0;  // of event time, in cells
    std::vector<int64_t> counts;
  };
  Cohort* cohort(int64_t index);

  int64_t cell_us_;
  size_t cells_;
  std::vector<Cohort> cohorts_;  // a ring by index
};

}  // namespace wrackline::disorder
