#include "report/markup.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace wrackline::report {
namespace {

TEST(Escaped, LeavesNothingThatIsMarkup) {
  EXPECT_EQ(escaped("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
  EXPECT_EQ(escaped("\"><img src=x onerror=y>"), "&quot;&gt;&lt;img src=x onerror=y&gt;");
  EXPECT_EQ(escaped("a&amp;b"), "a&amp;amp;b");
  EXPECT_EQ(escaped(""), "");
}

TEST(Escaped, ReplacesWhatNoDocumentMayHold) {
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(escaped("\x1B[31m"), "\xEF\xBF\xBD[31m");
  EXPECT_EQ(escaped("\xFF\xC3"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escaped("\xC2\x85"), "\xEF\xBF\xBD") << "C1 controls";
  EXPECT_EQ(escaped("Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x9A\x8C"),
            "Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x9A\x8C");
}

TEST(Isolated, WrapsTheName) {
  EXPECT_EQ(isolated("a<b"), "<bdi>a&lt;b</bdi>");
}

TEST(Fitted, CutsBetweenCharacters) {
  EXPECT_EQ(fitted("abc", 100), "abc");
  EXPECT_EQ(fitted("", 0), "");
  for (const std::string_view text : {"abcdefgh", "äöüßäöüß", "地震情報地震"}) {
    std::string longest;
    for (double width = 13; width < 60; ++width) {
      const std::string cut = fitted(text, width);
      EXPECT_TRUE(is_valid_utf8(cut)) << cut;
      EXPECT_LE(label_width(cut), width);
      EXPECT_GE(label_width(cut), label_width(longest));
      longest = cut;
    }
    EXPECT_GT(longest.size(), std::string_view("…").size() + 3) << longest;
  }
}

TEST(Sentence, BeginsWithACapitalAndEndsWithAStop) {
  EXPECT_EQ(sentence("a clock is ahead"), "A clock is ahead.");
  EXPECT_EQ(sentence("95 records are ahead."), "95 records are ahead.");
  EXPECT_EQ(sentence(""), "");
}

TEST(Pixels, HaveOneDecimalAtMost) {
  EXPECT_EQ(pixels(12), "12");
  EXPECT_EQ(pixels(12.34), "12.3");
  EXPECT_EQ(pixels(-0.04), "0");
  EXPECT_EQ(pixels(-3.55), "-3.6");
}

TEST(PercentText, TellsFewFromNoneAndMostFromAll) {
  EXPECT_EQ(percent_text(0, 10), "0 %");
  EXPECT_EQ(percent_text(10, 10), "100 %");
  EXPECT_EQ(percent_text(1, 10'000'000), "<0.001 %");
  EXPECT_EQ(percent_text(9'999'999, 10'000'000), ">99.999 %");
  EXPECT_EQ(percent_text(1, 3), "33.3 %");
  EXPECT_EQ(percent_text(1, 400), "0.25 %");
  EXPECT_EQ(percent_text(9997, 10'000), "99.970 %");
  EXPECT_EQ(percent_text(0, 0), "-");
}

TEST(BytesText, PicksTheUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.0 * 1024 * 1024), "3 MiB");
}

TEST(Drawing, EscapesWhatItIsGiven) {
  Drawing drawing({"id", "<t>", "<d>", 10, 10, "wide"});
  drawing.text({1, 2}, Anchor::kEnd, "soft", "</text><script>");
  drawing.begin_mark("\"quoted\"");
  drawing.box({0, 0, 1, 1}, "bar", "<tip>");
  drawing.end_mark();
  const std::string svg = drawing.finish();
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("aria-label=\"&quot;quoted&quot;\""), std::string::npos);
  EXPECT_NE(svg.find("<title>&lt;tip&gt;</title>"), std::string::npos);
}

}  // namespace
}  // namespace wrackline::report
