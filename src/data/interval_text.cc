// Intervals as text: PostgreSQL's input and output, ISO 8601 durations, and spans for people.
//
// Numbers are exact decimals throughout. A fraction flows down as in PostgreSQL: of a month into days of
// which a month has 30, of a day into its 24 hours. A fraction of a year that is not whole months is refused,
// where PostgreSQL rounds.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/decimal.h"
#include "data/time_text.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;
constexpr std::string_view kUnitHint = "Units are us, ms, s, min, h, day, week, month and year.";

enum class Part : uint8_t { kMicros, kDays, kMonths };

struct Unit {
  std::string_view name;
  Part part;
  int64_t count;  // of the part
};

constexpr Unit kUnits[] = {
    {"us", Part::kMicros, 1},
    {"usec", Part::kMicros, 1},
    {"usecs", Part::kMicros, 1},
    {"microsecond", Part::kMicros, 1},
    {"microseconds", Part::kMicros, 1},
    {"ms", Part::kMicros, 1000},
    {"msec", Part::kMicros, 1000},
    {"msecs", Part::kMicros, 1000},
    {"millisecond", Part::kMicros, 1000},
    {"milliseconds", Part::kMicros, 1000},
    {"s", Part::kMicros, kSecond},
    {"sec", Part::kMicros, kSecond},
    {"secs", Part::kMicros, kSecond},
    {"second", Part::kMicros, kSecond},
    {"seconds", Part::kMicros, kSecond},
    {"m", Part::kMicros, kMinute},
    {"min", Part::kMicros, kMinute},
    {"mins", Part::kMicros, kMinute},
    {"minute", Part::kMicros, kMinute},
    {"minutes", Part::kMicros, kMinute},
    {"h", Part::kMicros, kHour},
    {"hr", Part::kMicros, kHour},
    {"hrs", Part::kMicros, kHour},
    {"hour", Part::kMicros, kHour},
    {"hours", Part::kMicros, kHour},
    {"d", Part::kDays, 1},
    {"day", Part::kDays, 1},
    {"days", Part::kDays, 1},
    {"w", Part::kDays, 7},
    {"week", Part::kDays, 7},
    {"weeks", Part::kDays, 7},
    {"mon", Part::kMonths, 1},
    {"mons", Part::kMonths, 1},
    {"month", Part::kMonths, 1},
    {"months", Part::kMonths, 1},
    {"y", Part::kMonths, 12},
    {"yr", Part::kMonths, 12},
    {"yrs", Part::kMonths, 12},
    {"year", Part::kMonths, 12},
    {"years", Part::kMonths, 12},
    {"decade", Part::kMonths, 120},
    {"decades", Part::kMonths, 120},
    {"century", Part::kMonths, 1200},
    {"centuries", Part::kMonths, 1200},
    {"millennium", Part::kMonths, 12000},
    {"millennia", Part::kMonths, 12000},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

bool same_word(std::string_view word, std::string_view lower_case) {
  return std::ranges::equal(word, lower_case, {}, lower);
}

// The sum so far, wide enough that no single addition can overflow.
struct Sum {
  __int128 months = 0;
  __int128 days = 0;
  __int128 micros = 0;
};

class IntervalParser {
 public:
  explicit IntervalParser(std::string_view text) : text_(text), rest_(text) {}

  Result<Interval> parse() {
    skip_blanks();
    if (rest_.starts_with('P') || rest_.starts_with('p')) {
      WRACKLINE_TRY(parse_iso());
    } else {
      WRACKLINE_TRY(parse_words());
    }
    return total();
  }

 private:
  // "1 day 02:03:04.5 ago": numbers with units and clock times, in any order.
  Status parse_words() {
    if (rest_.starts_with('@')) rest_.remove_prefix(1);
    skip_blanks();
    if (rest_.empty()) return malformed("It has no number.");
    while (!rest_.empty()) {
      if (is_letter(rest_.front())) {
        WRACKLINE_TRY(parse_ago());
      } else {
        WRACKLINE_TRY(parse_field());
      }
      skip_blanks();
    }
    return {};
  }

  Status parse_ago() {
    const std::string_view word = take_word();
    if (!same_word(word, "ago") || !any_)
      return malformed(format("\"{}\" has no number before it.", printable(word)));
    skip_blanks();
    if (!rest_.empty()) return malformed("Nothing may follow \"ago\".");
    sum_ = {-sum_.months, -sum_.days, -sum_.micros};
    return {};
  }

  Status parse_field() {
    const bool negative = take_sign();
    skip_blanks();
    const std::string_view number = take_number();
    if (rest_.starts_with(':')) return parse_clock(number, negative);
    WRACKLINE_ASSIGN(const Decimal value, decimal(number, negative));
    skip_blanks();
    const std::string_view word = take_word();
    if (word.empty()) return no_unit(number);
    const Unit* unit = std::ranges::find_if(kUnits, [&](const Unit& u) { return same_word(word, u.name); });
    if (unit == std::end(kUnits)) return malformed(format("\"{}\" is not a unit of time.", printable(word)));
    return add(value, *unit);
  }

  // "02:03:04.5" or "02:03" (hours and minutes); `hours` is already taken.
  Status parse_clock(std::string_view hours, bool negative) {
    const Unit units[] = {
        {"h", Part::kMicros, kHour}, {"min", Part::kMicros, kMinute}, {"s", Part::kMicros, kSecond}};
    std::string_view digits = hours;
    for (size_t i = 0;; ++i) {
      const bool last = i == 2 || !rest_.starts_with(':');
      WRACKLINE_ASSIGN(const Decimal value, decimal(digits, negative));
      const Decimal sixty{negative ? -60 : 60, 0};
      if (i > 0 && (negative ? compare(value, sixty) <= 0 : compare(value, sixty) >= 0)) {
        return malformed(format("\"{}\" is not below 60.", digits));
      }
      if (digits.contains('.') && i < 2) return malformed("Only seconds of a clock time take a fraction.");
      WRACKLINE_TRY(add(value, units[i]));
      if (last) return {};
      rest_.remove_prefix(1);
      digits = take_number();
    }
  }

  // "P1Y2M3W4DT5H6M7.5S"
  Status parse_iso() {
    rest_.remove_prefix(1);
    bool time = false;
    while (!rest_.empty() && !is_blank(rest_.front())) {
      if (!time && lower(rest_.front()) == 't') {
        time = true;
        any_ = false;  // something must follow the T
        rest_.remove_prefix(1);
        continue;
      }
      const bool negative = take_sign();
      WRACKLINE_ASSIGN(const Decimal value, decimal(take_number(), negative));
      const char letter = rest_.empty() ? '\0' : lower(rest_.front());
      const Unit* unit = iso_unit(letter, time);
      if (unit == nullptr) return malformed("An ISO 8601 duration looks like P1DT2H30M.");
      rest_.remove_prefix(1);
      WRACKLINE_TRY(add(value, *unit));
    }
    skip_blanks();
    if (!any_ || !rest_.empty()) return malformed("An ISO 8601 duration looks like P1DT2H30M.");
    return {};
  }

  static const Unit* iso_unit(char letter, bool time) {
    static constexpr Unit kDates[] = {
        {"y", Part::kMonths, 12}, {"m", Part::kMonths, 1}, {"w", Part::kDays, 7}, {"d", Part::kDays, 1}};
    static constexpr Unit kTimes[] = {
        {"h", Part::kMicros, kHour}, {"m", Part::kMicros, kMinute}, {"s", Part::kMicros, kSecond}};
    const std::span<const Unit> units = time ? std::span<const Unit>(kTimes) : std::span<const Unit>(kDates);
    const auto found = std::ranges::find(units, std::string_view(&letter, 1), &Unit::name);
    return found == units.end() ? nullptr : &*found;
  }

  // A unit may come once: "5 min 5 min" is more likely a slip than a sum, and PostgreSQL refuses it as well.
  Status add(const Decimal& value, const Unit& unit) {
    const auto same = [&](const Unit& seen) { return seen.part == unit.part && seen.count == unit.count; };
    if (std::ranges::any_of(seen_, same)) return malformed(format("The unit \"{}\" comes twice.", unit.name));
    seen_.push_back(unit);
    any_ = true;
    switch (unit.part) {
      case Part::kMonths:
        return add_months(value, unit);
      case Part::kDays:
        return add_days(value, unit.count);
      case Part::kMicros:
        return add_micros(value, unit.count);
    }
    return {};
  }

  Status add_months(const Decimal& value, const Unit& unit) {
    WRACKLINE_ASSIGN(const Split split, split_whole(value, unit.count));
    sum_.months += split.whole;
    if (split.rest.unscaled == 0) return {};
    if (unit.count != 1)
      return malformed(format("{} {} is not a whole number of months.", to_string(value), unit.name));
    constexpr int64_t kMonthDays = 30;
    return add_days(split.rest, kMonthDays);
  }

  Status add_days(const Decimal& value, int64_t count) {
    WRACKLINE_ASSIGN(const Split split, split_whole(value, count));
    sum_.days += split.whole;
    return add_micros(split.rest, kDay);
  }

  Status add_micros(const Decimal& value, int64_t count) {
    const auto exact = multiply(value, decimal_from_int(count));
    const auto rounded = exact ? rescale(*exact, 0) : std::nullopt;
    if (!rounded || !held(rounded->unscaled)) return out_of_range();
    sum_.micros += rounded->unscaled;
    return {};
  }

  struct Split {
    __int128 whole = 0;
    Decimal rest;
  };

  // value * count as a whole part, rounded toward zero, and the rest.
  Result<Split> split_whole(const Decimal& value, int64_t count) {
    const auto exact = multiply(value, decimal_from_int(count));
    if (!exact) return out_of_range();
    const __int128 one = power_of_ten(exact->scale);
    const __int128 whole = exact->unscaled / one;
    if (!held(whole)) return out_of_range();
    return Split{whole, {exact->unscaled % one, exact->scale}};
  }

  // One field may not exceed 64 bits; then the sum of all fields of a text cannot exceed 128.
  static bool held(__int128 value) {
    return value >= std::numeric_limits<int64_t>::min() && value <= std::numeric_limits<int64_t>::max();
  }

  Result<Interval> total() const {
    constexpr auto kSmall = std::numeric_limits<int32_t>::max();
    const bool fits = sum_.months <= kSmall && sum_.months >= -kSmall && sum_.days <= kSmall &&
                      sum_.days >= -kSmall && sum_.micros < kMicrosMax && sum_.micros > kMicrosMin;
    if (!fits) return out_of_range();
    return Interval{static_cast<int32_t>(sum_.months), static_cast<int32_t>(sum_.days),
                    static_cast<int64_t>(sum_.micros)};
  }

  Result<Decimal> decimal(std::string_view digits, bool negative) {
    if (digits.empty() || digits == ".") {
      return malformed(rest_.empty() ? std::string("A number is missing at its end.")
                                     : format("A number is missing before \"{}\".", printable(rest_)));
    }
    auto value = parse_decimal(digits);
    if (!value) return out_of_range();
    if (negative) value->unscaled = -value->unscaled;
    return *value;
  }

  bool take_sign() {
    if (rest_.empty() || (rest_.front() != '-' && rest_.front() != '+')) return false;
    const bool negative = rest_.front() == '-';
    rest_.remove_prefix(1);
    return negative;
  }

  std::string_view take_number() {
    bool point = false;
    return take_while([&](char c) { return is_digit(c) || (c == '.' && !std::exchange(point, true)); });
  }
  std::string_view take_word() { return take_while(is_letter); }
  void skip_blanks() { take_while(is_blank); }

  template <class Accept>
  std::string_view take_while(Accept accept) {
    size_t size = 0;
    while (size < rest_.size() && accept(rest_[size])) ++size;
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::unexpected<Error> malformed(std::string detail) const {
    return fail(ErrorCode::kData, format("\"{}\" is not an interval", printable(text_)), std::move(detail),
                std::string(kUnitHint));
  }
  std::unexpected<Error> no_unit(std::string_view number) const {
    return fail(ErrorCode::kData, format("\"{}\" is not an interval", printable(text_)),
                format("The number {} has no unit.", number), std::string(kUnitHint));
  }
  std::unexpected<Error> out_of_range() const {
    return fail(ErrorCode::kOutOfRange, format("interval \"{}\" is out of range", printable(text_)),
                "An interval holds at most 2147483647 months and days, and 292471 years of time.");
  }

  std::string_view text_;
  std::string_view rest_;
  bool any_ = false;
  std::vector<Unit> seen_;
  Sum sum_;
};

bool is_zero_text(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text == "0";
}

}  // namespace

Result<Interval> parse_interval(std::string_view text) {
  return IntervalParser(text).parse();
}

Result<int64_t> parse_span_micros(std::string_view text) {
  if (is_zero_text(text)) return int64_t{0};
  WRACKLINE_ASSIGN(const Interval interval, parse_interval(text));
  if (interval.months != 0) {
    return fail(ErrorCode::kData, format("\"{}\" has no fixed length", printable(text)),
                "Months and years differ in length.", "Give days, hours or smaller units.");
  }
  const __int128 micros = static_cast<__int128>(interval.days) * kDay + interval.micros;
  if (micros >= kMicrosMax || micros <= kMicrosMin) {
    return fail(ErrorCode::kOutOfRange, format("interval \"{}\" is out of range", printable(text)),
                "A span holds at most 292471 years.");
  }
  return static_cast<int64_t>(micros);
}

// ---- writing ----

namespace {

uint64_t magnitude_of(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// Digits behind the point without zeros at the end, and the point; nothing for zero.
void append_fraction(std::string& out, uint64_t value, uint64_t one) {
  if (value == 0) return;
  out += '.';
  for (uint64_t place = one / 10; value != 0; place /= 10) {
    out += static_cast<char>('0' + value / place);
    value %= place;
  }
}

// The fields of PostgreSQL's form. A positive field right after a negative one shows its sign.
class IntervalWriter {
 public:
  explicit IntervalWriter(std::string& out) : out_(out) {}

  void field(int64_t value, std::string_view unit) {
    if (value == 0) return;
    separate();
    out_ += format("{}{} {}{}", after_negative_ && value > 0 ? "+" : "", value, unit, value == 1 ? "" : "s");
    after_negative_ = value < 0;
  }
  void clock(int64_t micros) {
    if (micros == 0 && any_) return;
    separate();
    const uint64_t size = magnitude_of(micros);
    const std::string_view sign = micros < 0 ? "-" : after_negative_ ? "+" : "";
    out_ += format("{}{:02}:{:02}:{:02}", sign, size / kHour, size / kMinute % 60, size / kSecond % 60);
    append_fraction(out_, size % kSecond, kSecond);
  }

 private:
  void separate() {
    if (any_) out_ += ' ';
    any_ = true;
  }
  std::string& out_;
  bool any_ = false;
  bool after_negative_ = false;
};

struct SpanUnit {
  uint64_t size;
  std::string_view one;
  std::string_view many;
};

void append_unit(std::string& out, uint64_t count, const SpanUnit& unit) {
  out += format("{} {}", count, count == 1 ? unit.one : unit.many);
}

}  // namespace

void append_interval(std::string& out, const Interval& interval) {
  IntervalWriter writer(out);
  writer.field(interval.months / 12, "year");
  writer.field(interval.months % 12, "mon");
  writer.field(interval.days, "day");
  writer.clock(interval.micros);
}

std::string span_text(int64_t micros) {
  if (micros == kMicrosMin) return "-infinity";
  if (micros == kMicrosMax) return "infinity";
  const uint64_t size = magnitude_of(micros);
  std::string out = micros < 0 ? "-" : "";
  if (size == 0) return "0 s";
  if (size < 1000) return out + format("{} us", size);
  if (size < kMinute) {  // one unit with a fraction, to three places
    const bool seconds = size >= kSecond;
    const uint64_t milli = seconds ? size / 1000 : size;
    out += format("{}", milli / 1000);
    append_fraction(out, milli % 1000, 1000);
    return out + (seconds ? " s" : " ms");
  }
  constexpr SpanUnit kSpans[] = {
      {kDay, "day", "days"}, {kHour, "h", "h"}, {kMinute, "min", "min"}, {kSecond, "s", "s"}};
  const SpanUnit* unit = std::ranges::find_if(kSpans, [&](const SpanUnit& u) { return size >= u.size; });
  append_unit(out, size / unit->size, *unit);
  const uint64_t rest = size % unit->size;
  const SpanUnit& next = unit[1];
  if (rest < next.size) return out;
  out += ' ';
  append_unit(out, rest / next.size, next);
  return out;
}

}  // namespace wrackline
