// How values of each type compare, by PostgreSQL's rules: NaN equals itself and is above every number,
// intervals compare by their length with months of 30 days, text compares byte by byte (the "C" collation).
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "data/decimal.h"
#include "data/types.h"

namespace wrackline::expr {

template <class T>
constexpr int compare_plain(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

inline int compare_values(int64_t a, int64_t b) {
  return compare_plain(a, b);
}
inline int compare_values(uint8_t a, uint8_t b) {
  return compare_plain(a, b);
}
inline int compare_values(std::string_view a, std::string_view b) {
  return compare_plain(a.compare(b), 0);
}
inline int compare_values(const Decimal& a, const Decimal& b) {
  return a.scale == b.scale ? compare_plain(a.unscaled, b.unscaled) : compare(a, b);
}
inline int compare_values(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a == b) return 0;
  return static_cast<int>(a != a) - static_cast<int>(b != b);
}

// An interval's length in microseconds for comparing: months of 30 days, days of 24 hours.
inline __int128 interval_length(const Interval& value) {
  constexpr int64_t kDayMicros = int64_t{86400} * 1000000;
  return static_cast<__int128>(value.micros) +
         (static_cast<__int128>(value.months) * 30 + value.days) * static_cast<__int128>(kDayMicros);
}
inline int compare_values(const Interval& a, const Interval& b) {
  return compare_plain(interval_length(a), interval_length(b));
}

struct Equal {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return compare_values(a, b) == 0;
  }
  static bool apply(int64_t a, int64_t b) { return a == b; }
  static bool apply(std::string_view a, std::string_view b) { return a == b; }
};
struct NotEqual {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return !Equal::apply(a, b);
  }
};
struct Less {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return compare_values(a, b) < 0;
  }
  static bool apply(int64_t a, int64_t b) { return a < b; }
};
struct LessEqual {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return compare_values(a, b) <= 0;
  }
  static bool apply(int64_t a, int64_t b) { return a <= b; }
};
struct Greater {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return Less::apply(b, a);
  }
};
struct GreaterEqual {
  template <class T>
  static bool apply(const T& a, const T& b) {
    return LessEqual::apply(b, a);
  }
};

}  // namespace wrackline::expr
