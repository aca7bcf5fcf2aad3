// The timestamp parser is the hottest function of the reading path, so it is one pass over the text without
// tables of formats: fixed places for the date, then the parts that may vary. Everything else here is off
// that path.
#include "data/time_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "data/decimal.h"
#include "data/time_zone.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

// ---- reading digits ----

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Two digits as a number; anything else gives a number above 99.
unsigned two_digits(const char* at) {
  const auto tens = static_cast<unsigned>(static_cast<unsigned char>(at[0])) - '0';
  const auto ones = static_cast<unsigned>(static_cast<unsigned char>(at[1])) - '0';
  return tens > 9 || ones > 9 ? 100 : tens * 10 + ones;
}

constexpr bool is_leap_year(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

constexpr unsigned days_in_month(int64_t year, unsigned month) {
  constexpr std::array<uint8_t, 13> kDays = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap_year(year) ? 29 : kDays[month];
}

// A place in a text that is eaten from the front.
struct Cursor {
  const char* at;
  const char* end;

  explicit Cursor(std::string_view text) : at(text.data()), end(text.data() + text.size()) {}
  size_t left() const { return static_cast<size_t>(end - at); }
  bool done() const { return at == end; }
  bool eat(char c) {
    if (done() || *at != c) return false;
    ++at;
    return true;
  }
};

// A year without a sign has four digits; with one, at least four. `year` beyond six digits is out of range.
TimeParse eat_year(Cursor& cursor, int64_t& year) {
  constexpr size_t kDigits = 4;
  constexpr size_t kDigitsMax = 6;
  if (cursor.done()) return TimeParse::kMalformed;
  if (*cursor.at != '+' && *cursor.at != '-') {
    if (cursor.left() < kDigits) return TimeParse::kMalformed;
    const unsigned century = two_digits(cursor.at);
    const unsigned rest = two_digits(cursor.at + 2);
    if (century > 99 || rest > 99) return TimeParse::kMalformed;
    year = century * 100 + rest;
    cursor.at += kDigits;
    return TimeParse::kOk;
  }
  const bool negative = *cursor.at++ == '-';
  const char* const begin = cursor.at;
  int64_t value = 0;
  for (; !cursor.done() && is_digit(*cursor.at); ++cursor.at) {
    value = std::min<int64_t>(value * 10 + (*cursor.at - '0'), 10'000'000);
  }
  const auto digits = static_cast<size_t>(cursor.at - begin);
  if (digits < kDigits || (negative && value == 0)) return TimeParse::kMalformed;
  year = negative ? -value : value;
  return digits > kDigitsMax ? TimeParse::kOutOfRange : TimeParse::kOk;
}

TimeParse eat_date(Cursor& cursor, int64_t& days) {
  int64_t year = 0;
  const TimeParse parse = eat_year(cursor, year);
  if (parse == TimeParse::kMalformed) return parse;
  constexpr size_t kRest = 6;  // "-05-01"
  if (cursor.left() < kRest || cursor.at[0] != '-' || cursor.at[3] != '-') return TimeParse::kMalformed;
  const unsigned month = two_digits(cursor.at + 1);
  const unsigned day = two_digits(cursor.at + 4);
  if (month - 1 > 11 || day == 0 || day > days_in_month(year, month)) return TimeParse::kMalformed;
  cursor.at += kRest;
  if (parse == TimeParse::kOk)
    days = days_from_civil(year, static_cast<int32_t>(month), static_cast<int32_t>(day));
  return parse;
}

// A time as written, before its zone is applied.
struct LocalMoment {
  int64_t days = 0;
  int64_t day_micros = 0;    // of a leap second: those of second 59
  bool leap_second = false;  // written as second 60
  bool has_offset = false;
  int64_t offset_micros = 0;
};

// The digits after the point; those beyond microseconds are dropped, which is toward the past. False: there
// are none.
bool eat_fraction(Cursor& cursor, int64_t& micros, bool& zero) {
  int64_t place = kSecond / 10;
  const char* const begin = cursor.at;
  unsigned any = 0;
  for (; !cursor.done() && is_digit(*cursor.at); ++cursor.at) {
    const auto digit = static_cast<unsigned>(*cursor.at - '0');
    micros += place * digit;
    place /= 10;
    any |= digit;
  }
  zero = any == 0;
  return cursor.at != begin;
}

// "12:34", "12:34:56", "12:34:56.789"
bool eat_time(Cursor& cursor, LocalMoment& moment) {
  constexpr size_t kMinutes = 5;
  constexpr size_t kSeconds = 3;
  if (cursor.left() < kMinutes || cursor.at[2] != ':') return false;
  const unsigned hour = two_digits(cursor.at);
  const unsigned minute = two_digits(cursor.at + 3);
  if (hour > 24 || minute > 59) return false;
  cursor.at += kMinutes;
  unsigned second = 0;
  int64_t micros = 0;
  bool whole = true;
  if (cursor.left() >= kSeconds && *cursor.at == ':') {
    second = two_digits(cursor.at + 1);
    if (second > 60) return false;
    cursor.at += kSeconds;
    if (!cursor.done() && (*cursor.at == '.' || *cursor.at == ',')) {
      ++cursor.at;
      if (!eat_fraction(cursor, micros, whole)) return false;
    }
  }
  if (hour == 24 && (minute != 0 || second != 0 || !whole)) return false;
  moment.leap_second = second == 60;
  if (moment.leap_second) {
    second = 59;
    micros = 0;
  }
  moment.day_micros = hour * kHour + minute * kMinute + second * kSecond + micros;
  return true;
}

// "+02", "+0200", "+02:00" after the sign, to the end of the text.
bool eat_offset(Cursor& cursor, LocalMoment& moment, bool negative) {
  const size_t left = cursor.left();
  if (left != 2 && left != 4 && left != 5) return false;
  const unsigned hours = two_digits(cursor.at);
  unsigned minutes = 0;
  if (left == 5 && cursor.at[2] != ':') return false;
  if (left > 2) minutes = two_digits(cursor.end - 2);
  if (hours > 23 || minutes > 59) return false;
  const int64_t offset = hours * kHour + minutes * kMinute;
  moment.has_offset = true;
  moment.offset_micros = negative ? -offset : offset;
  cursor.at = cursor.end;
  return true;
}

// The zone, if there is one, up to the end of the text.
bool eat_zone(Cursor& cursor, LocalMoment& moment) {
  if (cursor.done()) return true;
  const bool blank = cursor.eat(' ');
  if (cursor.done()) return false;
  const char first = *cursor.at++;
  if (first == 'Z' || first == 'z') {
    moment.has_offset = true;
    return cursor.done();
  }
  if (first == '+' || first == '-') return eat_offset(cursor, moment, first == '-');
  moment.has_offset = true;
  return blank && first == 'U' && cursor.eat('T') && cursor.eat('C') && cursor.done();
}

TimeParse parse_moment(std::string_view text, LocalMoment& moment) {
  Cursor cursor(text);
  const TimeParse parse = eat_date(cursor, moment.days);
  if (parse == TimeParse::kMalformed || cursor.done()) return parse;
  const char separator = *cursor.at++;
  if (separator != 'T' && separator != ' ' && separator != 't') return TimeParse::kMalformed;
  return eat_time(cursor, moment) && eat_zone(cursor, moment) ? parse : TimeParse::kMalformed;
}

// The two ends of the range are infinities and no time that a text can name.
TimeParse finite(__int128 exact, int64_t& micros) {
  if (exact <= kMicrosMin || exact >= kMicrosMax) return TimeParse::kOutOfRange;
  micros = static_cast<int64_t>(exact);
  return TimeParse::kOk;
}

// Second 60 is told from a slip by its place: the last second, in UTC, of the last day of a month.
TimeParse place_leap_second(int64_t& micros) {
  const int64_t days = floor_divide(micros, kDay);
  if (micros - days * kDay != kDay - kSecond || civil_from_days(days + 1).day != 1)
    return TimeParse::kMalformed;
  micros += kSecond - 1;
  return TimeParse::kOk;
}

TimeParse finish(const LocalMoment& moment, __int128 exact, int64_t& micros) {
  const TimeParse parse = finite(exact, micros);
  return parse == TimeParse::kOk && moment.leap_second ? place_leap_second(micros) : parse;
}

__int128 local_micros(const LocalMoment& moment) {
  return static_cast<__int128>(moment.days) * kDay + moment.day_micros;
}

}  // namespace

