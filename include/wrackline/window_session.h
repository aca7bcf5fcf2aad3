// Session windows: events of one key that follow each other within a gap.
//
// Two events belong together iff their distance is strictly less than the gap, so a session is
// [first, last + gap), and two events belong together iff the windows [t, t + gap) that each would have
// alone overlap.
//
// A longest length cuts: at every whole multiple of it since 1970, a session ends and the next event begins
// another. Nothing spans a multiple, so no session is longer than that, and the pieces are a function of the
// set of events alone: a limit counted from a session's first event would make them depend on which event
// came first, and would move every later cut when an older event arrives. The price: a short session that
// lies across a multiple is cut as well.
//
// Source: docs/semantics.md section 4; KIP-94 (merging sessions: delete the old, insert the new).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "wrackline/late_router.h"
#include "wrackline/time.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {

// The arithmetic of sessions. Requires of every time given: |t| <= kEventMicrosLimit.
class SessionRules {
 public:
  // Requires: gap and longest length are more than nothing. What is greater than any distance between two
  // times counts as just greater, so that no sum overflows.
  explicit constexpr SessionRules(Duration gap, std::optional<Duration> max_length = std::nullopt)
      : gap_us_(std::min(gap.micros(), 2 * kEventMicrosLimit + 1)),
        max_us_(max_length ? std::min(max_length->micros(), 2 * kEventMicrosLimit) : 0) {}

  constexpr Duration gap() const { return Duration(gap_us_); }
  // Where a session whose last event is at `last_us` ends.
  constexpr int64_t end_of(int64_t last_us) const {
    const int64_t end = last_us + gap_us_;
    if (max_us_ == 0) return end;
    return std::min(end, (floor_divide(last_us, max_us_) + 1) * max_us_);
  }
  constexpr Window window_of(int64_t first_us, int64_t last_us) const {
    return {EventTime(first_us), EventTime(end_of(last_us))};
  }
  // Whether an event at event_us belongs to the session of the events from first_us to last_us.
  constexpr bool touches(int64_t event_us, int64_t first_us, int64_t last_us) const {
    return event_us < end_of(last_us) && first_us < end_of(event_us);
  }

 private:
  int64_t gap_us_;
  int64_t max_us_;  // 0: none
};

// The sessions of one key, judged record by record: what is live, and what is sealed but must not be touched.
//
// Merge first, then judge: a record joins every live session that it touches, and is late only if the merged
// session is. So a record that lengthens an open session is on time, however old it is. A record that touches
// none is judged by the session that it would be alone.
//
// A sealed session (W >= end + allowed lateness) leaves its bounds behind, the ghost, and a record that
// touches it is late. The ghost goes when W >= end + gap + allowed lateness and the key has no live session:
// from then on no record that is admissible alone can reach it. Records that are admissible only because they
// lengthen a live session backward could: so where a key is new, or new again, such growth stops at the time
// before which a record alone was late by then (begins_after()). Therefore sessions that were ever published
// at the same time never overlap. One ghost is enough: sessions are sealed in order of time, and when the
// next is sealed, the one before is out of reach.
//
// Threads: one thread.
// Cost:    O(log sessions) a record.
class SessionWindows {
 public:
  SessionWindows(SessionRules rules, LateRouter router) : rules_(rules), router_(router) {}

  struct Session {
    int64_t first_us = 0;
    int64_t last_us = 0;
    int64_t events = 0;
  };
  struct Judgement {
    LateVerdict verdict = LateVerdict::kOnTime;
    Window window;                 // that the record is in; if it is in none, the one that it missed
    bool touches_ghost = false;    // the record is in none, because it touches a sealed session
    std::vector<Window> replaced;  // live sessions as they were, if the record made another window of them
  };

  // Adds a record to the sessions or finds it late. Requires: `watermark` does not go back.
  Judgement add(EventTime event, EventTime watermark) {
    advance(watermark);
    const int64_t event_us = event.micros();
    const int64_t end_us = rules_.end_of(event_us);
    if (event_us < begins_after_) return late(event_us, watermark);
    auto next = live_.upper_bound(event_us);  // begins after the event
    const bool touches_next = next != live_.end() && next->second.first_us < end_us;
    const bool touches_previous =
        next != live_.begin() && event_us < rules_.end_of(std::prev(next)->second.last_us);
    Judgement judgement;
    if (!touches_next && !touches_previous) {
      judgement.window = {event, EventTime(end_us)};
      judgement.verdict = router_.route(judgement.window.end, watermark);
      if (judgement.verdict == LateVerdict::kOnTime || judgement.verdict == LateVerdict::kCorrects) {
        live_.emplace(event_us, Session{event_us, event_us, 1});
      }
      return judgement;
    }
    Session merged{event_us, event_us, 1};
    const auto first = touches_previous ? std::prev(next) : next;
    const auto last = touches_next ? std::next(next) : next;
    for (auto at = first; at != last; ++at) {
      merged.first_us = std::min(merged.first_us, at->second.first_us);
      merged.last_us = std::max(merged.last_us, at->second.last_us);
      merged.events += at->second.events;
    }
    judgement.window = rules_.window_of(merged.first_us, merged.last_us);
    for (auto at = first; at != last; ++at) {
      const Window old = rules_.window_of(at->second.first_us, at->second.last_us);
      if (old != judgement.window) judgement.replaced.push_back(old);
    }
    live_.erase(first, last);
    live_.emplace(merged.first_us, merged);
    judgement.verdict = router_.route(judgement.window.end, watermark);
    return judgement;
  }

  // Seals what the watermark has reached. Sealed sessions are appended to `sealed`, in order of time.
  void advance(EventTime watermark, std::vector<Session>* sealed = nullptr) {
    while (!live_.empty()) {
      const Session& oldest = live_.begin()->second;
      if (router_.sealed_at(rules_.end_of(oldest.last_us)) > watermark.micros()) break;
      ghost_ = rules_.window_of(oldest.first_us, oldest.last_us);
      begins_after_ = ghost_->end.micros();
      if (sealed != nullptr) sealed->push_back(oldest);
      live_.erase(live_.begin());
    }
    if (!live_.empty()) return;
    const int64_t out_of_reach_us = saturating_subtract(
        saturating_subtract(watermark.micros(), router_.allowed_lateness().micros()), rules_.gap().micros());
    if (ghost_ && ghost_->end.micros() > out_of_reach_us) return;
    ghost_.reset();
    begins_after_ = out_of_reach_us;
  }

  std::vector<Session> live() const {
    std::vector<Session> sessions;
    for (const auto& [first, session] : live_) sessions.push_back(session);
    return sessions;
  }
  const std::optional<Window>& ghost() const { return ghost_; }
  // No session may begin before: records before it are late.
  EventTime begins_after() const { return EventTime(begins_after_); }

 private:
  Judgement late(int64_t event_us, EventTime watermark) const {
    Judgement judgement;
    judgement.window = {EventTime(event_us), EventTime(rules_.end_of(event_us))};
    judgement.touches_ghost = ghost_ && ghost_->start.micros() < judgement.window.end.micros();
    if (judgement.touches_ghost) judgement.window = *ghost_;
    judgement.verdict = router_.route(judgement.window.end, watermark);
    return judgement;
  }

  SessionRules rules_;
  LateRouter router_;
  std::map<int64_t, Session> live_;  // by first event
  std::optional<Window> ghost_;
  int64_t begins_after_ = kMicrosMin;
};

}  // namespace wrackline
