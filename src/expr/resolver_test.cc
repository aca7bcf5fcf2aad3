#include <gtest/gtest.h>

#include <algorithm>

#include "expr/expression_reader_test.h"
#include "expr/functions.h"

namespace wrackline::expr {
namespace {

Error error_of(std::string_view text) {
  auto expr = read_expression(text);
  EXPECT_FALSE(expr.has_value()) << text;
  return expr ? Error{} : expr.error();
}

TEST(Resolver, RefusesWhatDependsOnAClockOrOnChance) {
  for (const char* text : {"now()", "clock_timestamp()", "timeofday()"}) {
    const Error error = error_of(text);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << text;
    EXPECT_NE(error.hint.find("event time"), std::string::npos) << error.hint;
  }
  EXPECT_NE(error_of("random()").hint.find("chance"), std::string::npos);
}

TEST(Resolver, NamesTheNearestFunction) {
  const Error error = error_of("substrng('abc', 1)");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "function substrng(unknown, integer) does not exist");
  EXPECT_NE(error.hint.find("Did you mean \"substring\"?"), std::string::npos) << error.hint;
  EXPECT_EQ(error_of("nvl(1, 2)").hint, "Write coalesce(a, b).");
}

TEST(Resolver, SaysWhichTypesThereAre) {
  const Error operation = error_of("text 'a' + 1");
  EXPECT_EQ(operation.code, ErrorCode::kInvalid);
  EXPECT_EQ(operation.message, "operator does not exist: text + integer");
  EXPECT_NE(operation.hint.find("CAST(x AS bigint)"), std::string::npos) << operation.hint;
  EXPECT_NE(error_of("round(float8 '1.5', 1)").hint.find("round(CAST(x AS numeric), n)"), std::string::npos);
  EXPECT_NE(error_of("timestamp '2024-01-01' + 5").hint.find("INTERVAL '1 second' * n"), std::string::npos);
  EXPECT_EQ(error_of("'1' + '2'").message, "operator is not unique: unknown + unknown");
}

TEST(Resolver, RefusesRegularExpressions) {
  for (const char* text : {"('a' ~ 'b')", "(text 'a' !~* 'b')", "substring('abc', 'b+')"}) {
    EXPECT_EQ(error_of(text).message, "regular expressions are not offered") << text;
    EXPECT_EQ(error_of(text).code, ErrorCode::kUnsupported) << text;
  }
}

TEST(Resolver, RefusesLiteralsThatCanNeverWork) {
  EXPECT_EQ(error_of("int4 '12x'").message, "invalid input syntax for type integer: \"12x\"");
  EXPECT_EQ(error_of("1 + '2.5'").message, "invalid input syntax for type integer: \"2.5\"");
  EXPECT_EQ(error_of("date_trunc('hous', timestamp '2024-01-01')").hint, "Did you mean \"hour\"?");
  EXPECT_NE(error_of("(timestamp '2024-01-01' AT TIME ZONE 'Europe/Viena')").hint.find("Europe/Vienna"),
            std::string::npos);
  EXPECT_NE(error_of("(timestamp '2024-01-01' AT TIME ZONE '+02:00')").hint.find("INTERVAL '2 hours'"),
            std::string::npos);
}

TEST(Resolver, AsksForBooleans) {
  EXPECT_EQ(error_of("1 AND true").message, "argument of AND must be type boolean, not type integer");
  EXPECT_EQ(error_of("1 AND true").hint, "Compare the number: x <> 0.");
  const auto coerced = coerce(make_column(0, Type::bigint(), 0), Type::boolean(), 0);
  ASSERT_FALSE(coerced.has_value());
  EXPECT_EQ(coerced.error().message, "boolean is wanted here, not bigint");
  EXPECT_EQ(error_of("CAST(int8 '1' AS boolean)").hint, "Compare the number: x <> 0.");
}

TEST(Resolver, UnifiesTheTypesOfForms) {
  EXPECT_EQ(error_of("coalesce(1, text 'a')").message, "COALESCE types integer and text cannot be matched");
  const std::vector<Type> types = {{.kind = TypeKind::kNumeric, .precision = 10, .scale = 2}, Type::bigint()};
  const auto same_modifiers = read_expression("coalesce($0, $0)", types);
  ASSERT_TRUE(same_modifiers.has_value());
  EXPECT_EQ((*same_modifiers)->type, types[0]);
  const auto mixed = read_expression("coalesce($0, $1)", types);
  ASSERT_TRUE(mixed.has_value());
  EXPECT_EQ((*mixed)->type, Type::numeric());
}

TEST(Resolver, GivesUnknownLiteralsTheTypeTheirContextWants) {
  const auto number = coerce(make_unknown("12", 0), Type::bigint(), 0);
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ((*number)->kind, ExprKind::kLiteral);
  EXPECT_EQ(std::get<int64_t>((*number)->literal.data), 12);
  const ExprPtr text = settle_unknown(make_unknown("12", 0));
  EXPECT_FALSE(text->unknown);
  EXPECT_EQ(text->type, Type::text());
  const auto null = coerce(make_null(0), Type::timestamptz(), 0);
  ASSERT_TRUE(null.has_value());
  EXPECT_TRUE((*null)->literal.is_null());
  EXPECT_EQ((*null)->type, Type::timestamptz());
}

TEST(Resolver, ClonesAreTheSameAndDifferencesShow) {
  const std::vector<Type> types = {Type::bigint(), Type::bigint(), Type::text()};
  const std::vector<std::string> texts = {"$0 + 1",
                                          "$0 + 2",
                                          "$1 + 1",
                                          "$0 - 1",
                                          "CASE WHEN $2 = 'a' THEN 1 END",
                                          "CASE WHEN $2 = 'a' THEN 1 ELSE 1 END",
                                          "upper($2)",
                                          "numeric '1.5'",
                                          "numeric '1.50'",
                                          "CAST($0 AS text)",
                                          "$0 IN (1, 2)",
                                          "$0 IN (1, 3)",
                                          "NULL",
                                          "''"};
  std::vector<ExprPtr> exprs;
  for (const std::string& text : texts) exprs.push_back(std::move(*read_expression(text, types)));
  for (size_t i = 0; i < exprs.size(); ++i) {
    EXPECT_TRUE(same(*exprs[i], *exprs[i]->clone())) << texts[i];
    for (size_t j = 0; j < exprs.size(); ++j)
      EXPECT_EQ(same(*exprs[i], *exprs[j]), i == j) << texts[i] << " / " << texts[j];
  }
}

TEST(Resolver, ListsWhatItOffers) {
  const std::vector<std::string_view> names = function_names();
  for (const std::string_view name : {"+", "->>", "date_trunc", "split_part", "round"}) {
    EXPECT_TRUE(std::ranges::find(names, name) != names.end()) << name;
  }
  for (const std::string_view name : {"!~", "boolout", "now"}) {
    EXPECT_TRUE(std::ranges::find(names, name) == names.end()) << name;
  }
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

// Every entry of the tables can be called, and no two have the same parameters.
TEST(Resolver, TheTablesHoldTogether) {
  const auto functions = all_functions();
  for (const Function& function : functions) {
    EXPECT_EQ(function.kernel == nullptr, function.is_refused()) << function.name;
    EXPECT_EQ(function.is_refused() && function.check == nullptr, false) << function.name;
    EXPECT_FALSE(function.params.empty()) << function.name;
    for (const Function& other : overloads_of(function.name)) {
      EXPECT_TRUE(&other == &function || other.params != function.params) << function.name;
    }
  }
}

}  // namespace
}  // namespace wrackline::expr
