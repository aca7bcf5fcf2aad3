// Random streams through the session operator: against the rules without an engine, record by record, and
// against connected components of what was accepted.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "operators/session_harness_test.h"

namespace wrackline {
namespace {

struct Stream {
  SessionTest test;
  std::vector<SessionRecord> records;
};

Stream random_stream(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Stream stream;
  stream.test.gap_us = pick(1, 15);
  if (pick(0, 3) == 0) stream.test.max_length_us = pick(1, 60);
  stream.test.delay_us = pick(0, 10);
  stream.test.lateness_us = pick(0, 2) == 0 ? 0 : pick(0, 40);
  stream.test.policy = std::array{LatePolicy::kCorrect, LatePolicy::kCorrect, LatePolicy::kLedger,
                                  LatePolicy::kDrop}[static_cast<size_t>(pick(0, 3))];
  if (pick(0, 4) == 0) stream.test.horizon_us = pick(1, 60);
  if (pick(0, 3) == 0) stream.test.early = EarlyOptions{.every = micros(pick(1, 30))};
  if (pick(0, 4) == 0) stream.test.having_count = pick(1, 3);
  stream.test.partitions = static_cast<size_t>(pick(1, 3));
  stream.test.has_key = pick(0, 7) != 0;
  const int64_t keys = stream.test.has_key ? pick(1, 4) : 1;
  int64_t clock = pick(-200, 200);
  for (int i = 0; i < 250; ++i) {
    clock += pick(0, 12 / keys);
    stream.records.push_back(
        {std::string(1, static_cast<char>('a' + pick(0, keys - 1))),
         clock - (pick(0, 9) < 8 ? pick(0, 8) : pick(0, 120)), pick(-5, 5),
         static_cast<PartitionIndex>(pick(0, static_cast<int64_t>(stream.test.partitions) - 1))});
  }
  if (!stream.test.has_key) {
    for (SessionRecord& record : stream.records) record.key = "(null)";
  }
  return stream;
}

struct Fate {
  Reason reason;
  int64_t start_us;
  int64_t end_us;
  bool dropped;
  friend auto operator<=>(const Fate&, const Fate&) = default;
};

// What the rules say of each record, by its offset; those not listed are accepted.
std::map<int64_t, Fate> expected_fates(const Stream& stream, const std::vector<int64_t>& watermarks) {
  const SessionTest& test = stream.test;
  std::optional<Duration> max;
  if (test.max_length_us) max = Duration(*test.max_length_us);
  std::optional<Duration> horizon;
  if (test.horizon_us) horizon = Duration(*test.horizon_us);
  const SessionRules rules(Duration(test.gap_us), max);
  const LateRouter router({test.policy, Duration(test.lateness_us), horizon});
  std::map<std::string, SessionWindows> by_key;
  std::map<int64_t, Fate> fates;
  for (size_t i = 0; i < stream.records.size(); ++i) {
    const SessionRecord& record = stream.records[i];
    SessionWindows& sessions = by_key.try_emplace(record.key, rules, router).first->second;
    const auto judged = sessions.add(EventTime(record.event_us), EventTime(watermarks[i]));
    if (judged.verdict == LateVerdict::kOnTime || judged.verdict == LateVerdict::kCorrects) continue;
    const Reason late = judged.touches_ghost ? Reason::kLateSession : Reason::kLate;
    const bool past = judged.verdict == LateVerdict::kPastHorizon;
    fates[static_cast<int64_t>(i)] = {past ? Reason::kPastHorizon : late, judged.window.start.micros(),
                                      judged.window.end.micros(),
                                      past || judged.verdict == LateVerdict::kDropped};
  }
  return fates;
}

std::vector<SessionRow> batch_sessions(const Stream& stream, const std::map<int64_t, Fate>& not_accepted) {
  const SessionTest& test = stream.test;
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> by_key;
  for (size_t i = 0; i < stream.records.size(); ++i) {
    if (not_accepted.contains(static_cast<int64_t>(i))) continue;
    by_key[stream.records[i].key].emplace_back(stream.records[i].event_us, stream.records[i].value);
  }
  std::vector<SessionRow> rows;
  const int64_t max = test.max_length_us.value_or(0);
  for (auto& [key, events] : by_key) {
    std::ranges::sort(events);
    int64_t last = 0;
    bool first = true;
    for (const auto& [event, value] : events) {
      const bool same_cell = max == 0 || floor_divide(event, max) == floor_divide(last, max);
      if (first || event - last >= test.gap_us || !same_cell) rows.push_back({key, event, 0, 0, 0});
      first = false;
      last = event;
      rows.back().end_us = event + test.gap_us;
      if (max != 0) rows.back().end_us = std::min(rows.back().end_us, (floor_divide(event, max) + 1) * max);
      ++rows.back().count;
      rows.back().sum += value;
    }
  }
  std::erase_if(rows, [&](const SessionRow& row) { return row.count <= test.having_count; });
  return rows;
}

std::set<PublishedRow> on_time_rows(const SessionHarness& harness) {
  std::set<PublishedRow> rows;
  for (PublishedRow row : harness.published) {
    if (row.status != "on_time") continue;
    row.version = 0;  // early versions, whose number depends on ticks, may have come before
    row.op = "";
    rows.insert(row);
  }
  return rows;
}

void check(const Stream& stream, SessionHarness& harness) {
  const std::map<int64_t, Fate> expected = expected_fates(stream, harness.watermarks);
  std::map<int64_t, Fate> ledgered;
  for (const auto& [offset, fate] : expected) {
    if (!fate.dropped) ledgered.emplace(offset, fate);
  }
  std::map<int64_t, Fate> found;
  int64_t before = -1;
  for (const ledger::Entry& entry : harness.entries()) {
    EXPECT_GT(entry.offset, before) << "entries come in the order of records";
    before = entry.offset;
    ASSERT_EQ(entry.windows.size(), 1U);
    found[entry.offset] = {entry.reason, entry.windows[0].start_us, entry.windows[0].end_us, false};
  }
  EXPECT_EQ(found, ledgered);
  const FateCounts total = harness.view().balance().total();
  EXPECT_EQ(total.read, static_cast<int64_t>(stream.records.size()));
  EXPECT_EQ(total.accepted, total.read - static_cast<int64_t>(expected.size()));
  EXPECT_EQ(total.dropped_total(), static_cast<int64_t>(expected.size() - ledgered.size()));
  EXPECT_EQ(harness.upserts.rows(), batch_sessions(stream, expected));
  EXPECT_EQ(harness.changelog.rows(), harness.upserts.rows());
}

class RandomSessions : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomSessions, PublishTheBatchRecountWhateverTheTicks) {
  for (uint32_t seed = GetParam(); seed < GetParam() + 100; ++seed) {
    SCOPED_TRACE(seed);
    const Stream stream = random_stream(seed);
    std::set<PublishedRow> first_versions;
    for (const size_t rows : {1, 7, 4096}) {
      SCOPED_TRACE(rows);
      SessionHarness harness(stream.test);
      for (size_t begin = 0; begin < stream.records.size(); begin += rows) {
        const size_t end = std::min(stream.records.size(), begin + rows);
        harness.tick({stream.records.begin() + static_cast<ptrdiff_t>(begin),
                      stream.records.begin() + static_cast<ptrdiff_t>(end)});
      }
      harness.end();
      check(stream, harness);
      if (rows == 1) first_versions = on_time_rows(harness);
      EXPECT_EQ(on_time_rows(harness), first_versions);
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSessions, ::testing::Values(0, 1000, 2000, 3000, 4000));

}  // namespace
}  // namespace wrackline
