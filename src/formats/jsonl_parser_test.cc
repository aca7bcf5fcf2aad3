#include "formats/jsonl_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "formats/parse_dump.h"

namespace wrackline::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ParserOptions options_with(std::vector<Field> fields) {
  ParserOptions options;
  options.fields = std::move(fields);
  options.file = "in.jsonl";
  return options;
}

std::vector<std::string> parse(const ParserOptions& options, std::string_view text,
                               const DumpOptions& how = {}) {
  JsonlParser parser(options);
  return dump_all(parser, options.fields, text, how);
}

// The fate of one line under one column "x": the value as JSON, or the reason and detail.
std::string read_value(Type type, std::string_view value, const TimeZone* zone = nullptr) {
  ParserOptions options = options_with({{"x", type}});
  options.time_zone = zone;
  const std::string line = format("{{\"x\":{}}}\n", value);
  const std::vector<std::string> out = parse(options, line);
  EXPECT_EQ(out.size(), 1u);
  const std::string& only = out.front();
  const bool row = only.starts_with("row 0 line 1: [");
  const size_t from = row ? 15 : std::string_view("reject 0 line 1 ").size();
  return only.substr(from, only.rfind(row ? "] <" : " <") - from);
}

std::string rejected(std::string_view reason, std::string_view value, std::string_view detail) {
  return format("{} {}: column \"x\": {}", reason, value.size() + 6, detail);
}

TEST(JsonlParser, ReadsRowsWithTheirIdentity) {
  const ParserOptions options = options_with({{"a", Type::bigint()}, {"b", Type::text()}});
  EXPECT_THAT(
      parse(options, "{\"a\":1,\"b\":\"x\"}\n\n  \t\r\n{\"b\":\"y\",\"a\":-2}\r\n{\"a\":3}"),
      ElementsAre("row 0 line 1: [1,\"x\"] <{\"a\":1,\"b\":\"x\"}>",
                  "row 1 line 4: [-2,\"y\"] <{\"b\":\"y\",\"a\":-2}>", "row 2 line 5: [3,null] <{\"a\":3}>"));
}

TEST(JsonlParser, KeepsTheOrderOfRowsAndRejects) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  EXPECT_THAT(
      parse(options, "oops\n{\"a\":1}\n{\"a\":\n[1]\n{\"a\":2}\n{\"a\":3"),
      ElementsAre("reject 0 line 1 unparseable 4: not a JSON object but something else: one object a line is "
                  "expected <oops>",
                  "row 1 line 2: [1] <{\"a\":1}>",
                  "reject 2 line 3 unparseable 5: not valid JSON: an object or array is not closed; the line "
                  "may be cut <{\"a\":>",
                  "reject 3 line 4 unparseable 3: not a JSON object but an array: one object a line is "
                  "expected <[1]>",
                  "row 4 line 5: [2] <{\"a\":2}>",
                  "reject 5 line 6 unparseable 6: not valid JSON: an object or array is not closed; the line "
                  "may be cut <{\"a\":3>"));
}

