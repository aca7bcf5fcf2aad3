#include "runtime/monitor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "data/snapshot.h"
#include "operators/window_plan.h"

namespace wrackline::runtime {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kHourUs = 3600 * kSecondUs;
const std::vector<std::string> kNames = {"p0", "p1", "p2"};

// One partition in arrival order: a record each 50 ms, delayed as `delay_us` says for its time.
template <class Delay>
RecordTimes stream(int64_t records, Delay delay_us) {
  std::vector<std::pair<int64_t, int64_t>> order;  // arrival, event
  for (int64_t i = 0; i < records; ++i) {
    const int64_t event_us = i * kSecondUs / 20;
    order.emplace_back(event_us + delay_us(event_us), event_us);
  }
  std::ranges::sort(order);
  RecordTimes times;
  times.partitions = {0};
  times.arrival_known = true;
  int64_t progress_us = kMicrosMin;
  for (const auto& [arrival_us, event_us] : order) {
    times.arrival_us.push_back(arrival_us);
    times.event_us.push_back(event_us);
    times.usable.push_back(1);
    times.progress_before.push_back(progress_us);
    progress_us = std::max(progress_us, event_us);
  }
  times.progress_before.push_back(progress_us);
  return times;
}

MonitorPlan plan_of(int64_t window_us) {
  MonitorPlan plan;
  plan.slice = [windows = WindowPlan::tumbling(Duration(window_us))](int64_t event_us) {
    return windows.slice_of(event_us);
  };
  return plan;
}

struct Followed {
  std::vector<DelayChange> changes;
  std::vector<int64_t> when_us;  // arrival
  MonitorReport report;
};

// As the runner does: the delay changes between ticks.
Followed follow(const RecordTimes& times, MonitorPlan plan, int64_t start_us, size_t tick = 100) {
  plan.follow = disorder::DelayFollower::Options{};
  Monitor monitor("s", std::move(plan));
  Followed result;
  int64_t delay_us = start_us;
  for (size_t at = 0; at < times.event_us.size(); at += tick) {
    const size_t end = std::min(at + tick, times.event_us.size());
    monitor.feed(times, at, end, Duration(delay_us), kNames);
    if (auto change = monitor.take_delay_change()) {
      EXPECT_EQ(change->from_us, delay_us);
      delay_us = change->to_us;
      result.when_us.push_back(times.arrival_us[end - 1]);
      result.changes.push_back(std::move(*change));
    }
  }
  monitor.finish(kNames);
  result.report = monitor.report();
  return result;
}

TEST(Monitor, CountsWhatTheLawCallsLate) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    const int64_t window_us = (1 + static_cast<int64_t>(random() % 20)) * kSecondUs;
    const int64_t delay_us = static_cast<int64_t>(random() % 5) * kSecondUs;
    const double mean = 1e6 * (1 + static_cast<double>(random() % 10));
    std::exponential_distribution<double> law(1 / mean);
    RecordTimes times = stream(1000, [&](int64_t) { return static_cast<int64_t>(law(random)); });
    times.partitions.clear();
    for (size_t i = 0; i < times.usable.size(); ++i) {
      times.partitions.push_back(static_cast<PartitionIndex>(random() % 3));
      times.usable[i] = random() % 10 == 0 ? 0 : 1;  // copies and records set aside
    }
    MonitorPlan plan = plan_of(window_us);
    plan.options.interval = Duration(kHourUs);
    Monitor monitor("s", plan);
    monitor.feed(times, 0, times.usable.size(), Duration(delay_us), kNames);
    monitor.finish(kNames);
    int64_t records = 0;
    int64_t late = 0;
    for (size_t i = 0; i < times.usable.size(); ++i) {
      if (times.usable[i] == 0 || times.progress_before[i] == kMicrosMin) continue;
      ++records;
      const int64_t end_us = times.event_us[i] / window_us * window_us + window_us;
      late += times.progress_before[i] - delay_us >= end_us ? 1 : 0;
    }
    const MonitorReport report = monitor.report();
    ASSERT_EQ(report.series.size(), 4U);
    EXPECT_EQ(report.series[0].records, records);
    EXPECT_EQ(report.series[0].late, late);
    int64_t late_by_partition = 0;
    for (size_t i = 1; i < 4; ++i) late_by_partition += report.series[i].late;
    EXPECT_EQ(late_by_partition, late);
  }
}

