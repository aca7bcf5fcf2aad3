// Every aggregate gives the same result for the same records in any order and any split into merged parts,
// and it is the result that a plain recount gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "data/decimal.h"
#include "expr/aggregate_groups_test.h"

namespace wrackline::expr {
namespace {

// Records in the order of a column, each with its place.
struct Records {
  Column column;
  std::vector<int64_t> event_us;
  std::vector<uint32_t> partitions;
  std::vector<int64_t> offsets;

  RowOrder order() const { return {event_us, partitions, offsets}; }
  // Rows by event time, then partition, then offset.
  std::vector<uint32_t> in_order() const {
    std::vector<uint32_t> rows(column.size());
    std::iota(rows.begin(), rows.end(), 0U);
    std::ranges::sort(rows, {},
                      [&](uint32_t row) { return std::tuple(event_us[row], partitions[row], offsets[row]); });
    return rows;
  }
};

using Random = std::mt19937_64;

std::string random_text(Random& random, const Type& type) {
  const auto below = [&](uint64_t limit) { return static_cast<int64_t>(random() % limit); };
  const bool wild = below(8) == 0;
  switch (type.kind) {
    case TypeKind::kBoolean:
      return below(3) == 0 ? "t" : "f";
    case TypeKind::kInteger:
      return std::to_string(wild && type.bits == 64 ? static_cast<int64_t>(random()) : below(40) - 20);
    case TypeKind::kNumeric: {
      if (wild) return std::to_string(static_cast<int64_t>(random())) + "e-" + std::to_string(below(20));
      const std::string number = std::to_string(below(60) - 30);
      return number + (below(2) == 0 ? ".5" : ".50");
    }
    case TypeKind::kDouble:
      return wild ? std::to_string(below(9)) + "e" + std::to_string(below(400) - 250)
                  : std::to_string(static_cast<double>(below(64) - 32) / 4);
    case TypeKind::kText:
      return std::string(static_cast<size_t>(below(4)), static_cast<char>('a' + below(3)));
    case TypeKind::kTimestamp:
      return "2024-01-0" + std::to_string(1 + below(9)) + "T00:00:00Z";
    case TypeKind::kDate:
      return "2024-01-0" + std::to_string(1 + below(9));
    case TypeKind::kInterval:
      return std::to_string(below(3)) + " months " + std::to_string(30 * below(3)) + " days";
    case TypeKind::kJson:
      return "{\"a\": " + std::to_string(below(5)) + "}";
  }
  return {};
}

Records random_records(Random& random, const Type& type, size_t count, Arena& arena) {
  std::vector<std::string> texts(count);
  Records records;
  for (size_t i = 0; i < count; ++i) {
    texts[i] = random() % 7 == 0 ? "NULL" : random_text(random, type);
    records.event_us.push_back(static_cast<int64_t>(random() % 5) - 2);
    records.partitions.push_back(static_cast<uint32_t>(random() % 3));
    records.offsets.push_back(static_cast<int64_t>(i));
  }
  records.column = column_of(type, texts, arena);
  return records;
}

constexpr std::string_view kTypes[] = {"boolean", "int2",        "int4",    "int8", "numeric",
                                       "float4",  "float8",      "text",    "date", "timestamp",
                                       "jsonb",   "timestamptz", "interval"};
constexpr std::string_view kCalls[] = {"count",
                                       "count distinct",
                                       "sum",
                                       "sum distinct",
                                       "avg",
                                       "avg distinct",
                                       "min",
                                       "max",
                                       "stddev",
                                       "stddev_pop",
                                       "variance",
                                       "var_pop distinct",
                                       "var_samp",
                                       "bool_and",
                                       "bool_or",
                                       "every",
                                       "first",
                                       "last",
                                       "approx_count_distinct",
                                       "approx_percentile",
                                       "array_agg",
                                       "array_agg desc",
                                       "string_agg",
                                       "array_agg distinct",
                                       "string_agg distinct desc",
                                       "jsonb_agg desc nulls last"};

// The rows, in any order, over three groups that are merged into the first; some after a merge.
std::string in_parts(Random& random, const Made& aggregate, const Records& records) {
  std::vector<uint32_t> rows(records.column.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::ranges::shuffle(rows, random);
  const size_t early = rows.empty() ? 0 : random() % rows.size();
  Groups parts(aggregate, 3);
  std::vector<uint32_t> groups(rows.size());
  for (uint32_t& group : groups) group = static_cast<uint32_t>(random() % 3);
  const auto add = [&](size_t begin, size_t end) {
    parts.add(std::span(groups).subspan(begin, end - begin), std::span(rows).subspan(begin, end - begin),
              &records.column, records.order());
  };
  add(0, early);
  aggregate->merge(parts.rows().at(0), parts.rows().at(1), parts.arena);
  std::ranges::fill(std::span(parts.rows().at(1), aggregate->state_bytes()), std::byte{});
  add(early, rows.size());
  aggregate->merge(parts.rows().at(0), parts.rows().at(2), parts.arena);
  aggregate->merge(parts.rows().at(0), parts.rows().at(1), parts.arena);
  EXPECT_TRUE(parts.errors.empty()) << parts.errors[0].message;
  return parts.results()[0];
}

TEST(AggregateAnyOrder, AnySplitGivesTheSame) {
  size_t checked = 0;
  for (const std::string_view type_name : kTypes) {
    const Type type = *type_named(std::string(type_name));
    for (const std::string_view call : kCalls) {
      const auto aggregate = make_spelled(std::string(call), type);
      if (!aggregate) continue;
      for (uint64_t seed = 1; seed <= 25; ++seed) {
        SCOPED_TRACE(std::string(call) + ' ' + std::string(type_name) + ' ' + std::to_string(seed));
        Random random(seed);
        Arena arena;
        const Records records = random_records(random, type, random() % 40, arena);
        Groups all(*aggregate, 1);
        const std::vector<uint32_t> group(records.column.size(), 0);
        std::vector<uint32_t> rows(records.column.size());
        std::iota(rows.begin(), rows.end(), 0U);
        all.add(group, rows, &records.column, records.order());
        ASSERT_TRUE(all.errors.empty()) << all.errors[0].message;
        const std::string expected = all.results()[0];
        EXPECT_EQ(all.results()[0], expected) << "finishing changes nothing";
        for (int round = 0; round < 3; ++round) {
          ASSERT_EQ(in_parts(random, *aggregate, records), expected);
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 3000U) << "a test that checks nothing must fail";
}

// ---- plain recounts

std::string text_of(const Column& column, uint32_t row) {
  std::string text;
  append_text(text, column, row);
  return text;
}

TEST(AggregateAnyOrder, FirstAndLastAreThoseOfTheOrderedLog) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Arena arena;
    const Records records = random_records(random, Type::text(), 1 + random() % 12, arena);
    std::vector<std::string> values;
    for (const uint32_t row : records.in_order()) {
      if (!records.column.is_null(row)) values.push_back(text_of(records.column, row));
    }
    const std::string first = values.empty() ? "NULL" : values.front();
    const std::string last = values.empty() ? "NULL" : values.back();
    EXPECT_EQ(in_parts(random, make("first", Type::text()), records), first);
    EXPECT_EQ(in_parts(random, make("last", Type::text()), records), last);
  }
}

TEST(AggregateAnyOrder, ListsHoldTheOrderedLog) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Arena arena;
    const Records records = random_records(random, Type::text(), random() % 12, arena);
    std::string joined;
    std::string sorted;
    std::vector<std::string> values;
    for (const uint32_t row : records.in_order()) {
      if (records.column.is_null(row)) continue;
      values.push_back(text_of(records.column, row));
      joined += (values.size() > 1 ? "-" : "") + values.back();
    }
    const auto is_separated = [](const std::vector<std::string>& parts) {
      std::string text;
      for (size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "-" : "") + parts[i];
      return parts.empty() ? "NULL" : text;
    };
    EXPECT_EQ(in_parts(random, *make_spelled("string_agg", Type::text()), records), is_separated(values));
    std::ranges::stable_sort(values, std::greater<>());
    EXPECT_EQ(in_parts(random, *make_spelled("string_agg desc", Type::text()), records),
              is_separated(values));
    values.erase(std::ranges::unique(values).begin(), values.end());
    EXPECT_EQ(in_parts(random, *make_spelled("string_agg distinct desc", Type::text()), records),
              is_separated(values));
  }
}

TEST(AggregateAnyOrder, DistinctCountsAreThoseOfASet) {
  for (const std::string_view type_name : {"int8", "float8", "text", "numeric", "interval", "date"}) {
    const Type type = *type_named(std::string(type_name));
    for (const size_t count : {0, 1, 2, 3, 4, 50, 3000}) {
      SCOPED_TRACE(std::string(type_name) + ' ' + std::to_string(count));
      Random random(count + 1);
      Arena arena;
      const Records records = random_records(random, type, count, arena);
      // Equal values written alike: every numeric here has its digits, a month is 30 days.
      std::set<std::string> seen;
      for (uint32_t row = 0; row < count; ++row) {
        if (records.column.is_null(row)) continue;
        std::string text = text_of(records.column, row);
        if (type.kind == TypeKind::kNumeric && text.contains('.')) {
          text.erase(text.find_last_not_of('0') + 1);
          if (text.ends_with('.')) text.pop_back();
        }
        if (type.kind == TypeKind::kInterval) {
          const Interval value = records.column.values<Interval>()[row];
          text = std::to_string(30 * value.months + value.days);
        }
        if (type.kind == TypeKind::kDouble && text == "-0") text = "0";
        seen.insert(text);
      }
      const std::string expected = std::to_string(seen.size());
      EXPECT_EQ(in_parts(random, *make_spelled("count distinct", type), records), expected);
      if (seen.size() <= 384) {
        EXPECT_EQ(in_parts(random, make("approx_count_distinct", type), records), expected);
      }
    }
  }
}

TEST(AggregateAnyOrder, SpellingsOfEqualValuesDoNotDecideADistinctSum) {
  for (const auto& [call, type, values, expected] :
       std::vector<std::tuple<std::string, Type, std::vector<std::string>, std::string>>{
           {"sum distinct", Type::numeric(), {"1.5", "1.500", "1.50", "2"}, "3.500"},
           {"avg distinct", Type::numeric(), {"1.5", "1.50", "2.5"}, "2.0000000000000000"},
           {"sum distinct", Type::real64(), {"-0", "0", "-0"}, "0"},
           {"sum distinct", Type::real64(), {"-0", "-0"}, "-0"},
           {"array_agg distinct", Type::numeric(), {"2", "1.50", "1.5"}, "[1.50, 2]"},
           {"sum distinct",
            Type::bigint(),
            {"0", "0", "9223372036854775807", "9223372036854775807"},
            "9223372036854775807"}}) {
    std::vector<uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    do {
      Groups groups(*make_spelled(call, type), 2);
      const Column column = column_of(type, values, groups.arena);
      for (const uint32_t row : order) {
        const std::vector<uint32_t> group = {row % 2};
        groups.add(group, std::vector<uint32_t>{row}, &column);
      }
      groups.aggregate->merge(groups.rows().at(0), groups.rows().at(1), groups.arena);
      EXPECT_EQ(groups.results()[0], expected) << call;
    } while (std::ranges::next_permutation(order).found);
  }
}

// Quarters of whole numbers, so that count, sum and sum of squares are exact in 128 bits.
TEST(AggregateAnyOrder, VarianceOfDoublesIsCorrectlyRounded) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const size_t count = 2 + random() % 30;
    const int exponent = static_cast<int>(random() % 1400) - 1000;
    const int64_t offset = seed % 2 == 0 ? 0 : int64_t{1} << 40;
    std::vector<double> values(count);
    __int128 sum = 0;
    __int128 squares = 0;
    for (double& value : values) {
      const int64_t whole = offset + static_cast<int64_t>(random() % 4096) - 2048;
      sum += whole;
      squares += static_cast<__int128>(whole) * whole;
      value = std::ldexp(static_cast<double>(whole), exponent);
    }
    const auto n = static_cast<__int128>(count);
    const auto numerator = static_cast<long double>(n * squares - sum * sum);  // below 2^64: exact
    const long double pop = std::ldexp(numerator / static_cast<long double>(n * n), 2 * exponent);
    const long double samp = std::ldexp(numerator / static_cast<long double>(n * (n - 1)), 2 * exponent);
    for (const auto& [name, expected] :
         std::vector<std::pair<const char*, long double>>{{"var_pop", pop},
                                                          {"variance", samp},
                                                          {"stddev_pop", std::sqrt(pop)},
                                                          {"stddev", std::sqrt(samp)}}) {
      Groups groups(make(name, Type::real64()), 2);
      const Column column = column_of<double>(Type::real64(), values);
      std::vector<uint32_t> rows(count);
      std::iota(rows.begin(), rows.end(), 0U);
      std::ranges::shuffle(rows, random);
      std::vector<uint32_t> group(count);
      for (uint32_t& at : group) at = static_cast<uint32_t>(random() % 2);
      groups.add(group, rows, &column);
      ASSERT_TRUE(groups.errors.empty());
      groups.aggregate->merge(groups.rows().at(0), groups.rows().at(1), groups.arena);
      // A long double has 11 bits more than a double, so only a tie in them could differ.
      EXPECT_EQ(result_of(groups), static_cast<double>(expected)) << name;
    }
  }
}

