#include "formats/field_rewriter.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"

namespace wrackline::formats {
namespace {

std::string json(std::string_view record, std::vector<std::string> names = {"email", "card"}) {
  FieldRewriter rewriter({.names = std::move(names)});
  return rewriter
      .rewrite_json(record,
                    [](size_t name, std::string_view content) { return format("<{}:{}>", name, content); })
      .value_or("nullopt");
}

std::string csv(std::string_view record, std::vector<size_t> places) {
  const FieldRewriter rewriter({.names = {"a", "b"}, .delimiter = ';', .null_text = "NULL"});
  return rewriter
      .rewrite_csv(record, places,
                   [](size_t name, std::string_view content) { return format("<{}:{}>", name, content); })
      .value_or("nullopt");
}

TEST(FieldRewriter, ReplacesValuesAndLeavesEveryOtherByte) {
  EXPECT_EQ(json(R"({"id":1,"email":"ann@x.org","n":2})"), R"({"id":1,"email":"<0:ann@x.org>","n":2})");
  EXPECT_EQ(json(" { \"email\" :\t\"a\" , \"card\": 4711 }\r"),
            " { \"email\" :\t\"<0:a>\" , \"card\": \"<1:4711>\" }\r");
  EXPECT_EQ(json(R"({})"), "{}");
  EXPECT_EQ(json(R"({"x":{"email":"inner"},"y":["email","card"]})"),
            R"({"x":{"email":"inner"},"y":["email","card"]})");
  EXPECT_EQ(json(R"({"email":null,"card":true})"), R"({"email":null,"card":"<1:true>"})");
  EXPECT_EQ(json(R"({"card":{"a":[1,"}]"],"b":"\"}"},"email":-1.5e3})"),
            R"({"card":"<1:{\"a\":[1,\"}]\"],\"b\":\"\\\"}\"}>","email":"<0:-1.5e3>"})");
}

// What a parser would read as the same field must be found, too.
TEST(FieldRewriter, FindsAFieldHoweverItIsWritten) {
  EXPECT_EQ(json(R"({"\u0065mail":"a","email":"b"})"), R"({"\u0065mail":"<0:a>","email":"<0:b>"})");
  EXPECT_EQ(json(R"({"email":"a\u0062\"\\"})"), R"({"email":"<0:ab\"\\>"})");
  EXPECT_EQ(json(R"({"Email":"b","email ":"c"})"), R"({"Email":"b","email ":"c"})");
}

TEST(FieldRewriter, WhatIsNotOneObjectIsLeftToTheCaller) {
  for (const std::string_view text : {"", " ", "x", "[1]", "{", R"({"email":"a)", R"({"email":"a"}})",
                                      R"({"a":1,})", R"({"email" "a"})", "{\"email\":\"\xff\"}"}) {
    EXPECT_EQ(json(text), "nullopt") << text;
  }
}

TEST(FieldRewriter, CsvFieldsByTheirPlace) {
  EXPECT_EQ(csv("1;ann;3", {1, 2}), "1;<0:ann>;<1:3>");
  EXPECT_EQ(csv("1;\"a;\"\"n\n\";3", {1, 0}), "<1:1>;\"<0:a;\"\"n\n>\";3");
  EXPECT_EQ(csv("NULL;\"NULL\";", {0, 1}), "NULL;<1:NULL>;");
  EXPECT_EQ(csv(";", {0, 1}), "<0:>;<1:>");
  EXPECT_EQ(csv("1;2", {0, 2}), "nullopt");
}

// Random objects: the value is gone, and the rest parses as before.
TEST(FieldRewriter, NoByteOfAValueIsLeft) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const std::vector<std::string> values = {R"("#secret#")", R"("\"#secret#\\")", R"({"a":"#secret#"})",
                                           R"(["#secret#",{}])", R"("\u0023#secret#,}")"};
  const std::vector<std::string> others = {"1", "null", R"("},\"")", R"({"b":["]"]})", "[]", "\"\"", "-2e7"};
  const std::vector<std::string> keys = {R"("email")", R"("\u0065mail")", R"("e\u006dail")"};
  int64_t checked = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = "{";
    for (size_t i = below(5); i > 0; --i) text += format("\"k{}\" : {} ,", i, others[below(others.size())]);
    text += keys[below(keys.size())] + (below(2) == 0 ? ":" : " :\t") + values[below(values.size())];
    for (size_t i = below(4); i > 0; --i) text += format(", \"l{}\":{}", i, others[below(others.size())]);
    text += "}";
    FieldRewriter rewriter({.names = {"email"}});
    const auto out = rewriter.rewrite_json(text, [](size_t, std::string_view) { return "***"; });
    ASSERT_TRUE(out.has_value()) << text;
    EXPECT_FALSE(out->contains("secret")) << *out;
    EXPECT_TRUE(JsonReader({}).is_valid(*out)) << *out;
    ++checked;
  }
  EXPECT_EQ(checked, 2000);
}

}  // namespace
}  // namespace wrackline::formats
