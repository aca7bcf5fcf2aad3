#include "disorder/binomial.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace wrackline::disorder {

Binomial::Binomial(int64_t n, double p) {
  WRACKLINE_CHECK(n >= 0 && p >= 0 && p <= 1, "a binomial has n >= 0 and p in [0, 1]");
  const double q = 1 - p;
  const auto mode =
      std::clamp(static_cast<int64_t>(std::floor(static_cast<double>(n + 1) * p)), int64_t{0}, n);
  constexpr double kNegligible = 1e-18;
  // Walk from the mode outward by the ratio of neighbours; the sum normalises, so no factorials are needed.
  std::vector<double> below;
  double weight = 1;
  for (int64_t k = mode; k > 0 && weight > kNegligible; --k) {
    weight *= static_cast<double>(k) / static_cast<double>(n - k + 1) * (q / p);
    below.push_back(weight);
  }
  first_ = mode - static_cast<int64_t>(below.size());
  cumulative_.assign(below.rbegin(), below.rend());
  cumulative_.push_back(1);
  weight = 1;
  for (int64_t k = mode; k < n && weight > kNegligible && q > 0; ++k) {
    weight *= static_cast<double>(n - k) / static_cast<double>(k + 1) * (p / q);
    cumulative_.push_back(weight);
  }
  double total = 0;
  for (double& value : cumulative_) {
    total += value;
    value = total;
  }
  for (double& value : cumulative_) value /= total;
}

double Binomial::at_most(int64_t k) const {
  if (k < first_) return 0;
  const auto at = static_cast<size_t>(k - first_);
  return at < cumulative_.size() ? cumulative_[at] : 1;
}

namespace {

// Smallest k with holds(k), for a condition that stays true once it is; `high` must hold.
template <class Condition>
int64_t first_that(int64_t low, int64_t high, Condition holds) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

RankInterval quantile_rank_interval(int64_t n, double p, double alpha) {
  const Binomial below(n, p);
  RankInterval interval;
  // l = max{i: P(B <= i - 1) <= alpha / 2}; i = 0 always qualifies and bounds nothing.
  const int64_t beyond = first_that(0, n + 1, [&](int64_t i) { return below.at_most(i - 1) > alpha / 2; });
  if (beyond - 1 >= 1) interval.lower = beyond - 1;
  // u = min{i: P(B <= i - 1) >= 1 - alpha / 2}; n + 1 means that no sample bounds it.
  const int64_t upper =
      first_that(1, n + 1, [&](int64_t i) { return below.at_most(i - 1) >= 1 - alpha / 2; });
  if (upper <= n) interval.upper = upper;
  return interval;
}

int64_t sample_minimum(double p, double alpha) {
  return static_cast<int64_t>(std::ceil(std::log(alpha) / std::log(p)));
}

Verdict verdict_of(double effective_samples, double p) {
  if (effective_samples < static_cast<double>(sample_minimum(p, 0.05))) return Verdict::kInsufficient;
  // A hair of slack: 10000 samples have 10 beyond p99.9 whatever 1 - 0.999 rounds to.
  const double beyond = effective_samples * (1 - p) + 1e-9;
  if (beyond < 10) return Verdict::kBounded;
  return beyond < 100 ? Verdict::kEstimated : Verdict::kPrecise;
}

int64_t late_allowed(int64_t n, double target, double alpha) {
  if (target >= 1) return n;
  if (n <= 0 || target <= 0) return -1;
  const Binomial late(n, target);
  return first_that(0, n + 1, [&](int64_t k) { return late.at_most(k) > alpha; }) - 1;
}

double share_upper_bound(int64_t late, int64_t n, double alpha) {
  if (late >= n) return 1;
  double low = static_cast<double>(late) / static_cast<double>(n);
  double high = 1;
  for (int step = 0; step < 60 && high - low > 1e-12; ++step) {
    const double middle = (low + high) / 2;
    (Binomial(n, middle).at_most(late) > alpha ? low : high) = middle;
  }
  return high;
}

std::optional<double> design_effect(const std::vector<BlockCount>& blocks) {
  double samples = 0;
  double late = 0;
  double used = 0;
  for (const BlockCount& block : blocks) {
    samples += static_cast<double>(block.samples);
    late += static_cast<double>(block.late);
    used += block.samples > 0 ? 1 : 0;
  }
  if (used < 2 || late <= 0 || late >= samples) return std::nullopt;
  const double share = late / samples;
  double squares = 0;
  for (const BlockCount& block : blocks) {
    if (block.samples == 0) continue;
    const auto n = static_cast<double>(block.samples);
    const double off = static_cast<double>(block.late) / n - share;
    squares += n * n * off * off;
  }
  const double variance = used / (used - 1) * squares / (samples * samples);
  return std::max(1.0, variance / (share * (1 - share) / samples));
}

}  // namespace wrackline::disorder
