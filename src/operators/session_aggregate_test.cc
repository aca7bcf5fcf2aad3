#include "operators/session_aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators/session_harness_test.h"

namespace wrackline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Rows = std::vector<PublishedRow>;

PublishedRow on_time(SessionRow row) {
  return {std::move(row), "insert", 1, "on_time"};
}

// One tick a record.
void play(SessionHarness& harness, const std::vector<SessionRecord>& records) {
  for (const SessionRecord& record : records) harness.tick({record});
}

TEST(SessionAggregate, ALateRecordJoinsTwoPublishedSessions) {
  SessionHarness harness({.gap_us = 5000, .lateness_us = 20000});
  play(harness, {{"a", 1000}, {"a", 9000}, {"z", 14000}, {"a", 5500}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(),
              ElementsAre(SessionRow{"a", 1000, 14000, 3, 3}, SessionRow{"z", 14000, 19000, 1, 1}));
  EXPECT_EQ(harness.published, (Rows{on_time({"a", 1000, 6000, 1, 1}),
                                     on_time({"a", 9000, 14000, 1, 1}),
                                     {{"a", 1000, 6000, 1, 1}, "retract", 2, "correction"},
                                     {{"a", 9000, 14000, 1, 1}, "retract", 2, "correction"},
                                     {{"a", 1000, 14000, 3, 3}, "insert", 1, "correction"},
                                     on_time({"z", 14000, 19000, 1, 1})}));
  EXPECT_EQ(harness.published_changelog[2].version, 1);
  EXPECT_EQ(harness.upserts.rows(), harness.changelog.rows());
  EXPECT_THAT(harness.entries(), IsEmpty());
  EXPECT_EQ(harness.view().balance().total().corrected, 1);
  EXPECT_EQ(harness.view().statistics().retractions, 2);
  EXPECT_EQ(harness.view().statistics().corrections, 1);
  EXPECT_EQ(harness.view().statistics().windows_closed, 3);
}

TEST(SessionAggregate, WithoutLatenessARecordBesideASealedSessionIsLedgered) {
  SessionHarness harness({.gap_us = 5});
  play(harness, {{"a", 0}, {"z", 6}, {"a", 3}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(), ElementsAre(SessionRow{"a", 0, 5, 1, 1}, SessionRow{"z", 6, 11, 1, 1}));
  const auto entries = harness.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].reason, Reason::kLateSession);
  EXPECT_EQ(entries[0].event_time_us, 3);
  ASSERT_EQ(entries[0].windows.size(), 1U);
  EXPECT_EQ(entries[0].windows[0].start_us, 0);
  EXPECT_EQ(entries[0].windows[0].end_us, 5);
  EXPECT_EQ(entries[0].windows[0].late_by_us, 1);
}

TEST(SessionAggregate, ASessionClosesWhenTheWatermarkReachesItsEnd) {
  SessionHarness harness({.gap_us = 5000});
  play(harness, {{"a", 1000}, {"z", 5999}});
  EXPECT_THAT(harness.published, IsEmpty());
  play(harness, {{"z", 6000}});
  EXPECT_EQ(harness.published, (Rows{on_time({"a", 1000, 6000, 1, 1})}));
}

TEST(SessionAggregate, ALateRecordDoesNotSlideIntoTheNextSession) {
  SessionHarness harness({.gap_us = 1000});
  play(harness, {{"a", 1000}, {"a", 50000}, {"a", 2500}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(),
              ElementsAre(SessionRow{"a", 1000, 2000, 1, 1}, SessionRow{"a", 50000, 51000, 1, 1}));
  const auto entries = harness.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].reason, Reason::kLate);
  EXPECT_EQ(entries[0].windows[0].start_us, 2500);
  EXPECT_EQ(entries[0].windows[0].end_us, 3500);
  EXPECT_EQ(entries[0].windows[0].late_by_us, 46500);
}

