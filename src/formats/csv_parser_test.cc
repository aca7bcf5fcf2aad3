#include "formats/csv_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/parse_dump.h"

namespace wrackline::formats {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ParserOptions options_with(std::vector<Field> fields) {
  ParserOptions options;
  options.fields = std::move(fields);
  options.file = "in.csv";
  return options;
}

const std::vector<Field> kTwo = {{"a", Type::bigint()}, {"b", Type::text()}};

std::vector<std::string> parse(const ParserOptions& options, std::string_view text,
                               const DumpOptions& how = {}) {
  CsvParser parser(options);
  return dump_all(parser, options.fields, text, how);
}

// The fate of a field of one column "x" beside another one, as JSON or as reason and detail.
std::string read_value(Type type, std::string_view value, const TimeZone* zone = nullptr) {
  ParserOptions options = options_with({{"x", type}});
  options.time_zone = zone;
  const std::vector<std::string> out = parse(options, format("y,x\n1,{}\n", value));
  EXPECT_EQ(out.size(), 1u);
  const std::string& only = out.front();
  const bool row = only.starts_with("row 0 line 2: [");
  const size_t from = row ? 15 : only.find(": ");
  return only.substr(from + (row ? 0 : 2), only.rfind(row ? "] <" : " <") - from - (row ? 0 : 2));
}

TEST(CsvParser, MatchesTheHeaderInAnyOrder) {
  EXPECT_THAT(parse(options_with(kTwo), "c,b,a\n9,x,1\r\n\n\r\n8,\"y, \"\"z\"\"\",2\n7,,\n6,\"\",4"),
              ElementsAre("row 0 line 2: [1,\"x\"] <9,x,1>",
                          "row 1 line 5: [2,\"y, \\\"z\\\"\"] <8,\"y, \"\"z\"\"\",2>",
                          "row 2 line 6: [null,null] <7,,>", "row 3 line 7: [4,\"\"] <6,\"\",4>"));
}

TEST(CsvParser, LineEndsInsideQuotesBelongToTheRecord) {
  EXPECT_THAT(
      parse(options_with(kTwo), "a,b\n1,\"x\ny\r\nz\"\n2,w\n"),
      ElementsAre("row 0 line 2: [1,\"x\\ny\\r\\nz\"] <1,\"x\ny\r\nz\">", "row 1 line 5: [2,\"w\"] <2,w>"));
}

TEST(CsvParser, AByteOrderMarkIsNoContent) {
  for (const size_t step : {0u, 1u}) {
    EXPECT_THAT(
        parse(options_with(kTwo), "\xEF\xBB\xBF\"a\",\"b\"\r\n1,x\r\n", {.step = [=] { return step; }}),
        ElementsAre("row 0 line 2: [1,\"x\"] <1,x>"));
  }
}

TEST(CsvParser, OtherDelimitersAndNoHeader) {
  ParserOptions options = options_with(kTwo);
  options.delimiter = '\t';
  options.header = false;
  EXPECT_THAT(parse(options, "1\tx,y\n2\n"),
              ElementsAre("row 0 line 1: [1,\"x,y\"] <1\tx,y>",
                          "reject 1 line 2 unparseable 1: 1 field where 2 are expected <2>"));
}

TEST(CsvParser, NullTextIsOnlyUnquoted) {
  ParserOptions options = options_with(kTwo);
  options.null_text = "NULL";
  EXPECT_THAT(parse(options, "a,b\nNULL,NULL\n1,\"NULL\"\n2,\n"),
              ElementsAre(HasSubstr("[null,null]"), HasSubstr("[1,\"NULL\"]"), HasSubstr("[2,\"\"]")));
}

TEST(CsvParser, MissingColumnsTeach) {
  EXPECT_THAT(parse(options_with({{"price", Type::bigint()}}), "\n\nprize,Name\n1,2\n"),
              ElementsAre(AllOf(HasSubstr("error file \"in.csv\" has no column \"price\""),
                                HasSubstr("line 3"), HasSubstr("Its header names \"prize\", \"Name\"."),
                                HasSubstr("Did you mean \"prize\"?"))));
  EXPECT_THAT(parse(options_with({{"name", Type::bigint(), false}}), "prize,Name\n"),
              ElementsAre(HasSubstr("Write \"Name\" in double quotes")));
  EXPECT_THAT(parse(options_with({{"a", Type::bigint()}}), "a,b,a\n"),
              ElementsAre(HasSubstr("has two columns \"a\"")));
  EXPECT_THAT(parse(options_with({{"a", Type::bigint()}}), "\"a,b\n1,2\n"),
              ElementsAre(HasSubstr("is not CSV")));
  EXPECT_THAT(parse(options_with({{"a", Type::bigint()}}), std::string_view("a\0b\n1\n", 6)),
              ElementsAre(HasSubstr("is not text in UTF-8")));
  ParserOptions small = options_with({{"a", Type::bigint()}});
  small.record_bytes_max = 100;
  EXPECT_THAT(parse(small, "a," + std::string(200, 'b')), ElementsAre(HasSubstr("has no end")));
  EXPECT_TRUE(parse(small, "").empty());
}

TEST(CsvParser, MalformedRecordsCostOneLine) {
  EXPECT_THAT(
      parse(options_with(kTwo),
            "a,b\n1,\"x\"y\n2,x\"y\n3,\"x\n4,ok\n5,ok,more\n6,\"q\"\n7\r8,x\n9,\"open\n10,ok\n"),
      ElementsAre(
          "reject 0 line 2 unparseable 6: text after the closing quote of field 2; a quote inside a field is "
          "written "
          "twice <1,\"x\"y>",
          "reject 1 line 3 unparseable 5: a quote inside field 2, which does not begin with one <2,x\"y>",
          "reject 2 line 4 unparseable 4: text after the closing quote of field 2; a quote inside a field is "
          "written "
          "twice <3,\"x>",
          "row 3 line 5: [4,\"ok\"] <4,ok>",
          "reject 4 line 6 unparseable 9: 3 fields where 2 are expected <5,ok,more>",
          "row 5 line 7: [6,\"q\"] <6,\"q\">",
          "reject 6 line 8 unparseable 5: a carriage return without a line feed in field 1, outside quotes "
          "<7\r8,x>",
          "reject 7 line 9 unparseable 7: the quote that opens field 2 is not closed before the end of the "
          "input "
          "<9,\"open>",
          "row 8 line 10: [10,\"ok\"] <10,ok>"));
}

TEST(CsvParser, InvalidBytesAreRejects) {
  EXPECT_THAT(parse(options_with(kTwo), std::string("a,b\n1,\xff\n2,\0x\n3,\xC3\xA9\n", 18)),
              ElementsAre(HasSubstr("reject 0 line 2 unparseable 3: not valid UTF-8"),
                          HasSubstr("reject 1 line 3 unparseable 4: a NUL byte"), HasSubstr("row 2 line 4")));
}

TEST(CsvParser, ValuesAreReadAsPostgresReadsThem) {
  EXPECT_EQ(read_value(Type::bigint(), " +42 "), "42");
  EXPECT_EQ(read_value(Type::bigint(), "\"42\""), "42");
  EXPECT_EQ(read_value(Type::bigint(), "5.0"), "column \"x\": \"5.0\" is not a bigint");
  EXPECT_EQ(read_value(Type::bigint(), "\"\""), "column \"x\": \"\" is not a bigint");
  EXPECT_EQ(read_value(Type::bigint(), "+-5"), "column \"x\": \"+-5\" is not a bigint");
  EXPECT_EQ(read_value(Type::integer(), "2147483648"),
            "column \"x\": \"2147483648\" is out of range for integer");
  EXPECT_EQ(read_value(Type::numeric(), "-1.50e1"), "-15.0");
  EXPECT_EQ(read_value(Type::real64(), "infinity"), "\"Infinity\"");
  EXPECT_EQ(read_value(Type::real64(), "1e-400"),
            "column \"x\": \"1e-400\" is out of range for double precision");
  EXPECT_EQ(read_value(Type::boolean(), "off"), "false");
  EXPECT_EQ(read_value(Type::boolean(), "TRU"), "true");
  EXPECT_EQ(read_value(Type::text(), " x "), "\" x \"");
  EXPECT_EQ(read_value(Type::timestamptz(), "2024-05-01 12:00:00Z"), "\"2024-05-01T12:00:00Z\"");
  EXPECT_THAT(read_value(Type::timestamptz(), "2024-05-01 12:00:00"), HasSubstr("option time_zone"));
  EXPECT_THAT(read_value(Type::timestamptz(), "1714564800"), HasSubstr("time_unit"));
  EXPECT_EQ(read_value(Type::json(), R"("{""k"": 1}")"), R"({"k": 1})");
  EXPECT_EQ(read_value(Type::json(), R"("1,"""":2")"), "column \"x\": \"1,\"\"\"\":2\" is not a jsonb");
}

TEST(CsvParser, UnneededColumnsAreNotConverted) {
  EXPECT_THAT(parse(options_with({{"a", Type::bigint()}, {"b", Type::bigint(), false}}), "a,b\n1,x\n"),
              ElementsAre("row 0 line 2: [1,-] <1,x>"));
}

TEST(CsvParser, AnUnclosedQuoteDoesNotSwallowTheFile) {
  ParserOptions options = options_with(kTwo);
  options.record_bytes_max = 1000;
  std::string text = "a,b\n1,\"open\n";
  for (int i = 0; i < 2000; ++i) text += format("{},x\n", i);
  const std::vector<std::string> whole = parse(options, text);
  ASSERT_EQ(whole.size(), 2001u);
  EXPECT_THAT(
      whole[0],
      HasSubstr(
          "reject 0 line 2 unparseable 7: a quote is not closed within the 1000 bytes that a record may "
          "have <1,\"open>"));
  EXPECT_THAT(whole[2000], HasSubstr("row 2000 line 2002: [1999,\"x\"]"));
}

TEST(CsvParser, OversizeLinesAreSkippedAsTheyStream) {
  ParserOptions options = options_with(kTwo);
  options.record_bytes_max = 5000;
  const std::string big = "1," + std::string(100'000, 'x');
  const std::string bad = "1,\"x\"" + std::string(100'000, 'x');
  const std::string fits = "1," + std::string(4998, 'x');
  const std::string text = "a,b\n" + big + "\r\n" + bad + "\n" + fits + "\r\n" + fits + "x\r\n2,y\n" + big +
                           "\n" + fits + "x\n" + fits + "\n";
  const std::vector<std::string> whole = parse(options, text);
  ASSERT_EQ(whole.size(), 8u);
  EXPECT_EQ(whole[0],
            format("reject 0 line 2 oversize 100002: the record has 100002 bytes, more than 5000 <{}>",
                   big.substr(0, kRejectBytesMax)));
  EXPECT_THAT(whole[1], HasSubstr("reject 1 line 3 oversize 100005"));
  EXPECT_THAT(whole[2], HasSubstr("row 2 line 4"));
  EXPECT_THAT(whole[3], HasSubstr("reject 3 line 5 oversize 5001"));
  EXPECT_THAT(whole[4], HasSubstr("row 4 line 6: [2,\"y\"]"));
  EXPECT_THAT(whole[5], HasSubstr("reject 5 line 7 oversize 100002"));
  EXPECT_THAT(whole[6], HasSubstr("reject 6 line 8 oversize 5001"));
  EXPECT_THAT(whole[7], HasSubstr("row 7 line 9"));
  for (const size_t step : {100u, 4999u, 30'000u}) {
    EXPECT_EQ(parse(options, text, {.step = [=] { return step; }}), whole);
  }
}

TEST(CsvParser, CuttingTheInputChangesNothing) {
  const std::string text =
      "b,a\r\n\"x\r\n\"\"y\"\"\",1\r\n\"\",2\n\r\n\"open\n3,\"4\"\nz\"z,5\n\"w\"w,6\r\rq,7\n,\n\xC3\xA9,"
      "8\r\n\"last\",9\r";
  const ParserOptions options = options_with(kTwo);
  const std::vector<std::string> whole = parse(options, text);
  for (size_t step = 1; step < 20; ++step) {
    for (const size_t rows_max : {1u, 3u, 1000u}) {
      EXPECT_EQ(parse(options, text, {.rows_max = rows_max, .step = [=] { return step; }}), whole);
    }
  }
}

// ---- the quick way against the slow one ----

void expect_as_slow(ParserOptions options, std::string_view text) {
  options.templates = false;
  CsvParser slow(options);
  const std::vector<std::string> wanted = dump_all(slow, options.fields, text);
  options.templates = true;
  for (uint8_t level = 0; level <= static_cast<uint8_t>(best_simd_level()); ++level) {
    CsvParser quick(options, static_cast<SimdLevel>(level));
    ASSERT_EQ(difference(wanted, dump_all(quick, options.fields, text)), "")
        << to_string(static_cast<SimdLevel>(level));
  }
}

const std::vector<Field> kTrips = {{"id", Type::bigint()},
                                   {"at", Type::timestamptz()},
                                   {"name", Type::text()},
                                   {"fare", Type::numeric()},
                                   {"seats", Type::integer(), false}};

TEST(CsvLines, EveryChangeOfEveryByteIsJudgedAsTheSlowWayJudgesIt) {
  std::string train = "at,more,id,name,fare,seats\n";
  for (int i = 0; i < 20; ++i) {
    train +=
        format("2024-05-01T12:00:{:02}.5Z,x,{},{},{}.25,4\n", i, i * i, i % 3 == 0 ? "\"a, b\"" : "c", i);
  }
  for (const std::string_view line :
       {"2024-05-01T12:00:30.5Z,x,17,ann,2.25,4\n", "2024-05-01T12:00:30Z,\"x\",-17,,,\r\n",
        "\"2024-05-01T12:00:31Z\",x,\"18\",\"bob\",\"\",\"\"\n"}) {
    for (size_t at = 0; at < line.size(); ++at) {
      std::string text = train;
      for (const char c : std::string_view("\",-0x \r\n\xff\0;", 11)) {
        text += std::string(line.substr(0, at)) + c + std::string(line.substr(at));
        text += std::string(line.substr(0, at)) + c + std::string(line.substr(at + 1));
      }
      text += std::string(line.substr(0, at)) + std::string(line.substr(at + 1));
      expect_as_slow(options_with(kTrips), text);
    }
  }
}

TEST(CsvLines, NullTextThatIsANumber) {
  for (const std::string_view null_text : {"", "0", "-1", "NULL", "2024-05-01T12:00:00Z"}) {
    ParserOptions options = options_with(kTrips);
    options.null_text = null_text;
    std::string text = "at,more,id,name,fare,seats\n";
    for (int i = 0; i < 40; ++i) {
      text += format("2024-05-01T12:00:{:02}Z,,{},{},{},\n", i % 3, i % 3 - 1,
                     i % 2 == 0 ? "NULL" : "\"NULL\"", i % 4);
      text += ",x,,,,\n";
    }
    expect_as_slow(options, text);
  }
}

TEST(CsvLines, OneColumnHasBlankLines) {
  std::string text = "id\n";
  for (int i = 0; i < 100; ++i)
    text += i % 3 == 0 ? "\n" : i % 5 == 0 ? "\r\n" : i % 7 == 0 ? "\"\"\n" : format("{}\n", i);
  expect_as_slow(options_with({{"id", Type::bigint()}}), text);
  expect_as_slow(options_with({{"id", Type::text()}}), text);
}

TEST(CsvParser, FieldsSeenNamesWhatIsNotDeclared) {
  const ParserOptions options = options_with(kTwo);
  CsvParser parser(options);
  dump_all(parser, options.fields, "a,C,b,d\n");
  EXPECT_THAT(parser.fields_seen(), ElementsAre("C", "d"));
}

}  // namespace
}  // namespace wrackline::formats