TEST(AggregateAnyOrder, VarianceAtTheEdges) {
  const auto of = [](const char* name, const Type& type, const std::vector<std::string>& values) {
    Groups groups(make(name, type), 1);
    groups.add_all(column_of(type, values, groups.arena));
    return groups.results()[0] + (groups.errors.empty() ? "" : " and refused");
  };
  EXPECT_EQ(of("stddev_pop", Type::real64(), {"1e-200", "3e-200"}), "1e-200");
  EXPECT_EQ(of("variance", Type::real64(), {"5e-324", "0"}), "0");
  EXPECT_EQ(of("variance", Type::real64(), {"1e150", "-1e150"}), "1.9999999999999998e+300")
      << "the double 1e150 is a little less than 10^150";
  EXPECT_EQ(of("variance", Type::real64(), {"1e154", "1"}), "NULL and refused");
  EXPECT_EQ(of("variance", Type::bigint(), {"9223372036854775807", "-9223372036854775808"}),
            "NULL and refused")
      << "1.7e38 has 39 digits";
  EXPECT_EQ(of("stddev", Type::bigint(), {"9223372036854775807", "-9223372036854775808"}),
            "13043817825332782212");
  EXPECT_EQ(of("var_pop", Type::numeric(), {"99999999999999999999999999999999999999", "7"}), "0 and refused");
  EXPECT_EQ(of("stddev_pop", Type::numeric(), {"0.00000000000000000000000000000000000001", "0"}),
            "0.00000000000000000000000000000000000001")
      << "half of the last digit, rounded away from zero";
}