TEST(Monitor, TheSizeOfTicksDoesNotMatter) {
  std::mt19937_64 random(2);
  std::exponential_distribution<double> law(1e-6);
  const RecordTimes times = stream(60'000, [&](int64_t at) {
    return static_cast<int64_t>(law(random) * (at > 1000 * kSecondUs ? 9 : 1));
  });
  std::vector<std::string> seen;
  for (const size_t tick : {1U, 77U, 4096U, 60'000U}) {
    Monitor monitor("s", plan_of(10 * kSecondUs));
    std::string all;
    for (size_t at = 0; at < times.usable.size(); at += tick) {
      monitor.feed(times, at, std::min(at + tick, times.usable.size()), Duration(2 * kSecondUs), kNames);
    }
    monitor.finish(kNames);
    for (const MonitorAlarm& alarm : monitor.take_alarms()) all += alarm_json(alarm);
    seen.push_back(all + monitor_json(monitor.report()));
  }
  EXPECT_NE(seen[0].find("\"kind\":\"late\""), std::string::npos);
  for (const std::string& one : seen) EXPECT_EQ(one, seen[0]);
}

TEST(Monitor, ABusyIntervalIsThinnedOutAndItsCountsAreNot) {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> law(1e-6);
  RecordTimes times = stream(300'000, [&](int64_t) { return static_cast<int64_t>(law(random)); });
  for (int64_t& arrival_us : times.arrival_us) arrival_us /= 1000;  // all within one interval
  std::vector<int64_t> behind;
  int64_t late = 0;
  for (size_t i = 1; i < times.usable.size(); ++i) {
    const int64_t end_us = times.event_us[i] / kSecondUs * kSecondUs + kSecondUs;
    behind.push_back(times.progress_before[i] - end_us);
    late += behind.back() >= kSecondUs ? 1 : 0;
  }
  std::ranges::sort(behind);
  std::vector<std::string> seen;
  for (const bool partitions : {false, true}) {
    for (const size_t tick : {1U, 1000U, 300'000U}) {
      if (partitions) times.partitions.assign(times.usable.size(), 1);
      Monitor monitor("s", plan_of(kSecondUs));
      for (size_t at = 0; at < times.usable.size(); at += tick)
        monitor.feed(times, at, std::min(at + tick, times.usable.size()), Duration(kSecondUs), kNames);
      monitor.finish(kNames);
      const MonitorReport report = monitor.report();
      EXPECT_EQ(report.series[0].records, static_cast<int64_t>(behind.size()));
      EXPECT_EQ(report.series[0].late, late);
      EXPECT_NEAR(static_cast<double>(report.disorder.count), static_cast<double>(behind.size()), 32);
      const auto p99 = static_cast<double>(behind[behind.size() * 99 / 100]);
      EXPECT_NEAR(static_cast<double>(report.disorder.upper_us[2]), p99, 0.05 * p99);
      seen.push_back(monitor_json(report));
    }
  }
  for (const std::string& one : seen) EXPECT_EQ(one, seen[0]);
}

TEST(Monitor, AnAutomaticDelayGoesUpAtOnceAndDownSlowly) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> law(1e-6);
  // Ten hours: the delays are ten times as long in the second.
  const RecordTimes times = stream(10 * 72'000, [&](int64_t at) {
    return static_cast<int64_t>(law(random) * (at / kHourUs == 1 ? 10 : 1));
  });
  const Followed seen = follow(times, plan_of(kSecondUs), 4 * kSecondUs);
  int64_t greatest = 0;
  int64_t up_at_us = 0;
  for (size_t i = 0; i < seen.changes.size(); ++i) {
    if (seen.changes[i].to_us > 20 * kSecondUs && up_at_us == 0) up_at_us = seen.when_us[i];
    greatest = std::max(greatest, seen.changes[i].to_us);
  }
  EXPECT_GT(greatest, 35 * kSecondUs) << "the longer delays need about 45 s";
  EXPECT_LT(greatest, 90 * kSecondUs);
  EXPECT_GT(up_at_us, kHourUs);
  EXPECT_LT(up_at_us, kHourUs + 180 * kSecondUs) << "up within three intervals";
  // Down by at most a tenth in any hour.
  for (size_t i = 0; i < seen.changes.size(); ++i) {
    for (size_t j = i; j < seen.changes.size() && seen.when_us[j] <= seen.when_us[i] + kHourUs; ++j) {
      EXPECT_GE(static_cast<double>(seen.changes[j].to_us),
                0.87 * static_cast<double>(seen.changes[i].from_us));
    }
  }
  EXPECT_LT(seen.report.delay_us, greatest) << "but down";
  EXPECT_EQ(seen.report.delay_changes, static_cast<int64_t>(seen.changes.size()));
}