TEST(JsonlParser, IsStrictWhateverColumnsAreNeeded) {
  const std::vector<std::string> bad = {
      R"({"a":1,})",
      R"({"a":1}x)",
      R"({"a":1}{"a":2})",
      R"({"a":1 "b":2})",
      R"({"b":01,"a":1})",
      R"({"b":+1,"a":1})",
      R"({"b":.5,"a":1})",
      R"({"b":5.,"a":1})",
      R"({"b":1e,"a":1})",
      R"({"b":nul,"a":1})",
      R"({"b":nulls,"a":1})",
      R"({"b":True,"a":1})",
      R"({"b":[1,],"a":1})",
      R"({"b":[1 2],"a":1})",
      R"({"b":[1,"c":"d"}],"a":1})",
      R"({"b":[1,"c":"d"],"a":1})",
      R"({"b":["c":"d"],"a":1})",
      R"({"b":["c":2}],"a":1})",
      R"({"b":{"c":},"a":1})",
      R"({"b":{"c" 1},"a":1})",
      R"({"b":"\x","a":1})",
      R"({"b":"\u12","a":1})",
      R"({"b":"\ud800","a":1})",
      R"({"b":"\udc00","a":1})",
      R"({"\q":1,"a":1})",
      R"({'a':1})",
      R"({a:1})",
      R"({"a":1]})",
      R"({"a":NaN})",
      R"({"a":Infinity})",
      R"({"a":1}/**/)",
      R"({"b":"a"b,"a":1})",
      R"({"b":[1}],"a":1})",
      R"({"b":1-1,"a":1})",
      R"({"b":--1,"a":1})",
      R"({"b":0x1,"a":1})",
      R"({"a":1,"b"})",
      R"({,"a":1})",
      R"({"b":"\)",
      R"({"b":"x)",
      R"(})",
      R"({)",
      "{\"b\":\"\t\",\"a\":1}",
      "{\"b\":\"\xff\",\"a\":1}",
      "{\"b\":\"\xed\xa0\x80\",\"a\":1}",
      "{\"b\":\"\xc0\xaf\",\"a\":1}",
      "{\"a\":1}\x01",
      "\xff\xfe{\"a\":1}",
  };
  for (const bool needed : {true, false}) {
    const ParserOptions options =
        options_with({{"a", Type::bigint(), needed}, {"b", Type::text(), false}, {"c", Type::text(), false}});
    for (const std::string& line : bad) {
      const std::vector<std::string> out = parse(options, line + "\n");
      ASSERT_EQ(out.size(), 1u) << line;
      EXPECT_THAT(out[0], HasSubstr("unparseable")) << line;
    }
  }
}

TEST(JsonlParser, TakesWhatIsValid) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  for (const std::string_view line :
       {R"( { "a" : 1 , "b" : [ ] } )", R"({"b":{},"a":1})", R"({"b":[[[]]],"a":1})", R"({"b":1e999,"a":1})",
        R"({"b":123456789012345678901234567890,"a":1})", R"({"b":"\u00e9\ud83d\ude00\n\"","a":1})",
        R"({"":0,"a":1})", R"({"a":2,"a":1})", R"({"a":"bad","a":1})", R"({"\u0061":1})",
        R"({"b":-0.0e-0,"a":1})", "{\"b\":\"\x7f\",\"a\":1}"}) {
    EXPECT_THAT(parse(options, line), ElementsAre(format("row 0 line 1: [1] <{}>", line)));
  }
}

TEST(JsonlParser, NulBytesAreRejects) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  const std::string text = std::string("{\"a\":1}\n{\"b\":\"\0\",\"a\":1}\n\0\0\n", 27) + "{\"a\":2}\n";
  const std::vector<std::string> out = parse(options, text);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_THAT(out[1], HasSubstr("a control character inside a string"));
  EXPECT_THAT(out[2], HasSubstr("reject 2 line 3 unparseable 2"));
  EXPECT_THAT(out[3], HasSubstr("row 3 line 4: [2]"));
}

