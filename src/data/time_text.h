// Times, dates and intervals as text, and epoch numbers in declared units. No reading of the host's zone,
// ever.
//
// Source: docs/semantics.md section 1; ISO 8601 / RFC 3339; PostgreSQL's interval input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/types.h"

namespace wrackline {

class TimeZone;  // data/time_zone.h

enum class TimeUnit : uint8_t { kSeconds, kMillis, kMicros, kNanos };
std::optional<TimeUnit> parse_time_unit(std::string_view name);  // s | ms | us | ns
std::string_view to_string(TimeUnit unit);

enum class TimeParse : uint8_t { kOk, kMalformed, kNoZone, kOutOfRange };

// Parses ISO 8601 / RFC 3339 in its lenient variants: 'T', 't' or a blank between date and time; 'Z', 'z',
// +hh, +hhmm, +hh:mm or the word UTC, also after one blank; fraction of any length after '.' or ','; seconds
// may be absent; a date alone is midnight, 24:00:00 the next midnight; a year of other than four digits has a
// sign. Digits beyond microseconds round toward the past. Second 60 is accepted only where a leap second can
// occur (23:59:60 UTC at the end of a month) and maps to 23:59:59.999999. Days and months are checked (no 30
// February). A time at or beyond an end of EventTime is kOutOfRange and "infinity" is malformed: no text
// yields an infinity. Without a zone: `zone` says how to read it; nullptr gives kNoZone. Cost: no allocation,
// tens of nanoseconds.
TimeParse parse_timestamp(std::string_view text, const TimeZone* zone, int64_t& micros);
// The same without zone handling: a local time read as if UTC; an explicit zone in the text is ignored, as
// PostgreSQL does for `timestamp`.
TimeParse parse_local_timestamp(std::string_view text, int64_t& micros);
TimeParse parse_date(std::string_view text, int64_t& days);

// An epoch number in `unit`, to microseconds, rounding toward the past. nullopt: out of range.
std::optional<int64_t> epoch_to_micros(int64_t value, TimeUnit unit);
// The same for a decimal text such as "1790158166.546218" or "-1.5": exact, never through a float.
std::optional<int64_t> epoch_to_micros(const Decimal& value, TimeUnit unit);

// The unit in which `value` would fall between the years 2000 and 2100, or nullopt: for reports, never for
// reading.
std::optional<TimeUnit> plausible_unit(int64_t value);

// PostgreSQL interval input: "1 minute", "2 h", "90 s", "1 day 02:03:04.5", "PT1H30M", "1h30m", "-5 min",
// "250 ms". Each number has its own sign, so "-1h30m" is minus one hour plus 30 minutes; "ago" at the end
// turns all around. Stricter than PostgreSQL: a number without a unit and a fraction of a year that is not
// whole months are errors. Errors: kData, with the reason in the detail; kOutOfRange.
Result<Interval> parse_interval(std::string_view text);
// A span of fixed length: like parse_interval, but months are an error (their length varies) and a day is 24
// hours. "0" alone is a span of zero; any other bare number is an error that asks for a unit.
Result<int64_t> parse_span_micros(std::string_view text);

// "2024-05-01T12:00:00Z", "2024-05-01T12:00:00.25Z", "-infinity", "infinity"; years beyond 9999 get a sign.
void append_timestamp(std::string& out, int64_t micros);
void append_local_timestamp(std::string& out, int64_t micros);  // the same without the Z
void append_date(std::string& out, int64_t days);
void append_interval(std::string& out, const Interval& interval);  // PostgreSQL's: "1 mon 2 days 03:04:05.5"
// A span for people: "1.5 s", "2 min", "3 h 20 min", "12 days", "-5 ms"; at most two units, the rest cut off.
std::string span_text(int64_t micros);
std::string timestamp_text(int64_t micros);

struct CivilDate {
  int64_t year = 1970;
  int32_t month = 1;  // 1..12
  int32_t day = 1;    // 1..31
};
// Proleptic Gregorian; Hinnant, "chrono-compatible low-level date algorithms".
int64_t days_from_civil(int64_t year, int32_t month, int32_t day);
CivilDate civil_from_days(int64_t days);

}  // namespace wrackline
