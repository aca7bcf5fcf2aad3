#include "expr/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>

#include "data/decimal.h"
#include "expr/aggregate_groups_test.h"

namespace wrackline::expr {
namespace {

// A root or quotient of doubles: PostgreSQL rounds on the way, so its last digits may differ.
bool nearly_equal(const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return true;
  const double a = std::strtod(ours.c_str(), nullptr);
  const double b = std::strtod(theirs.c_str(), nullptr);
  return std::fabs(a - b) <= 1e-14 * std::fabs(b);
}

TEST(Aggregate, AnswersAsPostgres) {
  std::ifstream in(WRACKLINE_SOURCE_DIR "/tests/data/aggregates.tsv");
  size_t checked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = split(line, '\t');
    ASSERT_EQ(fields.size(), 5U) << line;
    const auto type = type_named(fields[1]);
    ASSERT_TRUE(type) << line;
    ++checked;
    const auto made = make_spelled(fields[0], *type);
    if (!made) {
      EXPECT_EQ(fields[3], "ERROR") << line << "\n" << made.error().to_string();
      continue;
    }
    Groups groups(*made, 1);
    std::vector<std::string> values = split(fields[2], '|');
    if (fields[2].empty()) values.clear();
    if (fields[1] == "text" && fields[2] == "|x") values = {"", "x"};
    groups.add_all(column_of(*type, values, groups.arena));
    const std::string result = groups.results()[0];
    // A mean whose sum leaves the type is an error there; here the mean itself is what has to fit.
    if (fields[3] == "ERROR" && fields[0].starts_with("avg")) continue;
    if (fields[3] == "ERROR") {
      EXPECT_FALSE(groups.errors.empty()) << line << ' ' << result;
      continue;
    }
    EXPECT_TRUE(groups.errors.empty()) << line << ' ' << groups.errors[0].message;
    const std::string made_type = to_string(groups.aggregate->result_type());
    EXPECT_EQ(made_type.substr(0, made_type.find('(')), fields[3]) << line;
    const bool rounded =
        fields[3] == "double precision" && (fields[0].starts_with("stddev") || fields[0].starts_with("var"));
    EXPECT_TRUE(rounded ? nearly_equal(result, fields[4]) : result == fields[4]) << line << "\n" << result;
  }
  EXPECT_GT(checked, 3000U) << "a test that checks nothing must fail";
}

TEST(Aggregate, CountsRowsAndValues) {
  Column column = column_of<int64_t>(Type::bigint(), {1, 2, 3, 4});
  column.set_null(2);
  Groups stars(*make_aggregate("count", nullptr), 2);
  Groups values(make("count", Type::bigint()), 2);
  const std::vector<uint32_t> groups = {0, 1, 1, 1};
  const std::vector<uint32_t> rows = {0, 1, 2, 3};
  stars.add(groups, rows, nullptr);
  values.add(groups, rows, &column);
  EXPECT_EQ(stars.results(), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(values.results(), (std::vector<std::string>{"1", "2"}));
}

TEST(Aggregate, StatesAreSmall) {
  EXPECT_EQ((*make_aggregate("count", nullptr))->state_bytes(), 8U);
  EXPECT_EQ(make("sum", Type::bigint())->state_bytes(), 16U);
  EXPECT_EQ(make("min", Type::bigint())->state_bytes(), 16U);
  EXPECT_EQ(make("max", Type::timestamptz())->state_bytes(), 16U);
  EXPECT_EQ(make("max", Type::text())->state_bytes(), 16U);
  EXPECT_EQ(make("avg", Type::bigint())->state_bytes(), 24U);
  EXPECT_EQ(make("sum", Type::real64())->state_bytes(), 24U);
  EXPECT_EQ(make("sum", Type::numeric())->state_bytes(), 24U);
}

TEST(Aggregate, RefusesWithAHint) {
  const Type boolean = Type::boolean();
  const Type text = Type::text();
  EXPECT_EQ(make_aggregate("sum", &boolean).error().message, "function sum(boolean) does not exist");
  EXPECT_EQ(make_aggregate("sum", &boolean).error().hint, "Write sum(CASE WHEN x THEN 1 ELSE 0 END).");
  EXPECT_EQ(make_aggregate("avg", &text).error().hint, "Cast the text: avg(CAST(x AS numeric)).");
  EXPECT_EQ(make_aggregate("sum", nullptr).error().hint, "Only count takes *; write sum(column).");
  EXPECT_EQ(make_aggregate("coumt", &text).error().hint, "Did you mean \"count\"?");
  EXPECT_EQ(make_aggregate("stddev", &text).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(make_aggregate("median", &text).error().hint,
            "Write approx_percentile(x, 0.5), whose error is at most 0.4 % of the result.");
}

// Integers
// ----------------------------------------------------------------------------------------------------------

// One absurd value is refused; the group goes on without it.
TEST(Aggregate, RefusesTheRowThatWouldLeaveTheRange) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr double kLargest = std::numeric_limits<double>::max();
  const auto refused = [](Groups& groups) {
    std::vector<uint32_t> rows;
    for (const RowError& error : groups.errors) rows.push_back(error.row);
    return rows;
  };
  Groups bigints(make("sum", Type::bigint()), 1);
  bigints.add_all(column_of<int64_t>(Type::bigint(), {kMax, kMax, -kMax, 5}));
  EXPECT_EQ(bigints.results()[0], "9223372036854775812");
  EXPECT_TRUE(bigints.errors.empty());

  Groups integers(make("sum", Type::integer()), 1);
  integers.add_all(column_of<int64_t>(Type::integer(), {kMax - 1, 2, 1, -3, -kMax, -kMax}));
  EXPECT_EQ(integers.results()[0], "-3");
  EXPECT_EQ(refused(integers), (std::vector<uint32_t>{1, 5}));
  EXPECT_EQ(integers.errors[0].reason, Reason::kOutOfRange);
  EXPECT_EQ(integers.errors[0].message, "the result would leave the range of bigint");

  const std::string nines(38, '9');
  for (const char* name : {"sum", "avg"}) {
    Groups decimals(make(name, Type::numeric()), 1);
    decimals.add_all(
        column_of(Type::numeric(), {nines, "1", "0.5", "-" + nines, "4", "1e-37"}, decimals.arena));
    EXPECT_EQ(decimals.results()[0], name[0] == 's' ? "4.0000000000000000000000000000000000001"
                                                    : "1.0000000000000000000000000000000000000")
        << name;
    EXPECT_EQ(refused(decimals), (std::vector<uint32_t>{1, 2}));
  }

  Groups doubles(make("sum", Type::real64()), 1);
  doubles.add_all(
      column_of<double>(Type::real64(), {1, kLargest, kLargest, 0x1p970, -kLargest, 0x1p-1074, -1}));
  EXPECT_EQ(refused(doubles), (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(result_of(doubles), 0x1p-1074);

  const Type real = {.kind = TypeKind::kDouble, .bits = 32};
  constexpr double kLargestReal = std::numeric_limits<float>::max();
  Groups reals(make("sum", real), 1);
  reals.add_all(column_of<double>(real, {kLargestReal, kLargestReal, 0x1p102, 0x1p103, -kLargestReal}));
  EXPECT_EQ(refused(reals), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(result_of(reals), 0x1p102);

  Groups intervals(make("sum", Type::interval()), 1);
  intervals.add_all(
      column_of(Type::interval(), {"2147483647 months", "1 month", "-5 months"}, intervals.arena));
  EXPECT_EQ(refused(intervals), (std::vector<uint32_t>{1}));
  EXPECT_EQ(intervals.results()[0], "178956970 years 2 mons");
}

// Merged parts may be beyond what either was; the sum stays exact and says so only if nothing brings it back.
TEST(Aggregate, MergedSumsMayLeaveTheirRangeOnTheWay) {
  const std::string nines(38, '9');
  const auto merged = [&](const Type& type, const std::vector<std::string>& values) {
    Groups parts(make("sum", type), values.size() + 1);
    const Column column = column_of(type, values, parts.arena);
    for (uint32_t row = 0; row < values.size(); ++row) {
      const std::vector<uint32_t> group = {row + 1};
      const std::vector<uint32_t> which = {row};
      parts.add(group, which, &column);
      parts.aggregate->merge(parts.rows().at(0), parts.rows().at(row + 1), parts.arena);
    }
    return parts.results()[0];
  };
  EXPECT_EQ(merged(Type::numeric(), {nines, nines, "0.00000000000000000000000000000000000001", "-" + nines,
                                     "-" + nines, "-1"}),
            "-0.99999999999999999999999999999999999999");
  EXPECT_EQ(merged(Type::numeric(), {nines, "1"}), "sum(numeric) is out of range for type numeric");
  EXPECT_EQ(merged(Type::real64(), {"1.7e308", "1.7e308", "-1.7e308"}), "1.7e+308");
  EXPECT_EQ(merged(Type::real64(), {"1.7e308", "1.7e308"}), "sum is out of range for type double precision");
}

// Any values, any order, any split: the same sum. The oracle adds in a wider range.
TEST(Aggregate, SumOfDecimalsIsExactInAnyOrder) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<Decimal> values(1 + random() % 40);
    int scale_max = 0;
    __int128 oracle = 0;  // in units of 10^-9
    for (Decimal& value : values) {
      value.scale = static_cast<int32_t>(random() % 10);
      value.unscaled = static_cast<int64_t>(random()) >> (random() % 60);
      scale_max = std::max(scale_max, value.scale);
      oracle += value.unscaled * power_of_ten(9 - value.scale);
    }
    const std::string expected = to_string(Decimal{oracle / power_of_ten(9 - scale_max), scale_max});
    for (int round = 0; round < 3; ++round) {
      std::ranges::shuffle(values, random);
      Groups parts(make("sum", Type::numeric()), 2);
      std::vector<uint32_t> groups(values.size());
      for (uint32_t& group : groups) group = random() % 2;
      std::vector<uint32_t> rows(values.size());
      std::iota(rows.begin(), rows.end(), 0U);
      const Column column = column_of<Decimal>(Type::numeric(), values);
      parts.add(groups, rows, &column);
      parts.aggregate->merge(parts.rows().at(0), parts.rows().at(1), parts.arena);
      ASSERT_EQ(parts.results()[0], expected);
    }
  }
}

// Floats
// ------------------------------------------------------------------------------------------------------------

// Exact sums of doubles as digits of base 2^32, lowest first, bit 0 at 2^-1074. Slow and plain on purpose.
class Exact {
 public:
  void add(double value, int64_t times) {
    if (value == 0) return;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    const auto mantissa = static_cast<int64_t>(std::ldexp(fraction, 53));
    exponent -= 53;
    // Bits below 2^-1074 of a subnormal are zero.
    int bit = exponent + 1074;
    int64_t whole = mantissa;
    if (bit < 0) {
      whole >>= -bit;
      bit = 0;
    }
    __int128 product = static_cast<__int128>(whole) * times * (value < 0 ? -1 : 1);
    product *= int64_t{1} << (bit % 32);
    for (size_t at = static_cast<size_t>(bit / 32); product != 0; ++at) {
      digits_[at] += static_cast<int64_t>(product % (int64_t{1} << 32));
      product /= int64_t{1} << 32;
    }
    settle();
  }
  void add(const Exact& other, int64_t times) {
    for (size_t i = 0; i < digits_.size(); ++i) digits_[i] += other.digits_[i] * times;
    settle();
  }
  int sign() const {
    if (digits_.back() < 0) return -1;
    return std::ranges::any_of(digits_, [](int64_t digit) { return digit != 0; }) ? 1 : 0;
  }

 private:
  void settle() {
    for (size_t i = 0; i + 1 < digits_.size(); ++i) {
      const int64_t carry = digits_[i] >> 32;
      digits_[i] -= carry * (int64_t{1} << 32);
      digits_[i + 1] += carry;
    }
  }
  std::vector<int64_t> digits_ = std::vector<int64_t>(80);
};

// True if `result` is the double nearest to sum / count, ties to even.
bool is_nearest(const Exact& sum, int64_t count, double result) {
  const double below = std::nextafter(result, -std::numeric_limits<double>::infinity());
  const double above = std::nextafter(result, std::numeric_limits<double>::infinity());
  const bool even = (std::bit_cast<uint64_t>(result) & 1) == 0;
  for (const double neighbour : {below, above}) {
    Exact distance;  // 2 sum - count (result + neighbour)
    distance.add(sum, 2);
    distance.add(result, -count);
    distance.add(neighbour, -count);
    const int side = distance.sign() * (neighbour > result ? 1 : -1);  // beyond the midpoint: 1
    if (side > 0 || (side == 0 && !even)) return false;
  }
  return true;
}

std::vector<double> random_doubles(std::mt19937_64& random, int exponent_spread) {
  std::vector<double> values(1 + random() % 60);
  const int base = static_cast<int>(random() % static_cast<uint64_t>(1900 - exponent_spread)) - 900;
  for (double& value : values) {
    const auto fraction = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    value = std::ldexp(fraction, base + static_cast<int>(random() % static_cast<uint64_t>(exponent_spread)));
    if (random() % 16 == 0) value = static_cast<double>(static_cast<int64_t>(random() % 2000) - 1000);
  }
  // Cancellation is where naive sums fail: add some opposites.
  const size_t size = values.size();
  for (size_t i = 0; i < size; ++i) {
    if (random() % 2 == 0) values.push_back(-values[i]);
  }
  return values;
}

TEST(Aggregate, SumAndMeanOfDoublesAreCorrectlyRoundedInAnyOrder) {
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int spreads[] = {4, 30, 90, 200, 700};
    std::vector<double> values = random_doubles(random, spreads[seed % 5]);
    Exact exact;
    for (const double value : values) exact.add(value, 1);
    std::optional<double> first;
    for (int round = 0; round < 3; ++round) {
      std::ranges::shuffle(values, random);
      const Column column = column_of<double>(Type::real64(), values);
      Groups sum(make("sum", Type::real64()), 3);
      Groups mean(make("avg", Type::real64()), 3);
      std::vector<uint32_t> groups(values.size());
      for (uint32_t& group : groups) group = static_cast<uint32_t>(random() % 3);
      std::vector<uint32_t> rows(values.size());
      std::iota(rows.begin(), rows.end(), 0U);
      for (Groups* table : {&sum, &mean}) {
        table->add(groups, rows, &column);
        table->aggregate->merge(table->rows().at(0), table->rows().at(1), table->arena);
        table->aggregate->merge(table->rows().at(0), table->rows().at(2), table->arena);
      }
      const double total = result_of(sum);
      ASSERT_TRUE(is_nearest(exact, 1, total)) << total;
      ASSERT_TRUE(is_nearest(exact, static_cast<int64_t>(values.size()), result_of(mean)));
      if (!first) first = total;
      ASSERT_EQ(std::bit_cast<uint64_t>(total), std::bit_cast<uint64_t>(*first));
    }
  }
}

double sum_of(const std::vector<double>& values) {
  Groups sum(make("sum", Type::real64()), 1);
  sum.add_all(column_of<double>(Type::real64(), values));
  return result_of(sum);
}

TEST(Aggregate, SumOfDoublesAtTheEdges) {
  constexpr double kMax = std::numeric_limits<double>::max();
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(sum_of({1e16, 1, -1e16}), 1);
  EXPECT_EQ(sum_of({kMax, -kMax, kMax}), kMax);
  EXPECT_EQ(sum_of({kTiny, kMax, -kMax}), kTiny);
  EXPECT_EQ(sum_of({kTiny, kTiny}), 2 * kTiny);
  EXPECT_EQ(sum_of({0x1p1023, -0x1p-1074, -0x1p1023}), -kTiny);
  EXPECT_FALSE(std::signbit(sum_of({-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(sum_of({-0.0, -0.0})));
  EXPECT_FALSE(std::signbit(sum_of({-1.0, 1.0})));
  EXPECT_FALSE(std::signbit(sum_of({-1.0, -0.0, 1.0})));
  // Ties to even, decided by a bit far below.
  EXPECT_EQ(sum_of({1, 0x1p-53}), 1);
  EXPECT_EQ(sum_of({1, 0x1p-53, 0x1p-300}), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({1, 0x1p-53, -0x1p-300}), 1);
}

TEST(Aggregate, SumOfRealsIsRoundedOnceToReal) {
  Groups sum(make("sum", {.kind = TypeKind::kDouble, .bits = 32}), 1);
  // 2^24 + 1 is a tie for a float; the last addend decides it, and a detour over double would lose it.
  sum.add_all(column_of<double>({.kind = TypeKind::kDouble, .bits = 32}, {0x1p24, 1, 0x1p-40}));
  EXPECT_EQ(result_of(sum), 0x1p24 + 2);
}

// Extremes
// ----------------------------------------------------------------------------------------------------------

TEST(Aggregate, EqualValuesGiveTheSameExtremeInAnyOrder) {
  for (const char* name : {"min", "max"}) {
    for (const auto& [type, values] : std::vector<std::pair<Type, std::vector<std::string>>>{
             {Type::numeric(), {"1.5", "1.50", "1.500"}},
             {Type::real64(), {"0", "-0"}},
             {Type::interval(), {"1 month", "30 days", "720:00:00"}}}) {
      std::vector<std::string> order = values;
      std::ranges::sort(order);
      std::optional<std::string> first;
      do {
        Groups groups(make(name, type), 1);
        groups.add_all(column_of(type, order, groups.arena));
        if (!first) first = groups.results()[0];
        EXPECT_EQ(groups.results()[0], *first) << name << ' ' << to_string(type);
      } while (std::ranges::next_permutation(order).found);
    }
  }
}

TEST(Aggregate, TextExtremesKeepTheirBytesAndLittleMore) {
  Groups least(make("min", Type::text()), 1);
  std::string text(100, 'z');
  for (int i = 0; i < 20000; ++i) {
    // Ever smaller: each value replaces the one before.
    for (size_t at = text.size(); at-- > 0;) {
      if (text[at] > 'a') {
        --text[at];
        break;
      }
      text[at] = 'z';
    }
    const std::string copy = text;  // the state must not look at the column's bytes later
    least.add_all(column_of<std::string_view>(Type::text(), {copy}));
  }
  EXPECT_EQ(least.results()[0], text);
  EXPECT_LT(least.arena.bytes(), 1000U);
  const std::string_view empty = "";
  least.add_all(column_of<std::string_view>(Type::text(), {empty}));
  EXPECT_EQ(least.results()[0], "");
}

TEST(Aggregate, MergeOfPartsIsUpdateOfAll) {
  const std::vector<std::pair<Type, std::vector<std::string>>> cases = {
      {Type::bigint(), {"9223372036854775807", "-4", "NULL", "9223372036854775807", "17"}},
      {Type::integer(), {"1", "NULL", "-3", "2147483647"}},
      {Type::numeric(), {"1.50", "99999999999999999999999", "-99999999999999999999999", "1e-10", "NULL"}},
      {Type::real64(), {"0.1", "0.2", "1e300", "-1e300", "NaN", "NULL"}},
      {Type::text(), {"b", "", "NULL", "abc", "a"}},
      {Type::interval(), {"1 month", "NULL", "-3 days", "2 hours"}},
      {Type::timestamptz(), {"2024-01-01T00:00:00Z", "NULL", "infinity"}},
  };
  for (const auto& [type, values] : cases) {
    for (const std::string_view name : aggregate_names()) {
      if (!make_aggregate(name, &type)) continue;
      Groups all(make(name, type), 1);
      const Column column = column_of(type, values, all.arena);
      all.add_all(column);
      if (!all.errors.empty()) continue;  // parts may hold what the whole refuses
      for (uint32_t split = 0; split < (1U << values.size()); ++split) {
        Groups parts(make(name, type), 3);
        for (uint32_t row = 0; row < values.size(); ++row) {
          const std::vector<uint32_t> group = {1 + (split >> row & 1)};
          const std::vector<uint32_t> which = {row};
          parts.add(group, which, &column);
        }
        parts.aggregate->merge(parts.rows().at(0), parts.rows().at(1), parts.arena);
        parts.aggregate->merge(parts.rows().at(0), parts.rows().at(2), parts.arena);
        ASSERT_EQ(parts.results()[0], all.results()[0]) << name << ' ' << to_string(type) << ' ' << split;
      }
    }
  }
}

}  // namespace
}  // namespace wrackline::expr
