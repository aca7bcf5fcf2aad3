// Every expression of tests/data/expressions.tsv has PostgreSQL's type and value here, or fails where it
// fails there.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "expr/expression_reader_test.h"

namespace wrackline::expr {
namespace {

struct Vector {
  std::string expression;
  std::string type;
  std::string value;
};

std::vector<Vector> read_vectors() {
  std::ifstream in(WRACKLINE_SOURCE_DIR "/tests/data/expressions.tsv");
  std::vector<Vector> vectors;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find('\t');
    const size_t second = line.find('\t', first + 1);
    vectors.push_back(
        {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return vectors;
}

TEST(Postgres, AnswersAlike) {
  const std::vector<Vector> vectors = read_vectors();
  ASSERT_GT(vectors.size(), 1000U) << "a test that checks nothing must fail";
  for (const Vector& vector : vectors) {
    const Evaluated ours = evaluate_text(vector.expression);
    if (vector.type == "ERROR") {
      EXPECT_FALSE(ours.error.empty()) << vector.expression << " is " << ours.type << ' ' << ours.text
                                       << " here, an error there (" << vector.value << ")";
      continue;
    }
    EXPECT_EQ(ours.error, "") << vector.expression << " is " << vector.type << ' ' << vector.value
                              << " there";
    if (!ours.error.empty()) continue;
    const std::string type = ours.type.substr(0, ours.type.find('('));
    const bool varchar = vector.type == "character varying" && type.starts_with("character varying");
    EXPECT_TRUE(type == vector.type || varchar)
        << vector.expression << ": " << ours.type << " here, " << vector.type << " there";
    EXPECT_EQ(ours.text, vector.value) << vector.expression;
  }
}

}  // namespace
}  // namespace wrackline::expr
