#include "data/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "base/text.h"

namespace wrackline {
namespace {

Decimal number(std::string_view text) {
  const auto value = parse_decimal(text);
  EXPECT_TRUE(value) << text;
  return value.value_or(Decimal{});
}

std::string shown(const std::optional<Decimal>& value) {
  return value ? to_string(*value) : "overflow";
}

std::string read_back(std::string_view text) {
  const auto value = parse_decimal(text);
  if (value) return to_string(*value);
  return value.error().code == ErrorCode::kOutOfRange ? "out of range" : "malformed";
}

TEST(Decimal, ReadsPostgresNumericInput) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0.00", "0.00"},
      {"+1.50", "1.50"},
      {"1.", "1"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {" 7 ", "7"},
      {"-1.50e3", "-1500"},
      {"1.5e-3", "0.0015"},
      {"1E2", "100"},
      {"0e100", "0"},
      {"0e-5", "0.00000"},
      {"007", "7"},
      {"1.234e1", "12.34"},
      {"1e-38", "0.00000000000000000000000000000000000001"},
      {"99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
      {"1e37", "10000000000000000000000000000000000000"},
      // Zeros at the end give way before the value does.
      {"10000000000000000000000000000000000000.00", "10000000000000000000000000000000000000"},
      {"1.500000000000000000000000000000000000000000000", "1.5000000000000000000000000000000000000"},
      {"100000000000000000000000000000000000000000000000000e-50", "1.0000000000000000000000000000000000000"},
      {"0.0000000000000000000000000000000000000000000000", "0.00000000000000000000000000000000000000"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(read_back(text), expected) << text;
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", " ", ".", "-", "+-1", "1 2", "1e", "1e+", "e5", "1.2.3", "NaN", "Infinity",
                           "0x10", "1,5", "1_000", "--1", "1e5.5", "\0"}) {
    EXPECT_EQ(read_back(text), "malformed") << text;
  }
  EXPECT_EQ(read_back(std::string_view("1\0", 2)), "malformed");
}

TEST(Decimal, RefusesMoreThanThirtyEightDigits) {
  for (const char* text :
       {"100000000000000000000000000000000000000", "1e38", "1e-39", "1e999999999999999999999",
        "1e-999999999999999999999", "123456789012345678901234567890123456789",
        "0.123456789012345678901234567890123456789", "10000000000000000000000000000000000000.01"}) {
    EXPECT_EQ(read_back(text), "out of range") << text;
  }
}

// The vectors are what PostgreSQL answers; a result that 38 digits cannot hold must be reported, never
// rounded.
TEST(Decimal, AgreesWithPostgres) {
  std::ifstream in(WRACKLINE_SOURCE_DIR "/src/data/testdata/decimal_vectors.txt");
  int checked = 0;
  int overflows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string operation, left, right, result;
    words >> operation >> left >> right >> result;
    const Decimal a = number(left);
    const Decimal b = number(right);
    const auto got = operation == "+"   ? add(a, b)
                     : operation == "-" ? subtract(a, b)
                     : operation == "*" ? multiply(a, b)
                     : operation == "/" ? divide(a, b)
                                        : remainder(a, b);
    const auto expected = parse_decimal(result);
    EXPECT_EQ(shown(got), expected ? to_string(*expected) : "overflow") << line;
    overflows += expected ? 0 : 1;
    ++checked;
  }
  EXPECT_GT(checked, 800);
  EXPECT_GT(overflows, 50);
  EXPECT_LT(overflows, checked / 2);
}

// Numbers of up to 18 digits and scale 6, where plain 128-bit arithmetic is an independent answer.
TEST(Decimal, AgreesWithPlainArithmetic) {
  std::mt19937_64 random(7);
  const auto draw = [&] {
    const auto digits = static_cast<int64_t>(random() % 1'000'000'000'000'000'000);
    const auto unscaled = (digits >> random() % 60) * (random() % 2 == 0 ? 1 : -1);
    return Decimal{unscaled, static_cast<int32_t>(random() % 7)};
  };
  for (int i = 0; i < 20000; ++i) {
    const Decimal a = draw();
    const Decimal b = draw();
    SCOPED_TRACE(to_string(a) + " and " + to_string(b));
    const __int128 left = a.unscaled * power_of_ten(6 - a.scale);
    const __int128 right = b.unscaled * power_of_ten(6 - b.scale);
    const auto exact = [](__int128 unscaled, int scale) { return Decimal{unscaled, scale}; };
    EXPECT_EQ(compare(*add(a, b), exact(left + right, 6)), 0);
    EXPECT_EQ(compare(*subtract(a, b), exact(left - right, 6)), 0);
    EXPECT_EQ(compare(*multiply(a, b), exact(a.unscaled * b.unscaled, a.scale + b.scale)), 0);
    EXPECT_EQ(compare(a, b), left < right ? -1 : left > right ? 1 : 0);
    if (b.unscaled != 0) {
      EXPECT_EQ(compare(*remainder(a, b), exact(left % right, 6)), 0);
    }
    EXPECT_EQ(to_string(number(to_string(a))), to_string(a));
  }
}

TEST(Decimal, DivisionIsWithinHalfAUnitOfTheLastPlace) {
  std::mt19937_64 random(11);
  int checked = 0;
  for (int i = 0; i < 20000; ++i) {
    const Decimal a{static_cast<int64_t>(random()) >> random() % 63, static_cast<int32_t>(random() % 19)};
    const Decimal b{static_cast<int64_t>(random()) >> random() % 63, static_cast<int32_t>(random() % 19)};
    if (b.unscaled == 0) continue;
    const auto quotient = divide(a, b);
    if (!quotient) continue;
    const auto product = multiply(*quotient, b);  // exact where it fits
    if (!product) continue;
    const auto error = subtract(*product, a);
    if (!error) continue;
    const Decimal magnitude{error->unscaled < 0 ? -error->unscaled : error->unscaled, error->scale};
    const Decimal unit{b.unscaled < 0 ? -b.unscaled : b.unscaled, b.scale + quotient->scale};
    const auto twice = add(magnitude, magnitude);
    if (!twice || unit.scale > 38) continue;
    EXPECT_LE(compare(*twice, unit), 0)
        << to_string(a) << " / " << to_string(b) << " = " << to_string(*quotient);
    ++checked;
  }
  EXPECT_GT(checked, 2000);
}

TEST(Decimal, RescalesHalfAwayFromZero) {
  EXPECT_EQ(shown(rescale(number("1.005"), 2)), "1.01");
  EXPECT_EQ(shown(rescale(number("-1.005"), 2)), "-1.01");
  EXPECT_EQ(shown(rescale(number("1.00499"), 2)), "1.00");
  EXPECT_EQ(shown(rescale(number("1.5"), 4)), "1.5000");
  EXPECT_EQ(shown(rescale(number("0.5"), 0)), "1");
  EXPECT_EQ(shown(rescale(number("-0.4"), 0)), "0");
  EXPECT_EQ(shown(rescale(number("1250"), -2)), "1300");
  EXPECT_EQ(shown(rescale(number("49"), -2)), "0");
  EXPECT_EQ(shown(rescale(number("1e-38"), -2)), "0");
  EXPECT_EQ(shown(rescale(number("1"), 38)), "overflow");
  EXPECT_EQ(shown(rescale(number("1"), 39)), "overflow");
  EXPECT_EQ(shown(rescale(number("99999999999999999999999999999999999999"), -1)), "overflow");
}

TEST(Decimal, EqualValuesCompareAndHashAlike) {
  EXPECT_EQ(compare(number("1.5"), number("1.50")), 0);
  EXPECT_EQ(hash(number("1.5")), hash(number("1.500000000")));
  EXPECT_EQ(hash(number("0")), hash(number("0.00")));
  EXPECT_NE(hash(number("1.5")), hash(number("-1.5")));
  EXPECT_NE(hash(number("1")), hash(number("10")));
  EXPECT_EQ(compare(number("1e37"), number("1e-38")), 1);
  EXPECT_EQ(compare(number("-1e37"), number("1e-38")), -1);
  EXPECT_EQ(compare(number("-1e37"), number("-1e-38")), -1);
  EXPECT_EQ(compare(number("0"), number("-0.000")), 0);
}

TEST(Decimal, ConvertsToIntegersAndBack) {
  EXPECT_EQ(decimal_to_int(number("2.5")), 3);
  EXPECT_EQ(decimal_to_int(number("-2.5")), -3);
  EXPECT_EQ(decimal_to_int(number("9223372036854775807.4")), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(decimal_to_int(number("9223372036854775807.5")), std::nullopt);
  EXPECT_EQ(decimal_to_int(number("-9223372036854775808")), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(decimal_to_int(number("-9223372036854775808.5")), std::nullopt);
  EXPECT_EQ(to_string(decimal_from_int(std::numeric_limits<int64_t>::min())), "-9223372036854775808");
}

TEST(Decimal, ConvertsToTheNearestDouble) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 20000; ++i) {
    const __int128 wide = static_cast<__int128>(random()) << 62 | random() >> 2;
    const Decimal value{(wide >> random() % 120) % power_of_ten(38), static_cast<int32_t>(random() % 39)};
    const std::string text = to_string(value);
    EXPECT_EQ(decimal_to_double(value), std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(Decimal, ComesFromADoubleAsPostgresCasts) {
  EXPECT_EQ(shown(decimal_from_double(0.1 + 0.2)), "0.3");
  EXPECT_EQ(shown(decimal_from_double(1e20)), "100000000000000000000");
  EXPECT_EQ(shown(decimal_from_double(123456789012345678.0)), "123456789012346000");
  EXPECT_EQ(shown(decimal_from_double(1.23456789012345678)), "1.23456789012346");
  EXPECT_EQ(shown(decimal_from_double(1e-7)), "0.0000001");
  EXPECT_EQ(shown(decimal_from_double(-0.0)), "0");
  EXPECT_EQ(shown(decimal_from_double(1e38)), "overflow");
  EXPECT_EQ(shown(decimal_from_double(1e-300)), "overflow");
  EXPECT_EQ(shown(decimal_from_double(std::nan(""))), "overflow");
  EXPECT_EQ(shown(decimal_from_double(std::numeric_limits<double>::infinity())), "overflow");
}

}  // namespace
}  // namespace wrackline