TEST(Monitor, AnAutomaticDelayStaysOutOfTheOfflineMode) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> law(1e-6);
  const RecordTimes times = stream(3 * 72'000, [&](int64_t at) {
    const bool offline = at > kHourUs / 2 && random() % 20 == 0;
    return static_cast<int64_t>(law(random)) +
           (offline ? kHourUs / 4 + static_cast<int64_t>(random() % kHourUs) / 8 : 0);
  });
  const Followed seen = follow(times, plan_of(kSecondUs), 4 * kSecondUs);
  for (const DelayChange& change : seen.changes) EXPECT_LT(change.to_us, kHourUs / 4) << change.reason;
  ASSERT_TRUE(seen.report.split_us.has_value());
  EXPECT_GT(*seen.report.split_us, 2 * kSecondUs);
  EXPECT_LT(*seen.report.split_us, kHourUs / 4);
}

std::string saved(const Monitor& monitor) {
  SnapshotWriter out;
  monitor.save(out);
  return out.finish();
}

std::unique_ptr<Monitor> restored(const std::string& bytes, MonitorPlan plan) {
  auto monitor = std::make_unique<Monitor>("s", std::move(plan));
  auto reader = SnapshotReader::open(bytes);
  EXPECT_TRUE(reader.has_value());
  const Status read = monitor->restore(*reader);
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().to_string());
  EXPECT_TRUE(reader->finish().has_value());
  return monitor;
}

// Everything that a monitor says, with one that lives for a single feed when `every` asks for it.
std::string said(const RecordTimes& times, const MonitorPlan& plan, size_t tick, bool every) {
  auto monitor = std::make_unique<Monitor>("s", plan);
  std::string all;
  int64_t delay_us = 2 * kSecondUs;
  for (size_t at = 0; at < times.usable.size(); at += tick) {
    if (every) monitor = restored(saved(*monitor), plan);
    monitor->feed(times, at, std::min(at + tick, times.usable.size()), Duration(delay_us), kNames);
    // Not taken at once, as when a checkpoint comes between.
    if (at / tick % 3 != 0) continue;
    for (const MonitorAlarm& alarm : monitor->take_alarms()) all += alarm_json(alarm) + "\n";
    if (const auto change = monitor->take_delay_change()) {
      all += std::to_string(change->from_us) + " to " + std::to_string(change->to_us) + change->reason + "\n";
      delay_us = change->to_us;
    }
    all += monitor_json(monitor->report()) + "\n";
  }
  monitor->finish(kNames);
  for (const MonitorAlarm& alarm : monitor->take_alarms()) all += alarm_json(alarm) + "\n";
  return all + monitor_json(monitor->report());
}

TEST(Monitor, RestoredAfterEveryFeedSaysTheSame) {
  std::mt19937_64 random(8);
  std::exponential_distribution<double> law(1e-6);
  // Six hours: longer delays in the third, then an offline mode.
  RecordTimes times = stream(6 * 72'000, [&](int64_t at) {
    const bool offline = at > 4 * kHourUs && random() % 20 == 0;
    return static_cast<int64_t>(law(random) * (at / kHourUs == 2 ? 9 : 1)) + (offline ? kHourUs / 4 : 0);
  });
  times.partitions.clear();
  for (size_t i = 0; i < times.usable.size(); ++i)
    times.partitions.push_back(static_cast<PartitionIndex>(random() % 3));
  for (const bool automatic : {false, true}) {
    MonitorPlan plan = plan_of(kSecondUs);
    if (automatic) plan.follow = disorder::DelayFollower::Options{};
    const std::string straight = said(times, plan, 997, false);
    EXPECT_EQ(said(times, plan, 997, true), straight);
    EXPECT_NE(straight.find(automatic ? " to " : "\"kind\":\"late\""), std::string::npos);
  }
}

