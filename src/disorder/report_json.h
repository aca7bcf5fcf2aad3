// Profiles and budgets as JSON documents, one line each. Keys are a contract: add, never rename.
//
// Times and spans are integers of microseconds, shares are numbers between 0 and 1, what is not known is
// null. Without arrival times delay_us, negative, future, delay_confidence and delay_verdict are null, and
// modes is empty.
//
// Profile: {"records","rejected":{reason:n},"all":{...},"partitions":[{"partition",...}],"findings":[...],
//           "resolution_us","max_future_skew_us"}; `all` and each partition have
//   records, with_arrival
//   delay_us, disorder_us      {min,p50,p95,p99,"p99.9",max}, exact nearest rank
//   behind {count,share}       strictly behind the running maximum of event time
//   negative {count,share,most_us}, future {count}, clock_ahead_us
//   modes [{name,records,share,p50_us,p99_us}], split_us
//   confidence {p99:[low,high],"p99.9":[low,high]} of disorder, 95 %, a bound that does not exist is null
//   verdict {p99,"p99.9"}      "precise" | "estimated" | "bounded" | "insufficient"; of disorder
//   design_effect {p99,"p99.9"}
//   delay_confidence, delay_verdict, delay_design_effect: the same of delay
// Finding: {"kind","partition","records","value_us","unit","text"}
//          kind: wrong_unit, time_zone, clock_ahead, future, far_behind
// Budget: {"rule","watermark_delay_us","allowed_lateness_us","predicted":{on_time,corrected,ledgered},
//          "latency_us":{p50,p99,max,windows,windows_flushed},"state":{windows,bytes,basis},
//          "per_partition":[{partition,records,watermark_delay_us,allowed_lateness_us,verdict,predicted,counts,
//                            share_of_late,windows_held}],
//          "target_late","tail","window_us","slide_us","counts":{pairs,on_time,corrected,ledgered,refused_future},
//          "sample":{size,offline,from_transport_mode,design_effect,late,late_share_upper,confidence,point_delay_us,
//                    both_modes_delay_us},
//          "verdict":{watermark_delay,allowed_lateness},"notes":[text],"records","rejected","findings"}
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "wrackline/delay_profile.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {

// Records that could not be measured, by reason ("unparseable": 3).
using RejectedCounts = std::map<std::string, int64_t>;

std::string profile_to_json(const ProfileReport& report, const RejectedCounts& rejected);
std::string budget_to_json(const BudgetReport& report, const RejectedCounts& rejected);

}  // namespace wrackline
