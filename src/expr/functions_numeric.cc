// Arithmetic and the functions of numbers.
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "data/decimal.h"
#include "expr/decimal_math.h"
#include "expr/functions.h"
#include "expr/integer_math.h"

namespace wrackline::expr {
namespace {

using enum TypeId;

constexpr int64_t kInt64Min = std::numeric_limits<int64_t>::min();

// Integers
// ----------------------------------------------------------------------------------------------------------

// Computes all rows first and looks for overflow afterwards: overflow is rare, and the first loop has no
// branches.
template <class Op, int kBits>
void integer_arithmetic(Call& call) {
  const int64_t* a = call.args[0]->values<int64_t>().data();
  const int64_t* b = call.args[1]->values<int64_t>().data();
  int64_t* out = call.out.values<int64_t>().data();
  const bool nulls = call.out.has_nulls();
  if (!nulls) {
    bool all_fit = true;
    for (size_t i = 0; i < call.rows; ++i) {
      const bool exact = Op::apply(a[i], b[i], out[i]);
      all_fit &= exact & fits<kBits>(out[i]);
    }
    if (all_fit) return;
  }
  for (size_t i = 0; i < call.rows; ++i) {
    if (nulls && call.out.is_null(i)) continue;
    if (Op::apply(a[i], b[i], out[i]) && fits<kBits>(out[i])) continue;
    call.fail(i, Reason::kOutOfRange, std::string(integer_name<kBits>()) + " out of range");
  }
}

template <int kBits>
int64_t narrow(Row& row, int64_t value) {
  if (!fits<kBits>(value)) row.out_of_range(integer_name<kBits>());
  return value;
}

template <int kBits>
int64_t integer_divide(Row& row, int64_t a, int64_t b) {
  if (b == 0) {
    row.division_by_zero();
    return 0;
  }
  if (b == -1 && a == kInt64Min) {  // the one quotient that a bigint cannot hold; the processor traps on it
    row.out_of_range(integer_name<kBits>());
    return 0;
  }
  return narrow<kBits>(row, a / b);
}

int64_t integer_remainder(Row& row, int64_t a, int64_t b) {
  if (b == 0) {
    row.division_by_zero();
    return 0;
  }
  return b == -1 ? 0 : a % b;
}

template <int kBits>
int64_t integer_negate(Row& row, int64_t a) {
  if (a == kInt64Min) {
    row.out_of_range(integer_name<kBits>());
    return 0;
  }
  return narrow<kBits>(row, -a);
}

template <int kBits>
int64_t integer_absolute(Row& row, int64_t a) {
  return a < 0 ? integer_negate<kBits>(row, a) : a;
}

// Greatest common divisor of the sizes; 2^63 is reported by the caller, as it does not fit a bigint.
uint64_t common_divisor(int64_t a, int64_t b) {
  const auto size = [](int64_t x) { return x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x); };
  return std::gcd(size(a), size(b));
}
template <int kBits>
int64_t integer_gcd(Row& row, int64_t a, int64_t b) {
  const uint64_t divisor = common_divisor(a, b);
  if (divisor <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return narrow<kBits>(row, static_cast<int64_t>(divisor));
  }
  row.out_of_range(integer_name<kBits>());
  return 0;
}
template <int kBits>
int64_t integer_lcm(Row& row, int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const __int128 product = static_cast<__int128>(a) * b;
  const __int128 multiple = (product < 0 ? -product : product) / common_divisor(a, b);
  if (multiple == static_cast<int64_t>(multiple)) return narrow<kBits>(row, static_cast<int64_t>(multiple));
  row.out_of_range(integer_name<kBits>());
  return 0;
}

int64_t integer_and(int64_t a, int64_t b) {
  return a & b;
}
int64_t integer_or(int64_t a, int64_t b) {
  return a | b;
}
int64_t integer_xor(int64_t a, int64_t b) {
  return a ^ b;
}
int64_t integer_not(int64_t a) {
  return ~a;
}

template <class T>
T same_value(T a) {
  return a;
}

// The name, parameter and result of an integer type.
template <int kBits>
constexpr TypeId integer_id() {
  return kBits == 64 ? kInt8 : kBits == 32 ? kInt4 : kInt2;
}

template <int kLeft, int kRight>
void add_integer_pair(FunctionTable& table) {
  constexpr int kBits = kLeft > kRight ? kLeft : kRight;
  const auto add = [&](std::string_view name, Kernel kernel) {
    table.push_back({name, {integer_id<kLeft>(), integer_id<kRight>()}, integer_id<kBits>(), kernel});
  };
  add("+", integer_arithmetic<Add, kBits>);
  add("-", integer_arithmetic<Subtract, kBits>);
  add("*", integer_arithmetic<Multiply, kBits>);
  add("/", map<integer_divide<kBits>>);
}

template <int kBits>
void add_integer_functions(FunctionTable& table) {
  constexpr TypeId kType = integer_id<kBits>();
  add_integer_pair<kBits, 16>(table);
  add_integer_pair<kBits, 32>(table);
  add_integer_pair<kBits, 64>(table);
  for (const std::string_view name : {"%", "mod"})
    table.push_back({name, {kType, kType}, kType, map<integer_remainder>});
  table.push_back({"-", {kType}, kType, map<integer_negate<kBits>>});
  table.push_back({"+", {kType}, kType, map<same_value<int64_t>>, kTotal});
  for (const std::string_view name : {"abs", "@"})
    table.push_back({name, {kType}, kType, map<integer_absolute<kBits>>});
  if constexpr (kBits > 16) {
    table.push_back({"gcd", {kType, kType}, kType, map<integer_gcd<kBits>>});
    table.push_back({"lcm", {kType, kType}, kType, map<integer_lcm<kBits>>});
  }
  table.push_back({"&", {kType, kType}, kType, map<integer_and>, kTotal});
  table.push_back({"|", {kType, kType}, kType, map<integer_or>, kTotal});
  table.push_back({"#", {kType, kType}, kType, map<integer_xor>, kTotal});
  table.push_back({"~", {kType}, kType, map<integer_not>, kTotal});
}

// Floats
// ------------------------------------------------------------------------------------------------------------

// A result that became infinite, or vanished, although no operand did is an error as in PostgreSQL.
template <class T>
double checked(Row& row, T result, bool may_be_infinite, bool may_be_zero) {
  if (std::isinf(result) && !may_be_infinite) row.fail(Reason::kOutOfRange, "value out of range: overflow");
  if (result == 0 && !may_be_zero) row.fail(Reason::kOutOfRange, "value out of range: underflow");
  return static_cast<double>(result);
}

template <class T>
double float_add(Row& row, double a, double b) {
  const T result = static_cast<T>(a) + static_cast<T>(b);
  return checked(row, result, std::isinf(a) || std::isinf(b), true);
}
template <class T>
double float_subtract(Row& row, double a, double b) {
  const T result = static_cast<T>(a) - static_cast<T>(b);
  return checked(row, result, std::isinf(a) || std::isinf(b), true);
}
template <class T>
double float_multiply(Row& row, double a, double b) {
  const T result = static_cast<T>(a) * static_cast<T>(b);
  return checked(row, result, std::isinf(a) || std::isinf(b), a == 0 || b == 0);
}
template <class T>
double float_divide(Row& row, double a, double b) {
  if (b == 0 && !std::isnan(a)) {
    row.division_by_zero();
    return 0;
  }
  const T result = static_cast<T>(a) / static_cast<T>(b);
  return checked(row, result, std::isinf(a), a == 0 || std::isinf(b));
}
double float_negate(double a) {
  return -a;
}
double float_absolute(double a) {
  return std::fabs(a);
}
double float_round(double a) {
  return std::nearbyint(a);
}  // half to even, as PostgreSQL's rint
double float_floor(double a) {
  return std::floor(a);
}
double float_ceil(double a) {
  return std::ceil(a);
}
double float_trunc(double a) {
  return std::trunc(a);
}
double float_sign(double a) {
  return a > 0 ? 1 : a < 0 ? -1 : 0;
}

double float_sqrt(Row& row, double a) {
  if (a < 0) row.fail(Reason::kOutOfRange, "cannot take square root of a negative number");
  return std::sqrt(a);
}
double float_cbrt(double a) {
  return std::cbrt(a);
}

double float_exp(Row& row, double a) {
  return checked(row, std::exp(a), std::isinf(a), std::isinf(a));
}
template <double (*kLogarithm)(double)>
double float_logarithm(Row& row, double a) {
  if (a == 0) row.fail(Reason::kOutOfRange, "cannot take logarithm of zero");
  if (a < 0) row.fail(Reason::kOutOfRange, "cannot take logarithm of a negative number");
  return kLogarithm(a);
}
double natural(double a) {
  return std::log(a);
}
double decadic(double a) {
  return std::log10(a);
}

double float_power(Row& row, double a, double b) {
  if (a == 0 && b < 0) row.fail(Reason::kOutOfRange, "zero raised to a negative power is undefined");
  if (a < 0 && std::isfinite(b) && std::floor(b) != b) {
    row.fail(Reason::kOutOfRange, "a negative number raised to a non-integer power yields a complex result");
  }
  const bool extreme = std::isinf(a) || std::isinf(b);
  return checked(row, std::pow(a, b), extreme || (a == 0 && b < 0), extreme || a == 0);
}

double degrees(double a) {
  return a * (180.0 / std::numbers::pi);
}
double radians(double a) {
  return a * (std::numbers::pi / 180.0);
}

template <class T>
void add_float_operators(FunctionTable& table, TypeId left, TypeId right, TypeId result) {
  table.push_back({"+", {left, right}, result, map<float_add<T>>});
  table.push_back({"-", {left, right}, result, map<float_subtract<T>>});
  table.push_back({"*", {left, right}, result, map<float_multiply<T>>});
  table.push_back({"/", {left, right}, result, map<float_divide<T>>});
}

void add_float_functions(FunctionTable& table) {
  add_float_operators<float>(table, kFloat4, kFloat4, kFloat4);
  add_float_operators<double>(table, kFloat4, kFloat8, kFloat8);
  add_float_operators<double>(table, kFloat8, kFloat4, kFloat8);
  add_float_operators<double>(table, kFloat8, kFloat8, kFloat8);
  for (const TypeId type : {kFloat4, kFloat8}) {
    table.push_back({"-", {type}, type, map<float_negate>, kTotal});
    table.push_back({"+", {type}, type, map<same_value<double>>, kTotal});
    for (const std::string_view name : {"abs", "@"})
      table.push_back({name, {type}, type, map<float_absolute>, kTotal});
  }
  const auto add = [&](std::string_view name, Kernel kernel, uint8_t traits) {
    table.push_back({name, {kFloat8}, kFloat8, kernel, traits});
  };
  add("round", map<float_round>, kTotal);
  add("floor", map<float_floor>, kTotal);
  add("ceil", map<float_ceil>, kTotal);
  add("ceiling", map<float_ceil>, kTotal);
  add("trunc", map<float_trunc>, kTotal);
  add("sign", map<float_sign>, kTotal);
  add("sqrt", map<float_sqrt>, kPlain);
  add("|/", map<float_sqrt>, kPlain);
  add("cbrt", map<float_cbrt>, kTotal);
  add("exp", map<float_exp>, kPlain);
  add("ln", map<float_logarithm<natural>>, kPlain);
  add("log", map<float_logarithm<decadic>>, kPlain);
  add("log10", map<float_logarithm<decadic>>, kPlain);
  add("degrees", map<degrees>, kTotal);
  add("radians", map<radians>, kTotal);
  for (const std::string_view name : {"power", "pow", "^"}) {
    table.push_back({name, {kFloat8, kFloat8}, kFloat8, map<float_power>});
  }
}

// Decimals
// ----------------------------------------------------------------------------------------------------------

Decimal decimal_or_fail(Row& row, const std::optional<Decimal>& result) {
  if (result) return *result;
  row.fail(Reason::kOutOfRange, "numeric out of range: the exact result has more than 38 digits");
  return {};
}

Decimal decimal_add(Row& row, const Decimal& a, const Decimal& b) {
  return decimal_or_fail(row, add(a, b));
}
Decimal decimal_subtract(Row& row, const Decimal& a, const Decimal& b) {
  return decimal_or_fail(row, subtract(a, b));
}
Decimal decimal_multiply(Row& row, const Decimal& a, const Decimal& b) {
  return decimal_or_fail(row, multiply(a, b));
}
Decimal decimal_divide(Row& row, const Decimal& a, const Decimal& b) {
  if (b.unscaled != 0) return decimal_or_fail(row, divide(a, b));
  row.division_by_zero();
  return {};
}
Decimal decimal_remainder(Row& row, const Decimal& a, const Decimal& b) {
  if (b.unscaled != 0) return decimal_or_fail(row, remainder(a, b));
  row.division_by_zero();
  return {};
}
Decimal decimal_negate(const Decimal& a) {
  return {-a.unscaled, a.scale};
}
Decimal decimal_absolute(const Decimal& a) {
  return {a.unscaled < 0 ? -a.unscaled : a.unscaled, a.scale};
}
Decimal decimal_sign(const Decimal& a) {
  return {a.unscaled > 0 ? 1 : a.unscaled < 0 ? -1 : 0, 0};
}
Decimal decimal_same(const Decimal& a) {
  return a;
}

// `value` without its digits beyond `scale`; toward zero.
Decimal cut(const Decimal& value, int scale) {
  if (value.scale <= scale) return value;
  return {value.unscaled / power_of_ten(value.scale - scale), scale};
}
Decimal decimal_floor(Row& row, const Decimal& a) {
  const Decimal whole = cut(a, 0);
  if (a.unscaled >= 0 || compare(whole, a) == 0) return whole;
  return decimal_or_fail(row, subtract(whole, decimal_from_int(1)));
}
Decimal decimal_ceil(Row& row, const Decimal& a) {
  return decimal_negate(decimal_floor(row, decimal_negate(a)));
}
Decimal decimal_trunc(const Decimal& a) {
  return cut(a, 0);
}
Decimal decimal_round(Row& row, const Decimal& a) {
  return decimal_or_fail(row, rescale(a, 0));
}

// round and trunc at `digits` after the point; a negative number counts digits before it: round(1234, -2) is
// 1200.
template <bool kRound>
Decimal decimal_at(Row& row, const Decimal& a, int64_t digits) {
  if (digits >= 0) {
    const int scale = digits > 38 ? 38 : static_cast<int>(digits);
    if (kRound || a.scale < scale) return decimal_or_fail(row, rescale(a, scale));
    return cut(a, scale);
  }
  const __int128 whole = a.unscaled / power_of_ten(a.scale);
  if (digits <= -38) {  // the unit itself has more than 38 digits: the result is zero, or does not fit
    const bool rounds_up =
        kRound && digits == -38 && (whole >= 5 * power_of_ten(37) || whole <= -5 * power_of_ten(37));
    return rounds_up ? decimal_or_fail(row, std::nullopt) : Decimal{};
  }
  const __int128 unit = power_of_ten(static_cast<int>(-digits));
  __int128 units = whole / unit;
  if constexpr (kRound) {
    // The digits after the point cannot matter: half a unit is a whole number of ones.
    const __int128 rest = whole % unit;
    if (rest >= unit / 2) ++units;
    if (rest <= -unit / 2) --units;
  }
  return decimal_or_fail(row, multiply({units, 0}, {unit, 0}));
}

Decimal decimal_sqrt(Row& row, const Decimal& a) {
  if (a.unscaled >= 0) return decimal_or_fail(row, square_root(a));
  row.fail(Reason::kOutOfRange, "cannot take square root of a negative number");
  return {};
}
Decimal decimal_exp(Row& row, const Decimal& a) {
  return decimal_or_fail(row, exponential(a));
}

bool has_logarithm(Row& row, const Decimal& a) {
  if (a.unscaled == 0) row.fail(Reason::kOutOfRange, "cannot take logarithm of zero");
  if (a.unscaled < 0) row.fail(Reason::kOutOfRange, "cannot take logarithm of a negative number");
  return a.unscaled > 0;
}
Decimal decimal_ln(Row& row, const Decimal& a) {
  return has_logarithm(row, a) ? decimal_or_fail(row, natural_logarithm(a)) : Decimal{};
}
Decimal decimal_log(Row& row, const Decimal& base, const Decimal& a) {
  if (!has_logarithm(row, base) || !has_logarithm(row, a)) return {};
  if (compare(base, decimal_from_int(1)) != 0) return decimal_or_fail(row, logarithm(base, a));
  row.division_by_zero();
  return {};
}
Decimal decimal_log10(Row& row, const Decimal& a) {
  return decimal_log(row, decimal_from_int(10), a);
}

Decimal decimal_power(Row& row, const Decimal& a, const Decimal& b) {
  if (a.unscaled == 0 && b.unscaled < 0) {
    row.fail(Reason::kOutOfRange, "zero raised to a negative power is undefined");
  } else if (a.unscaled < 0 && !is_whole(b)) {
    row.fail(Reason::kOutOfRange, "a negative number raised to a non-integer power yields a complex result");
  } else {
    return decimal_or_fail(row, power(a, b));
  }
  return {};
}

// The whole part of the quotient.
Decimal decimal_div(Row& row, const Decimal& a, const Decimal& b) {
  if (b.unscaled == 0) {
    row.division_by_zero();
    return {};
  }
  const std::optional<Decimal> rest = remainder(a, b);
  const std::optional<Decimal> multiple = rest ? subtract(a, *rest) : std::nullopt;
  const std::optional<Decimal> quotient = multiple ? divide(*multiple, b) : std::nullopt;
  return decimal_or_fail(row, quotient ? rescale(*quotient, 0) : std::nullopt);
}

void add_decimal_functions(FunctionTable& table) {
  const auto add = [&](std::string_view name, Kernel kernel, uint8_t traits = kPlain) {
    table.push_back({name, {kNumeric}, kNumeric, kernel, traits});
  };
  const auto add_binary = [&](std::string_view name, Kernel kernel) {
    table.push_back({name, {kNumeric, kNumeric}, kNumeric, kernel});
  };
  add_binary("+", map<decimal_add>);
  add_binary("-", map<decimal_subtract>);
  add_binary("*", map<decimal_multiply>);
  add_binary("/", map<decimal_divide>);
  add_binary("%", map<decimal_remainder>);
  add_binary("mod", map<decimal_remainder>);
  add("-", map<decimal_negate>, kTotal);
  add("+", map<decimal_same>, kTotal);
  add("abs", map<decimal_absolute>, kTotal);
  add("@", map<decimal_absolute>, kTotal);
  add("sign", map<decimal_sign>, kTotal);
  add("floor", map<decimal_floor>);
  add("ceil", map<decimal_ceil>);
  add("ceiling", map<decimal_ceil>);
  add("trunc", map<decimal_trunc>, kTotal);
  add("round", map<decimal_round>);
  add("sqrt", map<decimal_sqrt>);
  add("exp", map<decimal_exp>);
  add("ln", map<decimal_ln>);
  add("log", map<decimal_log10>);
  add("log10", map<decimal_log10>);
  add_binary("log", map<decimal_log>);
  add_binary("div", map<decimal_div>);
  for (const std::string_view name : {"power", "pow", "^"}) add_binary(name, map<decimal_power>);
  table.push_back({"round", {kNumeric, kInt4}, kNumeric, map<decimal_at<true>>});
  table.push_back({"trunc", {kNumeric, kInt4}, kNumeric, map<decimal_at<false>>});
}

}  // namespace

void add_numeric_functions(FunctionTable& table) {
  add_integer_functions<16>(table);
  add_integer_functions<32>(table);
  add_integer_functions<64>(table);
  add_float_functions(table);
  add_decimal_functions(table);
}

}  // namespace wrackline::expr