// ---- sketches

TEST(AggregateAnyOrder, EstimatesOfDistinctStayWithinTheirError) {
  for (const size_t distinct : {1, 384, 385, 1000, 5000, 20000, 200000, 1000000}) {
    Groups groups(make("approx_count_distinct", Type::bigint()), 1);
    std::vector<int64_t> values(distinct);
    std::iota(values.begin(), values.end(), int64_t{1} << 40);
    groups.add_all(column_of<int64_t>(Type::bigint(), values));
    const double estimate = std::stod(groups.results()[0]);
    const double error = distinct <= 384 ? 0 : 3 * 0.01625 * static_cast<double>(distinct);
    EXPECT_NEAR(estimate, static_cast<double>(distinct), error);
    EXPECT_LT(groups.arena.bytes(), 12400U);
  }
}

TEST(AggregateAnyOrder, EstimatesOfDistinctAreUnbiased) {
  double sum_of_errors = 0;
  double sum_of_squares = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    Groups groups(make("approx_count_distinct", Type::bigint()), 1);
    std::vector<int64_t> values(8000);
    std::iota(values.begin(), values.end(), int64_t{run} * 1'000'003);
    groups.add_all(column_of<int64_t>(Type::bigint(), values));
    const double error = std::stod(groups.results()[0]) / 8000 - 1;
    sum_of_errors += error;
    sum_of_squares += error * error;
  }
  EXPECT_LT(std::fabs(sum_of_errors / kRuns), 3 * 0.01625 / std::sqrt(kRuns));
  EXPECT_LT(std::sqrt(sum_of_squares / kRuns), 0.01625 * 1.2) << "the standard error that the header states";
}

