#include <gtest/gtest.h>

#include <random>

#include "expr/allocation_count_test.h"
#include "expr/casts.h"
#include "expr/expression_reader_test.h"

namespace wrackline::expr {
namespace {

const std::vector<Type> kTypes = {Type::bigint(), Type::integer(),     Type::numeric(), Type::real64(),
                                  Type::text(),   Type::timestamptz(), Type::boolean(), Type::json()};

ExprPtr read(std::string_view text, std::span<const Type> types = kTypes) {
  auto expr = read_expression(text, types);
  EXPECT_TRUE(expr.has_value()) << text << "\n" << (expr ? "" : expr.error().to_string());
  return expr ? std::move(*expr) : make_null(0);
}

// A value of each type that is now and then null, at an edge, or ordinary.
std::string random_text(const Type& type, std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + random() % texts.size()));
  };
  switch (type.kind) {
    case TypeKind::kInteger:
      return type.bits == 64 ? pick({"0", "1", "-1", "7", "9223372036854775807", "-9223372036854775808"})
                             : pick({"0", "1", "-1", "2", "2147483647", "-2147483648"});
    case TypeKind::kNumeric:
      return pick({"0", "1.50", "-2", "99999999999999999999999999999999999999", "0.01"});
    case TypeKind::kDouble:
      return pick({"0", "1.5", "-2", "NaN", "Infinity", "1e308"});
    case TypeKind::kText:
      return pick({"", "a", "12", "Äb", "1.5", "true", "a,b"});
    case TypeKind::kTimestamp:
      return pick({"2024-02-29T12:00:00Z", "1969-12-31T23:59:59.5Z", "infinity"});
    case TypeKind::kBoolean:
      return pick({"t", "f"});
    case TypeKind::kJson:
      return pick({"{\"a\": 1}", "[1, \"x\"]", "null", "\"s\""});
    default:
      return "0";
  }
}

std::vector<Column> random_columns(size_t rows, uint64_t seed, Arena& arena) {
  std::mt19937_64 random(seed);
  std::vector<Column> columns;
  for (const Type& type : kTypes) {
    Column column(type);
    column.resize(rows);
    const bool nulls = random() % 3 != 0;
    for (size_t row = 0; row < rows; ++row) {
      if (nulls && random() % 4 == 0) {
        column.set_null(row);
      } else {
        set_value(column, row, *parse_literal(random_text(type, random), type), arena);
      }
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

// "text" or "NULL" or "error: message", for each row.
std::vector<std::string> outcomes(Evaluator& evaluator, std::span<const Column> columns, size_t rows) {
  RowErrors errors;
  const Column& result = evaluator.evaluate(columns, rows, errors);
  EXPECT_EQ(result.size(), rows);
  std::vector<std::string> texts(rows);
  for (size_t row = 0; row < rows; ++row) {
    if (result.is_null(row)) {
      texts[row] = "NULL";
    } else {
      append_text(texts[row], result, row);
    }
  }
  uint32_t after = 0;
  for (const RowError& error : errors) {
    EXPECT_TRUE(error.row >= after) << "errors come in row order, one per row";
    after = error.row + 1;
    EXPECT_EQ(texts[error.row], "NULL");
    texts[error.row] = "error: " + error.message;
  }
  return texts;
}

constexpr const char* kExpressions[] = {
    "$0 + $1",
    "($0 / $1) * 2",
    "- $0",
    "$2 + $0",
    "$3 * $3",
    "$4 || $0",
    "CAST($4 AS int4)",
    "CAST($4 AS numeric) + 1",
    "CASE WHEN $1 = 0 THEN 0 ELSE $0 / $1 END",
    "CASE WHEN $6 THEN CAST($4 AS int8) WHEN $1 > 0 THEN $0 * $0 END",
    "CASE WHEN ($4 = '12') THEN (CASE WHEN $6 THEN CAST($4 AS int4) ELSE 10 / $1 END) ELSE -1 END",
    "($1 <> 0) AND ((10 / $1) > 1)",
    "($1 = 0) OR ((10 / $1) > 1) OR $6",
    "$6 AND ($4 LIKE 'a%')",
    "coalesce($1, CAST($4 AS int4), 10 / $1)",
    "coalesce($4, 'none')",
    "nullif($0, $1)",
    "$0 IS DISTINCT FROM $1",
    "$0 IN (1, 7, NULL)",
    "$4 IN ('a', '12')",
    "$2 IN ($0, $1, 1.5)",
    "$4 IS NULL",
    "greatest($0, $1, $2)",
    "date_trunc('hour', $5) + interval '1 day'",
    "\"extract\"('epoch', $5)",
    "upper($4) || lower($4)",
    "$7 ->> 'a'",
    "($7 -> 0) ->> 0",
    "CAST($7 AS text)",
    "1 / 0",
    "CASE WHEN $6 THEN 1 / 0 ELSE 5 END",
    "CASE WHEN $6 THEN $0 END + (CASE WHEN $1 > 0 THEN $1 ELSE 1 / ($1 * 0) END)",
    "concat_ws('-', $0, $4, $6)",
    "split_part($4, ',', $1)",
    "sqrt($2)",
};

// However the input is cut into batches, every row has the same value and the same error.
TEST(Evaluator, BatchesAreInvisible) {
  constexpr size_t kRows = 300;
  Arena arena;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<Column> columns = random_columns(kRows, seed, arena);
    for (const char* text : kExpressions) {
      SCOPED_TRACE(text);
      const ExprPtr expr = read(text);
      Evaluator whole(*expr);
      const std::vector<std::string> expected = outcomes(whole, columns, kRows);
      Evaluator pieces(*expr);
      std::mt19937_64 random(seed);
      for (size_t start = 0; start < kRows;) {
        const size_t rows = std::min(kRows - start, seed == 1 ? 1 : 1 + random() % 40);
        std::vector<Column> piece;
        for (const Column& column : columns) {
          Column& part = piece.emplace_back(column.type());
          part.resize(rows);
          for (size_t row = 0; row < rows; ++row) set_value(part, row, value_at(column, start + row), arena);
        }
        const std::vector<std::string> got = outcomes(pieces, piece, rows);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin() + static_cast<ptrdiff_t>(start)))
            << start;
        start += rows;
      }
    }
  }
}

