// Arithmetic of times and intervals, extract, date_trunc, zones.
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "data/time_text.h"
#include "data/time_zone.h"
#include "expr/functions.h"
#include "expr/interval_math.h"
#include "expr/time_math.h"
#include "wrackline/time.h"

namespace wrackline::expr {
namespace {

using enum TypeId;

constexpr int64_t kPostgresEpochSeconds = 946684800;  // 2000-01-01

template <class T>
T or_out_of_range(Row& row, const std::optional<T>& result, std::string_view type) {
  if (result) return *result;
  row.out_of_range(type);
  return T{};
}

// Arithmetic
// --------------------------------------------------------------------------------------------------------

int64_t time_plus(Row& row, int64_t micros, const Interval& interval) {
  return or_out_of_range(row, add_interval(micros, interval), "timestamp");
}
int64_t plus_time(Row& row, const Interval& interval, int64_t micros) {
  return time_plus(row, micros, interval);
}
int64_t time_minus(Row& row, int64_t micros, const Interval& interval) {
  const auto opposite = negate(interval);
  return or_out_of_range(row, opposite ? add_interval(micros, *opposite) : std::nullopt, "timestamp");
}
int64_t date_start(Row& row, int64_t days) {
  return or_out_of_range(row, micros_of_days(days), "timestamp");
}
int64_t date_plus(Row& row, int64_t days, const Interval& interval) {
  return time_plus(row, date_start(row, days), interval);
}
int64_t plus_date(Row& row, const Interval& interval, int64_t days) {
  return date_plus(row, days, interval);
}
int64_t date_minus(Row& row, int64_t days, const Interval& interval) {
  return time_minus(row, date_start(row, days), interval);
}

Interval time_difference(Row& row, int64_t later, int64_t earlier) {
  if (is_infinite_time(later) || is_infinite_time(earlier)) {
    row.fail(Reason::kOutOfRange, "cannot subtract infinite timestamps");
    return {};
  }
  return or_out_of_range(row, time_between(later, earlier), "interval");
}

int64_t checked_days(Row& row, int64_t days) {
  if (days != static_cast<int32_t>(days)) row.out_of_range("date");
  return days;
}
int64_t date_plus_days(Row& row, int64_t date, int64_t days) {
  return checked_days(row, date + days);
}
int64_t days_plus_date(Row& row, int64_t days, int64_t date) {
  return checked_days(row, date + days);
}
int64_t date_minus_days(Row& row, int64_t date, int64_t days) {
  return checked_days(row, date - days);
}
int64_t date_difference(Row& row, int64_t later, int64_t earlier) {
  const int64_t days = later - earlier;
  if (days != static_cast<int32_t>(days)) row.out_of_range("integer");
  return days;
}

Interval interval_plus(Row& row, const Interval& a, const Interval& b) {
  return or_out_of_range(row, add(a, b), "interval");
}
Interval interval_minus(Row& row, const Interval& a, const Interval& b) {
  return or_out_of_range(row, subtract(a, b), "interval");
}
Interval interval_negate(Row& row, const Interval& a) {
  return or_out_of_range(row, negate(a), "interval");
}
Interval interval_times(Row& row, const Interval& a, double factor) {
  return or_out_of_range(row, multiply(a, factor), "interval");
}
Interval times_interval(Row& row, double factor, const Interval& a) {
  return interval_times(row, a, factor);
}
Interval interval_over(Row& row, const Interval& a, double divisor) {
  if (divisor != 0) return or_out_of_range(row, divide(a, divisor), "interval");
  row.division_by_zero();
  return {};
}

void add_arithmetic(FunctionTable& table) {
  for (const TypeId time : {kTimestamp, kTimestamptz}) {
    table.push_back({"+", {time, kInterval}, time, map<time_plus>});
    table.push_back({"+", {kInterval, time}, time, map<plus_time>});
    table.push_back({"-", {time, kInterval}, time, map<time_minus>});
    table.push_back({"-", {time, time}, kInterval, map<time_difference>});
  }
  table.push_back({"+", {kDate, kInterval}, kTimestamp, map<date_plus>});
  table.push_back({"+", {kInterval, kDate}, kTimestamp, map<plus_date>});
  table.push_back({"-", {kDate, kInterval}, kTimestamp, map<date_minus>});
  table.push_back({"+", {kDate, kInt4}, kDate, map<date_plus_days>});
  table.push_back({"+", {kInt4, kDate}, kDate, map<days_plus_date>});
  table.push_back({"-", {kDate, kInt4}, kDate, map<date_minus_days>});
  table.push_back({"-", {kDate, kDate}, kInt4, map<date_difference>});
  table.push_back({"+", {kInterval, kInterval}, kInterval, map<interval_plus>});
  table.push_back({"-", {kInterval, kInterval}, kInterval, map<interval_minus>});
  table.push_back({"-", {kInterval}, kInterval, map<interval_negate>});
  table.push_back({"*", {kInterval, kFloat8}, kInterval, map<interval_times>});
  table.push_back({"*", {kFloat8, kInterval}, kInterval, map<times_interval>});
  table.push_back({"/", {kInterval, kFloat8}, kInterval, map<interval_over>});
}

// Fields
// ------------------------------------------------------------------------------------------------------------

// The field that a text names, looked up again only when the text changes: nearly always it is a literal.
class FieldName {
 public:
  std::optional<TimeField> find(std::string_view name) {
    if (name.data() != name_.data() || name.size() != name_.size() || name.empty()) {
      name_ = name;
      field_ = parse_time_field(name);
    }
    return field_;
  }

