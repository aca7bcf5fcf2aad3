#include <gtest/gtest.h>

#include <vector>

#include "wrackline/late_router.h"
#include "wrackline/time.h"
#include "wrackline/window_hopping.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {
namespace {

TEST(TumblingWindows, FloorTowardMinusInfinity) {
  constexpr TumblingWindows windows(millis(10000));
  EXPECT_EQ(windows.start_of(-10001 * 1000), -20000 * 1000);
  EXPECT_EQ(windows.start_of(-10000 * 1000), -10000 * 1000);
  EXPECT_EQ(windows.start_of(-1), -10000 * 1000);
  EXPECT_EQ(windows.start_of(0), 0);
}

TEST(TumblingWindows, OffsetStandsForItselfModuloSize) {
  constexpr TumblingWindows windows(millis(10), millis(-7));
  EXPECT_EQ(windows.offset(), millis(3));
  EXPECT_EQ(windows.start_of(3000), 3000);
  EXPECT_EQ(windows.start_of(2999), -7000);
}

TEST(TumblingWindows, EdgesAtTheEndsOfTheRange) {
  constexpr TumblingWindows windows{Duration(kEventMicrosLimit)};
  EXPECT_EQ(windows.start_of(-kEventMicrosLimit), -kEventMicrosLimit);
  EXPECT_EQ(windows.start_of(kEventMicrosLimit), kEventMicrosLimit);
  constexpr TumblingWindows small(millis(1));
  EXPECT_EQ(small.edge_at_or_before(kMicrosMin), kMicrosMin);
  EXPECT_EQ(small.edge_at_or_before(kMicrosMax), kMicrosMax);
  EXPECT_EQ(small.edge_at_or_before(1999), 1000);
  EXPECT_EQ(small.edge_at_or_before(2000), 2000);
}

std::vector<int64_t> starts_of(const HoppingWindows& windows, int64_t event_us) {
  std::vector<int64_t> starts;
  windows.for_each_window_of(EventTime(event_us), [&](const Window& window) {
    EXPECT_LE(window.start.micros(), event_us);
    EXPECT_LT(event_us, window.end.micros());
    starts.push_back(window.start.micros());
  });
  return starts;
}

TEST(HoppingWindows, EveryWindowThatHoldsATime) {
  constexpr HoppingWindows windows(micros(5), micros(12), micros(1));
  EXPECT_EQ(starts_of(windows, 1), (std::vector<int64_t>{-9, -4, 1}));
  EXPECT_EQ(starts_of(windows, 3), (std::vector<int64_t>{-4, 1}));
  EXPECT_EQ(starts_of(windows, -1), (std::vector<int64_t>{-9, -4}));
}

TEST(HoppingWindows, TimesBetweenWindowsAreInNone) {
  constexpr HoppingWindows windows(micros(10), micros(3));
  EXPECT_EQ(starts_of(windows, 12), (std::vector<int64_t>{10}));
  EXPECT_EQ(starts_of(windows, 13), (std::vector<int64_t>{}));
  EXPECT_EQ(starts_of(windows, -1), (std::vector<int64_t>{}));
}

TEST(LateRouter, TheThreeLinesOfTheLaw) {
  constexpr LateRouter router({.allowed_lateness = millis(5)});
  constexpr EventTime end(10000);
  EXPECT_EQ(router.route(end, EventTime(9999)), LateVerdict::kOnTime);
  EXPECT_EQ(router.route(end, EventTime(10000)), LateVerdict::kCorrects);
  EXPECT_EQ(router.route(end, EventTime(14999)), LateVerdict::kCorrects);
  EXPECT_EQ(router.route(end, EventTime(15000)), LateVerdict::kLedgered);
  EXPECT_EQ(LateRouter::late_by(end, EventTime(10000)), micros(0));
}

TEST(LateRouter, HugeLatenessNeverSeals) {
  constexpr LateRouter router({.allowed_lateness = Duration::infinite()});
  EXPECT_EQ(router.route(EventTime(1000), EventTime(kEventMicrosLimit)), LateVerdict::kCorrects);
}

TEST(LateRouter, ZeroMeansZero) {
  constexpr LateRouter router({});
  EXPECT_EQ(router.route(EventTime(1000), EventTime(1000)), LateVerdict::kLedgered);
}

TEST(LateRouter, HorizonAndPolicies) {
  constexpr LateRouter near({.ledger_horizon = micros(50)});
  EXPECT_EQ(near.route(EventTime(1000), EventTime(1050)), LateVerdict::kLedgered);
  EXPECT_EQ(near.route(EventTime(1000), EventTime(1051)), LateVerdict::kPastHorizon);
  constexpr LateRouter ledger({.policy = LatePolicy::kLedger, .allowed_lateness = seconds(9)});
  EXPECT_EQ(ledger.route(EventTime(1000), EventTime(1000)), LateVerdict::kLedgered);
  constexpr LateRouter drop({.policy = LatePolicy::kDrop});
  EXPECT_EQ(drop.route(EventTime(1000), EventTime(999)), LateVerdict::kOnTime);
  EXPECT_EQ(drop.route(EventTime(1000), EventTime(1000)), LateVerdict::kDropped);
}

TEST(Time, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(EventTime(kMicrosMax - 1) + micros(5), EventTime::plus_infinity());
  EXPECT_EQ(EventTime(kMicrosMin + 1) - micros(5), EventTime::minus_infinity());
  EXPECT_EQ(EventTime::minus_infinity() - micros(-5), EventTime::minus_infinity());
  EXPECT_EQ(arrival_delay(ArrivalTime(5), EventTime(7)), micros(-2));
  EXPECT_EQ(millis(kMicrosMax), Duration::infinite());
}

}  // namespace
}  // namespace wrackline