TEST(Evaluator, BranchesNotTakenRaiseNoErrors) {
  EXPECT_EQ(evaluate_text("CASE WHEN true THEN 1 ELSE 1 / 0 END").text, "1");
  EXPECT_EQ(evaluate_text("CASE WHEN false THEN 1 / 0 END").text, "NULL");
  EXPECT_EQ(evaluate_text("coalesce(1, 1 / 0)").text, "1");
  EXPECT_EQ(evaluate_text("false AND ((1 / 0) = 1)").text, "f");
  EXPECT_EQ(evaluate_text("true OR ((1 / 0) = 1)").text, "t");
  EXPECT_EQ(evaluate_text("((1 / 0) = 1) AND false").error, "division by zero");
  EXPECT_EQ(evaluate_text("CASE WHEN (1 / 0) = 1 THEN 1 ELSE 2 END").error, "division by zero");
  EXPECT_EQ(evaluate_text("coalesce(1 / 0, 5)").error, "division by zero");
}

TEST(Evaluator, TheFirstErrorOfARowCounts) {
  EXPECT_EQ(evaluate_text("(1 / 0) + CAST(text 'x' AS int4)").error, "division by zero");
  EXPECT_EQ(evaluate_text("CAST(text 'x' AS int4) + (1 / 0)").error,
            "invalid input syntax for type integer: \"x\"");
}

TEST(Evaluator, ErrorsHaveTheLedgersReasons) {
  EXPECT_EQ(evaluate_text("int8 '9223372036854775807' + 1").reason, Reason::kOutOfRange);
  EXPECT_EQ(evaluate_text("1 / 0").reason, Reason::kOutOfRange);
  EXPECT_EQ(evaluate_text("CAST(text 'abc' AS int4)").reason, Reason::kUnparseable);
  EXPECT_EQ(evaluate_text("CAST(text '99999999999' AS int4)").reason, Reason::kOutOfRange);
}

