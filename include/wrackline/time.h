// Event time, arrival time and spans of time, as types that do not mix by accident.
//
// Units:      signed 64-bit microseconds since 1970-01-01T00:00:00Z; spans are microseconds.
// Arithmetic: saturates; it never wraps. The two ends stand for minus and plus infinity.
// Source:     docs/semantics.md, section 1.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace wrackline {

inline constexpr int64_t kMicrosMin = std::numeric_limits<int64_t>::min();  // minus infinity
inline constexpr int64_t kMicrosMax = std::numeric_limits<int64_t>::max();  // plus infinity

// Returns a + b, held at the ends of the range; an infinite operand stays infinite.
constexpr int64_t saturating_add(int64_t a, int64_t b) {
  if (a == kMicrosMin || a == kMicrosMax) return a;
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kMicrosMax : kMicrosMin;
}

// Returns a - b, held at the ends of the range; an infinite `a` stays infinite.
constexpr int64_t saturating_subtract(int64_t a, int64_t b) {
  if (a == kMicrosMin || a == kMicrosMax) return a;
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? kMicrosMax : kMicrosMin;
}

// Rounds the quotient toward minus infinity, unlike C++ division. Requires: divisor > 0.
constexpr int64_t floor_divide(int64_t dividend, int64_t divisor) {
  const int64_t quotient = dividend / divisor;
  return dividend % divisor < 0 ? quotient - 1 : quotient;
}

// A span of time in microseconds.
class Duration {
 public:
  constexpr Duration() = default;
  constexpr explicit Duration(int64_t micros) : micros_(micros) {}
  constexpr int64_t micros() const { return micros_; }
  static constexpr Duration infinite() { return Duration(kMicrosMax); }
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(saturating_add(a.micros_, b.micros_));
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return Duration(saturating_subtract(a.micros_, b.micros_));
  }

 private:
  int64_t micros_ = 0;
};

constexpr Duration micros(int64_t count) {
  return Duration(count);
}
constexpr Duration millis(int64_t count) {
  int64_t result = 0;
  if (!__builtin_mul_overflow(count, int64_t{1000}, &result)) return Duration(result);
  return Duration(count > 0 ? kMicrosMax : kMicrosMin);
}
constexpr Duration seconds(int64_t count) {
  int64_t result = 0;
  if (!__builtin_mul_overflow(count, int64_t{1000000}, &result)) return Duration(result);
  return Duration(count > 0 ? kMicrosMax : kMicrosMin);
}

// A point in time of one clock. `Clock` is only a name: points of different clocks do not compare or mix.
template <class Clock>
class TimePoint {
 public:
  constexpr TimePoint() = default;
  constexpr explicit TimePoint(int64_t micros) : micros_(micros) {}
  constexpr int64_t micros() const { return micros_; }
  static constexpr TimePoint minus_infinity() { return TimePoint(kMicrosMin); }
  static constexpr TimePoint plus_infinity() { return TimePoint(kMicrosMax); }
  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    return TimePoint(saturating_add(t.micros_, d.micros()));
  }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) {
    return TimePoint(saturating_subtract(t.micros_, d.micros()));
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return Duration(saturating_subtract(a.micros_, b.micros_));
  }

 private:
  int64_t micros_ = 0;
};

struct EventClock;
struct ArrivalClock;
struct WallClock;
using EventTime = TimePoint<EventClock>;      // when it happened
using ArrivalTime = TimePoint<ArrivalClock>;  // when the record entered the log, or was read
using WallTime = TimePoint<WallClock>;        // a reading of this machine's clock

// Arrival delay: the one place where event time and arrival time meet. Negative when the event's clock is
// ahead.
constexpr Duration arrival_delay(ArrivalTime arrival, EventTime event) {
  return Duration(saturating_subtract(arrival.micros(), event.micros()));
}

}  // namespace wrackline