TEST(Monitor, AReportIsSavedForThoseOutside) {
  std::mt19937_64 random(10);
  const RecordTimes times =
      stream(40'000, [&](int64_t) { return static_cast<int64_t>(random() % 9'000'000); });
  Monitor monitor("s", plan_of(kSecondUs));
  monitor.feed(times, 0, times.usable.size(), Duration(kSecondUs), kNames);
  const MonitorReport report = monitor.report();
  ASSERT_EQ(report.completeness.size(), 5U);
  SnapshotWriter out;
  save(report, out);
  const std::string bytes = out.finish();
  auto reader = SnapshotReader::open(bytes);
  ASSERT_TRUE(reader.has_value());
  const MonitorReport again = restore_monitor_report(*reader);
  EXPECT_TRUE(reader->finish().has_value());
  EXPECT_EQ(monitor_json(again), monitor_json(report));
  MonitorReport::Completeness nearly{.window = {EventTime(0), EventTime(kSecondUs)}, .share = 0.99999};
  EXPECT_EQ(completeness_text(nearly), " 99.9 % of 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z");
}

TEST(Monitor, ADamagedStateIsAnErrorOfTheRestore) {
  std::mt19937_64 random(9);
  const RecordTimes times =
      stream(5'000, [&](int64_t) { return static_cast<int64_t>(random() % 9'000'000); });
  Monitor monitor("s", plan_of(kSecondUs));
  monitor.feed(times, 0, times.usable.size(), Duration(kSecondUs), kNames);
  const std::string whole = saved(monitor);
  constexpr size_t kHead = 24;
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    // The checksum is right, as after a fault of a program that writes.
    std::string payload = whole.substr(kHead);
    if (round % 2 == 0) {
      payload.resize(random() % payload.size());
    } else {
      payload[random() % payload.size()] = static_cast<char>(random());
    }
    SnapshotWriter out;
    out.bytes(payload.data(), payload.size());
    const std::string bytes = out.finish();
    auto reader = SnapshotReader::open(bytes);
    ASSERT_TRUE(reader.has_value());
    Monitor other("s", plan_of(kSecondUs));
    if (!other.restore(*reader)) {
      ++refused;
      continue;
    }
    other.feed(times, 0, times.usable.size(), Duration(kSecondUs), kNames);
    other.finish(kNames);
  }
  EXPECT_GE(refused, 250) << "what is cut off at least";
}

TEST(Monitor, OneWildArrivalTimeDoesNotStopTheIntervals) {
  RecordTimes times = stream(40'000, [](int64_t) { return 1000; });
  times.arrival_us[5000] = 1'000'000 * kHourUs;
  Monitor monitor("s", plan_of(kSecondUs));
  monitor.feed(times, 0, times.usable.size(), Duration(), kNames);
  monitor.finish(kNames);
  EXPECT_GE(monitor.report().intervals, 30);
  EXPECT_EQ(monitor.report().interval_end_us, 39'999 * kSecondUs / 20 + 1000);
}

TEST(Monitor, SaysHowCompleteWindowsAre) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> law(1e-7);
  const RecordTimes times = stream(40'000, [&](int64_t) { return static_cast<int64_t>(law(random)); });
  Monitor monitor("s", plan_of(10 * kSecondUs));
  // Up to the middle of the stream: what is still under way then is known here.
  const size_t end = 20'000;
  monitor.feed(times, 0, end, Duration(), kNames);
  monitor.finish(kNames);
  const int64_t now_us = times.arrival_us[end - 1];
  const MonitorReport report = monitor.report();
  ASSERT_EQ(report.completeness.size(), 5U);
  for (const MonitorReport::Completeness& one : report.completeness) {
    double arrived = 0;
    double all = 0;
    for (size_t i = 0; i < times.usable.size(); ++i) {
      if (times.event_us[i] < one.window.start.micros() || times.event_us[i] >= one.window.end.micros() ||
          times.event_us[i] > now_us)
        continue;
      all += 1;
      arrived += i < end ? 1 : 0;
    }
    // 200 records a window: three standard errors.
    EXPECT_NEAR(one.share, arrived / all, 0.12);
  }
  EXPECT_GT(report.completeness.back().share, 0.97);
}

TEST(Monitor, FewRecordsOrPartitionsWithoutEndAreNoTrouble) {
  Monitor none("s", plan_of(kSecondUs));
  none.finish(kNames);
  EXPECT_EQ(none.report().intervals, 0);
  EXPECT_NE(monitor_text(none.report()).find("too few records"), std::string::npos);

  RecordTimes times = stream(20'000, [](int64_t) { return 1000; });
  std::vector<std::string> names;
  times.partitions.clear();
  for (size_t i = 0; i < times.usable.size(); ++i) {
    times.partitions.push_back(static_cast<PartitionIndex>(i % 1000));
    names.push_back("p");
  }
  Monitor many("s", plan_of(kSecondUs));
  many.feed(times, 0, times.usable.size(), Duration(), names);
  many.finish(names);
  const MonitorReport report = many.report();
  ASSERT_EQ(report.series.size(), 66U) << "all, 64 partitions, and the others together";
  EXPECT_EQ(report.series.back().partition, "(all others)");
  EXPECT_GT(report.series.back().records, 0);
}

}  // namespace
}  // namespace wrackline::runtime
