#include "sql/job_text.h"

#include <gtest/gtest.h>

#include <string>

namespace wrackline::sql {
namespace {

TEST(JobText, CountsCharactersNotBytes) {
  const std::string_view sql = "ab\nä漢𝄞x\r\n\ty";
  const JobText text(sql, "job.sql");
  const auto place = [&](size_t offset) {
    const TextPlace p = text.place(offset);
    return std::to_string(p.line) + ":" + std::to_string(p.column);
  };
  EXPECT_EQ(place(0), "1:1");
  EXPECT_EQ(place(2), "1:3") << "the line end belongs to its line";
  EXPECT_EQ(place(sql.find("ä")), "2:1");
  EXPECT_EQ(place(sql.find("ä") + 1), "2:1") << "inside a character";
  EXPECT_EQ(place(sql.find("漢")), "2:2");
  EXPECT_EQ(place(sql.find("𝄞")), "2:3");
  EXPECT_EQ(place(sql.find("x")), "2:4");
  EXPECT_EQ(place(sql.find("y")), "3:2") << "a tab is one character";
  EXPECT_EQ(place(sql.size()), "3:3");
  EXPECT_EQ(place(sql.size() + 100), "3:3");
}

TEST(JobText, PutsTheCaretUnderThePlace) {
  const std::string_view sql = "one\nä\t漢x\r\nlast";
  const JobText text(sql, "job.sql");
  EXPECT_EQ(text.code_frame(0), "  1 | one\n    | ^");
  EXPECT_EQ(text.code_frame(3), "  1 | one\n    |    ^");
  EXPECT_EQ(text.code_frame(sql.find("x")), "  2 | ä\t漢x\n    |  \t  ^")
      << "tabs stay tabs, wide characters take two cells";
  EXPECT_EQ(text.code_frame(sql.find("漢") + 1), "  2 | ä\t漢x\n    |  \t^") << "inside a character";
  EXPECT_EQ(text.code_frame(sql.size()), "  3 | last\n    |     ^");
  EXPECT_EQ(JobText("a\u0301b", "job.sql").code_frame(3), "  1 | a\u0301b\n    |  ^")
      << "an accent takes no cell";
  EXPECT_EQ(JobText("", "job.sql").code_frame(0), "  1 | \n    | ^");
}

TEST(JobText, CutsLongLines) {
  const std::string sql = std::string(1000, 'a') + "X" + std::string(1000, 'b');
  EXPECT_EQ(JobText(sql, "job.sql").code_frame(1000), "  1 | …" + std::string(90, 'a') + "X" +
                                                          std::string(49, 'b') + "…\n    |  " +
                                                          std::string(90, ' ') + "^");
  std::string wide;
  for (int i = 0; i < 500; ++i) wide += "漢";
  const std::string frame = JobText(wide, "job.sql").code_frame(3 * 250);
  EXPECT_TRUE(frame.starts_with("  1 | …漢")) << "no character is cut in half";
  EXPECT_TRUE(frame.contains("漢…\n"));
}

TEST(JobText, ControlCharactersDoNotReachTheTerminal) {
  const std::string_view sql = "a\x1b[31mb\x7f x";
  EXPECT_EQ(JobText(sql, "job.sql").code_frame(sql.size() - 1), "  1 | a?[31mb? x\n    |          ^");
}

TEST(JobText, InvalidBytesAreShownAsQuestionMarks) {
  const std::string_view sql = "a\xff\xb1 \xe2\x82";
  const JobText text(sql, "job.sql");
  EXPECT_EQ(text.code_frame(1), "  1 | a?? ??\n    |  ^");
  EXPECT_EQ(text.code_frame(3), "  1 | a?? ??\n    |    ^");
  EXPECT_EQ(JobText("\xb1REATE", "job.sql").place(0).column, 1);
  EXPECT_EQ(JobText("\xb1REATE", "job.sql").code_frame(0), "  1 | ?REATE\n    | ^");
  EXPECT_EQ(JobText("x\n\xb1\xb1", "job.sql").code_frame(3), "  2 | ??\n    |  ^");
}

TEST(JobText, ErrorsCarryTheirPlace) {
  const JobText text("one\ntwo three", "a/job.sql");
  const Error error = text.error(8, ErrorCode::kInvalid, "something is wrong", "Do this.");
  EXPECT_EQ(error.where.file, "a/job.sql");
  EXPECT_EQ(error.where.line, 2);
  EXPECT_EQ(error.where.column, 5);
  EXPECT_EQ(error.to_string(),
            "a/job.sql:2:5: something is wrong\n  2 | two three\n    |     ^\nhint: Do this.");
  const Error placed = text.placed(0, Error{ErrorCode::kData, "m", "A detail.", "A hint.", {}});
  EXPECT_EQ(placed.to_string(), "a/job.sql:1:1: m\n  1 | one\n    | ^\nhint: A detail. A hint.");
  EXPECT_EQ(placed.code, ErrorCode::kData);
}

}  // namespace
}  // namespace wrackline::sql
