// Roots, logarithms and powers of decimals, with the number of digits that PostgreSQL gives (at least 16
// significant ones) and the last digit rounded correctly.
//
// Results: nullopt if the result has more than 38 digits. Digits beyond the 38th after the point are rounded
// away. Source:  PostgreSQL 15 for the scales; the computation is fixed point with 96 digits, wide_number.h.
#pragma once

#include <optional>

#include "data/types.h"

namespace wrackline::expr {

std::optional<Decimal> square_root(const Decimal& value);  // Requires: value >= 0
std::optional<Decimal> exponential(const Decimal& value);
std::optional<Decimal> natural_logarithm(const Decimal& value);  // Requires: value > 0
std::optional<Decimal> logarithm(const Decimal& base,
                                 const Decimal& value);  // Requires: both > 0, base is not 1
bool is_whole(const Decimal& value);
// Requires: base is not zero or exponent >= 0; base >= 0 or exponent is whole.
std::optional<Decimal> power(const Decimal& base, const Decimal& exponent);

}  // namespace wrackline::expr