 private:
  std::string_view name_;
  std::optional<TimeField> field_;
};

void fail_field(Row& row, std::string_view name, std::string_view type) {
  const bool known = parse_time_field(name).has_value();
  row.fail(Reason::kOutOfRange,
           known ? format("unit \"{}\" not supported for type {}", name, type)
                 : format("unit \"{}\" not recognized for type {}", printable(name), type));
}

bool is_clock(TimeField field) {
  return field <= TimeField::kHour;
}
bool is_zone(TimeField field) {
  return field >= TimeField::kZone;
}

enum class FieldOf : uint8_t { kLocalTime, kInstant, kDate, kInterval };

template <FieldOf kOf>
std::string_view field_type_name() {
  switch (kOf) {
    case FieldOf::kLocalTime:
      return type_name(kTimestamp);
    case FieldOf::kInstant:
      return type_name(kTimestamptz);
    case FieldOf::kDate:
      return type_name(kDate);
    case FieldOf::kInterval:
      return type_name(kInterval);
  }
  return {};
}

template <FieldOf kOf, class T>
std::optional<FieldValue> field_value(TimeField field, const T& value) {
  if constexpr (kOf == FieldOf::kInterval) {
    return field_of_interval(field, value);
  } else if constexpr (kOf == FieldOf::kDate) {
    const auto micros = micros_of_days(value);
    return is_clock(field) || !micros ? std::nullopt : field_of_time(field, *micros);
  } else {
    if (kOf == FieldOf::kInstant && is_zone(field)) return FieldValue{0, 0};  // the session's zone is UTC
    return field_of_time(field, value);
  }
}

Decimal to_result(const FieldValue& value, Decimal) {
  // PostgreSQL shows an epoch of a date without a fraction, every other with its digits.
  return {value.units, value.scale};
}
double to_result(const FieldValue& value, double) {
  if (value.scale == 0) return static_cast<double>(value.units);
  if (value.scale == 3) return static_cast<double>(value.units) / 1000.0;
  return static_cast<double>(value.units) / 1e6;
}

template <FieldOf kOf, class R, class T>
R field_row(Row& row, FieldName& names, std::string_view name, const T& value) {
  const std::optional<TimeField> field = names.find(name);
  if constexpr (kOf == FieldOf::kLocalTime || kOf == FieldOf::kInstant) {
    if (field && is_infinite_time(value)) {
      if (!is_monotonic(*field)) {
        row.null();
      } else if constexpr (std::is_same_v<R, double>) {
        return value > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
      } else {
        row.fail(Reason::kOutOfRange,
                 format("the {} of an infinite timestamp is not a number", to_string(*field)));
      }
      return R{};
    }
  }
  const std::optional<FieldValue> found = field ? field_value<kOf>(*field, value) : std::nullopt;
  if (!found) {
    fail_field(row, name, field_type_name<kOf>());
    return R{};
  }
  if (kOf == FieldOf::kDate && *field == TimeField::kEpoch)
    return to_result(FieldValue{found->units / kSecondMicros, 0}, R{});
  return to_result(*found, R{});
}

template <FieldOf kOf>
Decimal extract_time(Row& row, FieldName& names, std::string_view name, int64_t value) {
  return field_row<kOf, Decimal>(row, names, name, value);
}
template <FieldOf kOf>
double date_part_time(Row& row, FieldName& names, std::string_view name, int64_t value) {
  return field_row<kOf, double>(row, names, name, value);
}
Decimal extract_interval(Row& row, FieldName& names, std::string_view name, const Interval& value) {
  return field_row<FieldOf::kInterval, Decimal>(row, names, name, value);
}
double date_part_interval(Row& row, FieldName& names, std::string_view name, const Interval& value) {
  return field_row<FieldOf::kInterval, double>(row, names, name, value);
}
// date_part of a date is that of its midnight, so hours are allowed where extract refuses them.
double date_part_date(Row& row, FieldName& names, std::string_view name, int64_t days) {
  return field_row<FieldOf::kLocalTime, double>(row, names, name, date_start(row, days));
}

// A literal is looked at before the first record.
const std::string* literal_text(const Expr& expr) {
  if (expr.kind != ExprKind::kLiteral) return nullptr;
  return std::get_if<std::string>(&expr.literal.data);
}

Status check_field(std::span<const ExprPtr> args) {
  const std::string* name = literal_text(*args[0]);
  if (name == nullptr || parse_time_field(*name)) return {};
  static constexpr auto kKnown = std::to_array<std::string_view>(
      {"microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year",
       "decade", "century", "millennium", "isoyear", "dow", "isodow", "doy", "epoch"});
  const std::string nearest = nearest_name(*name, kKnown);
  return fail(
      ErrorCode::kInvalid,
      format("unit \"{}\" not recognized for type {}", printable(*name), type_name(type_id(args[1]->type))),
      {},
      nearest.empty() ? "Units: microseconds, milliseconds, second, minute, hour, day, week, month, quarter, "
                        "year, and more."
                      : format("Did you mean \"{}\"?", nearest));
}

int64_t date_trunc_time(Row& row, FieldName& names, std::string_view name, int64_t micros) {
  const std::optional<TimeField> field = names.find(name);
  const std::optional<int64_t> start = field ? truncate_time(*field, micros) : std::nullopt;
  if (!start) fail_field(row, name, "timestamp");
  return start.value_or(0);
}
Interval date_trunc_interval(Row& row, FieldName& names, std::string_view name, const Interval& value) {
  const std::optional<TimeField> field = names.find(name);
  const std::optional<Interval> start = field ? truncate_interval(*field, value) : std::nullopt;
  if (!start) fail_field(row, name, "interval");
  return start.value_or(Interval{});
}

// Zones
// -------------------------------------------------------------------------------------------------------------

// PostgreSQL reads '+02:00' as POSIX does, west of Greenwich; everybody else means east. So it has to be
// written otherwise.
bool is_bare_offset(std::string_view zone) {
  return zone.size() > 1 && (zone[0] == '+' || zone[0] == '-' || (zone[0] >= '0' && zone[0] <= '9'));
}

class ZoneName {
 public:
  const TimeZone* find(Row& row, std::string_view name) {
    if (name.data() != name_.data() || name.size() != name_.size() || zone_ == nullptr) {
      name_ = name;
      const auto found = is_bare_offset(name) ? fail(ErrorCode::kNotFound, "") : TimeZone::find(name);
      zone_ = found ? *found : nullptr;
    }
    if (zone_ == nullptr)
      row.fail(Reason::kOutOfRange, format("time zone \"{}\" not recognized", printable(name)));
    return zone_;
  }