// ---- timestamps and dates ----

TimeParse parse_timestamp(std::string_view text, const TimeZone* zone, int64_t& micros) {
  LocalMoment moment;
  if (const TimeParse parse = parse_moment(text, moment); parse != TimeParse::kOk) return parse;
  const __int128 local = local_micros(moment);
  if (moment.has_offset) return finish(moment, local - moment.offset_micros, micros);
  if (zone == nullptr) return TimeParse::kNoZone;
  int64_t in_range = 0;
  if (const TimeParse parse = finite(local, in_range); parse != TimeParse::kOk) return parse;
  return finish(moment, zone->instant_of_local(in_range), micros);
}

TimeParse parse_local_timestamp(std::string_view text, int64_t& micros) {
  LocalMoment moment;
  if (const TimeParse parse = parse_moment(text, moment); parse != TimeParse::kOk) return parse;
  return finish(moment, local_micros(moment), micros);
}

TimeParse parse_date(std::string_view text, int64_t& days) {
  Cursor cursor(text);
  int64_t read = 0;
  const TimeParse parse = eat_date(cursor, read);
  if (parse == TimeParse::kMalformed || !cursor.done()) return TimeParse::kMalformed;
  int64_t micros = 0;
  if (parse != TimeParse::kOk || finite(static_cast<__int128>(read) * kDay, micros) != TimeParse::kOk) {
    return TimeParse::kOutOfRange;
  }
  days = read;
  return TimeParse::kOk;
}

