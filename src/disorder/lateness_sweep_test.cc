// Every candidate of a sweep against the law played one record and one window at a time, tick by tick.
#include "wrackline/lateness_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "disorder/plain_engine.h"
#include "disorder/test_stream.h"

namespace wrackline {
namespace {

using disorder::PlainEngine;
using disorder::random_setting;
using disorder::Setting;
using disorder::TestRecord;

struct Ticks {
  std::vector<size_t> ends;  // records before the end of each tick
};

Ticks random_ticks(std::mt19937_64& random, size_t records, size_t most) {
  Ticks ticks;
  for (size_t at = 0; at < records;) {
    at = std::min(records, at + 1 + random() % most);
    ticks.ends.push_back(at);
  }
  return ticks;
}

uint64_t key_of(const Setting& setting, const TestRecord& record) {
  return setting.keys ? record.key * 0x9E3779B97F4A7C15 : 0;
}

// What one run with this pair does, by the table of docs/semantics.md section 4.
struct PlainCandidate {
  int64_t on_time = 0, corrected = 0, ledgered = 0;
  int64_t accepted = 0, partially = 0, ledgered_records = 0;
  int64_t versions = 0, corrections = 0, windows_closed = 0, peak = 0;
  std::vector<int64_t> latencies;

  PlainCandidate(const Setting& setting, const Ticks& ticks, int64_t delay_us, int64_t lateness_us) {
    PlainEngine engine(setting);
    using Group = std::pair<int64_t, uint64_t>;
    std::map<int64_t, std::set<uint64_t>> open;  // windows whose first version is not out yet
    std::map<Group, bool> live;
    std::set<Group> corrected_in_tick;
    int64_t now_us = kMicrosMin;
    const auto settle = [&] {
      const int64_t progress = engine.progress();
      if (progress == kMicrosMin) return;
      while (!open.empty() && open.begin()->first + delay_us <= progress) {
        versions += static_cast<int64_t>(open.begin()->second.size());
        ++windows_closed;
        if (now_us != kMicrosMin) latencies.push_back(now_us - open.begin()->first);
        open.erase(open.begin());
      }
      std::erase_if(
          live, [&](const auto& group) { return group.first.first + delay_us + lateness_us <= progress; });
    };
    size_t tick = 0;
    for (size_t i = 0; i < setting.records.size(); ++i) {
      const TestRecord& record = setting.records[i];
      if (const auto ended = setting.ends.find(i); ended != setting.ends.end()) {
        engine.end(ended->second);
        settle();
      }
      if (record.arrival_us) now_us = std::max(now_us, *record.arrival_us);
      int64_t in = 0, out = 0;
      for (const int64_t end : engine.window_ends(record.event_us)) {
        const int64_t watermark = engine.progress() == kMicrosMin ? kMicrosMin : engine.progress() - delay_us;
        if (watermark >= end + lateness_us) {
          ++ledgered;
          ++out;
          continue;
        }
        ++in;
        const Group group(end, key_of(setting, record));
        if (watermark < end) {
          ++on_time;
          open[end].insert(group.second);
        } else {
          ++corrected;
          corrected_in_tick.insert(group);
        }
        live.emplace(group, true);
      }
      accepted += out == 0;
      partially += in > 0 && out > 0;
      ledgered_records += in == 0;
      peak = std::max(peak, static_cast<int64_t>(live.size()));
      engine.observe(record);
      settle();
      if (i + 1 < ticks.ends[tick]) continue;
      ++tick;
      versions += static_cast<int64_t>(corrected_in_tick.size());
      corrections += static_cast<int64_t>(corrected_in_tick.size());
      corrected_in_tick.clear();
    }
    for (const auto& [end, keys] : open) versions += static_cast<int64_t>(keys.size());
    windows_closed += static_cast<int64_t>(open.size());
  }
};

SweepReport swept(const Setting& setting, const Ticks& ticks, SweepOptions options, bool listed = false) {
  LatenessSweep sweep(std::move(options));
  PlainEngine engine(setting);
  size_t from = 0;
  for (size_t until : ticks.ends) {
    std::vector<int64_t> event_us, arrival_us, progress;
    std::vector<uint64_t> keys;
    bool arrivals = true;
    for (size_t i = from; i < until; ++i) {
      if (const auto ended = setting.ends.find(i); ended != setting.ends.end()) {
        engine.end(ended->second);
        sweep.advance(engine.progress());
      }
      const TestRecord& record = setting.records[i];
      event_us.push_back(record.event_us);
      arrivals = arrivals && record.arrival_us.has_value();
      arrival_us.push_back(record.arrival_us.value_or(0));
      keys.push_back(key_of(setting, record));
      progress.push_back(engine.progress());
      engine.observe(record);
    }
    progress.push_back(engine.progress());
    SweepBatch batch{
        .event_us = event_us, .arrival_us = {}, .progress_before = progress, .rows = {}, .key_hash = {}};
    if (arrivals) batch.arrival_us = arrival_us;
    if (setting.keys) batch.key_hash = keys;
    std::vector<int64_t> ends;
    std::vector<uint32_t> first(1, 0);
    for (size_t i = from; i < until && listed; ++i) {
      const std::vector<int64_t> of = engine.window_ends(setting.records[i].event_us);
      ends.insert(ends.end(), of.rbegin(), of.rend());
      first.push_back(static_cast<uint32_t>(ends.size()));
    }
    if (listed) {
      batch.window_ends = ends;
      batch.window_first = first;
    }
    sweep.add(batch);
    from = until;
  }
  return sweep.finish();
}

void compare(const SweepCandidate& found, const PlainCandidate& expected) {
  EXPECT_EQ(found.on_time, expected.on_time);
  EXPECT_EQ(found.corrected, expected.corrected);
  EXPECT_EQ(found.ledgered, expected.ledgered);
  EXPECT_EQ(found.accepted, expected.accepted);
  EXPECT_EQ(found.accepted_partially, expected.partially);
  EXPECT_EQ(found.ledgered_records, expected.ledgered_records);
  EXPECT_EQ(found.versions, expected.versions);
  EXPECT_EQ(found.corrections, expected.corrections);
  EXPECT_EQ(found.windows_closed, expected.windows_closed);
  EXPECT_EQ(found.state_peak, expected.peak);
}

TEST(LatenessSweep, EveryCandidateIsARun) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Setting setting = random_setting(seed);
    if (setting.size_us == 0) {
      setting.size_us = 1'500'000;
      setting.slide_us = 500'000;
    }
    const bool some_without = std::ranges::any_of(
        setting.records, [](const TestRecord& record) { return !record.arrival_us.has_value(); });
    std::mt19937_64 random(seed * 77);
    Ticks ticks = random_ticks(random, setting.records.size(), seed % 3 == 0 ? 1 : 60);
    // The end of a partition is a tick of its own.
    for (const auto& [at, partition] : setting.ends) {
      if (std::ranges::find(ticks.ends, at) == ticks.ends.end()) ticks.ends.push_back(at);
    }
    std::ranges::sort(ticks.ends);
    SweepOptions options{.window = Duration(setting.size_us),
                         .slide = Duration(setting.slide_us),
                         .offset = Duration(setting.offset_us),
                         .delays = {Duration(0), millis(300), seconds(2), seconds(9)},
                         .latenesses = {seconds(5), Duration(0), Duration(1), seconds(60)}};
    const SweepReport report = swept(setting, ticks, options, seed % 4 == 1);
    EXPECT_EQ(report.judged, static_cast<int64_t>(setting.records.size()));
    ASSERT_EQ(report.candidates.size(), 16u);
    for (const SweepCandidate& candidate : report.candidates) {
      SCOPED_TRACE(testing::Message()
                   << "delay " << candidate.delay.micros() << " lateness " << candidate.lateness.micros());
      const PlainCandidate expected(setting, ticks, candidate.delay.micros(), candidate.lateness.micros());
      compare(candidate, expected);
      ++checked;
      const auto row = std::ranges::find(report.delays, candidate.delay, &SweepDelay::delay);
      ASSERT_NE(row, report.delays.end());
      EXPECT_EQ(row->late, candidate.corrected + candidate.ledgered);
      if (some_without || !row->latency) continue;
      EXPECT_EQ(row->latency->windows, static_cast<int64_t>(expected.latencies.size()));
      if (expected.latencies.empty()) continue;
      EXPECT_EQ(row->latency->max_us, std::ranges::max(expected.latencies));
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(checked, 300);
}

TEST(LatenessSweep, TickOfOneRecordAndOfAll) {
  Setting setting = random_setting(5);
  setting.size_us = setting.slide_us = 1'000'000;
  Ticks all{{setting.records.size()}};
  setting.ends.clear();
  SweepOptions options{.window = seconds(1),
                       .offset = Duration(setting.offset_us),
                       .delays = {Duration(0)},
                       .latenesses = {seconds(3600)}};
  const SweepReport report = swept(setting, all, options);
  compare(report.candidates[0], PlainCandidate(setting, all, 0, 3'600'000'000));
}

TEST(LatenessSweep, FilteredRowsMoveTimeOnly) {
  LatenessSweep sweep({.window = seconds(1), .delays = {Duration(0)}, .latenesses = {Duration(0)}});
  const std::vector<int64_t> event_us = {500'000, 5'000'000, 700'000};
  const std::vector<int64_t> progress = {kMicrosMin, 500'000, 5'000'000, 5'000'000};
  const std::vector<SweepRow> rows = {SweepRow::kJudged, SweepRow::kFiltered, SweepRow::kJudged};
  sweep.add(
      {.event_us = event_us, .arrival_us = {}, .progress_before = progress, .rows = rows, .key_hash = {}});
  const SweepReport report = sweep.finish();
  EXPECT_EQ(report.judged, 2);
  EXPECT_EQ(report.filtered, 1);
  EXPECT_EQ(report.candidates[0].on_time, 1);
  EXPECT_EQ(report.candidates[0].ledgered, 1);
  EXPECT_EQ(report.candidates[0].windows_closed, 1);
  EXPECT_FALSE(report.delays[0].latency.has_value());
}

TEST(LatenessSweep, NothingAtAll) {
  LatenessSweep sweep({.window = seconds(1), .delays = {Duration(0)}, .latenesses = {Duration(0)}});
  const SweepReport report = sweep.finish();
  EXPECT_EQ(report.pairs, 0);
  EXPECT_FALSE(report.knee.has_value());
}

TEST(LatenessSweep, StatesBeyondEveryCandidateAreFreed) {
  LatenessSweep sweep({.window = seconds(1), .delays = {Duration(0)}, .latenesses = {seconds(2)}});
  for (int64_t second = 0; second < 100; ++second) {
    const std::vector<int64_t> event_us = {second * 1'000'000};
    const std::vector<int64_t> progress = {second == 0 ? kMicrosMin : (second - 1) * 1'000'000,
                                           second * 1'000'000};
    sweep.add(
        {.event_us = event_us, .arrival_us = {}, .progress_before = progress, .rows = {}, .key_hash = {}});
    EXPECT_LE(sweep.live_states(), 4u);
  }
}

TEST(LatenessSweep, KneeIsWhereTheCurveBends) {
  const std::vector<int64_t> spans = {0, 1'000'000, 3'000'000, 7'000'000, 15'000'000};
  const std::vector<double> shares = {0.5, 0.1, 0.05, 0.04, 0.039};
  EXPECT_EQ(sweep_knee(spans, shares), 1u);
  EXPECT_FALSE(sweep_knee(std::span(spans).first(2), std::span(shares).first(2)).has_value());
  const std::vector<double> straight = {0.4, 0.3, 0.2, 0.1, 0.0};
  EXPECT_FALSE(sweep_knee(spans, straight).value_or(0) > 3);
}

TEST(SweepLadder, BeginsAtZeroAndFollowsTheWindow) {
  const auto minute = sweep_ladder(seconds(60));
  EXPECT_EQ(minute.front(), Duration(0));
  EXPECT_EQ(minute.back(), seconds(86400));
  EXPECT_TRUE(std::ranges::is_sorted(minute));
  EXPECT_GE(sweep_ladder(Duration(1)).size(), 2u);
}

}  // namespace
}  // namespace wrackline