TEST(AggregateAnyOrder, PercentilesStayWithinTheirError) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<double> values(1 + random() % 2000);
    for (double& value : values) {
      const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
      value = seed % 3 == 0   ? std::exp(40 * fraction - 20)
              : seed % 3 == 1 ? std::round(1000 * fraction * fraction) - 300
                              : std::pow(1 - fraction, -1.5);
    }
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    for (const char* fraction : {"0", "0.01", "0.5", "0.9", "0.999", "1"}) {
      const AggregateOptions options{.constants = {Value{Type::numeric(), *parse_decimal(fraction)}}};
      const Type type = Type::real64();
      Groups groups(*make_aggregate("approx_percentile", &type, options), 2);
      const Column column = column_of<double>(type, values);
      std::vector<uint32_t> rows(values.size());
      std::iota(rows.begin(), rows.end(), 0U);
      std::ranges::shuffle(rows, random);
      std::vector<uint32_t> group(values.size());
      for (uint32_t& at : group) at = static_cast<uint32_t>(random() % 2);
      groups.add(group, rows, &column);
      groups.aggregate->merge(groups.rows().at(0), groups.rows().at(1), groups.arena);
      const double exact_rank = std::ceil(std::stod(fraction) * static_cast<double>(values.size()) - 1e-9);
      const double truth = sorted[static_cast<size_t>(std::max(exact_rank, 1.0)) - 1];
      EXPECT_NEAR(result_of(groups), truth, std::fabs(truth) / 256 + 1e-300) << fraction;
    }
  }
}

