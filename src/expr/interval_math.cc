#include "expr/interval_math.h"

#include <cmath>
#include <cstdint>

namespace wrackline::expr {
namespace {

constexpr double kDaySeconds = 86400.0;

bool fits_int32(double value) {
  return value >= -2147483648.0 && value <= 2147483647.0;
}

// Hides the noise of a float quotient below a microsecond.
double to_micros_grid(double value) {
  return std::nearbyint(value * 1e6) / 1e6;
}

// `months`, `days` and `micros` are the exact products or quotients, as floats.
std::optional<Interval> cascade(double months, double days, double micros) {
  if (!fits_int32(months) || !fits_int32(days)) return std::nullopt;
  Interval result;
  result.months = static_cast<int32_t>(months);
  result.days = static_cast<int32_t>(days);
  const double rest_days = to_micros_grid((months - result.months) * 30);
  const auto whole_days = static_cast<int32_t>(rest_days);
  double rest_seconds = to_micros_grid((days - result.days + rest_days - whole_days) * kDaySeconds);
  double total_days = static_cast<double>(result.days) + whole_days;
  if (std::fabs(rest_seconds) >= kDaySeconds) {
    const double carried = std::trunc(rest_seconds / kDaySeconds);
    total_days += carried;
    rest_seconds -= carried * kDaySeconds;
  }
  const double total_micros = std::nearbyint(micros + rest_seconds * 1e6);
  if (!fits_int32(total_days) || !(std::fabs(total_micros) < 9223372036854775808.0)) return std::nullopt;
  result.days = static_cast<int32_t>(total_days);
  result.micros = static_cast<int64_t>(total_micros);
  return result;
}

}  // namespace

std::optional<Interval> multiply(const Interval& value, double factor) {
  return cascade(value.months * factor, value.days * factor, static_cast<double>(value.micros) * factor);
}

std::optional<Interval> divide(const Interval& value, double divisor) {
  return cascade(value.months / divisor, value.days / divisor, static_cast<double>(value.micros) / divisor);
}

std::optional<Interval> add(const Interval& a, const Interval& b) {
  Interval result;
  const bool overflow = __builtin_add_overflow(a.months, b.months, &result.months) ||
                        __builtin_add_overflow(a.days, b.days, &result.days) ||
                        __builtin_add_overflow(a.micros, b.micros, &result.micros);
  return overflow ? std::nullopt : std::optional(result);
}

std::optional<Interval> subtract(const Interval& a, const Interval& b) {
  Interval result;
  const bool overflow = __builtin_sub_overflow(a.months, b.months, &result.months) ||
                        __builtin_sub_overflow(a.days, b.days, &result.days) ||
                        __builtin_sub_overflow(a.micros, b.micros, &result.micros);
  return overflow ? std::nullopt : std::optional(result);
}

}  // namespace wrackline::expr