TEST(SessionAggregate, AQuietKeysSessionCloses) {
  SessionHarness harness({.gap_us = 5000});
  play(harness, {{"A", 1000}, {"B", 20000}});
  EXPECT_EQ(harness.published, (Rows{on_time({"A", 1000, 6000, 1, 1})}));
  EXPECT_THAT(harness.entries(), IsEmpty());
}

TEST(SessionAggregate, TheFirstEventsMayComeOutOfOrder) {
  SessionHarness harness({.gap_us = 10000});
  play(harness, {{"a", 5000}, {"a", 1000}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(), ElementsAre(SessionRow{"a", 1000, 15000, 2, 2}));
  EXPECT_THAT(harness.entries(), IsEmpty());
  EXPECT_EQ(harness.view().statistics().behind_watermark, 1);
}

TEST(SessionAggregate, ALongestLengthCuts) {
  SessionHarness harness({.gap_us = 20000, .max_length_us = 600000});
  std::vector<SessionRecord> records;
  for (int64_t t = 0; t < 3600000; t += 10000) records.push_back({"a", t});
  harness.tick(records);
  harness.end();
  const auto rows = harness.upserts.rows();
  ASSERT_EQ(rows.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(rows[i].start_us, static_cast<int64_t>(i) * 600000);
    EXPECT_EQ(rows[i].count, 60);
  }
  EXPECT_EQ(rows[0].end_us, 600000);
  EXPECT_EQ(rows[5].end_us, 3600000);
}

TEST(SessionAggregate, AnOlderRecordDoesNotMoveTimeBack) {
  SessionHarness harness({.gap_us = 100});
  play(harness, {{"b", 250}, {"a", 200}});
  EXPECT_EQ(harness.watermark_us(), 250);
  EXPECT_THAT(harness.published, IsEmpty());
  EXPECT_THAT(harness.entries(), IsEmpty());
  EXPECT_EQ(harness.view().live_windows(), 2U);
}

TEST(SessionAggregate, APublishedSessionThatOpensAgainIsWithdrawnUntilItCloses) {
  SessionHarness harness({.gap_us = 10, .lateness_us = 100});
  play(harness, {{"a", 0}, {"z", 12}, {"a", 8, 5}});
  EXPECT_EQ(harness.published,
            (Rows{on_time({"a", 0, 10, 1, 1}), {{"a", 0, 10, 1, 1}, "retract", 2, "correction"}}));
  EXPECT_EQ(harness.view().balance().total().corrected, 0) << "it is on time for the session as it is now";
  play(harness, {{"z", 18}});
  EXPECT_EQ(harness.published.back(), on_time({"a", 0, 18, 2, 6}));
}

TEST(SessionAggregate, AChangeWithinTheWindowIsItsNextVersion) {
  SessionHarness harness({.gap_us = 10, .lateness_us = 100});
  play(harness, {{"a", 0}, {"a", 5}, {"z", 20}});
  harness.tick({{"a", 2, 3}, {"a", 3, 4}});
  EXPECT_EQ(harness.published.back(), (PublishedRow{{"a", 0, 15, 4, 9}, "update", 2, "correction"}));
  ASSERT_EQ(harness.published_changelog.size(), 3U);
  EXPECT_EQ(harness.published_changelog[1], (PublishedRow{{"a", 0, 15, 2, 2}, "retract", 1, "correction"}));
  EXPECT_EQ(harness.published_changelog[2], (PublishedRow{{"a", 0, 15, 4, 9}, "insert", 2, "correction"}));
}

TEST(SessionAggregate, TheFirstVersionHoldsWhatWasThereWhenTheSessionClosed) {
  SessionHarness harness({.gap_us = 10, .lateness_us = 100});
  harness.tick({{"a", 0}, {"z", 10}, {"a", 0, 7}});
  EXPECT_EQ(harness.published,
            (Rows{on_time({"a", 0, 10, 1, 1}), {{"a", 0, 10, 2, 8}, "update", 2, "correction"}}));
}

TEST(SessionAggregate, AnOldRowHoldsWhatReadersHave) {
  // The window changes twice in one tick, first inside, then beyond.
  SessionHarness harness({.gap_us = 10, .lateness_us = 100});
  play(harness, {{"a", 0}, {"z", 50}});
  harness.tick({{"a", 0, 7}, {"a", 9, 1}});
  EXPECT_EQ(harness.published[1], (PublishedRow{{"a", 0, 10, 1, 1}, "retract", 2, "correction"}));
  EXPECT_EQ(harness.published[2], (PublishedRow{{"a", 0, 19, 3, 9}, "insert", 1, "correction"}));
}

TEST(SessionAggregate, RowsThatClosedTogetherComeInTheOrderOfKeys) {
  SessionHarness harness({.gap_us = 10});
  harness.tick({{"c", 0}, {"a", 0}, {"d", -1}, {"b", 0}, {"z", 40}});
  std::string order;
  for (const PublishedRow& row : harness.published) order += row.row.key;
  EXPECT_EQ(order, "dabc");
}

TEST(SessionAggregate, LatePoliciesAndHorizon) {
  const std::vector<SessionRecord> records = {{"a", 0}, {"z", 100}, {"a", 85}, {"a", 3}};
  SessionHarness ledger({.gap_us = 10, .lateness_us = 50, .policy = LatePolicy::kLedger});
  play(ledger, records);
  EXPECT_EQ(ledger.view().balance().total().ledgered, 2);
  SessionHarness drop({.gap_us = 10, .policy = LatePolicy::kDrop});
  play(drop, records);
  EXPECT_EQ(drop.view().balance().total().dropped[static_cast<size_t>(Reason::kLate)], 2);
  EXPECT_THAT(drop.entries(), IsEmpty());
  SessionHarness horizon({.gap_us = 10, .horizon_us = 20});
  play(horizon, records);
  EXPECT_EQ(horizon.view().balance().total().dropped[static_cast<size_t>(Reason::kPastHorizon)], 1);
  EXPECT_EQ(horizon.view().balance().total().ledgered, 1);
}

TEST(SessionAggregate, ARowThatNoLongerPassesHavingIsWithdrawn) {
  SessionHarness harness({.gap_us = 10, .lateness_us = 100, .having_count = 1});
  play(harness, {{"a", 0}, {"b", 0}, {"b", 1}, {"z", 50}});
  EXPECT_EQ(harness.published, (Rows{on_time({"b", 0, 11, 2, 2})}));
  play(harness, {{"a", 0}});
  EXPECT_EQ(harness.published.back(), (PublishedRow{{"a", 0, 10, 2, 2}, "insert", 1, "correction"}));
}

TEST(SessionAggregate, EarlyRowsAreReplacedByTheNextOnes) {
  SessionHarness harness({.gap_us = 100, .early = EarlyOptions{.every = micros(50)}});
  harness.tick({{"a", 0}, {"b", 0}});
  harness.tick({{"a", 60}});
  EXPECT_EQ(harness.published,
            (Rows{{{"b", 0, 100, 1, 1}, "insert", 1, "early"}, {{"a", 0, 160, 2, 2}, "insert", 1, "early"}}));
  harness.tick({{"a", 70}});
  EXPECT_EQ(harness.published.size(), 2U);
  harness.tick({{"a", 99}, {"a", 101}});
  EXPECT_EQ(Rows(harness.published.begin() + 2, harness.published.end()),
            (Rows{{{"a", 0, 160, 2, 2}, "retract", 2, "early"},
                  {{"b", 0, 100, 1, 1}, "update", 2, "on_time"},
                  {{"a", 0, 201, 5, 5}, "insert", 1, "early"}}));
}

TEST(SessionAggregate, EarlyRowsByTheWallClock) {
  SessionHarness harness({.gap_us = 100, .early = EarlyOptions{.every = micros(10), .wall_time = true}});
  harness.tick({{"a", 0}}, 5);
  EXPECT_THAT(harness.published, IsEmpty());
  harness.tick({}, 11);
  EXPECT_EQ(harness.published.size(), 1U);
  harness.tick({}, 29);
  EXPECT_EQ(harness.published.size(), 1U) << "nothing has changed";
  harness.tick({{"a", 0}}, 31);
  EXPECT_EQ(harness.published.back(), (PublishedRow{{"a", 0, 100, 2, 2}, "update", 2, "early"}));
  EXPECT_EQ(harness.published_changelog[1], (PublishedRow{{"a", 0, 100, 1, 1}, "retract", 1, "early"}));
  harness.end();
  EXPECT_EQ(harness.published.back(), (PublishedRow{{"a", 0, 100, 2, 2}, "update", 3, "on_time"}));
  EXPECT_EQ(harness.view().statistics().early, 2);
}

TEST(SessionAggregate, AValueThatASumCannotHoldIsLeftOutAndLedgered) {
  SessionHarness harness({.gap_us = 10, .huge_values = true});
  harness.tick({{"a", 0, 1}, {"a", 30, 1}, {"a", 5, 1}, {"a", 31, 1}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(),
              ElementsAre(SessionRow{"a", 0, 10, 1, 1}, SessionRow{"a", 30, 41, 2, 1}))
      << "count(*) has the record";
  const auto entries = harness.entries();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].reason, Reason::kLateSession);
  EXPECT_EQ(entries[1].offset, 3);
  EXPECT_EQ(entries[1].reason, Reason::kOutOfRange);
  EXPECT_EQ(entries[1].windows[0].start_us, 31);
  EXPECT_EQ(harness.view().balance().total().accepted_partially, 1);
  EXPECT_TRUE(harness.view().balance().balanced());
}

