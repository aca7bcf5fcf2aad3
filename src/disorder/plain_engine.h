// The law of watermarks and windows, one record and one window at a time: what predictions are compared with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "disorder/test_stream.h"
#include "wrackline/lateness_budget.h"

namespace wrackline::disorder {

inline constexpr int64_t kSkewUs = 300'000'000;
inline constexpr int64_t kAcceptUs = 86'400'000'000;

struct Setting {
  std::vector<TestRecord> records;
  PartitionId partitions = 1;
  bool registered = false;
  std::map<size_t, PartitionId> ends;  // before record i
  int64_t size_us = 0;                 // 0: no window
  int64_t slide_us = 0;
  int64_t offset_us = 0;
  bool keys = false;
};

// The law, one record and one window at a time.
class PlainEngine {
 public:
  explicit PlainEngine(const Setting& setting) : setting_(setting) {
    if (setting.registered) {
      for (PartitionId id = 0; id < setting.partitions; ++id) maxima_[id] = kMicrosMin;
    }
  }

  std::vector<int64_t> window_ends(int64_t t) const {
    if (setting_.size_us == 0) return {t + 1};
    std::vector<int64_t> ends;
    const int64_t last =
        floor_divide(t - setting_.offset_us, setting_.slide_us) * setting_.slide_us + setting_.offset_us;
    for (int64_t start = last; start > t - setting_.size_us; start -= setting_.slide_us)
      ends.push_back(start + setting_.size_us);
    return ends;
  }
  static bool refused(const TestRecord& record) {
    return record.arrival_us && record.event_us - *record.arrival_us > kAcceptUs;
  }
  void end(PartitionId id) {
    maxima_.erase(id);
    advance();
  }
  void observe(const TestRecord& record) {
    int64_t& max = maxima_.try_emplace(record.partition, kMicrosMin).first->second;
    const bool moves = !record.arrival_us || record.event_us - *record.arrival_us <= kSkewUs;
    if (moves) max = std::max(max, record.event_us);
    spoken_[record.partition] =
        std::max(spoken_.try_emplace(record.partition, kMicrosMin).first->second, max);
    advance();
  }
  int64_t progress() const { return progress_; }

 private:
  void advance() {
    int64_t least = kMicrosMax;
    for (const auto& [id, max] : maxima_) least = std::min(least, max);
    if (!maxima_.empty()) progress_ = std::max(progress_, least);
  }
  const Setting& setting_;
  std::map<PartitionId, int64_t> maxima_;  // active partitions
  std::map<PartitionId, int64_t> spoken_;
  int64_t progress_ = kMicrosMin;
};

struct PlainOutcome {
  std::map<PartitionId, BudgetCounts> counts;
  int64_t peak = 0;
  std::vector<int64_t> latencies;
  int64_t flushed = 0;
};

inline PlainOutcome plain_run(const Setting& setting, int64_t delay_us, int64_t lateness_us) {
  PlainEngine engine(setting);
  PlainOutcome outcome;
  std::set<std::pair<int64_t, uint64_t>> live;  // (window end, key)
  std::map<int64_t, bool> windows;              // live or closed: end -> holds something on time and is open
  std::set<int64_t> touched;
  int64_t now_us = kMicrosMin;
  const auto settle = [&] {
    const int64_t progress = engine.progress();
    if (progress == kMicrosMin) return;
    for (auto& [end, open] : windows) {
      if (open && end + delay_us <= progress) {
        open = false;
        if (now_us != kMicrosMin) outcome.latencies.push_back(now_us - end);
      }
    }
    std::erase_if(live, [&](const auto& state) { return state.first + delay_us + lateness_us <= progress; });
  };
  for (size_t i = 0; i < setting.records.size(); ++i) {
    const TestRecord& record = setting.records[i];
    if (const auto ended = setting.ends.find(i); ended != setting.ends.end()) {
      engine.end(ended->second);
      settle();
    }
    if (record.arrival_us) now_us = std::max(now_us, *record.arrival_us);
    BudgetCounts& counts = outcome.counts[record.partition];
    for (const int64_t end : engine.window_ends(record.event_us)) {
      ++counts.pairs;
      if (PlainEngine::refused(record)) {
        ++counts.refused_future;
        ++counts.ledgered;
        continue;
      }
      const int64_t watermark = engine.progress() == kMicrosMin ? kMicrosMin : engine.progress() - delay_us;
      if (watermark >= end + lateness_us) {
        ++counts.ledgered;
        continue;
      }
      ++(watermark < end ? counts.on_time : counts.corrected);
      if (touched.insert(end).second) windows[end] = watermark < end;
      live.emplace(end, setting.keys ? record.key : 0);
    }
    outcome.peak = std::max(outcome.peak, static_cast<int64_t>(live.size()));
    engine.observe(record);
    settle();
  }
  for (const auto& [end, open] : windows) outcome.flushed += open ? 1 : 0;
  return outcome;
}

inline Setting random_setting(uint64_t seed) {
  std::mt19937_64 random(seed);
  Setting setting;
  setting.partitions = static_cast<PartitionId>(1 + random() % 5);
  setting.registered = random() % 2 == 0;
  setting.keys = random() % 2 == 0;
  setting.records = random_stream(random, {.records = 500 + random() % 2500,
                                           .partitions = setting.partitions,
                                           .without_arrival = seed % 5 == 0    ? 0.1
                                                              : seed % 11 == 0 ? 1
                                                                               : 0});
  constexpr std::array<std::pair<int64_t, int64_t>, 6> kShapes = {{{0, 0},
                                                                   {1'000'000, 1'000'000},
                                                                   {2'000'000, 500'000},
                                                                   {3'000'000, 1'000'000},
                                                                   {1'700'000, 600'000},
                                                                   {250'000, 250'000}}};
  std::tie(setting.size_us, setting.slide_us) = kShapes[random() % kShapes.size()];
  if (setting.size_us > 0 && random() % 2 == 0) setting.offset_us = 333'333;
  if (setting.partitions > 1 && random() % 2 == 0) {
    // A file ends: its records stop, and it no longer holds progress.
    const size_t at = setting.records.size() / 2;
    const PartitionId gone = setting.partitions - 1;
    for (size_t i = at; i < setting.records.size(); ++i) {
      if (setting.records[i].partition == gone) setting.records[i].partition = 0;
    }
    setting.ends[at] = gone;
  }
  return setting;
}

}  // namespace wrackline::disorder
