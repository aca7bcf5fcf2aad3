// Exact decimal arithmetic with PostgreSQL's result scales, over 38 digits. Every operation reports overflow
// instead of wrapping or rounding silently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/types.h"

namespace wrackline {

// 10^exponent. Requires: 0 <= exponent <= 38.
__int128 power_of_ten(int exponent);

// Parses PostgreSQL's numeric input: sign, digits, point, exponent ("-1.50e3"). No NaN or Infinity.
// Errors: kData (not a number), kOutOfRange (over 38 digits).
Result<Decimal> parse_decimal(std::string_view text);
void append_decimal(std::string& out, const Decimal& value);  // "-1.50"
std::string to_string(const Decimal& value);

// nullopt means that the exact result does not fit 38 digits.
std::optional<Decimal> add(const Decimal& a, const Decimal& b);
std::optional<Decimal> subtract(const Decimal& a, const Decimal& b);
std::optional<Decimal> multiply(const Decimal& a, const Decimal& b);
// PostgreSQL's division: at least 16 significant digits, scale by its select_div_scale rule, rounded half
// away from zero. Requires: b is not zero.
std::optional<Decimal> divide(const Decimal& a, const Decimal& b);
std::optional<Decimal> remainder(const Decimal& a, const Decimal& b);  // sign of a; requires b not zero
std::optional<Decimal> rescale(const Decimal& value, int scale);       // rounds half away from zero
int compare(const Decimal& a, const Decimal& b);                       // -1, 0, 1; 1.5 equals 1.50
uint64_t hash(const Decimal& value);                                   // equal values hash alike
Decimal decimal_from_int(int64_t value);
std::optional<int64_t> decimal_to_int(const Decimal& value);  // rounds half away from zero
double decimal_to_double(const Decimal& value);               // correctly rounded
// The shortest decimal that reads back as `value`, at most 15 significant digits as PostgreSQL's cast does.
std::optional<Decimal> decimal_from_double(double value);

}  // namespace wrackline
