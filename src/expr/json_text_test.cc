#include "expr/json_text.h"

#include <gtest/gtest.h>

#include "expr/json_path.h"

namespace wrackline::expr {
namespace {

std::string canonical(std::string_view text) {
  JsonPart root;
  if (json_root(text, root) != JsonLookup::kFound) return "invalid";
  std::string out;
  return append_json_canonical(out, root) ? out : "unwritable";
}

TEST(JsonText, NestsAsDeepAsAllowedAndNoDeeper) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  JsonPart root;
  EXPECT_EQ(json_root(nested(kJsonDepthMax), root), JsonLookup::kFound);
  EXPECT_EQ(json_root(nested(kJsonDepthMax + 1), root), JsonLookup::kInvalid);
  EXPECT_EQ(json_root(std::string(1000000, '['), root), JsonLookup::kInvalid);
  EXPECT_EQ(canonical(nested(kJsonDepthMax)), nested(kJsonDepthMax));
}

TEST(JsonText, RefusesEveryPrefixOfAValue) {
  const std::string text = R"({"a":[1,-2.5e+3,true,null,"\u00e9\\"],"b":{}})";
  JsonPart root;
  ASSERT_EQ(json_root(text, root), JsonLookup::kFound);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(json_root(std::string_view(text).substr(0, size), root), JsonLookup::kInvalid) << size;
  }
}

TEST(JsonText, TheLastOfEqualNamesCounts) {
  const std::string text = R"({"a":1,"\u0061":2})";
  JsonPart root;
  JsonPart part;
  ASSERT_EQ(json_root(text, root), JsonLookup::kFound);
  ASSERT_EQ(json_member(root, "a", part), JsonLookup::kFound);
  EXPECT_EQ(part.text, "2");
  EXPECT_EQ(canonical(text), R"({"a": 2})");
}

TEST(JsonText, WritesNumbersWithoutExponents) {
  EXPECT_EQ(canonical("1e5"), "100000");
  EXPECT_EQ(canonical("-1.50E-3"), "-0.00150");
  EXPECT_EQ(canonical("-0"), "0");
  EXPECT_EQ(canonical("1e131071").size(), 131072U);
  EXPECT_EQ(canonical("1e131072"), "unwritable");
  EXPECT_EQ(canonical("1e999999999999999999999"), "unwritable");
  EXPECT_EQ(canonical("1e-16384"), "unwritable");
}

TEST(JsonText, DecodesEscapes) {
  JsonPart root;
  ASSERT_EQ(json_root(R"("a\b\f\n\r\t\/\\\"\u20AC\ud83d\ude00")", root), JsonLookup::kFound);
  std::string text;
  ASSERT_TRUE(append_json_string(text, root));
  EXPECT_EQ(text, "a\b\f\n\r\t/\\\"€😀");
  for (const char* bad :
       {R"("\u0000")", R"("\ud800")", R"("\ud800\u0041")", R"("\udc00")", R"("\ud83dx\ude00")"}) {
    ASSERT_EQ(json_root(bad, root), JsonLookup::kFound) << bad;
    EXPECT_FALSE(append_json_string(text, root)) << bad;
  }
  EXPECT_EQ(canonical("\"\\u0001\x7f\""), "\"\\u0001\x7f\"");
  EXPECT_EQ(canonical("\"\x01\""), "invalid");
}

TEST(JsonPath, ReadsArrayText) {
  const auto steps = [](std::string_view text) {
    const auto path = parse_json_path(text);
    return path ? path->steps : std::vector<std::string>{"malformed"};
  };
  EXPECT_EQ(steps("{}"), std::vector<std::string>());
  EXPECT_EQ(steps(" { a , b c ,0} "), (std::vector<std::string>{"a", "b c", "0"}));
  EXPECT_EQ(steps(R"({"a,b","",c\,d})"), (std::vector<std::string>{"a,b", "", "c,d"}));
  for (const char* bad : {"", "a", "{", "{a", "{a,}", "{,a}", "{a}b", "{\"a}", "{{a}}", "{a\\"}) {
    EXPECT_EQ(steps(bad), std::vector<std::string>{"malformed"}) << bad;
  }
  EXPECT_TRUE(parse_json_path("{a,null}")->has_null);
  EXPECT_FALSE(parse_json_path("{a,\"null\"}")->has_null);
}

}  // namespace
}  // namespace wrackline::expr