TEST(SessionAggregate, AForgottenSessionIsNotReachedThroughALiveOne) {
  SessionHarness harness({.gap_us = 5});
  play(harness, {{"a", 0}, {"z", 10}, {"a", 6}, {"a", 4}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(), ElementsAre(SessionRow{"a", 0, 5, 1, 1}, SessionRow{"a", 6, 11, 1, 1},
                                                  SessionRow{"z", 10, 15, 1, 1}));
  const auto entries = harness.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].reason, Reason::kLate);
  EXPECT_EQ(entries[0].windows[0].start_us, 4);
}

TEST(SessionAggregate, AGapGreaterThanAllTimeIsOneSession) {
  SessionHarness harness({.gap_us = kMicrosMax, .lateness_us = kMicrosMax});
  play(harness, {{"a", -kEventMicrosLimit}, {"a", kEventMicrosLimit}, {"a", 0}});
  harness.end();
  EXPECT_THAT(harness.upserts.rows(),
              ElementsAre(SessionRow{"a", -kEventMicrosLimit, 3 * kEventMicrosLimit + 1, 3, 3}));
}

TEST(SessionAggregate, AKeyWithManyLiveSessionsIsSearchedFromTheNewest) {
  SessionHarness harness({.gap_us = 10, .lateness_us = 1000000});
  std::vector<SessionRecord> records;
  for (int64_t i = 0; i < 5000; ++i) records.push_back({"a", i * 15});
  harness.tick(records);
  EXPECT_EQ(harness.view().live_windows(), 5000U);
  harness.tick({{"a", 7}, {"a", 49995}});
  harness.end();
  EXPECT_EQ(harness.upserts.rows().size(), 4999U);
}

TEST(SessionAggregate, KeysThatAreGoneLeaveTheTable) {
  SessionHarness harness({.gap_us = 10});
  size_t most = 0;
  for (int64_t i = 0; i < 200; ++i) {
    std::vector<SessionRecord> records;
    for (int64_t k = 0; k < 100; ++k) records.push_back({"key" + std::to_string(i * 100 + k), i * 30});
    harness.tick(records);
    most = std::max(most, harness.view().state_bytes());
  }
  EXPECT_LT(most, 1000000U) << "20,000 keys passed, 200 at a time";
}

}  // namespace
}  // namespace wrackline
