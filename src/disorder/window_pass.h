// Plays recorded arrivals against one (delay, lateness) pair: the counts, output latency and state of such a
// run.
//
// Shape:   feed records in logged order, each with G as it stood before and after it.
// Exact:   what the engine does on the same records, judged one by one.
// Source:  docs/semantics.md section 4.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "disorder/rank_selector.h"
#include "disorder/window_pairs.h"
#include "wrackline/lateness_budget.h"

namespace wrackline::disorder {

struct WindowPassOptions {
  WindowPairs::Shape shape;
  bool windows = false;  // false: records are judged, there is no latency and no state
  int64_t delay_us = 0;
  int64_t lateness_us = 0;
  size_t partitions = 0;
};

class WindowPass {
 public:
  explicit WindowPass(WindowPassOptions options);

  struct Record {
    PartitionId partition = 0;
    int64_t event_us = 0;
    std::optional<int64_t> arrival_us;
    uint64_t key_hash = 0;
    bool refused = false;              // beyond max_future_accept: ledgered whatever its window
    int64_t progress_us = kMicrosMin;  // G before it
  };
  void judge(const Record& record);
  // G after `partition` spoke or ended.
  void advance(PartitionId partition, int64_t progress_us);

  BudgetCounts total() const;
  const std::vector<BudgetCounts>& by_partition() const { return counts_; }
  const std::vector<int64_t>& windows_held() const { return held_; }  // by partition
  int64_t peak_states() const { return peak_; }                       // live (window, key) pairs
  std::optional<BudgetLatency> latency();  // null when no record had an arrival time

 private:
  struct Window {
    std::unordered_set<uint64_t> keys;
  };
  void touch(const Record& record, const WindowPairs::Windows& windows, int64_t sealed_from);
  void count(const Record& record, const WindowPairs::Windows& windows, int64_t late_from,
             int64_t sealed_from);

  WindowPassOptions options_;
  WindowPairs pairs_;
  int64_t horizon_us_;  // delay + lateness
  int64_t pane_us_;     // records of one pane have the same windows
  std::vector<BudgetCounts> counts_;
  std::vector<int64_t> held_;

  int64_t now_us_ = kMicrosMin;                            // greatest arrival so far
  std::map<int64_t, Window> live_;                         // by end
  std::map<int64_t, std::unordered_set<uint64_t>> panes_;  // by start: keys whose windows were all touched
  std::set<int64_t> open_;  // ends of windows that hold something on time and have not closed
  int64_t states_ = 0;
  int64_t peak_ = 0;
  CountedValues latencies_;
  int64_t latency_count_ = 0;
  int64_t latency_max_us_ = 0;
};

}  // namespace wrackline::disorder
