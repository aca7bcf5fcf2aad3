#include "formats/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wrackline::formats {
namespace {

using testing::HasSubstr;

TEST(ParseFormat, KnowsItsNames) {
  EXPECT_EQ(*parse_format("jsonl"), Format::kJsonl);
  EXPECT_EQ(*parse_format("csv"), Format::kCsv);
  EXPECT_THAT(parse_format("json").error().to_string(), HasSubstr("Did you mean \"jsonl\"?"));
  EXPECT_THAT(parse_format("CSV").error().to_string(), HasSubstr("Did you mean \"csv\"?"));
  EXPECT_THAT(parse_format("parquet").error().to_string(), HasSubstr("format \"parquet\" is not known"));
}

TEST(GuessFormat, ReadsTheName) {
  for (const std::string_view file : {"a.jsonl", "x/y.NDJSON", "a.json.gz", "a.csv.jsonl.zst"}) {
    EXPECT_EQ(*guess_format(file), Format::kJsonl) << file;
  }
  for (const std::string_view file : {"a.csv", "a.CSV.gz", "a.jsonl.csv"}) {
    EXPECT_EQ(*guess_format(file), Format::kCsv) << file;
  }
  for (const std::string_view file : {"a.txt", "csv", "a.gz", "-", ""}) {
    EXPECT_FALSE(guess_format(file).has_value()) << file;
  }
  EXPECT_THAT(guess_format("a.log").error().to_string(), HasSubstr("format = 'jsonl' or 'csv'"));
}

TEST(MakeParser, MakesBoth) {
  for (const Format format : {Format::kJsonl, Format::kCsv}) {
    const auto parser = make_parser(format, {});
    ASSERT_NE(parser, nullptr);
    EXPECT_EQ(parser->records(), 0);
    EXPECT_EQ(parser->lines(), 0);
  }
}

}  // namespace
}  // namespace wrackline::formats
