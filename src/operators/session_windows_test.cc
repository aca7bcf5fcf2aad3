// The rules of sessions, without an engine: against connected components of sorted events.
#include "wrackline/window_session.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace wrackline {
namespace {

struct Span {
  int64_t first_us;
  int64_t last_us;
  int64_t events;
  friend auto operator<=>(const Span&, const Span&) = default;
};

bool same_cell(int64_t a, int64_t b, int64_t max_us) {
  return max_us == 0 || floor_divide(a, max_us) == floor_divide(b, max_us);
}

// Joins spans that belong together: the law read as a batch job.
std::vector<Span> components(std::vector<Span> spans, int64_t gap_us, int64_t max_us) {
  std::ranges::sort(spans);
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (!out.empty() && span.first_us - out.back().last_us < gap_us &&
        same_cell(span.first_us, out.back().last_us, max_us)) {
      out.back().last_us = std::max(out.back().last_us, span.last_us);
      out.back().events += span.events;
    } else {
      out.push_back(span);
    }
  }
  return out;
}

TEST(SessionRules, StrictlyLessThanTheGapBelongsTogether) {
  const SessionRules rules(micros(5));
  EXPECT_TRUE(rules.touches(4, 0, 0));
  EXPECT_FALSE(rules.touches(5, 0, 0));
  EXPECT_TRUE(rules.touches(-4, 0, 0));
  EXPECT_FALSE(rules.touches(-5, 0, 0));
  EXPECT_EQ(rules.window_of(-3, 7), (Window{EventTime(-3), EventTime(12)}));
}

TEST(SessionRules, AMultipleOfTheLongestLengthCuts) {
  const SessionRules rules(micros(20), micros(100));
  EXPECT_EQ(rules.end_of(70), 90);
  EXPECT_EQ(rules.end_of(95), 100);
  EXPECT_EQ(rules.end_of(100), 120);
  EXPECT_EQ(rules.end_of(-1), 0);
  EXPECT_FALSE(rules.touches(100, 99, 99));
  EXPECT_FALSE(rules.touches(99, 100, 100));
  EXPECT_TRUE(rules.touches(99, 80, 81));
}

TEST(SessionRules, HoldsAtTheEndsOfTime) {
  for (const Duration greatest : {Duration(2 * kEventMicrosLimit + 1), Duration::infinite()}) {
    const SessionRules rules(greatest);
    EXPECT_TRUE(rules.touches(kEventMicrosLimit, -kEventMicrosLimit, -kEventMicrosLimit));
    EXPECT_EQ(rules.end_of(kEventMicrosLimit), 3 * kEventMicrosLimit + 1);
    const SessionRules cut(greatest, Duration::infinite());
    EXPECT_FALSE(cut.touches(0, -1, -1)) << "zero is a multiple of every length";
    EXPECT_TRUE(cut.touches(0, kEventMicrosLimit, kEventMicrosLimit));
  }
}

TEST(SessionWindows, ARecordMayLengthenAnOpenSessionHoweverOldItIs) {
  SessionWindows sessions(SessionRules(micros(10)), LateRouter({}));
  for (int64_t t = 0; t <= 90; t += 9) sessions.add(EventTime(t), EventTime(t));
  const auto judgement = sessions.add(EventTime(-9), EventTime(95));
  EXPECT_EQ(judgement.verdict, LateVerdict::kOnTime);
  EXPECT_EQ(judgement.window, (Window{EventTime(-9), EventTime(100)}));
  ASSERT_EQ(judgement.replaced.size(), 1U);
  EXPECT_EQ(judgement.replaced[0], (Window{EventTime(0), EventTime(100)}));
}

TEST(SessionWindows, AForgottenSessionIsNotReachedThroughALiveOne) {
  SessionWindows sessions(SessionRules(micros(5)), LateRouter({}));
  sessions.add(EventTime(0), EventTime(0));
  // At 10 the ghost of [0, 5) goes; a session from 6 on is admissible and could grow back to it.
  EXPECT_EQ(sessions.add(EventTime(6), EventTime(10)).verdict, LateVerdict::kOnTime);
  EXPECT_FALSE(sessions.ghost());
  const auto judgement = sessions.add(EventTime(4), EventTime(10));
  EXPECT_EQ(judgement.verdict, LateVerdict::kLedgered);
  EXPECT_EQ(judgement.window, (Window{EventTime(4), EventTime(9)}));
}

