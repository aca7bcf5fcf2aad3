// The few facts about binomial tails that sample-size statements need. Exact sums, no approximation by a
// normal.
//
// Source: Hahn and Meeker, "Statistical Intervals", section 5 (order statistics); Clopper and Pearson,
// Biometrika 1934.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

inline constexpr double kAlpha = 0.05;  // every statement here is made with 95 % confidence

// The distribution of the number of successes among n trials, each with probability p, as a table around its
// mean. Probabilities below 10^-18 of the greatest are left out. Cost: O(sqrt(n p (1 - p))) time and memory.
// Requires: n >= 0, 0 <= p <= 1.
class Binomial {
 public:
  Binomial(int64_t n, double p);
  double at_most(int64_t k) const;  // P(B <= k)

 private:
  int64_t first_ = 0;  // successes that cumulative_[0] stands for
  std::vector<double> cumulative_;
};

struct RankInterval {
  std::optional<int64_t> lower;  // ranks from 1; null: no finite bound
  std::optional<int64_t> upper;
};
// Ranks l and u so that the p-quantile lies between the l-th and the u-th of n independent samples with
// probability of at least 1 - alpha. Requires: n >= 1, 0 < p < 1.
RankInterval quantile_rank_interval(int64_t n, double p, double alpha);

// Smallest sample with a finite upper bound of its p-quantile: ceil(ln(alpha) / ln(p)).
int64_t sample_minimum(double p, double alpha);
Verdict verdict_of(double effective_samples, double p);

// The greatest number of late ones among n whose Clopper-Pearson upper bound (one-sided, 1 - alpha) stays at
// or below `target`; -1 when n is too small for any.
int64_t late_allowed(int64_t n, double target, double alpha);
// That upper bound for `late` among n.
double share_upper_bound(int64_t late, int64_t n, double alpha);

// How much more the share of late ones varies between equal blocks of consecutive samples than independent
// samples would: at least 1. nullopt: fewer than two blocks, or none or all are late. Source: variance of
// batch means (Law, "Simulation Modeling and Analysis", section 9.5).
struct BlockCount {
  int64_t samples = 0;
  int64_t late = 0;
};
std::optional<double> design_effect(const std::vector<BlockCount>& blocks);
inline constexpr size_t kDesignBlocks = 32;

}  // namespace wrackline::disorder
