// Profiles and budgets as JSON documents, one line each. Keys are a contract: add, never rename.
//
// Times and spans are integers of microseconds, shares are numbers between 0 and 1, what is not known is
// null. Without arrival times delay_us, negative, future, delay_confidence and delay_verdict are null, and
// modes is empty.
//
// Profile: {"records","rejected":{reason:n},"all":{...},"partitions":[{"partition",...}],"findings":[...],
//           "resolution_us","max_future_skew_us","series","producers","repeats"}; `all` and each partition
//           have
//   records, with_arrival
//   delay_us, disorder_us      {min,p50,p95,p99,"p99.9",max}, exact nearest rank
//   behind {count,share}       strictly behind the running maximum of event time
//   negative {count,share,most_us}, future {count}, clock_ahead_us
//   modes [{name,records,share,p50_us,p99_us}], split_us
//   confidence {p99:[low,high],"p99.9":[low,high]} of disorder, 95 %, a bound that does not exist is null
//   verdict {p99,"p99.9"}      "precise" | "estimated" | "bounded" | "insufficient"; of disorder
//   design_effect {p99,"p99.9"}
//   delay_confidence, delay_verdict, delay_design_effect: the same of delay
//   histogram {delay,disorder}: [[lower,upper,count],...] by quarter octaves, exact counts, empty cells left
//   out
// series {"width_us","intervals":[{start_us,records,negative,future,"delay_us":{min,p5,p50,p95,p99,max},
//         "disorder_us":{p50,p99,max}}],"changes":[{at_us,"before":{p5_us,p50_us,p95_us},"after","distance","shift_us",
//         "floor","text"}]}: by arrival time
// producers null or
// {"column","tracked","forgotten_records","count_error_max","floor_median_us","offset_spread_us",
//         "list":[{producer,records,negative,"delay_us":{min,p50,max},offset_proven_us,offset_estimated_us,drift_ppm,
//         "fault":null|"wrong_unit"|"lost_century"|"stuck"|"time_zone"|"clock_ahead"|"drift",fault_records,text}]}
// repeats null or {"records","share"}: copies that were left out
// Finding: {"kind","partition","records","value_us","unit","text"}
//          kind: wrong_unit, mixed_units, lost_century, time_zone, stuck_clock, clock_ahead, clock_drift,
//          future, far_behind, offline_mode, regime_change (value_us: when), repeats, no_arrival,
//          unsorted_arrival, constant_times
// Budget: {"rule","watermark_delay_us","allowed_lateness_us","predicted":{on_time,corrected,ledgered},
//          "latency_us":{p50,p99,max,windows,windows_flushed},"state":{windows,bytes,basis},
//          "per_partition":[{partition,records,watermark_delay_us,allowed_lateness_us,verdict,predicted,counts,
//                            share_of_late,windows_held}],
//          "target_late","tail","window_us","slide_us","counts":{pairs,on_time,corrected,ledgered,refused_future},
//          "sample":{size,offline,from_transport_mode,design_effect,late,late_share_upper,confidence,point_delay_us,
//                    both_modes_delay_us},
//          "verdict":{watermark_delay,allowed_lateness},"notes":[text],"records","rejected","findings",
//          "slowest":null|{"partition","windows_held","latency_without_us":{p50,p99,max},"late_without"},
//          "certificate":{"input","records","rule","watermark_delay_us","allowed_lateness_us","predicted",
//                         "late_share_upper","confidence","effective_samples","split_us","assumes":{partitions,
//                         max_future_skew_us,from_profile,no_idle_partition},"backtest":{"verdict":"held"|"exceeded"|
//                         "insufficient","folds":[{trained_pairs,tested_pairs,watermark_delay_us,late,late_share,held}]}}}
// Sweep:
// {"job","view","source","records","rejected","filtered","partitions","keys","policy","window_us","slide_us",
//          "offset_us","configured":{delay_us,lateness_us},"judged","pairs",
//          "delays":[{delay_us,on_time,late,late_share,"latency_us":{windows,mean,p50,p99,max},kept}],
//          "horizons":[{horizon_us,ledgered,ledgered_records,ledgered_share,state_peak,kept}],
//          "candidates":[{delay_us,lateness_us,on_time,corrected,ledgered,accepted,accepted_partially,ledgered_records,
//                         versions,corrections,windows_closed,state_peak,pareto}],
//          "knee":{delay_us,lateness_us},"notes":[text],"seconds"}
//          on_time, late, corrected and ledgered count (record, window) pairs
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wrackline/delay_profile.h"
#include "wrackline/delay_profile_file.h"
#include "wrackline/lateness_budget.h"
#include "wrackline/lateness_sweep.h"

namespace wrackline {

// Records that could not be measured, by reason ("unparseable": 3).
using RejectedCounts = std::map<std::string, int64_t>;

std::string profile_to_json(const ProfileReport& report, const RejectedCounts& rejected);
// {"against","verdict","quantities":[{"quantity","ks","ks_limit","psi","quantiles":[{quantile,before_us,after_us}]}],
//  "partitions_changed","partitions_new","partitions_gone","text"}
std::string comparison_to_json(const ProfileComparison& comparison, const std::string& against);
std::string budget_to_json(const BudgetReport& report, const RejectedCounts& rejected);

// What a sweep of a job's view was over, beside its figures.
struct SweepSubject {
  std::string job;
  std::string view;
  std::string source;
  std::string policy = "correct";  // the view's: correct | ledger | drop
  int64_t records = 0;             // read, rejected ones included
  int64_t partitions = 0;
  bool keys = false;  // the view groups by something beside the window
  std::optional<int64_t> configured_delay_us;
  std::optional<int64_t> configured_lateness_us;
  RejectedCounts rejected;
  std::vector<std::string> notes;  // where a run would count otherwise, in sentences without a full stop
  double seconds = 0;
};
std::string sweep_to_json(const SweepReport& report, const SweepSubject& subject);

}  // namespace wrackline