int64_t days_from_civil(int64_t year, int32_t month, int32_t day) {
  year -= month <= 2 ? 1 : 0;
  const int64_t era = floor_divide(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

CivilDate civil_from_days(int64_t days) {
  days += 719468;
  const int64_t era = floor_divide(days, 146097);
  const int64_t day_of_era = days - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  CivilDate date;
  date.day = static_cast<int32_t>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  date.month = static_cast<int32_t>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

// ---- epoch numbers ----

std::optional<TimeUnit> parse_time_unit(std::string_view name) {
  if (name == "s") return TimeUnit::kSeconds;
  if (name == "ms") return TimeUnit::kMillis;
  if (name == "us") return TimeUnit::kMicros;
  if (name == "ns") return TimeUnit::kNanos;
  return std::nullopt;
}

std::string_view to_string(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return "s";
    case TimeUnit::kMillis:
      return "ms";
    case TimeUnit::kMicros:
      return "us";
    case TimeUnit::kNanos:
      return "ns";
  }
  return "s";
}

namespace {

// Micros in a unit, as a power of ten.
int micros_exponent(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return 6;
    case TimeUnit::kMillis:
      return 3;
    case TimeUnit::kMicros:
      return 0;
    case TimeUnit::kNanos:
      return -3;
  }
  return 0;
}

std::optional<int64_t> finite(__int128 exact) {
  int64_t micros = 0;
  if (finite(exact, micros) != TimeParse::kOk) return std::nullopt;
  return micros;
}

}  // namespace

std::optional<int64_t> epoch_to_micros(int64_t value, TimeUnit unit) {
  if (unit == TimeUnit::kNanos) return floor_divide(value, 1000);
  return finite(value * power_of_ten(micros_exponent(unit)));
}

std::optional<int64_t> epoch_to_micros(const Decimal& value, TimeUnit unit) {
  const int exponent = micros_exponent(unit) - value.scale;
  if (exponent >= 0) {
    __int128 exact = 0;
    if (__builtin_mul_overflow(value.unscaled, power_of_ten(exponent), &exact)) return std::nullopt;
    return finite(exact);
  }
  if (exponent < -38) return value.unscaled < 0 ? -1 : 0;  // a fraction of a microsecond, toward the past
  const __int128 divisor = power_of_ten(-exponent);
  const __int128 quotient = value.unscaled / divisor;
  return finite(value.unscaled % divisor < 0 ? quotient - 1 : quotient);
}

std::optional<TimeUnit> plausible_unit(int64_t value) {
  constexpr int64_t kFirst = 946'684'800;  // 2000-01-01, in seconds
  constexpr int64_t kEnd = 4'102'444'800;  // 2100-01-01
  constexpr std::array kUnits = {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos};
  int64_t per_second = 1;
  for (const TimeUnit unit : kUnits) {
    if (value >= kFirst * per_second && value / per_second < kEnd) return unit;
    per_second *= 1000;
  }
  return std::nullopt;
}

// ---- writing ----

namespace {

constexpr size_t kTimeTextMax = 40;  // "-290308-12-21T19:59:05.224193Z" and some room

char* put_two(char* at, int64_t value) {
  *at++ = static_cast<char>('0' + value / 10);
  *at++ = static_cast<char>('0' + value % 10);
  return at;
}

char* put_year(char* at, int64_t year) {
  if (year < 0 || year > 9999) *at++ = year < 0 ? '-' : '+';
  const int64_t shown = year < 0 ? -year : year;
  for (int64_t place = 1000; place > shown && place > 1; place /= 10) *at++ = '0';
  return std::to_chars(at, at + 20, shown).ptr;
}

char* put_date(char* at, int64_t days) {
  const CivilDate date = civil_from_days(days);
  at = put_year(at, date.year);
  *at++ = '-';
  at = put_two(at, date.month);
  *at++ = '-';
  return put_two(at, date.day);
}

// ".25": as many digits as needed, none for zero.
char* put_fraction(char* at, int64_t micros) {
  if (micros == 0) return at;
  *at++ = '.';
  for (int64_t place = kSecond / 10; micros != 0; place /= 10) {
    *at++ = static_cast<char>('0' + micros / place);
    micros %= place;
  }
  return at;
}

bool append_infinity(std::string& out, int64_t value) {
  if (value != kMicrosMin && value != kMicrosMax) return false;
  out += value == kMicrosMin ? "-infinity" : "infinity";
  return true;
}

}  // namespace

void append_local_timestamp(std::string& out, int64_t micros) {
  if (append_infinity(out, micros)) return;
  const int64_t days = floor_divide(micros, kDay);
  const auto rest = static_cast<int64_t>(micros - static_cast<__int128>(days) * kDay);
  std::array<char, kTimeTextMax> buffer;
  char* at = put_date(buffer.data(), days);
  *at++ = 'T';
  at = put_two(at, rest / kHour);
  *at++ = ':';
  at = put_two(at, rest / kMinute % 60);
  *at++ = ':';
  at = put_two(at, rest / kSecond % 60);
  at = put_fraction(at, rest % kSecond);
  out.append(buffer.data(), at);
}

void append_timestamp(std::string& out, int64_t micros) {
  append_local_timestamp(out, micros);
  if (micros != kMicrosMin && micros != kMicrosMax) out += 'Z';
}

void append_date(std::string& out, int64_t days) {
  if (append_infinity(out, days)) return;
  std::array<char, kTimeTextMax> buffer;
  out.append(buffer.data(), put_date(buffer.data(), days));
}

std::string timestamp_text(int64_t micros) {
  std::string out;
  append_timestamp(out, micros);
  return out;
}

}  // namespace wrackline
