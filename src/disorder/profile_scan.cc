#include "disorder/profile_scan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "disorder/binomial.h"
#include "disorder/kernels.h"
#include "disorder/running_max.h"

namespace wrackline::disorder {
namespace {

// From so many delays on, one percent of outliers does not speak for a clock.
constexpr uint64_t kClockSamplesMin = 100;

int64_t signed_count(uint64_t count) {
  return static_cast<int64_t>(count);
}

void add_usual_ranks(uint64_t count, std::vector<uint64_t>& ranks) {
  if (count == 0) return;
  for (const uint64_t permille : {500, 950, 990, 999}) ranks.push_back(nearest_rank(count, permille));
}

QuantileSet quantiles(const DelayHistogram& histogram, RankSelector& selector) {
  const uint64_t count = histogram.count();
  return {histogram.min(),
          selector.value(nearest_rank(count, 500)),
          selector.value(nearest_rank(count, 950)),
          selector.value(nearest_rank(count, 990)),
          selector.value(nearest_rank(count, 999)),
          histogram.max()};
}

QuantileConfidence confidence(const DelayHistogram& histogram, const BucketTable& table, uint64_t permille,
                              std::optional<double> effect) {
  QuantileConfidence result;
  const auto count = static_cast<double>(histogram.count());
  const double p = static_cast<double>(permille) / 1000;
  if (histogram.empty()) return result;
  result.design_effect = effect;
  const double effective = std::max(1.0, std::floor(count / result.design_effect.value_or(1)));
  result.verdict = verdict_of(effective, p);
  const RankInterval ranks = quantile_rank_interval(static_cast<int64_t>(effective), p, kAlpha);
  // Ranks of the effective sample stand for the same shares of the whole one.
  if (ranks.lower) {
    const double rank = std::floor(static_cast<double>(*ranks.lower) / effective * count);
    const auto located = table.locate(static_cast<uint64_t>(std::clamp(rank, 1.0, count)));
    result.low_us = std::max(located.bucket.lower, histogram.min());
  }
  if (ranks.upper) {
    const double rank = std::ceil(static_cast<double>(*ranks.upper) / effective * count);
    const auto located = table.locate(static_cast<uint64_t>(std::clamp(rank, 1.0, count)));
    result.high_us = std::min(located.bucket.upper, histogram.max());
  }
  return result;
}

}  // namespace

uint64_t nearest_rank(uint64_t count, uint64_t permille) {
  const auto rank = (static_cast<unsigned __int128>(count) * permille + 999) / 1000;
  return std::max<uint64_t>(1, static_cast<uint64_t>(rank));
}

Exceedances::Exceedances(const BucketTable& table)
    : total_(table.count()), p99_(tail_of(table, 990)), p99_9_(tail_of(table, 999)) {}

Exceedances::Tail Exceedances::tail_of(const BucketTable& table, uint64_t permille) const {
  if (total_ < 2) return {};
  const auto located = table.locate(nearest_rank(total_, permille));
  const std::vector<uint64_t> none(kDesignBlocks);
  // Beyond the bucket, or with it when nothing lies beyond: the share must be neither nothing nor all.
  if (located.before + located.bucket.count < total_) return {located.bucket.upper, none};
  if (located.before > 0) return {located.bucket.lower - 1, none};
  return {};
}

void Exceedances::offer(std::span<const int64_t> values, uint64_t at) {
  if (count_above(values, p99_.threshold) == 0) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > p99_.threshold) [[unlikely]]
      count(values[i], at + i);
  }
}

void Exceedances::count(int64_t value, uint64_t at) {
  const size_t block = block_of(at);
  ++p99_.late[block];
  if (value > p99_9_.threshold) ++p99_9_.late[block];
}

std::optional<double> Exceedances::effect(const Tail& tail) const {
  if (tail.late.empty()) return std::nullopt;
  std::vector<BlockCount> blocks(kDesignBlocks);
  uint64_t begin = 0;
  for (size_t block = 0; block < kDesignBlocks; ++block) {
    const uint64_t end = block_begin(block + 1);
    blocks[block] = {signed_count(end - begin), signed_count(tail.late[block])};
    begin = end;
  }
  return design_effect(blocks);
}

size_t Exceedances::block_of(uint64_t at) const {
  return static_cast<size_t>(static_cast<unsigned __int128>(at) * kDesignBlocks / total_);
}

// The first `at` of the block.
uint64_t Exceedances::block_begin(size_t block) const {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(block) * total_ + kDesignBlocks - 1) /
                               kDesignBlocks);
}