TEST(SessionWindows, TheGhostStaysWhileASessionIsLive) {
  SessionWindows sessions(SessionRules(micros(5)), LateRouter({}));
  sessions.add(EventTime(0), EventTime(0));
  sessions.add(EventTime(8), EventTime(9));
  sessions.add(EventTime(12), EventTime(11));
  const auto judgement = sessions.add(EventTime(4), EventTime(16));
  EXPECT_TRUE(judgement.touches_ghost);
  EXPECT_EQ(judgement.verdict, LateVerdict::kLedgered);
  EXPECT_EQ(judgement.window, (Window{EventTime(0), EventTime(5)}));
}

TEST(SessionWindows, RandomStreamsEqualTheBatchWithTheLateOnesAdded) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t gap = pick(1, 15);
    const int64_t max = pick(0, 2) == 0 ? pick(1, 60) : 0;
    const int64_t delay = pick(0, 10);
    const int64_t lateness = pick(0, 1) == 0 ? 0 : pick(0, 30);
    SessionWindows sessions(
        max == 0 ? SessionRules(micros(gap)) : SessionRules(micros(gap), micros(max)),
        LateRouter({.policy = LatePolicy::kCorrect, .allowed_lateness = micros(lateness)}));
    const SessionRules rules = max == 0 ? SessionRules(micros(gap)) : SessionRules(micros(gap), micros(max));
    std::vector<Span> accepted;
    std::vector<Span> late;
    std::vector<SessionWindows::Session> sealed;
    int64_t clock = pick(-200, 200);
    int64_t greatest = kMicrosMin;
    int64_t watermark = kMicrosMin;
    // Other keys may move the watermark: a key's sessions and its ghost can go while it is silent.
    const bool is_alone = pick(0, 1) == 0;
    const int64_t step = pick(2, 12);
    for (int i = 0; i < 300; ++i) {
      clock += pick(0, step);
      const int64_t event = clock - (pick(0, 9) < 8 ? pick(0, 3 * step) : pick(0, 120));
      if (!is_alone && pick(0, 2) != 0) {
        greatest = std::max(greatest, event);
        watermark = std::max(watermark, greatest - delay);
        continue;
      }
      sessions.advance(EventTime(watermark), &sealed);
      const auto judgement = sessions.add(EventTime(event), EventTime(watermark));
      const bool is_in =
          judgement.verdict == LateVerdict::kOnTime || judgement.verdict == LateVerdict::kCorrects;
      (is_in ? accepted : late).push_back({event, event, 1});
      EXPECT_EQ(judgement.verdict == LateVerdict::kOnTime, watermark < judgement.window.end.micros());
      // A record that is admissible alone is late only for the sake of a sealed session.
      const bool is_late_alone = watermark >= rules.end_of(event) + lateness;
      EXPECT_TRUE(is_in || judgement.touches_ghost || is_late_alone);
      greatest = std::max(greatest, event);
      watermark = std::max(watermark, greatest - delay);
    }
    sessions.advance(EventTime(kMicrosMax), &sealed);
    std::vector<Span> published;
    for (const auto& session : sealed) {
      published.push_back({session.first_us, session.last_us, session.events});
      EXPECT_LE(rules.end_of(session.last_us) - session.first_us, max == 0 ? kMicrosMax : max);
    }
    std::ranges::sort(published);
    ASSERT_EQ(published, components(accepted, gap, max)) << "seed " << seed;
    std::vector<Span> all = accepted;
    all.insert(all.end(), late.begin(), late.end());
    std::vector<Span> corrected = published;
    corrected.insert(corrected.end(), late.begin(), late.end());
    ASSERT_EQ(components(corrected, gap, max), components(all, gap, max)) << "seed " << seed;
  }
}

TEST(SessionWindows, WithoutLateRecordsTheOrderDoesNotMatter) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> events(60);
    for (int64_t& event : events) event = std::uniform_int_distribution<int64_t>(-300, 300)(random);
    std::set<std::vector<std::tuple<int64_t, int64_t, int64_t>>> results;
    for (int order = 0; order < 4; ++order) {
      SessionWindows sessions(SessionRules(micros(9), micros(50)), LateRouter({}));
      for (const int64_t event : events) sessions.add(EventTime(event), EventTime(kMicrosMin));
      std::vector<std::tuple<int64_t, int64_t, int64_t>> result;
      for (const auto& session : sessions.live()) {
        result.emplace_back(session.first_us, session.last_us, session.events);
      }
      results.insert(result);
      std::ranges::shuffle(events, random);
    }
    EXPECT_EQ(results.size(), 1U);
  }
}

}  // namespace
}  // namespace wrackline
