#include "base/parallel.h"

#include <gtest/gtest.h>

#include <vector>

namespace wrackline {
namespace {

TEST(WorkerPool, EveryNumberRunsOnceARound) {
  for (const size_t workers : {1U, 2U, 5U}) {
    WorkerPool pool(workers);
    EXPECT_EQ(pool.size(), workers);
    std::vector<int> runs(workers);
    for (int round = 1; round <= 100; ++round) {
      pool.run([&](size_t i) { ++runs[i]; });
      for (const int count : runs) ASSERT_EQ(count, round);
    }
  }
}

TEST(WorkerPool, LeavesWithoutHavingWorked) {
  WorkerPool pool(4);
}

}  // namespace
}  // namespace wrackline
