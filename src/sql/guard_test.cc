#include "sql/guard.h"

#include <gtest/gtest.h>

#include <string>

#include "sql/deep_stack.h"
#include "sql/job.h"
#include "sql/syntax.h"

namespace wrackline::sql {
namespace {

std::string repeat(size_t count, std::string_view part) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

std::string guard_error(std::string_view sql) {
  const auto statements = split_statements(JobText(sql, "job.sql"));
  return statements ? "(none)" : statements.error().message;
}

// The message that the whole parser ends with; a crash ends the test.
std::string parse_error(std::string_view sql) {
  const Result<Job> job = parse_job(sql, "job.sql");
  return job ? "(none)" : job.error().message;
}

std::string tokens_of(std::string_view sql) {
  const JobText text(sql, "job.sql");
  const auto statements = split_statements(text);
  if (!statements) return statements.error().message;
  std::string out;
  for (const Statement& statement : *statements) {
    for (const Token& token : statement.tokens)
      out += "[" + std::string(sql.substr(token.begin, token.end - token.begin)) + "]";
    out += ";";
  }
  return out;
}

TEST(Guard, SplitsAsPostgresqlDoes) {
  struct Case {
    std::string_view sql;
    std::string_view tokens;
  };
  const Case cases[] = {
      {"", ""},
      {" ; ;-- x", ""},
      {"a b;c", "[a][b];[c];"},
      {"a--b\n/* c /* d */ e */f", "[a][f];"},
      {"'it''s' \"a\"\"b\" E'\\'' e'\\\\' U&'\\0041' u&\"d\" b'01' N'x'",
       "['it''s'][\"a\"\"b\"][E'\\''][e'\\\\'][U&'\\0041'][u&\"d\"][b'01'][N'x'];"},
      {"'a;b' \"c;d\" $$e;f$$ $t$g$$;$t$ $1", "['a;b'][\"c;d\"][$$e;f$$][$t$g$$;$t$][$1];"},
      {"1.5e3 .5 1..2 2.x 1e 3e+4", "[1.5e3][.5][1][.][.2][2.][x][1][e][3e+4];"},
      {"a<=b a||b a::c a:=b a=>b", "[a][<=][b][a][||][b][a][::][c][a][:=][b][a][=>][b];"},
      {"++++1 @-1 a*-1 a/--x\n1", "[+][+][+][+][1][@-][1][a][*][-][1][a][/][1];"},
      {"f(a,b[1])", "[f][(][a][,][b][[][1][]][)];"},
      {"größe 漢字$1", "[größe][漢字$1];"},
  };
  for (const Case& c : cases) EXPECT_EQ(tokens_of(c.sql), c.tokens) << c.sql;
}

TEST(Guard, RefusesWhatIsNeverClosed) {
  EXPECT_EQ(guard_error("select 'abc"), "string is never closed");
  EXPECT_EQ(guard_error("select E'abc\\'"), "string is never closed");
  EXPECT_EQ(guard_error("select E'abc\\"), "string is never closed");
  EXPECT_EQ(guard_error("select \"abc"), "quoted name is never closed");
  EXPECT_EQ(guard_error("select $x$ abc $y$"), "string is never closed");
  EXPECT_EQ(guard_error("select /* /* */"), "comment is never closed");
  EXPECT_EQ(guard_error("select (1;"), "\"(\" is never closed");
  EXPECT_EQ(guard_error("select a[1"), "\"[\" is never closed");
}

TEST(Guard, RefusesBytesThatAreNotText) {
  using namespace std::string_view_literals;
  EXPECT_EQ(guard_error("select \0 1"sv), "NUL byte in the job");
  EXPECT_EQ(guard_error("select '\xff'"), "invalid UTF-8: byte 0xff");
  EXPECT_EQ(guard_error("select 'ä\xc3'"), "invalid UTF-8: byte 0xc3");
  EXPECT_EQ(guard_error("select '\xed\xa0\x80'"), "invalid UTF-8: byte 0xed");
  const auto utf16 = parse_job("C\0R\0E\0"sv, "job.sql");
  EXPECT_EQ(utf16.error().to_string(),
            "job.sql:1:2: NUL byte in the job\n  1 | C?R?E?\n    |  ^\nhint: A job is plain text in UTF-8. "
            "Is this file UTF-16, or "
            "not text at all?");
}

TEST(Guard, KeepsNamesWhole) {
  const std::string fits = repeat(63, "x");
  const std::string too_long = repeat(64, "x");
  EXPECT_EQ(guard_error("select " + fits), "(none)");
  EXPECT_EQ(guard_error("select \"" + fits + "\""), "(none)");
  EXPECT_EQ(guard_error("select \"" + repeat(31, "xx") + "\"\"\""), "(none)")
      << "a doubled quote is one byte";
  EXPECT_EQ(guard_error("select '" + too_long + "'"), "(none)") << "a string is no name";
  const std::string message = "name of 64 bytes, more than the 63 that PostgreSQL keeps of a name";
  EXPECT_EQ(guard_error("select " + too_long), message);
  EXPECT_EQ(guard_error("select \"" + too_long + "\""), message);
  EXPECT_EQ(guard_error("select U&\"" + too_long + "\""), message);
  EXPECT_EQ(guard_error("select " + repeat(32, "ä")), message) << "bytes count, not letters";
}

TEST(Guard, HoldsEveryStatementToItsLimits) {
  EXPECT_EQ(guard_error("select '" + repeat(70'000, "x") + "'"), "statement of more than 65,536 bytes");
  EXPECT_EQ(guard_error("select 1" + repeat(20'000, ",1")), "statement of more than 20,000 words and signs");
  EXPECT_EQ(guard_error("select 1" + repeat(1'001, "+1")), "statement of more than 1,000 operators");
  EXPECT_EQ(guard_error("select 1" + repeat(1'000, "+1") + ";" + "select 1" + repeat(1'000, "+1")), "(none)")
      << "each statement counts for itself";
  EXPECT_EQ(guard_error("select " + repeat(101, "(") + "1" + repeat(101, ")")),
            "statement of more than 100 brackets inside each other");
  EXPECT_EQ(guard_error("select 1;" + repeat(kJobBytesMax, " ")),
            "job file \"job.sql\" has 1,048,585 bytes, more than the 1,048,576 that a job may have");
}

TEST(Guard, LimitsEverythingThatNests) {
  const std::string message = "statement of more than 1,000 operators";
  EXPECT_EQ(guard_error("select " + repeat(1'001, "not ") + "a"), message);
  EXPECT_EQ(guard_error("select " + repeat(1'001, "case when a then ") + "1" + repeat(1'001, " end")),
            message);
  EXPECT_EQ(guard_error("select a" + repeat(1'001, " is null")), message);
  EXPECT_EQ(guard_error("select a" + repeat(1'001, "::int")), message);
  EXPECT_EQ(guard_error("select a" + repeat(1'001, " at time zone b")), message);
  EXPECT_EQ(guard_error("select a" + repeat(1'001, " collate b")), message);
  EXPECT_EQ(guard_error("select 1" + repeat(1'001, " union select 1")), message);
  EXPECT_EQ(guard_error("select 1 from a" + repeat(1'001, " join a on true")), message);
  EXPECT_EQ(guard_error("select " + repeat(1'001, "- ") + "a"), message);
}

// Whatever the limits let through must not overflow the stack, in PostgreSQL's parser or in what comes after
// it.
TEST(Guard, WhatPassesTheLimitsDoesNotCrash) {
  const std::string view = "create materialized view v as select ";
  const std::string from =
      " as a, window_start, window_end from tumble(t, at, '1 min') group by window_start, window_end;"
      "create table t (a bigint, ok boolean, at timestamptz) with (connector = file, path = 'x.csv', "
      "event_time = at, "
      "watermark_delay = '1 s')";
  EXPECT_EQ(parse_error(view + "1" + repeat(999, "+1") + from), "(none)");
  EXPECT_EQ(parse_error(view + "max(" + repeat(990, "- ") + "a)" + from), "(none)");
  EXPECT_EQ(parse_error(view + repeat(990, "not ") + "true" + from), "(none)");
  EXPECT_EQ(parse_error(view + repeat(990, "case when true then ") + "1" + repeat(990, " end") + from),
            "(none)");
  EXPECT_EQ(parse_error(view + "1" + repeat(990, "::bigint") + from), "(none)");
  EXPECT_EQ(parse_error(view + repeat(99, "(") + "1" + repeat(99, ")") + from), "(none)");
  EXPECT_EQ(parse_error(view + "1" + repeat(900, " union select 1")),
            "UNION, INTERSECT and EXCEPT are not supported");
  EXPECT_EQ(parse_error(view + "1 from a" + repeat(900, " join a on true")), "joins are not supported yet");
  EXPECT_EQ(parse_error(view + repeat(99, "(select ") + "1" + repeat(99, ")")),
            "a view without FROM is not supported");
}

TEST(Guard, OperandsThatAreWrittenOutDoNotGrowWithoutBound) {
  std::string nested = "a";
  for (int i = 0; i < 40; ++i) nested = "(" + nested + " between 1 and 2)::int";
  const std::string sql =
      "create materialized view v as select window_start, window_end, max(" + nested +
      ") as a from tumble(t, at, '1 min') group by 1, 2;"
      "create table t (a bigint, at timestamptz) with (connector = file, path = 'x.csv', event_time = at, "
      "watermark_delay = '1 s')";
  EXPECT_EQ(parse_error(sql), "expression too large once it is written out");
}

TEST(Guard, HundredThousandOperatorsAreAnError) {
  EXPECT_EQ(parse_error("select 1" + repeat(100'000, "+1")), "statement of more than 1,000 operators");
  EXPECT_EQ(parse_error("select " + repeat(100'000, "(")),
            "statement of more than 100 brackets inside each other");
  EXPECT_EQ(parse_error(repeat(100'000, "/*")), "comment is never closed");
  EXPECT_EQ(parse_error(repeat(100'000, ";")), "job \"job.sql\" is empty");
}

TEST(Guard, FindsWords) {
  const std::string_view sql = "select count(distinct a) from t where \"having\" and 'having' HAVING b";
  const JobText text(sql, "job.sql");
  const auto statements = split_statements(text);
  ASSERT_TRUE(statements);
  const Statement& statement = statements->at(0);
  EXPECT_EQ(find_word(text, statement, "having"), sql.find("HAVING"));
  EXPECT_EQ(find_word(text, statement, "distinct"), sql.find("distinct"));
  EXPECT_EQ(find_word(text, statement, "select", 1), std::nullopt);
  EXPECT_EQ(tokens_text(text, statement, 1, 6), "count(distinct a)");
}

}  // namespace
}  // namespace wrackline::sql
