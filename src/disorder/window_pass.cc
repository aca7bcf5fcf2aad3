#include "disorder/window_pass.h"

#include <algorithm>
#include <numeric>

#include "disorder/profile_core.h"

namespace wrackline::disorder {

WindowPass::WindowPass(WindowPassOptions options)
    : options_(options),
      pairs_(options.shape),
      horizon_us_(saturating_add(options.delay_us, options.lateness_us)),
      pane_us_(std::gcd(options.shape.size_us, options.shape.slide_us)),
      counts_(options.partitions),
      held_(options.partitions) {}

void WindowPass::judge(const Record& record) {
  if (record.arrival_us) now_us_ = std::max(now_us_, *record.arrival_us);
  const WindowPairs::Windows windows = pairs_.of(record.event_us);
  if (record.refused) {
    BudgetCounts& counts = counts_[record.partition];
    counts.pairs += windows.count;
    counts.ledgered += windows.count;
    counts.refused_future += windows.count;
    return;
  }
  const int64_t late_from = windows.first_behind(record.progress_us, options_.delay_us);
  const int64_t sealed_from = windows.first_behind(record.progress_us, horizon_us_);
  count(record, windows, late_from, sealed_from);
  if (options_.windows) touch(record, windows, sealed_from);
}

void WindowPass::count(const Record& record, const WindowPairs::Windows& windows, int64_t late_from,
                       int64_t sealed_from) {
  BudgetCounts& counts = counts_[record.partition];
  counts.pairs += windows.count;
  counts.on_time += late_from;
  counts.corrected += sealed_from - late_from;
  counts.ledgered += windows.count - sealed_from;
}

void WindowPass::touch(const Record& record, const WindowPairs::Windows& windows, int64_t sealed_from) {
  if (sealed_from == 0) return;
  // A key's second record in a pane finds all its windows live or sealed already: x only grows.
  const int64_t pane = saturating_subtract(
      record.event_us,
      static_cast<int64_t>(
          ((static_cast<__int128>(record.event_us) - options_.shape.offset_us) % pane_us_ + pane_us_) %
          pane_us_));
  if (!panes_[pane].insert(record.key_hash).second) return;
  for (int64_t k = 0; k < sealed_from; ++k) {
    const int64_t end = windows.end(k);
    const auto [at, created] = live_.try_emplace(end);
    if (!at->second.keys.insert(record.key_hash).second) continue;
    ++states_;
    const bool on_time =
        record.progress_us == kMicrosMin || windows.behind(record.progress_us, k) < options_.delay_us;
    if (created && on_time) open_.insert(end);
  }
  peak_ = std::max(peak_, states_);
}

void WindowPass::advance(PartitionId partition, int64_t progress_us) {
  if (progress_us == kMicrosMin) return;
  while (!open_.empty() && saturating_add(*open_.begin(), options_.delay_us) <= progress_us) {
    const int64_t waited = saturating_subtract(now_us_, *open_.begin());
    open_.erase(open_.begin());
    ++held_[partition];
    if (now_us_ == kMicrosMin) continue;
    latency_max_us_ = latency_count_ == 0 ? waited : std::max(latency_max_us_, waited);
    latencies_.add(waited);
    ++latency_count_;
  }
  while (!live_.empty() && saturating_add(live_.begin()->first, horizon_us_) <= progress_us) {
    states_ -= static_cast<int64_t>(live_.begin()->second.keys.size());
    live_.erase(live_.begin());
  }
  // The last window of a pane ends a window's size after the start of the slide it lies in.
  while (!panes_.empty() &&
         saturating_add(panes_.begin()->first, saturating_add(options_.shape.size_us, horizon_us_)) <=
             progress_us) {
    panes_.erase(panes_.begin());
  }
}

BudgetCounts WindowPass::total() const {
  BudgetCounts total;
  for (const BudgetCounts& counts : counts_) {
    total.pairs += counts.pairs;
    total.on_time += counts.on_time;
    total.corrected += counts.corrected;
    total.ledgered += counts.ledgered;
    total.refused_future += counts.refused_future;
  }
  return total;
}

std::optional<BudgetLatency> WindowPass::latency() {
  if (!options_.windows || now_us_ == kMicrosMin) return std::nullopt;
  BudgetLatency latency;
  latency.windows = latency_count_;
  latency.windows_flushed = static_cast<int64_t>(open_.size());
  if (latency_count_ > 0) {
    const auto count = static_cast<uint64_t>(latency_count_);
    latency.p50_us = latencies_.at_rank(nearest_rank(count, 500));
    latency.p99_us = latencies_.at_rank(nearest_rank(count, 990));
    latency.max_us = latency_max_us_;
  }
  return latency;
}

}  // namespace wrackline::disorder