 private:
  std::string_view name_;
  const TimeZone* zone_ = nullptr;
};

Status check_zone_text(const std::string& zone) {
  if (is_bare_offset(zone)) {
    return fail(
        ErrorCode::kInvalid, format("time zone \"{}\" can be read in two ways", printable(zone)),
        "PostgreSQL counts a bare offset west of Greenwich, ISO 8601 east.",
        "Write AT TIME ZONE INTERVAL '2 hours' for two hours east, or a name such as 'Europe/Vienna'.");
  }
  const auto found = TimeZone::find(zone);
  return found ? Status{} : fail(found.error());
}
template <size_t kArgument>
Status check_zone(std::span<const ExprPtr> args) {
  const std::string* zone = literal_text(*args[kArgument]);
  return zone == nullptr ? Status{} : check_zone_text(*zone);
}
Status check_field_and_zone(std::span<const ExprPtr> args) {
  WRACKLINE_TRY(check_field(args));
  return check_zone<2>(args);
}

// The instant of a local time. One that occurs twice in autumn is the later, as in PostgreSQL (the zone gives
// the earlier); one that never occurs in spring is read with the offset before the gap.
int64_t instant_of(const TimeZone& zone, int64_t local) {
  const int64_t earlier = zone.instant_of_local(local);
  const int64_t offset_after = zone.offset_at(saturating_add(earlier, 26 * kHourMicros));
  const int64_t later = saturating_subtract(local, offset_after);
  return later > earlier && zone.offset_at(later) == offset_after ? later : earlier;
}

int64_t local_to_instant(Row& row, ZoneName& zones, std::string_view name, int64_t local) {
  const TimeZone* zone = zones.find(row, name);
  return zone == nullptr || is_infinite_time(local) ? local : instant_of(*zone, local);
}
int64_t instant_to_local(Row& row, ZoneName& zones, std::string_view name, int64_t instant) {
  const TimeZone* zone = zones.find(row, name);
  if (zone == nullptr || is_infinite_time(instant)) return instant;
  return saturating_add(instant, zone->offset_at(instant));
}

int64_t shift_by(Row& row, const Interval& offset, int64_t micros, int sign) {
  if (offset.months != 0 || offset.days != 0) {
    row.fail(Reason::kOutOfRange, "an interval that is a time zone must not have months or days");
    return 0;
  }
  return time_plus(row, micros, {0, 0, sign * offset.micros});
}
int64_t local_to_instant_by(Row& row, const Interval& offset, int64_t local) {
  return shift_by(row, offset, local, -1);
}
int64_t instant_to_local_by(Row& row, const Interval& offset, int64_t instant) {
  return shift_by(row, offset, instant, 1);
}

struct FieldAndZone {
  FieldName field;
  ZoneName zone;
};
int64_t date_trunc_in_zone(Row& row, FieldAndZone& names, std::string_view field, int64_t instant,
                           std::string_view zone) {
  const TimeZone* found = names.zone.find(row, zone);
  if (found == nullptr || is_infinite_time(instant)) return instant;
  const int64_t offset = found->offset_at(instant);
  const int64_t start = date_trunc_time(row, names.field, field, saturating_add(instant, offset));
  const std::optional<TimeField> unit = names.field.find(field);
  // An hour that occurs twice in autumn stays the one it was; a day may have begun with another offset.
  return unit && is_clock(*unit) ? saturating_subtract(start, offset) : instant_of(*found, start);
}

void add_fields(FunctionTable& table) {
  const auto add = [&](std::string_view name, TypeId of, TypeId result, Kernel kernel) {
    table.push_back({name, {kText, of}, result, kernel, kPlain, check_field});
  };
  add("extract", kTimestamp, kNumeric, map_with<extract_time<FieldOf::kLocalTime>>);
  add("extract", kTimestamptz, kNumeric, map_with<extract_time<FieldOf::kInstant>>);
  add("extract", kDate, kNumeric, map_with<extract_time<FieldOf::kDate>>);
  add("extract", kInterval, kNumeric, map_with<extract_interval>);
  add("date_part", kTimestamp, kFloat8, map_with<date_part_time<FieldOf::kLocalTime>>);
  add("date_part", kTimestamptz, kFloat8, map_with<date_part_time<FieldOf::kInstant>>);
  add("date_part", kDate, kFloat8, map_with<date_part_date>);
  add("date_part", kInterval, kFloat8, map_with<date_part_interval>);
  add("date_trunc", kTimestamp, kTimestamp, map_with<date_trunc_time>);
  add("date_trunc", kTimestamptz, kTimestamptz, map_with<date_trunc_time>);
  add("date_trunc", kInterval, kInterval, map_with<date_trunc_interval>);
  table.push_back({"date_trunc",
                   {kText, kTimestamptz, kText},
                   kTimestamptz,
                   map_with<date_trunc_in_zone>,
                   kPlain,
                   check_field_and_zone});
  table.push_back(
      {"timezone", {kText, kTimestamp}, kTimestamptz, map_with<local_to_instant>, kPlain, check_zone<0>});
  table.push_back(
      {"timezone", {kText, kTimestamptz}, kTimestamp, map_with<instant_to_local>, kPlain, check_zone<0>});
  table.push_back({"timezone", {kInterval, kTimestamp}, kTimestamptz, map<local_to_instant_by>});
  table.push_back({"timezone", {kInterval, kTimestamptz}, kTimestamp, map<instant_to_local_by>});
}

// Making times
// ------------------------------------------------------------------------------------------------------

int64_t seconds_to_instant(Row& row, double seconds) {
  if (std::isinf(seconds)) return seconds > 0 ? kMicrosMax : kMicrosMin;
  // Counted from 2000, as PostgreSQL does, so that the same digits survive.
  const double micros = std::nearbyint((seconds - static_cast<double>(kPostgresEpochSeconds)) * 1e6);
  constexpr int64_t kShift = kPostgresEpochSeconds * kSecondMicros;
  int64_t result = 0;
  if (!(std::fabs(micros) < 9.2e18) ||
      __builtin_add_overflow(static_cast<int64_t>(micros), kShift, &result)) {
    row.out_of_range("timestamp");
  }
  return result;
}

constexpr int64_t kYearMax = 5874897;  // PostgreSQL's last date

int64_t date_of(Row& row, int64_t year, int64_t month, int64_t day) {
  const int64_t astronomical = year < 0 ? year + 1 : year;  // -1 is 1 BC, the year before 1
  if (year == 0 || year > kYearMax || year < -4713 || !is_valid_date(astronomical, month, day)) {
    row.fail(Reason::kOutOfRange, format("date field value out of range: {}-{:02}-{:02}", year, month, day));
    return 0;
  }
  return days_from_civil(astronomical, static_cast<int32_t>(month), static_cast<int32_t>(day));
}
int64_t make_date(Row& row, int64_t year, int64_t month, int64_t day) {
  return date_of(row, year, month, day);
}

int64_t make_timestamp(Row& row, int64_t year, int64_t month, int64_t day, int64_t hour, int64_t minute,
                       double second) {
  const int64_t days = date_of(row, year, month, day);
  const double micros = std::nearbyint(second * 1e6);
  const bool in_range =
      hour >= 0 && hour <= 24 && minute >= 0 && minute < 60 && micros >= 0 && micros <= 60e6;
  const int64_t clock =
      in_range ? hour * kHourMicros + minute * kMinuteMicros + static_cast<int64_t>(micros) : kDayMicros + 1;
  if (clock > kDayMicros) {
    row.fail(Reason::kOutOfRange, format("time field value out of range: {}:{:02}:{}", hour, minute, second));
    return 0;
  }
  return time_plus(row, date_start(row, days), {0, 0, clock});
}

int64_t date_bin(Row& row, const Interval& stride, int64_t micros, int64_t origin) {
  if (is_infinite_time(micros)) return micros;
  int64_t step = 0;
  const bool overflow = __builtin_mul_overflow(int64_t{stride.days}, kDayMicros, &step) ||
                        __builtin_add_overflow(step, stride.micros, &step);
  const auto refuse = [&](std::string_view why) {
    row.fail(Reason::kOutOfRange, std::string(why));
    return int64_t{0};
  };
  if (is_infinite_time(origin)) return refuse("origin out of range");
  if (stride.months != 0)
    return refuse("timestamps cannot be binned into intervals containing months or years");
  if (overflow) return refuse("interval out of range");
  if (step <= 0) return refuse("stride must be greater than zero");
  int64_t distance = 0;
  if (__builtin_sub_overflow(micros, origin, &distance)) return refuse("timestamp out of range");
  int64_t rest = distance % step;
  if (rest < 0) rest += step;  // the bins go on before the origin
  return or_out_of_range(row, add_interval(micros, {0, 0, -rest}), "timestamp");
}

bool is_finite_time(int64_t micros) {
  return !is_infinite_time(micros);
}
bool is_finite_date(int64_t) {
  return true;
}

void add_makers(FunctionTable& table) {
  table.push_back({"to_timestamp", {kFloat8}, kTimestamptz, map<seconds_to_instant>});
  table.push_back({"make_date", {kInt4, kInt4, kInt4}, kDate, map<make_date>});
  const std::vector<TypeId> parts = {kInt4, kInt4, kInt4, kInt4, kInt4, kFloat8};
  table.push_back({"make_timestamp", parts, kTimestamp, map<make_timestamp>});
  table.push_back({"make_timestamptz", parts, kTimestamptz, map<make_timestamp>});
  table.push_back({"date_bin", {kInterval, kTimestamp, kTimestamp}, kTimestamp, map<date_bin>});
  table.push_back({"date_bin", {kInterval, kTimestamptz, kTimestamptz}, kTimestamptz, map<date_bin>});
  table.push_back({"isfinite", {kTimestamp}, kBoolean, map<is_finite_time>, kTotal});
  table.push_back({"isfinite", {kTimestamptz}, kBoolean, map<is_finite_time>, kTotal});
  table.push_back({"isfinite", {kDate}, kBoolean, map<is_finite_date>, kTotal});
}

}  // namespace

void add_time_functions(FunctionTable& table) {
  add_arithmetic(table);
  add_fields(table);
  add_makers(table);
}

}  // namespace wrackline::expr