TEST(Evaluator, SaysWhatDoesNotFit) {
  EXPECT_EQ(evaluate_text("CAST(text '99999999999' AS int4)").error,
            "value \"99999999999\" is out of range for type integer");
  EXPECT_EQ(evaluate_text("CAST(numeric '12345.6' AS numeric(5,2))").error,
            "numeric field overflow: 12345.6 does not fit numeric(5,2)");
  EXPECT_EQ(evaluate_text("power(numeric '10', 38)").error,
            "numeric out of range: the exact result has more than 38 digits");
  EXPECT_EQ(evaluate_text("exp(numeric '100')").error,
            "numeric out of range: the exact result has more than 38 digits");
  EXPECT_EQ(evaluate_text("CAST(float8 'NaN' AS numeric)").error, "cannot convert NaN to numeric");
  EXPECT_EQ(evaluate_text("repeat('abc', 2000000000)").error,
            "requested length too large: 6000000000 bytes, at most 16777216");
}

// Where PostgreSQL would need more than 38 digits, the last ones are rounded away.
TEST(Evaluator, KeepsTheDigitsThatFit) {
  EXPECT_EQ(evaluate_text("power(numeric '10', 30)").text, "1000000000000000000000000000000.0000000");
  EXPECT_EQ(evaluate_text("exp(numeric '-80')").text, "0.00000000000000000000000000000000001805");
  EXPECT_EQ(evaluate_text("exp(numeric '-1234')").text, "0.00000000000000000000000000000000000000");
}

TEST(Evaluator, ReturnsABareColumnItself) {
  Arena arena;
  const std::vector<Column> columns = random_columns(3, 1, arena);
  const ExprPtr expr = make_column(4, kTypes[4], 0);
  Evaluator evaluator(*expr);
  RowErrors errors;
  EXPECT_EQ(&evaluator.evaluate(columns, 3, errors), &columns[4]);
}

TEST(Evaluator, ReadsOnlyTheColumnsItNames) {
  std::vector<Column> columns;
  columns.emplace_back(Type::bigint());
  columns.emplace_back(Type::integer());  // empty: nobody needs it
  columns[0].resize(2);
  columns[0].values<int64_t>()[0] = 4;
  columns[0].values<int64_t>()[1] = -4;
  const ExprPtr expr = read("CASE WHEN $0 > 0 THEN $0 + 1 ELSE abs($0) END");
  Evaluator evaluator(*expr);
  EXPECT_EQ(outcomes(evaluator, columns, 2), (std::vector<std::string>{"5", "4"}));
  EXPECT_TRUE(outcomes(evaluator, columns, 0).empty());
}

// Columns without failing rows: after the first batches nothing more is asked of the heap.
TEST(Evaluator, DoesNotAllocateInSteadyState) {
  Arena arena;
  constexpr size_t kRows = 500;
  std::vector<Column> columns = random_columns(kRows, 3, arena);
  for (size_t row = 0; row < kRows; ++row) {
    columns[0].values<int64_t>()[row] = static_cast<int64_t>(row);
    columns[1].values<int64_t>()[row] = static_cast<int64_t>(row % 7) + 1;
  }
  for (const char* text :
       {"($0 * 3) + $1", "CASE WHEN $1 > 3 THEN $0 / $1 ELSE $0 END", "($1 > 2) AND ($4 LIKE 'a%')",
        "upper($4) || '-' || $1", "coalesce($4, 'none')", "date_trunc('hour', $5)", "$0 IN (1, 2, 3)",
        "CAST($0 AS text)", "$7 ->> 'a'", "greatest($0, $1)"}) {
    const ExprPtr expr = read(text);
    Evaluator evaluator(*expr);
    RowErrors errors;
    for (int i = 0; i < 3; ++i) evaluator.evaluate(columns, kRows, errors);
    EXPECT_TRUE(errors.empty()) << text << ' ' << (errors.empty() ? "" : errors[0].message);
    const size_t before = allocation_count();
    evaluator.evaluate(columns, kRows, errors);
    EXPECT_LE(allocation_count() - before, 2U) << text;  // a kernel's own buffer, per batch and not per row
  }
}

}  // namespace
}  // namespace wrackline::expr
