// Intervals times and divided by numbers, with PostgreSQL's cascade: a fraction of a month becomes days of a
// 30-day month, a fraction of a day becomes time.
#pragma once

#include <optional>

#include "data/types.h"

namespace wrackline::expr {

// nullopt: out of range.
std::optional<Interval> multiply(const Interval& value, double factor);
// Requires: divisor is not zero.
std::optional<Interval> divide(const Interval& value, double divisor);
std::optional<Interval> add(const Interval& a, const Interval& b);
std::optional<Interval> subtract(const Interval& a, const Interval& b);

}  // namespace wrackline::expr
