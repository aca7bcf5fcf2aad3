#include "expr/time_math.h"

#include <algorithm>
#include <array>

#include "data/time_text.h"
#include "wrackline/time.h"

namespace wrackline::expr {
namespace {

constexpr int64_t kMonthsPerYear = 12;

struct LocalTime {
  CivilDate date;
  int64_t days = 0;
  int64_t micros_of_day = 0;
};

LocalTime split(int64_t micros) {
  LocalTime local;
  local.days = floor_divide(micros, kDayMicros);
  local.date = civil_from_days(local.days);
  local.micros_of_day = micros - local.days * kDayMicros;
  return local;
}

int32_t days_in_month(int64_t year, int32_t month) {
  constexpr std::array<int32_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

// Days and time of day as one time; nullopt if out of range or at an end, which stands for infinity.
std::optional<int64_t> join(int64_t days, int64_t micros_of_day) {
  int64_t micros = 0;
  if (__builtin_mul_overflow(days, kDayMicros, &micros)) return std::nullopt;
  if (__builtin_add_overflow(micros, micros_of_day, &micros) || is_infinite_time(micros)) return std::nullopt;
  return micros;
}

// Monday is 0.
int64_t weekday(int64_t days) {
  return ((days + 3) % 7 + 7) % 7;
}

// The year whose ISO week holds the day, and that week's number.
struct IsoWeek {
  int64_t year = 0;
  int64_t week = 0;
};
IsoWeek iso_week(int64_t days) {
  const int64_t thursday = days - weekday(days) + 3;  // a week belongs to the year of its Thursday
  const int64_t year = civil_from_days(thursday).year;
  return {year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1};
}

// Years are counted without a year zero: 1 BC is -1.
int64_t named_year(int64_t year) {
  return year > 0 ? year : year - 1;
}

int64_t decade_of(int64_t year) {
  return floor_divide(year, 10);
}
// The first century is years 1 to 100; there is no century zero.
int64_t period_of(int64_t year, int64_t length) {
  const int64_t period = floor_divide(year - 1, length) + 1;
  return period > 0 ? period : period - 1;
}
int64_t period_start(int64_t year, int64_t length) {
  return floor_divide(year - 1, length) * length + 1;
}

struct Spelling {
  std::string_view name;
  TimeField field;
};
using enum TimeField;
constexpr auto kSpellings = std::to_array<Spelling>({{"c", kCentury},
                                                     {"cent", kCentury},
                                                     {"centuries", kCentury},
                                                     {"century", kCentury},
                                                     {"d", kDay},
                                                     {"day", kDay},
                                                     {"days", kDay},
                                                     {"dec", kDecade},
                                                     {"decade", kDecade},
                                                     {"decades", kDecade},
                                                     {"decs", kDecade},
                                                     {"dow", kDayOfWeek},
                                                     {"doy", kDayOfYear},
                                                     {"epoch", kEpoch},
                                                     {"h", kHour},
                                                     {"hour", kHour},
                                                     {"hours", kHour},
                                                     {"hr", kHour},
                                                     {"hrs", kHour},
                                                     {"isodow", kIsoDayOfWeek},
                                                     {"isoyear", kIsoYear},
                                                     {"m", kMinute},
                                                     {"microsecon", kMicrosecond},
                                                     {"microsecond", kMicrosecond},
                                                     {"microseconds", kMicrosecond},
                                                     {"mil", kMillennium},
                                                     {"millennia", kMillennium},
                                                     {"millennium", kMillennium},
                                                     {"millisecon", kMillisecond},
                                                     {"millisecond", kMillisecond},
                                                     {"milliseconds", kMillisecond},
                                                     {"mils", kMillennium},
                                                     {"min", kMinute},
                                                     {"mins", kMinute},
                                                     {"minute", kMinute},
                                                     {"minutes", kMinute},
                                                     {"mon", kMonth},
                                                     {"mons", kMonth},
                                                     {"month", kMonth},
                                                     {"months", kMonth},
                                                     {"ms", kMillisecond},
                                                     {"msec", kMillisecond},
                                                     {"msecond", kMillisecond},
                                                     {"mseconds", kMillisecond},
                                                     {"msecs", kMillisecond},
                                                     {"qtr", kQuarter},
                                                     {"quarter", kQuarter},
                                                     {"s", kSecond},
                                                     {"sec", kSecond},
                                                     {"second", kSecond},
                                                     {"seconds", kSecond},
                                                     {"secs", kSecond},
                                                     {"timezone", kZone},
                                                     {"timezone_h", kZoneHour},
                                                     {"timezone_hour", kZoneHour},
                                                     {"timezone_m", kZoneMinute},
                                                     {"timezone_minute", kZoneMinute},
                                                     {"us", kMicrosecond},
                                                     {"usec", kMicrosecond},
                                                     {"usecond", kMicrosecond},
                                                     {"useconds", kMicrosecond},
                                                     {"usecs", kMicrosecond},
                                                     {"w", kWeek},
                                                     {"week", kWeek},
                                                     {"weeks", kWeek},
                                                     {"y", kYear},
                                                     {"year", kYear},
                                                     {"years", kYear},
                                                     {"yr", kYear},
                                                     {"yrs", kYear}});

std::optional<FieldValue> field_of_clock(TimeField field, int64_t micros) {
  switch (field) {
    case kMicrosecond:
      return FieldValue{micros % kMinuteMicros, 0};
    case kMillisecond:
      return FieldValue{micros % kMinuteMicros, 3};
    case kSecond:
      return FieldValue{micros % kMinuteMicros, 6};
    case kMinute:
      return FieldValue{micros / kMinuteMicros % 60, 0};
    case kHour:
      return FieldValue{micros / kHourMicros, 0};
    default:
      return std::nullopt;
  }
}

int64_t cut(int64_t value, int64_t unit) {
  return value - value % unit;
}

std::optional<int64_t> clock_unit(TimeField field) {
  switch (field) {
    case kMicrosecond:
      return 1;
    case kMillisecond:
      return 1000;
    case kSecond:
      return kSecondMicros;
    case kMinute:
      return kMinuteMicros;
    case kHour:
      return kHourMicros;
    default:
      return std::nullopt;
  }
}

// The first day of the unit that holds the day.
std::optional<int64_t> first_day(TimeField field, int64_t days) {
  const CivilDate date = civil_from_days(days);
  switch (field) {
    case kDay:
      return days;
    case kWeek:
      return days - weekday(days);
    case kMonth:
      return days_from_civil(date.year, date.month, 1);
    case kQuarter:
      return days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1);
    case kYear:
      return days_from_civil(date.year, 1, 1);
    case kDecade:
      return days_from_civil(decade_of(date.year) * 10, 1, 1);
    case kCentury:
      return days_from_civil(period_start(date.year, 100), 1, 1);
    case kMillennium:
      return days_from_civil(period_start(date.year, 1000), 1, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_infinite_time(int64_t micros) {
  return micros == kMicrosMin || micros == kMicrosMax;
}

std::optional<int64_t> add_interval(int64_t micros, const Interval& interval) {
  if (is_infinite_time(micros)) return micros;
  LocalTime local = split(micros);
  if (interval.months != 0) {
    const int64_t month = local.date.year * kMonthsPerYear + local.date.month - 1 + interval.months;
    const int64_t year = floor_divide(month, kMonthsPerYear);
    const auto month_of_year = static_cast<int32_t>(month - year * kMonthsPerYear) + 1;
    local.days =
        days_from_civil(year, month_of_year, std::min(local.date.day, days_in_month(year, month_of_year)));
  }
  // The time of day may exceed the day by as much as an interval's time, so the sum takes more than 64 bits.
  const __int128 sum = (static_cast<__int128>(local.days) + interval.days) * kDayMicros +
                       local.micros_of_day + interval.micros;
  if (sum <= kMicrosMin || sum >= kMicrosMax) return std::nullopt;
  return static_cast<int64_t>(sum);
}

std::optional<Interval> negate(const Interval& interval) {
  Interval result;
  const bool overflow = __builtin_sub_overflow(0, interval.months, &result.months) ||
                        __builtin_sub_overflow(0, interval.days, &result.days) ||
                        __builtin_sub_overflow(int64_t{0}, interval.micros, &result.micros);
  return overflow ? std::nullopt : std::optional(result);
}

std::optional<Interval> time_between(int64_t later, int64_t earlier) {
  int64_t micros = 0;
  if (__builtin_sub_overflow(later, earlier, &micros)) return std::nullopt;
  return Interval{0, static_cast<int32_t>(micros / kDayMicros), micros % kDayMicros};
}

std::optional<int64_t> micros_of_days(int64_t days) {
  return join(days, 0);
}

bool is_valid_date(int64_t year, int64_t month, int64_t day) {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= days_in_month(year, static_cast<int32_t>(month));
}

std::optional<TimeField> parse_time_field(std::string_view name) {
  std::array<char, 16> lower;
  if (name.size() > lower.size()) return std::nullopt;
  std::ranges::transform(name, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::string_view wanted(lower.data(), name.size());
  const auto* found = std::ranges::lower_bound(kSpellings, wanted, {}, &Spelling::name);
  if (found == kSpellings.end() || found->name != wanted) return std::nullopt;
  return found->field;
}

std::string_view to_string(TimeField field) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"microseconds", "milliseconds", "second", "minute", "hour",     "day",           "week",
       "month",        "quarter",      "year",   "decade", "century",  "millennium",    "isoyear",
       "dow",          "isodow",       "doy",    "epoch",  "timezone", "timezone_hour", "timezone_minute"});
  return kNames[static_cast<size_t>(field)];
}

std::optional<FieldValue> field_of_time(TimeField field, int64_t micros) {
  const LocalTime local = split(micros);
  if (const auto clock = field_of_clock(field, local.micros_of_day)) return clock;
  const int64_t year = local.date.year;
  switch (field) {
    case kDay:
      return FieldValue{local.date.day, 0};
    case kWeek:
      return FieldValue{iso_week(local.days).week, 0};
    case kMonth:
      return FieldValue{local.date.month, 0};
    case kQuarter:
      return FieldValue{(local.date.month - 1) / 3 + 1, 0};
    case kYear:
      return FieldValue{named_year(year), 0};
    case kDecade:
      return FieldValue{decade_of(year), 0};
    case kCentury:
      return FieldValue{period_of(year, 100), 0};
    case kMillennium:
      return FieldValue{period_of(year, 1000), 0};
    case kIsoYear:
      return FieldValue{named_year(iso_week(local.days).year), 0};
    case kDayOfWeek:
      return FieldValue{(weekday(local.days) + 1) % 7, 0};
    case kIsoDayOfWeek:
      return FieldValue{weekday(local.days) + 1, 0};
    case kDayOfYear:
      return FieldValue{local.days - days_from_civil(year, 1, 1) + 1, 0};
    case kEpoch:
      return FieldValue{micros, 6};
    default:
      return std::nullopt;
  }
}

std::optional<FieldValue> field_of_interval(TimeField field, const Interval& interval) {
  if (const auto clock = field_of_clock(field, interval.micros)) return clock;
  const int64_t years = interval.months / 12;
  const int64_t months = interval.months % 12;
  switch (field) {
    case kDay:
      return FieldValue{interval.days, 0};
    case kMonth:
      return FieldValue{months, 0};
    case kQuarter:
      return FieldValue{months / 3 + 1, 0};
    case kYear:
      return FieldValue{years, 0};
    case kDecade:
      return FieldValue{years / 10, 0};
    case kCentury:
      return FieldValue{years / 100, 0};
    case kMillennium:
      return FieldValue{years / 1000, 0};
    case kEpoch: {
      // A year has 365.25 days here, a month 30. Below 2^63 unless the time alone is near its end.
      const __int128 micros = static_cast<__int128>(interval.micros) +
                              static_cast<__int128>(years) * (kDayMicros / 4 * 1461) +
                              (months * 30 + interval.days) * static_cast<__int128>(kDayMicros);
      if (micros != static_cast<int64_t>(micros)) return std::nullopt;
      return FieldValue{static_cast<int64_t>(micros), 6};
    }
    default:
      return std::nullopt;
  }
}

bool is_monotonic(TimeField field) {
  return field == kYear || field == kDecade || field == kCentury || field == kMillennium ||
         field == kIsoYear || field == kEpoch;
}

std::optional<int64_t> truncate_time(TimeField field, int64_t micros) {
  if (is_infinite_time(micros)) return micros;
  if (const auto unit = clock_unit(field)) {
    int64_t start = 0;
    if (__builtin_mul_overflow(floor_divide(micros, *unit), *unit, &start)) return std::nullopt;
    return start;
  }
  const auto first = first_day(field, floor_divide(micros, kDayMicros));
  return first ? join(*first, 0) : std::nullopt;
}

std::optional<Interval> truncate_interval(TimeField field, const Interval& interval) {
  if (const auto unit = clock_unit(field))
    return Interval{interval.months, interval.days, cut(interval.micros, *unit)};
  const int32_t months = interval.months;
  switch (field) {
    case kDay:
      return Interval{months, interval.days, 0};
    case kMonth:
      return Interval{months, 0, 0};
    case kQuarter:
      return Interval{static_cast<int32_t>(cut(months, 3)), 0, 0};
    case kYear:
      return Interval{static_cast<int32_t>(cut(months, 12)), 0, 0};
    case kDecade:
      return Interval{static_cast<int32_t>(cut(months, 120)), 0, 0};
    case kCentury:
      return Interval{static_cast<int32_t>(cut(months, 1200)), 0, 0};
    case kMillennium:
      return Interval{static_cast<int32_t>(cut(months, 12000)), 0, 0};
    default:
      return std::nullopt;
  }
}

}  // namespace wrackline::expr
