#include "operators/balance.h"

#include <gtest/gtest.h>

namespace wrackline {
namespace {

TEST(Balance, EveryTermOfTheLawCounts) {
  FateCounts counts;
  counts.read = 28;
  counts.accepted = 1;
  counts.accepted_partially = 2;
  counts.ledgered = 3;
  counts.duplicate = 4;
  counts.filtered = 5;
  counts.held = 6;
  counts.dropped[static_cast<size_t>(Reason::kLate)] = 3;
  counts.dropped[static_cast<size_t>(Reason::kConflict)] = 4;
  EXPECT_TRUE(counts.balanced());
  ++counts.read;
  EXPECT_FALSE(counts.balanced());
}

TEST(Balance, OnePartitionThatDoesNotAddUpSpoilsItEvenWhenTheSumDoes) {
  Balance balance;
  balance.of(0).read = 2;
  balance.of(0).accepted = 1;
  balance.of(1).read = 1;
  balance.of(1).accepted = 2;
  EXPECT_TRUE(balance.total().balanced());
  EXPECT_FALSE(balance.balanced());
}

}  // namespace
}  // namespace wrackline
