#include <gtest/gtest.h>

#include "sql/job_script_test.h"

namespace wrackline::sql {
namespace {

TEST(Job, RefusesWithPlaceAndHint) {
  run_script("refusals.txt", 150);
}

TEST(Job, ExplainsItself) {
  run_script("explanations.txt", 8);
}

TEST(Job, Warns) {
  run_script("warnings.txt", 5);
}

}  // namespace
}  // namespace wrackline::sql