TEST(JsonlParser, NestingHasALimit) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  const auto nested = [](int depth, char open, char close) {
    return format("{{\"a\":1,\"b\":{}{}}}", std::string(static_cast<size_t>(depth), open),
                  std::string(static_cast<size_t>(depth), close));
  };
  EXPECT_THAT(parse(options, nested(kJsonDepthMax - 1, '[', ']'))[0], HasSubstr("row 0 line 1: [1]"));
  EXPECT_THAT(parse(options, nested(kJsonDepthMax, '[', ']'))[0], HasSubstr("nested too deep"));
  EXPECT_THAT(parse(options, nested(200'000, '[', ']'))[0], HasSubstr("nested too deep"));
  EXPECT_THAT(parse(options, "{\"a\":" + std::string(200'000, '{'))[0], HasSubstr("unparseable"));
}

TEST(JsonlParser, Integers) {
  const Type big = Type::bigint();
  EXPECT_EQ(read_value(big, "9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(read_value(big, "-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(read_value(big, "-0"), "0");
  EXPECT_EQ(read_value(big, "5.0"), "5");
  EXPECT_EQ(read_value(big, "5e0"), "5");
  EXPECT_EQ(read_value(big, "12.50e1"), "125");
  EXPECT_EQ(read_value(big, "\"12\""), "12");
  EXPECT_EQ(read_value(big, "\" +12 \""), "12");
  EXPECT_EQ(read_value(big, "null"), "null");
  EXPECT_EQ(read_value(big, "5.5"), rejected("unparseable", "5.5", "5.5 is not a bigint: it has a fraction"));
  EXPECT_EQ(read_value(big, "\"abc\""), rejected("unparseable", "\"abc\"", "\"abc\" is not a bigint"));
  EXPECT_EQ(read_value(big, "\"\""), rejected("unparseable", "\"\"", "\"\" is not a bigint"));
  EXPECT_EQ(read_value(big, "true"), rejected("unparseable", "true", "true is not a bigint"));
  EXPECT_EQ(read_value(big, "[1]"), rejected("unparseable", "[1]", "[1] is not a bigint"));
  EXPECT_EQ(
      read_value(big, "9223372036854775808"),
      rejected("out_of_range", "9223372036854775808", "9223372036854775808 is out of range for bigint"));
  EXPECT_EQ(read_value(big, "1e30"), rejected("out_of_range", "1e30", "1e30 is out of range for bigint"));
  EXPECT_THAT(read_value(big, "1e400000000"), HasSubstr("out_of_range"));
  EXPECT_THAT(read_value(big, std::string(5000, '9')), HasSubstr("out_of_range"));
  EXPECT_EQ(read_value(Type::integer(), "2147483647"), "2147483647");
  EXPECT_EQ(read_value(Type::integer(), "-2147483649"),
            rejected("out_of_range", "-2147483649", "-2147483649 is out of range for integer"));
  const Type small{.kind = TypeKind::kInteger, .bits = 16};
  EXPECT_EQ(read_value(small, "-32768"), "-32768");
  EXPECT_EQ(read_value(small, "32768"),
            rejected("out_of_range", "32768", "32768 is out of range for smallint"));
}

TEST(JsonlParser, NumericKeepsItsDigits) {
  EXPECT_EQ(read_value(Type::numeric(), "12.50"), "12.50");
  EXPECT_EQ(read_value(Type::numeric(), "0.1234567890123456789012345"), "0.1234567890123456789012345");
  EXPECT_EQ(read_value(Type::numeric(), "1e3"), "1000");
  EXPECT_THAT(read_value(Type::numeric(), "1e40"), HasSubstr("out_of_range"));
  const Type money{.kind = TypeKind::kNumeric, .precision = 5, .scale = 2};
  EXPECT_EQ(read_value(money, "1.005"), "1.01");
  EXPECT_EQ(read_value(money, "999.99"), "999.99");
  EXPECT_EQ(read_value(money, "999.995"),
            rejected("out_of_range", "999.995", "999.995 is out of range for numeric(5,2)"));
}

TEST(JsonlParser, Doubles) {
  EXPECT_EQ(read_value(Type::real64(), "0.1"), "0.1");
  EXPECT_EQ(read_value(Type::real64(), "1E5"), "100000");
  EXPECT_EQ(read_value(Type::real64(), "\"NaN\""), "\"NaN\"");
  EXPECT_EQ(read_value(Type::real64(), "\"-Infinity\""), "\"-Infinity\"");
  EXPECT_EQ(read_value(Type::real64(), "1e400"),
            rejected("out_of_range", "1e400", "1e400 is out of range for double precision"));
  EXPECT_THAT(read_value(Type::real64(), "\"0x10\""), HasSubstr("unparseable"));
  EXPECT_THAT(read_value(Type::real64(), "\"nan(1)\""), HasSubstr("unparseable"));
  const Type real{.kind = TypeKind::kDouble, .bits = 32};
  EXPECT_THAT(read_value(real, "1e39"), HasSubstr("out_of_range"));
}

TEST(JsonlParser, TextIsWhatTheArrowOperatorGives) {
  EXPECT_EQ(read_value(Type::text(), R"("a\"b\u00e9")"), "\"a\\\"b\xC3\xA9\"");
  EXPECT_EQ(read_value(Type::text(), "5.50"), "\"5.50\"");
  EXPECT_EQ(read_value(Type::text(), "true"), "\"true\"");
  EXPECT_EQ(read_value(Type::text(), R"({ "k" : [1, 2] } )"), R"("{ \"k\" : [1, 2] }")");
  EXPECT_EQ(read_value(Type::text(), R"("a\u0000b")"),
            rejected("unparseable", R"("a\u0000b")",
                     R"("a\u0000b" holds the character \u0000, which text cannot)"));
  const Type three{.kind = TypeKind::kText, .precision = 3};
  EXPECT_EQ(read_value(three, "\"\xC3\xA9\xC3\xA9\xC3\xA9  \""), "\"\xC3\xA9\xC3\xA9\xC3\xA9\"");
  EXPECT_THAT(read_value(three, "\"abcd\""), HasSubstr("is too long for character varying(3)"));
}

TEST(JsonlParser, JsonColumnsKeepTheText) {
  EXPECT_EQ(read_value(Type::json(), R"({"a": [1,2.50]})"), R"({"a": [1,2.50]})");
  EXPECT_EQ(read_value(Type::json(), R"("a\"b")"), R"("a\"b")");
  EXPECT_EQ(read_value(Type::json(), "12.0"), "12.0");
}

TEST(JsonlParser, Booleans) {
  EXPECT_EQ(read_value(Type::boolean(), "true"), "true");
  EXPECT_EQ(read_value(Type::boolean(), "false"), "false");
  EXPECT_EQ(read_value(Type::boolean(), "\"Yes\""), "true");
  EXPECT_THAT(read_value(Type::boolean(), "1"), HasSubstr("1 is not a boolean"));
  EXPECT_THAT(read_value(Type::boolean(), "\"o\""), HasSubstr("is not a boolean"));
}

TEST(JsonlParser, Times) {
  const Type at = Type::timestamptz();
  EXPECT_EQ(read_value(at, "\"2024-05-01T12:00:00.123Z\""), "\"2024-05-01T12:00:00.123Z\"");
  EXPECT_EQ(read_value(at, "\"2024-05-01 14:00:00+02\""), "\"2024-05-01T12:00:00Z\"");
  EXPECT_THAT(
      read_value(at, "1714564800"),
      HasSubstr(
          "1714564800 is a number, not a timestamp with time zone; declare the column as bigint and its "
          "unit with the option time_unit"));
  EXPECT_THAT(read_value(at, "\"1714564800\""), HasSubstr("time_unit"));
  EXPECT_THAT(read_value(at, "\"2024-05-01T12:00:00\""),
              HasSubstr("has no zone; name it with the option time_zone"));
  EXPECT_EQ(read_value(at, "\"2024-05-01T12:00:00\"", TimeZone::utc()), "\"2024-05-01T12:00:00Z\"");
  EXPECT_THAT(read_value(at, "\"2024-02-30T12:00:00Z\""), HasSubstr("is not a timestamp with time zone"));
  EXPECT_EQ(read_value(Type::timestamp(), "\"2024-05-01T12:00:00\""), "\"2024-05-01T12:00:00\"");
  EXPECT_EQ(read_value(Type::date(), "\"2024-02-29\""), "\"2024-02-29\"");
  EXPECT_THAT(read_value(Type::date(), "\"2023-02-29\""), HasSubstr("unparseable"));
  EXPECT_THAT(read_value(Type::interval(), "\"90 s\""), HasSubstr("00:01:30"));
  EXPECT_THAT(read_value(Type::interval(), "90"), HasSubstr("90 is not an interval"));
}

TEST(JsonlParser, UnneededFieldsAreCheckedButNotConverted) {
  const ParserOptions options = options_with({{"a", Type::bigint()}, {"b", Type::bigint(), false}});
  EXPECT_THAT(
      parse(options, "{\"a\":1,\"b\":\"abc\"}\n{\"a\":1,\"b\":abc}\n"),
      ElementsAre("row 0 line 1: [1,-] <{\"a\":1,\"b\":\"abc\"}>", HasSubstr("reject 1 line 2 unparseable")));
}

TEST(JsonlParser, ARejectLeavesNoNullBehind) {
  const ParserOptions options = options_with({{"a", Type::bigint()}, {"b", Type::bigint()}});
  EXPECT_THAT(parse(options, "{\"a\":null,\"b\":\"no\"}\n{\"a\":1,\"b\":2}\n"),
              ElementsAre(HasSubstr("reject"), HasSubstr("[1,2]")));
}

TEST(JsonlParser, OversizeLinesAreSkippedAsTheyStream) {
  ParserOptions options = options_with({{"a", Type::bigint()}});
  options.record_bytes_max = 10'000;
  const std::string big = "{\"a\":1,\"b\":\"" + std::string(500'000, 'x') + "\"}";
  const std::string fits = "{\"a\":1,\"b\":\"" + std::string(10'000 - 14, 'x') + "\"}";
  ASSERT_EQ(fits.size(), 10'000u);
  const std::string text = "{\"a\":1}\n" + big + "\r\n" + fits + "\r\n" + fits + " \n{\"a\":2}\n" + big;
  const std::vector<std::string> whole = parse(options, text);
  ASSERT_EQ(whole.size(), 6u);
  EXPECT_EQ(whole[1], format("reject 1 line 2 oversize {}: the record has {} bytes, more than 10000 <{}>",
                             big.size(), big.size(), big.substr(0, kRejectBytesMax)));
  EXPECT_THAT(whole[2], HasSubstr("row 2 line 3: [1]"));
  EXPECT_THAT(whole[3], HasSubstr("reject 3 line 4 oversize 10001"));
  EXPECT_THAT(whole[4], HasSubstr("row 4 line 5: [2]"));
  EXPECT_THAT(whole[5], HasSubstr("reject 5 line 6 oversize"));
  for (const size_t step : {700u, 9'999u, 100'000u}) {
    EXPECT_EQ(parse(options, text, {.step = [=] { return step; }}), whole);
  }
}

TEST(JsonlParser, AByteOrderMarkIsNoContent) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  for (const size_t step : {0u, 1u}) {
    EXPECT_THAT(parse(options, "\xEF\xBB\xBF{\"a\":1}\n", {.step = [=] { return step; }}),
                ElementsAre("row 0 line 1: [1] <{\"a\":1}>"));
  }
  EXPECT_THAT(parse(options, "\xEF\xBB", {.step = [] { return 1; }}), ElementsAre(HasSubstr("unparseable")));
  EXPECT_TRUE(parse(options, "").empty());
  EXPECT_TRUE(parse(options, "\n \n").empty());
}

TEST(JsonlParser, RowsMaxCountsRejectsToo) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  const std::string text = "{\"a\":1}\nx\n{\"a\":2}\n\n{\"a\":3}\n";
  const std::vector<std::string> whole = parse(options, text);
  for (size_t rows_max = 1; rows_max < 6; ++rows_max) {
    EXPECT_EQ(parse(options, text, {.rows_max = rows_max}), whole);
  }
}

// ---- the quick ways against the slow one ----

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> all;
  for (uint8_t level = 0; level <= static_cast<uint8_t>(best_simd_level()); ++level) {
    all.push_back(static_cast<SimdLevel>(level));
  }
  return all;
}

void expect_as_slow(ParserOptions options, std::string_view text) {
  options.templates = false;
  JsonlParser slow(options);
  const std::vector<std::string> wanted = dump_all(slow, options.fields, text);
  options.templates = true;
  for (const SimdLevel level : levels()) {
    JsonlParser quick(options, level);
    ASSERT_EQ(difference(wanted, dump_all(quick, options.fields, text)), "") << to_string(level);
  }
}

const std::vector<Field> kBidFields = {{"auction", Type::bigint()},
                                       {"price", Type::numeric()},
                                       {"channel", Type::text()},
                                       {"date_time", Type::timestamptz()},
                                       {"arrival", Type::timestamp(), false},
                                       {"paid", Type::boolean()}};

// Lines of one shape, enough of them that the shape is learned and the quick way is on.
std::string bids(std::string_view colon, std::string_view comma, std::string_view end, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += format(
        R"({{"auction"{0}{2}{1}"price"{0}{3}.5{1}"channel"{0}"c{2}"{1}"date_time"{0}"2024-05-01T12:00:{4:02}.125Z"{1})"
        R"("paid"{0}true{1}"loc"{0}[{2},-1]{1}"arrival"{0}"2024-05-01T12:00:00Z"}}{5})",
        colon, comma, i * i, i, i % 60, end);
  }
  return text;
}

TEST(JsonlTemplates, EveryChangeOfEveryByteIsJudgedAsTheSlowWayJudgesIt) {
  const ParserOptions options = options_with(kBidFields);
  for (const auto& [colon, comma] :
       {std::pair(":", ","), std::pair(": ", ", "), std::pair(" :   ", "  , ")}) {
    const std::string train = bids(colon, comma, "\n", 20);
    const std::string line = bids(colon, comma, "\n", 1);
    std::string text;
    for (size_t at = 0; at < line.size(); ++at) {
      text = train;
      for (const char c : std::string_view("\",:{}[]0-x \\\n\r\t\xff\x01")) {
        text += line.substr(0, at) + c + line.substr(at);      // put in
        text += line.substr(0, at) + c + line.substr(at + 1);  // put over
      }
      text += line.substr(0, at) + line.substr(at + 1);                        // taken out
      text += line.substr(0, at) + line.substr(at / 2, 20) + line.substr(at);  // copied
      expect_as_slow(options, text);
    }
  }
}

TEST(JsonlTemplates, ManyShapesAndLineEnds) {
  const ParserOptions options = options_with(kBidFields);
  const std::string one = bids(":", ",", "\n", 40);
  expect_as_slow(options,
                 one + bids(": ", ", ", "\r\n", 40) + "\n\n \r\n" + one + bids(":", ",", "\r\n", 40));
  std::string mixed;
  for (int i = 0; i < 3000; ++i) {
    switch (i * i % 11) {
      case 0:
        mixed += bids(":", ",", "\n", 1);
        break;
      case 1:
        mixed += format("{{\"channel\":\"\xC3\xA9{}\",\"auction\":{}}}\n", i, i);
        break;
      case 3:
        mixed += format("{{\"auction\":null,\"more\":{{\"a\":[{},\"x\"]}}}}\n", i);
        break;
      case 4:
        mixed += "not json\n";
        break;
      case 5:
        mixed += format("{{ \"price\" : {}, \"paid\":false }}\r\n", i);
        break;
      default:
        mixed += format("{{\"auction\":{},\"channel\":\"a\\n{}\"}}\n", i % 7 == 0 ? "\"x\"" : "7", i);
        break;
    }
  }
  expect_as_slow(options, mixed);
}

TEST(JsonlTemplates, AllValuesOfNumbersAndTimes) {
  std::string text;
  const auto add = [&](std::string_view number, std::string_view time) {
    text += format("{{\"a\":{},\"b\":{},\"t\":\"{}\"}}\n", number, number, time);
  };
  for (int i = 0; i < 20; ++i) add("1", "2024-05-01T12:00:00.123Z");
  std::mt19937_64 random(20240501);
  for (int i = 0; i < 5000; ++i) {
    const auto digits = static_cast<int>(random() % 20);
    std::string number = random() % 4 == 0 ? "-" : "";
    for (int j = 0; j <= digits; ++j) number += static_cast<char>('0' + random() % 10);
    // Mostly of one date, so that the quick way knows it.
    std::string time =
        random() % 4 != 0 ? "2024-05-01" : format("2024-{:02}-{:02}", 1 + random() % 13, 1 + random() % 31);
    time += random() % 8 == 0 ? ' ' : 'T';
    time += format("{:02}:{:02}:{:02}", random() % 31, random() % 62, random() % 62);
    if (random() % 4 != 0) time += '.' + std::to_string(random()).substr(0, 1 + random() % 8);
    if (random() % 8 != 0) time += random() % 8 == 0 ? "+01:00" : "Z";
    if (random() % 8 == 0) time[random() % time.size()] = static_cast<char>(random() % 95 + ' ');
    std::erase(time, '"');
    std::erase(time, '\\');
    add(number, random() % 4 == 0 ? "2024-05-01T12:00:00.123Z" : time);
  }
  for (const Type time : {Type::timestamptz(), Type::timestamp(), Type::text()}) {
    expect_as_slow(options_with({{"a", Type::bigint()}, {"b", Type::integer()}, {"t", time}}), text);
  }
}

TEST(JsonlTemplates, ShuffledAndAbsentKeys) {
  std::mt19937_64 random(7);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::string> members = {format("\"auction\":{}", i),
                                        format("\"price\":{}.25", i),
                                        format("\"channel\": \"c{}\"", i),
                                        "\"paid\" :true",
                                        "\"other\":[1,{}]",
                                        "\"date_time\":\"2024-05-01T12:00:00Z\""};
    std::shuffle(members.begin(), members.end(), random);
    members.resize(random() % (members.size() + 1));
    if (random() % 50 == 0) members.push_back("\"auction\":1");  // perhaps twice
    std::string line;
    for (const std::string& member : members)
      line += (line.empty() ? "" : random() % 2 == 0 ? "," : ", ") + member;
    text += "{" + line + "}\n";
  }
  expect_as_slow(options_with(kBidFields), text);
}

TEST(JsonlTemplates, Escapes) {
  std::string text;
  const std::vector<std::string> parts = {
      "\\\"", "\\\\",  "\\/",  "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\udc00", "\\u0000",
      "\\x",  "\\u12", "\\\t", "\\",  "x",       "\xC3\xA9",       ",",       "}",       "",
      "{",    "\":\"", "\\u"};
  std::mt19937_64 random(11);
  for (int i = 0; i < 6000; ++i) {
    std::string value;
    for (size_t left = random() % 4; left > 0; --left)
      value += parts[random() % (i % 2 == 0 ? 6 : parts.size())];
    text += format(
        "{{\"auction\":{},\"channel\":\"{}\",\"other\":\"{}\",\"date_time\":\"2024-05-01T12:00:00Z\"}}\n", i,
        random() % 2 == 0 ? value : "c", random() % 2 == 0 ? value : "o");
  }
  expect_as_slow(options_with(kBidFields), text);
  std::vector<Field> json = kBidFields;
  json[2].type = Type::json();
  expect_as_slow(options_with(json), text);
}

TEST(JsonlTemplates, InvalidUtf8IsFoundInLinesThatFit) {
  std::string text = bids(":", ",", "\n", 300);
  for (size_t at = 5000; at + 5000 < text.size(); at += 997) {
    const size_t quote = text.find("\"c", at);
    text[quote + 1] = at % 2 == 0 ? '\xff' : '\xc3';
  }
  expect_as_slow(options_with(kBidFields), text);
}

TEST(JsonlParser, FieldsSeenNamesWhatIsNotDeclared) {
  const ParserOptions options = options_with({{"a", Type::bigint()}});
  JsonlParser parser(options);
  dump_all(parser, options.fields, "{\"a\":1,\"B\":2}\n{\"c\":{\"d\":1}}\n");
  EXPECT_THAT(parser.fields_seen(), ElementsAre("B", "c"));
}

}  // namespace
}  // namespace wrackline::formats
