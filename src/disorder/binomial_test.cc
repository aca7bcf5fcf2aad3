#include "disorder/binomial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace wrackline::disorder {
namespace {

// The plain definition, by logarithms of factorials.
double plain_at_most(int64_t k, int64_t n, double p) {
  double total = 0;
  for (int64_t i = 0; i <= k; ++i) {
    total += std::exp(std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(i + 1)) -
                      std::lgamma(static_cast<double>(n - i + 1)) + static_cast<double>(i) * std::log(p) +
                      static_cast<double>(n - i) * std::log1p(-p));
  }
  return total;
}

TEST(Binomial, AgreesWithThePlainSum) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<int64_t>(1 + random() % 400);
    const double p = (static_cast<double>(random() % 9999) + 0.5) / 10000;
    const auto k = static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1));
    EXPECT_NEAR(Binomial(n, p).at_most(k), std::min(1.0, plain_at_most(k, n, p)), 1e-9)
        << n << " " << p << " " << k;
  }
}

TEST(Binomial, EndsAreCertain) {
  EXPECT_EQ(Binomial(10, 0.5).at_most(-1), 0);
  EXPECT_EQ(Binomial(10, 0.5).at_most(10), 1);
  EXPECT_EQ(Binomial(10, 0).at_most(0), 1);
  EXPECT_EQ(Binomial(10, 1).at_most(9), 0);
  EXPECT_EQ(Binomial(0, 0.5).at_most(0), 1);
}

// Samples for a finite bound: ceil(ln alpha / ln p), by hand.
TEST(SampleSize, Minimum) {
  EXPECT_EQ(sample_minimum(0.99, 0.05), 299);
  EXPECT_EQ(sample_minimum(0.999, 0.05), 2995);
  EXPECT_EQ(sample_minimum(0.9999, 0.05), 29956);
  EXPECT_EQ(sample_minimum(0.99, 0.025), 368);
  EXPECT_EQ(sample_minimum(0.999, 0.025), 3688);
  EXPECT_EQ(sample_minimum(0.9999, 0.025), 36887);
  EXPECT_EQ(sample_minimum(0.99, 0.01), 459);
  EXPECT_EQ(sample_minimum(0.999, 0.01), 4603);
  EXPECT_EQ(sample_minimum(0.9999, 0.01), 46050);
}

TEST(SampleSize, MinimumIsWhereAFiniteBoundBegins) {
  for (const double p : {0.9, 0.99, 0.999}) {
    const int64_t two_sided = sample_minimum(p, 0.025);
    EXPECT_FALSE(quantile_rank_interval(two_sided - 1, p, 0.05).upper.has_value());
    EXPECT_EQ(quantile_rank_interval(two_sided, p, 0.05).upper, two_sided);
    const int64_t one_sided = sample_minimum(p, 0.05);
    EXPECT_EQ(late_allowed(one_sided - 1, 1 - p, 0.05), -1);
    EXPECT_EQ(late_allowed(one_sided, 1 - p, 0.05), 0);
  }
}

