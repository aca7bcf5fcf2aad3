#include <gtest/gtest.h>

#include "expr/expression_reader_test.h"

namespace wrackline::expr {
namespace {

TEST(Evaluator, ComputesConstants) {
  EXPECT_EQ(evaluate_text("1 + 2").text, "3");
  EXPECT_EQ(evaluate_text("(numeric '1.50' * 2) + 1").text, "4.00");
  EXPECT_EQ(evaluate_text("1 / 0").error, "division by zero");
}

}  // namespace
}  // namespace wrackline::expr