PartitionScan::PartitionScan(const PartitionFigures& figures, int64_t resolution_us,
                             const std::vector<RankOf>& extra)
    : total_(figures.delay.count()) {
  const BucketTable delays(figures.delay);
  split_ = find_mode_split(delays, {.resolution = resolution_us});
  transport_ = split_ ? delays.count_at_most_index(DelayHistogram::bucket_of(split_->split)) : total_;
  for (const RankOf& rank_of : extra) extra_ranks_.push_back(rank_of(total_));
  std::vector<uint64_t> wanted = extra_ranks_;
  add_usual_ranks(total_, wanted);
  if (total_ > 0)
    wanted.insert(wanted.end(), {nearest_rank(total_, 10), transport_rank(500), transport_rank(990)});
  if (split_) wanted.insert(wanted.end(), {offline_rank(500), offline_rank(990)});
  delay_ = {RankSelector(delays, wanted), Exceedances(delays)};
  const BucketTable disorders(figures.disorder);
  wanted.clear();
  add_usual_ranks(disorders.count(), wanted);
  disorder_ = {RankSelector(disorders, wanted), Exceedances(disorders)};
}

void PartitionScan::offer(const PartitionRun& run, int64_t early, bool far) {
  std::array<int64_t, kLogBlockRows> computed;
  const bool all = all_set(run.has_arrival);
  std::span<const int64_t> delays = run.delay_us;
  if (!all) {
    size_t kept = 0;
    for (size_t i = 0; i < delays.size(); ++i) {
      computed[kept] = delays[i];
      kept += run.has_arrival[i] != 0 ? 1 : 0;
    }
    delays = std::span(computed).first(kept);
  }
  delay_.offer(delays);
  const size_t known =
      disorder_of(run.event_us, run.delay_us.data(), early, far, max_event_us_, computed.data());
  disorder_.offer(std::span(computed).first(known));
}

DelaySummary PartitionScan::summarise(PartitionFigures& figures) {
  DelaySummary summary;
  summary.records = figures.records;
  summary.with_arrival = figures.with_arrival;
  if (!figures.disorder.empty()) {
    const BucketTable table(figures.disorder);
    summary.disorder_us = quantiles(figures.disorder, disorder_.selector);
    summary.behind = signed_count(table.count() - table.count_at_most_index(0));
    summary.disorder_p99 = confidence(figures.disorder, table, 990, disorder_.beyond.effect_p99());
    summary.disorder_p99_9 = confidence(figures.disorder, table, 999, disorder_.beyond.effect_p99_9());
  }
  if (!figures.delay.empty()) summarise_delay(figures, summary);
  summary.delay = std::move(figures.delay);
  summary.disorder = std::move(figures.disorder);
  return summary;
}

void PartitionScan::summarise_delay(const PartitionFigures& figures, DelaySummary& summary) {
  const BucketTable table(figures.delay);
  const int64_t least = figures.delay.min();
  summary.delay_us = quantiles(figures.delay, delay_.selector);
  summary.delay_p99 = confidence(figures.delay, table, 990, delay_.beyond.effect_p99());
  summary.delay_p99_9 = confidence(figures.delay, table, 999, delay_.beyond.effect_p99_9());
  summary.negative = signed_count(table.count_at_most_index(-1));
  summary.negative_most_us = saturating_subtract(0, std::min<int64_t>(least, 0));
  summary.future = figures.future;
  summary.furthest_behind = figures.behind;
  if (least < 0) summary.furthest_ahead = figures.ahead;
  const int64_t clock = total_ >= kClockSamplesMin ? delay_.selector.value(nearest_rank(total_, 10)) : least;
  if (clock < 0) summary.clock_ahead_us = saturating_subtract(0, clock);
  summarise_modes(summary);
}

void PartitionScan::summarise_modes(DelaySummary& summary) {
  const auto mode = [&](std::string name, uint64_t records, uint64_t p50_rank, uint64_t p99_rank) {
    const double share = static_cast<double>(records) / static_cast<double>(total_);
    summary.modes.push_back({std::move(name), signed_count(records), share, delay_.selector.value(p50_rank),
                             delay_.selector.value(p99_rank)});
  };
  mode("transport", transport_, transport_rank(500), transport_rank(990));
  if (!split_) return;
  summary.split_us = split_->split;
  mode("offline", total_ - transport_, offline_rank(500), offline_rank(990));
}

std::vector<int64_t> PartitionScan::extra_values() {
  std::vector<int64_t> values;
  if (total_ == 0) return values;
  for (const uint64_t rank : extra_ranks_) values.push_back(delay_.selector.value(rank));
  return values;
}

}  // namespace wrackline::disorder
