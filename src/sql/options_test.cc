#include "sql/options.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wrackline::sql {
namespace {

const JobText kNoText("", "job.sql");

// Options of a source, as if each came from the command line.
Result<Options> options_of(const std::vector<std::pair<std::string, std::string>>& values,
                           OptionOwner owner = OptionOwner::kSource) {
  std::vector<Override> overrides;
  for (const auto& [name, value] : values) overrides.push_back({"t", name, value});
  return Options::make(kNoText, owner, {"t", 0}, {}, overrides);
}

TEST(Options, TableIsWhole) {
  std::set<std::pair<OptionOwner, std::string_view>> seen;
  for (const OptionInfo& option : all_options()) {
    EXPECT_TRUE(seen.insert({option.owner, option.name}).second) << option.name;
    EXPECT_EQ(option.type == OptionType::kChoice, !option.choices.empty()) << option.name;
    EXPECT_TRUE(option.help.ends_with('.')) << option.name;
    EXPECT_FALSE(option.default_text.empty()) << option.name;
    EXPECT_FALSE(expected_value(option).empty()) << option.name;
    EXPECT_EQ(find_option(option.owner, option.name), &option);
  }
  EXPECT_EQ(find_option(OptionOwner::kView, "path"), nullptr);
}

TEST(Options, ReadsSpans) {
  const auto options = options_of({{"watermark_delay", " 1 h 30 min "}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->span("watermark_delay", Duration())->micros(), 5'400'000'000);
  EXPECT_EQ(options->span("max_future_skew", seconds(7))->micros(), 7'000'000);
  for (const char* wrong : {"", "soon", "30", "-1 s", "1 month", "9999999999999 days"}) {
    const auto given = options_of({{"watermark_delay", wrong}});
    ASSERT_TRUE(given);
    const auto span = given->span("watermark_delay", Duration());
    ASSERT_FALSE(span) << wrong;
    EXPECT_TRUE(span.error().message.starts_with(
        "from --set t.watermark_delay: option \"watermark_delay\" of source \"t\": "));
    EXPECT_EQ(span.error().hint,
              "Expected is an interval of fixed length such as '30 s', '5 min' or '1 h 30 min'.");
  }
}

TEST(Options, ReadsSizes) {
  const std::pair<const char*, size_t> sizes[] = {
      {"1", 1},        {"16 MiB", size_t{16} << 20}, {"64KiB", 65'536},
      {"2 kB", 2'000}, {"1 GiB", size_t{1} << 30},   {"100 bytes", 100}};
  for (const auto& [text, bytes] : sizes) {
    const auto options = options_of({{"max_record_bytes", text}});
    ASSERT_TRUE(options);
    const auto read = options->bytes("max_record_bytes", 5);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(*read, bytes) << text;
  }
  EXPECT_EQ(*options_of({})->bytes("max_record_bytes", 5), 5U);
  for (const char* wrong :
       {"", "0", "-1", "1.5 MiB", "2 GiB", "16 mib", "99999999999999999999", "18446744073709551615 GiB"}) {
    EXPECT_FALSE(options_of({{"max_record_bytes", wrong}})->bytes("max_record_bytes", 5)) << wrong;
  }
}

TEST(Options, ReadsCharactersAndSwitches) {
  EXPECT_EQ(*options_of({{"delimiter", "\\t"}})->character("delimiter", ','), '\t');
  EXPECT_EQ(*options_of({{"delimiter", "\t"}})->character("delimiter", ','), '\t');
  EXPECT_EQ(*options_of({{"delimiter", "|"}})->character("delimiter", ','), '|');
  EXPECT_EQ(*options_of({})->character("delimiter", ','), ',');
  for (const char* wrong : {"", "ab", "\"", "\n", "ä"}) {
    EXPECT_FALSE(options_of({{"delimiter", wrong}})->character("delimiter", ',')) << wrong;
  }
  EXPECT_TRUE(*options_of({{"follow", "true"}})->on("follow", false));
  EXPECT_FALSE(*options_of({{"follow", "off"}})->on("follow", true));
  EXPECT_FALSE(options_of({{"follow", "maybe"}})->on("follow", true));
}

TEST(Options, ReadsIntegersAndHorizons) {
  EXPECT_EQ(**options_of({{"time_missing", " -1 "}})->integer("time_missing"), -1);
  EXPECT_EQ(*options_of({})->integer("time_missing"), std::nullopt);
  for (const char* wrong : {"", "0.5", "x", "9223372036854775808"}) {
    EXPECT_FALSE(options_of({{"time_missing", wrong}})->integer("time_missing")) << wrong;
  }
  const auto view = [](const char* value) {
    return options_of({{"ledger_horizon", value}}, OptionOwner::kView)->horizon("ledger_horizon");
  };
  EXPECT_EQ(*view("unlimited"), std::nullopt);
  EXPECT_EQ((*view("2 days"))->micros(), 2 * 86'400'000'000);
  EXPECT_EQ((*view("0"))->micros(), 0);
  EXPECT_FALSE(view("for ever"));
}

TEST(Options, SplitsLists) {
  const auto list = [](const char* value) { return options_of({{"path", value}})->list("path"); };
  EXPECT_EQ(list("a"), std::vector<std::string>({"a"}));
  EXPECT_EQ(list(" a , b/*.csv "), std::vector<std::string>({"a", "b/*.csv"}));
  EXPECT_EQ(list("a\\,b,c\\d"), std::vector<std::string>({"a,b", "c\\d"}));
  EXPECT_EQ(list("a,,b,"), std::vector<std::string>({"a", "", "b", ""}));
}

TEST(Options, LastOverrideHolds) {
  const auto options = options_of({{"path", "a"}, {"path", "b"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->text("path"), "b");
}

}  // namespace
}  // namespace wrackline::sql
