// Calendar arithmetic over microseconds and days, by PostgreSQL's rules. Times are local times read as if
// UTC; minus and plus infinity (wrackline/time.h) stay what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "data/types.h"

namespace wrackline::expr {

inline constexpr int64_t kSecondMicros = 1000000;
inline constexpr int64_t kMinuteMicros = 60 * kSecondMicros;
inline constexpr int64_t kHourMicros = 60 * kMinuteMicros;
inline constexpr int64_t kDayMicros = 24 * kHourMicros;

bool is_infinite_time(int64_t micros);

// Months first (the day is cut to the length of the month), then days, then time. nullopt: out of range.
std::optional<int64_t> add_interval(int64_t micros, const Interval& interval);
// The interval with every part turned around; nullopt if a part has no opposite.
std::optional<Interval> negate(const Interval& interval);
// The distance in days and time of day, both of the same sign. nullopt: out of range. Requires: both are
// finite.
std::optional<Interval> time_between(int64_t later, int64_t earlier);
// Midnight of the date; nullopt: out of range.
std::optional<int64_t> micros_of_days(int64_t days);
bool is_valid_date(int64_t year, int64_t month, int64_t day);

// The units that extract, date_part and date_trunc know; every spelling of PostgreSQL ("hours", "hr", "h").
enum class TimeField : uint8_t {
  kMicrosecond,
  kMillisecond,
  kSecond,
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  kDecade,
  kCentury,
  kMillennium,
  kIsoYear,
  kDayOfWeek,
  kIsoDayOfWeek,
  kDayOfYear,
  kEpoch,
  kZone,
  kZoneHour,
  kZoneMinute,
};
std::optional<TimeField> parse_time_field(std::string_view name);
std::string_view to_string(TimeField field);  // "day of the week" is "dow"

// units * 10^-scale.
struct FieldValue {
  int64_t units = 0;
  int scale = 0;
};
// nullopt: the field is not one of a time. Requires: micros is finite.
std::optional<FieldValue> field_of_time(TimeField field, int64_t micros);
std::optional<FieldValue> field_of_interval(TimeField field, const Interval& interval);
// True for fields that grow with time: those of infinity are infinite, the others null.
bool is_monotonic(TimeField field);

// The start of the unit that holds the time; nullopt: the field is not one that can be cut to, or out of
// range.
std::optional<int64_t> truncate_time(TimeField field, int64_t micros);
std::optional<Interval> truncate_interval(TimeField field, const Interval& interval);

}  // namespace wrackline::expr
