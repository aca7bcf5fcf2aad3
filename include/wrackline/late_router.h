// Where a record stands against one window: the law's table, and what the view's policy makes of it.
//
//   open               W < end                          on time (even if the record's own time is behind W)
//   closed, revisable  end <= W < end + lateness        late, corrects
//   sealed             W >= end + lateness              late: ledgered, or past the horizon, or dropped by
//   policy
//
// Source: docs/semantics.md sections 4 and 5. Huge lateness saturates: a window then never seals.
#pragma once

#include <cstdint>
#include <optional>

#include "wrackline/time.h"

namespace wrackline {

enum class LatePolicy : uint8_t {
  kCorrect,  // revise within the allowed lateness, ledger beyond it
  kLedger,   // never revise; late records within the horizon go to the ledger
  kDrop,     // count, log, drop
};

enum class LateVerdict : uint8_t { kOnTime, kCorrects, kLedgered, kPastHorizon, kDropped };

class LateRouter {
 public:
  struct Options {
    LatePolicy policy = LatePolicy::kCorrect;
    Duration allowed_lateness = {};  // >= 0; only kCorrect uses it
    // Records that are later than this are past the horizon; nullopt: none is.
    std::optional<Duration> ledger_horizon = std::nullopt;
  };

  explicit constexpr LateRouter(Options options)
      : policy_(options.policy),
        allowed_us_(options.policy == LatePolicy::kCorrect ? options.allowed_lateness.micros() : 0),
        horizon_us_(options.ledger_horizon ? options.ledger_horizon->micros() : kMicrosMax) {}

  constexpr LateVerdict route(EventTime window_end, EventTime watermark) const {
    if (watermark < window_end) return LateVerdict::kOnTime;
    if (policy_ == LatePolicy::kDrop) return LateVerdict::kDropped;
    if (watermark.micros() < sealed_at(window_end.micros())) return LateVerdict::kCorrects;
    return late_by(window_end, watermark).micros() > horizon_us_ ? LateVerdict::kPastHorizon
                                                                 : LateVerdict::kLedgered;
  }

  constexpr LatePolicy policy() const { return policy_; }
  constexpr Duration allowed_lateness() const { return Duration(allowed_us_); }
  // The watermark that seals a window with this end: from then on its state is not needed in stream.
  constexpr int64_t sealed_at(int64_t window_end_us) const {
    return saturating_add(window_end_us, allowed_us_);
  }
  // How late: watermark - end, never negative for a late record.
  static constexpr Duration late_by(EventTime window_end, EventTime watermark) {
    return watermark - window_end;
  }

 private:
  LatePolicy policy_;
  int64_t allowed_us_;
  int64_t horizon_us_;
};

}  // namespace wrackline