TEST(SampleSize, RanksOfTheTailQuantile) {
  const auto ranks = [](int64_t n) { return quantile_rank_interval(n, 0.999, 0.05); };
  EXPECT_EQ(ranks(10'000).lower, 9983);
  EXPECT_EQ(ranks(10'000).upper, 9997);
  EXPECT_FALSE(ranks(3000).upper.has_value());
  // As shares of the sample: 99.88 to 99.92 %, 99.894 to 99.906 %.
  EXPECT_NEAR(static_cast<double>(*ranks(100'000).lower) / 1e5, 0.9988, 1e-4);
  EXPECT_NEAR(static_cast<double>(*ranks(100'000).upper) / 1e5, 0.9992, 1e-4);
  EXPECT_NEAR(static_cast<double>(*ranks(1'000'000).lower) / 1e6, 0.99894, 1e-5);
  EXPECT_NEAR(static_cast<double>(*ranks(1'000'000).upper) / 1e6, 0.99906, 1e-5);
}

TEST(SampleSize, RanksByTheirDefinition) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 50; ++round) {
    const auto n = static_cast<int64_t>(1 + random() % 3000);
    const double p = random() % 2 == 0 ? 0.99 : 0.9;
    const Binomial below(n, p);
    const RankInterval ranks = quantile_rank_interval(n, p, 0.05);
    int64_t lower = 0;
    while (lower + 1 <= n && below.at_most(lower) <= 0.025) ++lower;
    int64_t upper = 1;
    while (upper <= n && below.at_most(upper - 1) < 0.975) ++upper;
    EXPECT_EQ(ranks.lower.value_or(0), lower);
    EXPECT_EQ(ranks.upper.value_or(n + 1), upper);
  }
}

TEST(SampleSize, Verdicts) {
  EXPECT_EQ(verdict_of(298, 0.99), Verdict::kInsufficient);
  EXPECT_EQ(verdict_of(299, 0.99), Verdict::kBounded);
  EXPECT_EQ(verdict_of(999, 0.99), Verdict::kBounded);
  EXPECT_EQ(verdict_of(1000, 0.99), Verdict::kEstimated);
  EXPECT_EQ(verdict_of(9999, 0.99), Verdict::kEstimated);
  EXPECT_EQ(verdict_of(10'000, 0.99), Verdict::kPrecise);
  EXPECT_EQ(verdict_of(2994, 0.999), Verdict::kInsufficient);
  EXPECT_EQ(verdict_of(100'000, 0.999), Verdict::kPrecise);
}

TEST(LateShare, AllowedIsTheGreatestWhoseBoundMeetsTheTarget) {
  for (const int64_t n : {299, 1000, 12'345}) {
    for (const double target : {0.01, 0.05}) {
      const int64_t allowed = late_allowed(n, target, 0.05);
      ASSERT_GE(allowed, 0);
      EXPECT_LE(share_upper_bound(allowed, n, 0.05), target + 1e-9);
      EXPECT_GT(share_upper_bound(allowed + 1, n, 0.05), target);
    }
  }
  EXPECT_EQ(late_allowed(10, 1, 0.05), 10);
  EXPECT_EQ(late_allowed(10, 0, 0.05), -1);
  EXPECT_EQ(share_upper_bound(5, 5, 0.05), 1);
  EXPECT_NEAR(share_upper_bound(0, 299, 0.05), 1 - std::pow(0.05, 1.0 / 299), 1e-9);
}

TEST(DesignEffect, IsAboutOneForIndependentAndGrowsWithBursts) {
  std::mt19937_64 random(9);
  std::vector<BlockCount> even(kDesignBlocks);
  std::vector<BlockCount> bursts(kDesignBlocks);
  std::binomial_distribution<int64_t> late(1000, 0.01);
  for (size_t i = 0; i < kDesignBlocks; ++i) {
    even[i] = {1000, late(random)};
    bursts[i] = {1000, i % 8 == 0 ? 80 : 0};
  }
  EXPECT_LT(design_effect(even).value(), 2);
  EXPECT_GT(design_effect(bursts).value(), 20);
  EXPECT_GE(design_effect({{100, 50}, {100, 50}}).value(), 1);
}

// The promises, tried on samples whose truth is known: uniform values, so that the quantile p is p.
TEST(Promise, IntervalsHoldTheTruthAtLeast95PercentOfTheTime) {
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> unit(0, 1);
  constexpr int kRounds = 2000;
  constexpr int64_t kSample = 1000;
  const RankInterval ranks = quantile_rank_interval(kSample, 0.99, 0.05);
  const int64_t allowed = late_allowed(kSample, 0.01, 0.05);
  int missed = 0;
  int broken = 0;
  std::vector<double> values(kSample);
  for (int round = 0; round < kRounds; ++round) {
    for (double& value : values) value = unit(random);
    std::ranges::sort(values);
    const auto at = [&](int64_t rank) { return values[static_cast<size_t>(rank - 1)]; };
    missed += at(*ranks.lower) > 0.99 || at(*ranks.upper) < 0.99 ? 1 : 0;
    broken += 1 - at(kSample - allowed) > 0.01 ? 1 : 0;  // the true late share beyond the chosen delay
  }
  EXPECT_LE(missed, kRounds * 6 / 100);
  EXPECT_LE(broken, kRounds * 6 / 100);
  EXPECT_GT(broken, 0);  // and the bound is not a needless fortress
}

TEST(DesignEffect, NeedsSomeLateAndSomeNot) {
  EXPECT_FALSE(design_effect({{100, 0}, {100, 0}}).has_value());
  EXPECT_FALSE(design_effect({{100, 100}, {100, 100}}).has_value());
  EXPECT_FALSE(design_effect({{100, 5}, {0, 0}}).has_value());
  EXPECT_FALSE(design_effect({}).has_value());
}

}  // namespace
}  // namespace wrackline::disorder