TEST(AggregateAnyOrder, PercentilesOfSmallWholeNumbersAreExact) {
  std::vector<int64_t> values(511);
  std::iota(values.begin(), values.end(), -255);
  for (const int64_t rank : {1, 100, 255, 256, 300, 511}) {
    // Rounded down, so that the rank is not the next one.
    const Decimal fraction{rank * 1'000'000'000 / 511, 9};
    const AggregateOptions options{.constants = {Value{Type::numeric(), fraction}}};
    const Type type = Type::bigint();
    Groups groups(*make_aggregate("approx_percentile", &type, options), 1);
    groups.add_all(column_of<int64_t>(type, values));
    EXPECT_EQ(result_of(groups), static_cast<double>(rank - 256)) << rank;
  }
}

TEST(AggregateAnyOrder, PercentilesPutNanAndInfinityWherePostgresDoes) {
  const Type type = Type::real64();
  const auto at = [&](const char* fraction) {
    const AggregateOptions options{.constants = {Value{Type::numeric(), *parse_decimal(fraction)}}};
    Groups groups(*make_aggregate("approx_percentile", &type, options), 1);
    groups.add_all(column_of(type, {"NaN", "Infinity", "-Infinity", "NULL", "Infinity", "0"}, groups.arena));
    return groups.results()[0];
  };
  EXPECT_EQ(at("0"), "-Infinity");
  EXPECT_EQ(at("0.4"), "0");
  EXPECT_EQ(at("0.6"), "Infinity");
  EXPECT_EQ(at("0.8"), "Infinity");
  EXPECT_EQ(at("1"), "NaN");
}

TEST(AggregateAnyOrder, ConstantsAreChecked) {
  const Type type = Type::bigint();
  for (const char* fraction : {"-0.1", "1.01"}) {
    const AggregateOptions options{.constants = {Value{Type::numeric(), *parse_decimal(fraction)}}};
    EXPECT_EQ(make_aggregate("approx_percentile", &type, options).error().message,
              "the second argument of approx_percentile is not a number from 0 to 1");
  }
  const Type text = Type::text();
  const AggregateOptions number{.constants = {Value{Type::integer(), int64_t{1}}}};
  EXPECT_EQ(make_aggregate("string_agg", &text, number).error().message,
            "the second argument of string_agg is not a constant text");
  EXPECT_EQ(make_aggregate("string_agg", &type, number).error().message,
            "the second argument of string_agg is not a constant text");
}

}  // namespace
}  // namespace wrackline::expr
