// How one run of the records answers for every choice of delay and lateness.
//
// With the same delay for every partition, progress G does not depend on the delay: maximum and minimum
// commute with subtracting a constant. So whether a (record, window) pair is late under any delay d is one
// comparison, x >= d, with x = G - window end; and d is an order statistic of x. The obvious way, running the
// engine once per candidate, answers for the candidates only and costs a run each.
//
// The record log is scanned three times after the profile's own scan: (1) histograms of x, from which the
// wanted ranks follow; (2) the exact values at those ranks; (3) the run under the chosen pair, which counts
// what the engine would. Only x >= 0 is kept in histograms: a delay is never negative, so the rest is on time
// for all of them and a count will do.
#include "wrackline/lateness_budget.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "disorder/binomial.h"
#include "disorder/budget_notes.h"
#include "disorder/profile_core.h"
#include "disorder/rank_selector.h"
#include "disorder/window_pairs.h"
#include "disorder/window_pass.h"
#include "wrackline/watermark_tracker.h"

namespace wrackline {

using disorder::BlockCount;
using disorder::BucketTable;
using disorder::kDesignBlocks;
using disorder::LogRows;
using disorder::ProfileCore;
using disorder::RankSelector;
using disorder::WindowPairs;
using disorder::WindowPass;

namespace {

using disorder::kAlpha;

// Lateness x >= 0 of a sample of pairs; the pairs with x < 0 are only counted.
struct Sample {
  DelayHistogram behind;
  int64_t pairs = 0;

  void add(const WindowPairs::Windows& windows, int64_t progress_us) {
    pairs += windows.count;
    for (int64_t k = windows.first_behind(progress_us, 0); k < windows.count; ++k)
      behind.add(windows.behind(progress_us, k));
  }
  void merge(const Sample& other) {
    behind.merge(other.behind);
    pairs += other.pairs;
  }
  // Rank within `behind` of the rank-th smallest x; 0 when that x is negative.
  uint64_t rank_behind(int64_t rank) const {
    const int64_t ahead = pairs - static_cast<int64_t>(behind.count());
    return rank > ahead ? static_cast<uint64_t>(rank - ahead) : 0;
  }
};

// The rank whose value, plus one microsecond, leaves at most `late` of the pairs late; see
// Sample::rank_behind.
uint64_t rank_leaving(const Sample& sample, int64_t late) {
  return sample.rank_behind(sample.pairs - late);
}

// A rank turned into the span that it stands for, once values are known.
int64_t span_at(uint64_t rank, RankSelector& selector) {
  return rank == 0 ? 0 : saturating_add(selector.value(rank), 1);
}

struct Allowance {
  int64_t late = 0;      // pairs that may be late
  double effective = 0;  // pairs that count as independent
  bool sufficient = false;
};

Allowance allowance(int64_t pairs, double effect, Share target) {
  Allowance result;
  result.effective = std::floor(static_cast<double>(pairs) / effect);
  const int64_t allowed =
      disorder::late_allowed(static_cast<int64_t>(result.effective), target.value(), kAlpha);
  if (allowed < 0) return result;
  result.sufficient = true;
  const auto scaled = static_cast<int64_t>(std::floor(static_cast<double>(allowed) * effect));
  result.late = std::min(scaled, target.floor_of(pairs));
  return result;
}

// One partition on its own.
struct Alone {
  int64_t max_event_us = kMicrosMin;
  std::optional<int64_t> split_us;
  Sample transport;
  Sample all;
  uint64_t delay_rank = 0;
  uint64_t horizon_rank = 0;
  bool sufficient = false;
  double effective = 0;
  RankSelector delay_values;
  RankSelector horizon_values;
};

}  // namespace

struct LatenessBudget::State {
  explicit State(BudgetOptions given)
      : options(std::move(given)), core(options.profile), pairs(shape_of(options)) {}

  static WindowPairs::Shape shape_of(const BudgetOptions& options) {
    if (!options.window) return {};
    const int64_t size = options.window->micros();
    const int64_t slide = options.slide ? options.slide->micros() : size;
    WRACKLINE_CHECK(size > 0 && slide > 0 && slide <= size, "a window has 0 < slide <= size");
    return {size, slide, options.window_offset.micros()};
  }

  // A record of the log with progress as it stood before it.
  struct Judged {
    PartitionId partition = 0;
    int64_t event_us = 0;
    std::optional<int64_t> delay_us;
    uint64_t key_hash = 0;
    bool admissible = true;
    bool refused = false;
    int64_t progress_us = kMicrosMin;
    uint64_t at = 0;  // ordinal
  };
  template <class Visit, class After>
  std::expected<void, std::string> replay(Visit visit, After after) const;

  std::expected<BudgetReport, std::string> finish();
  std::expected<void, std::string> choose_by_rank(const ProfileCore::Finished& profile, BudgetReport& report);
  std::expected<void, std::string> choose_exactly(const ProfileCore::Finished& profile, BudgetReport& report);
  std::expected<void, std::string> sample();
  BudgetBacktest backtest(double effect) const;
  std::expected<void, std::string> collect(RankSelector& transport, RankSelector& all);
  double measure_effect(const Sample& transport, BudgetReport& report) const;
  std::expected<void, std::string> play(BudgetReport& report);
  std::expected<void, std::string> play_without_slowest(BudgetReport& report);
  WindowPass pass_of(const BudgetReport& report) const;
  void add_state(const WindowPass& pass, BudgetReport& report) const;

  BudgetOptions options;
  ProfileCore core;
  WindowPairs pairs;
  std::vector<bool> registered;                        // by partition
  std::vector<std::pair<uint64_t, PartitionId>> ends;  // (records before it, partition)
  bool has_keys = false;
  std::optional<PartitionId> without;  // the partition that replay() keeps out of progress

  // Exact rule.
  std::optional<int64_t> split_us;  // greatest delay of the transport mode, when the delay is taken from it
  std::vector<Sample> blocks;       // of the transport mode, by stretch of the input
  Sample everything;
  std::vector<Alone> alone;  // by partition
};

template <class Visit, class After>
std::expected<void, std::string> LatenessBudget::State::replay(Visit visit, After after) const {
  WatermarkTracker tracker({.delay = Duration(0), .max_future_skew = options.profile.max_future_skew});
  std::vector<std::optional<PartitionIndex>> index(core.partition_count());
  for (PartitionId id = 0; id < registered.size(); ++id) {
    if (registered[id] && without != id) index[id] = tracker.add_partition();
  }
  const int64_t refuse = -options.max_future_accept.micros();
  const int64_t early = -options.profile.max_future_skew.micros();
  auto next_end = ends.begin();
  Judged record;
  return core.log().scan([&](const LogRows& rows) {
    for (size_t i = 0; i < rows.event_us.size(); ++i, ++record.at) {
      for (; next_end != ends.end() && next_end->first <= record.at; ++next_end) {
        if (!index[next_end->second]) continue;
        tracker.set_ended(*index[next_end->second]);
        after(next_end->second, tracker.progress().micros());
      }
      record.partition = rows.partition[i];
      record.event_us = rows.event_us[i];
      record.delay_us = rows.has_arrival[i] != 0 ? std::optional(rows.delay_us[i]) : std::nullopt;
      record.key_hash = rows.key_hash.empty() ? 0 : rows.key_hash[i];
      record.admissible = !record.delay_us || *record.delay_us >= early;
      record.refused = record.delay_us && *record.delay_us < refuse;
      record.progress_us = tracker.progress().micros();
      visit(record);
      if (without == record.partition) {
        after(record.partition, tracker.progress().micros());
        continue;
      }
      auto& mine = index[record.partition];
      if (!mine) mine = tracker.add_partition();
      // Without an arrival time a record is admissible: it arrived when it happened, for all we know.
      if (!record.refused) {
        const int64_t arrival = saturating_add(record.event_us, record.delay_us.value_or(0));
        tracker.observe(*mine, EventTime(record.event_us), ArrivalTime(arrival));
      }
      after(record.partition, tracker.progress().micros());
    }
  });
}

std::expected<void, std::string> LatenessBudget::State::sample() {
  blocks.assign(kDesignBlocks, {});
  everything = {};
  const uint64_t rows = core.log().rows();
  return replay(
      [&](const Judged& record) {
        if (!record.refused) {
          const WindowPairs::Windows windows = pairs.of(record.event_us);
          everything.add(windows, record.progress_us);
          const bool transport = !split_us || !record.delay_us || *record.delay_us <= *split_us;
          const auto block =
              static_cast<size_t>(static_cast<unsigned __int128>(record.at) * kDesignBlocks / rows);
          if (transport) blocks[block].add(windows, record.progress_us);
          Alone& own = alone[record.partition];
          own.all.add(windows, own.max_event_us);
          if (own.split_us && (!record.delay_us || *record.delay_us <= *own.split_us)) {
            own.transport.add(windows, own.max_event_us);
          }
        }
        Alone& own = alone[record.partition];
        if (record.admissible && !record.refused)
          own.max_event_us = std::max(own.max_event_us, record.event_us);
      },
      [](PartitionId, int64_t) {});
}

std::expected<void, std::string> LatenessBudget::State::collect(RankSelector& transport, RankSelector& all) {
  for (Alone& own : alone) own.max_event_us = kMicrosMin;
  const auto offer = [](RankSelector& selector, const WindowPairs::Windows& windows, int64_t progress_us) {
    if (!selector.wants_any()) return;
    for (int64_t k = windows.first_behind(progress_us, 0); k < windows.count; ++k) {
      selector.offer(windows.behind(progress_us, k));
    }
  };
  return replay(
      [&](const Judged& record) {
        Alone& own = alone[record.partition];
        if (!record.refused) {
          const WindowPairs::Windows windows = pairs.of(record.event_us);
          offer(all, windows, record.progress_us);
          if (!split_us || !record.delay_us || *record.delay_us <= *split_us) {
            offer(transport, windows, record.progress_us);
          }
          offer(own.horizon_values, windows, own.max_event_us);
          if (!own.split_us || !record.delay_us || *record.delay_us <= *own.split_us) {
            offer(own.delay_values, windows, own.max_event_us);
          }
          if (record.admissible) own.max_event_us = std::max(own.max_event_us, record.event_us);
        }
      },
      [](PartitionId, int64_t) {});
}

// Folds over the stretches of the input that sample() kept apart: derived from the first 16, 20, 24 and 28 of
// 32, each checked on the next four.
BudgetBacktest LatenessBudget::State::backtest(double effect) const {
  constexpr size_t kFirst = kDesignBlocks / 2;
  constexpr size_t kStep = kDesignBlocks / 8;
  BudgetBacktest result;
  for (size_t cut = kFirst; cut + kStep <= blocks.size(); cut += kStep) {
    Sample trained;
    Sample tested;
    for (size_t i = 0; i < cut; ++i) trained.merge(blocks[i]);
    for (size_t i = cut; i < cut + kStep; ++i) tested.merge(blocks[i]);
    const Allowance allowed = allowance(trained.pairs, effect, options.target_late);
    if (!allowed.sufficient || tested.pairs == 0) continue;
    BudgetBacktest::Fold fold{.trained_pairs = trained.pairs, .tested_pairs = tested.pairs};
    if (const uint64_t rank = rank_leaving(trained, allowed.late); rank > 0)
      fold.watermark_delay_us = saturating_add(BucketTable(trained.behind).locate(rank).bucket.upper, 1);
    fold.late = static_cast<int64_t>(tested.behind.count_at_least(fold.watermark_delay_us));
    // More than the target is no verdict yet: of a small sample more may be late by chance.
    const auto n =
        static_cast<int64_t>(std::max(1.0, std::floor(static_cast<double>(tested.pairs) / effect)));
    const auto k = static_cast<int64_t>(std::floor(static_cast<double>(fold.late) / effect));
    fold.held = 1 - disorder::Binomial(n, options.target_late.value()).at_most(k - 1) > kAlpha;
    result.folds.push_back(fold);
  }
  if (result.folds.empty()) return result;
  const bool held = std::ranges::all_of(result.folds, &BudgetBacktest::Fold::held);
  result.verdict = held ? BudgetBacktest::Verdict::kHeld : BudgetBacktest::Verdict::kExceeded;
  return result;
}

// The design effect at the quantile that the target asks for, measured over stretches of the input.
double LatenessBudget::State::measure_effect(const Sample& transport, BudgetReport& report) const {
  if (transport.behind.empty()) return 1;
  const uint64_t rank = rank_leaving(transport, options.target_late.floor_of(transport.pairs));
  int64_t beyond = 0;  // late means x >= beyond, an edge, so that counts are exact
  if (rank > 0) {
    const auto located = BucketTable(transport.behind).locate(rank);
    const bool last = located.before + located.bucket.count == transport.behind.count();
    beyond = last ? located.bucket.lower : saturating_add(located.bucket.upper, 1);
  }
  std::vector<BlockCount> counts;
  for (const Sample& block : blocks) {
    counts.push_back({block.pairs, static_cast<int64_t>(block.behind.count_at_least(beyond))});
  }
  const auto effect = disorder::design_effect(counts);
  report.design_effect_known = effect.has_value();
  return effect.value_or(1);
}

std::expected<void, std::string> LatenessBudget::State::choose_exactly(const ProfileCore::Finished& profile,
                                                                       BudgetReport& report) {
  const bool split = options.transport_mode_only;
  split_us = split ? profile.report.all.split_us : std::nullopt;
  alone.assign(core.partition_count(), {});
  for (size_t i = 0; i < profile.ids.size() && split; ++i) {
    alone[profile.ids[i]].split_us = profile.report.partitions[i].split_us;
  }
  if (auto done = sample(); !done) return done;
  Sample transport;
  for (const Sample& block : blocks) transport.merge(block);
  report.from_transport_mode = split_us.has_value();
  report.sample = transport.pairs;
  report.offline_pairs = everything.pairs - transport.pairs;
  report.design_effect = measure_effect(transport, report);
  report.backtest = backtest(report.design_effect);
  const Allowance allowed = allowance(transport.pairs, report.design_effect, options.target_late);
  report.verdict = allowed.sufficient
                       ? disorder::verdict_of(allowed.effective, options.target_late.complement().value())
                       : Verdict::kInsufficient;
  report.tail_verdict = disorder::verdict_of(static_cast<double>(everything.pairs) / report.design_effect,
                                             options.tail.value());
  const uint64_t delay_rank = rank_leaving(transport, allowed.late);
  const uint64_t point_rank = rank_leaving(transport, options.target_late.floor_of(transport.pairs));
  const uint64_t horizon_rank =
      rank_leaving(everything, options.tail.complement().floor_of(everything.pairs));
  RankSelector transport_values(BucketTable(transport.behind), {delay_rank, point_rank});
  const uint64_t both_rank =
      rank_leaving(everything, allowance(everything.pairs, report.design_effect, options.target_late).late);
  RankSelector all_values(BucketTable(everything.behind), {horizon_rank, both_rank});
  for (Alone& own : alone) {
    const Sample& base = own.split_us ? own.transport : own.all;
    const Allowance mine = allowance(base.pairs, report.design_effect, options.target_late);
    own.sufficient = mine.sufficient;
    own.effective = mine.effective;
    own.delay_rank = rank_leaving(base, mine.late);
    own.horizon_rank = rank_leaving(own.all, options.tail.complement().floor_of(own.all.pairs));
    own.delay_values = RankSelector(BucketTable(base.behind), {own.delay_rank});
    own.horizon_values = RankSelector(BucketTable(own.all.behind), {own.horizon_rank});
  }
  if (auto done = collect(transport_values, all_values); !done) return done;
  report.watermark_delay_us = span_at(delay_rank, transport_values);
  report.point_delay_us = span_at(point_rank, transport_values);
  if (split_us) report.both_modes_delay_us = span_at(both_rank, all_values);
  const int64_t horizon_us = span_at(horizon_rank, all_values);
  report.allowed_lateness_us = std::max<int64_t>(0, horizon_us - report.watermark_delay_us);
  for (size_t i = 0; i < profile.ids.size(); ++i) {
    Alone& own = alone[profile.ids[i]];
    if (own.all.pairs == 0) continue;
    PartitionBudget& mine = report.partitions[i];
    const int64_t delay_us = span_at(own.delay_rank, own.delay_values);
    mine.watermark_delay_us = delay_us;
    mine.allowed_lateness_us = std::max<int64_t>(0, span_at(own.horizon_rank, own.horizon_values) - delay_us);
    mine.verdict = own.sufficient
                       ? disorder::verdict_of(own.effective, options.target_late.complement().value())
                       : Verdict::kInsufficient;
  }
  return {};
}

std::expected<void, std::string> LatenessBudget::State::choose_by_rank(const ProfileCore::Finished& profile,
                                                                       BudgetReport& report) {
  const DelaySummary& all = profile.report.all;
  if (all.records > 0 && all.with_arrival == 0) {
    return std::unexpected<std::string>(
        "the nearest-rank rule needs arrival times: it ranks arrival delays; the exact rule works from order "
        "alone");
  }
  const auto set = [&](const std::vector<int64_t>& values, int64_t& delay_us, int64_t& lateness_us) {
    delay_us = std::max<int64_t>(0, values[0]);
    lateness_us = std::max<int64_t>(0, values[1] - delay_us);
  };
  report.sample = all.with_arrival;
  report.design_effect_known = all.delay_p99.design_effect.has_value();
  report.design_effect = all.delay_p99.design_effect.value_or(1);
  const double effective = static_cast<double>(all.with_arrival) / report.design_effect;
  report.verdict = disorder::verdict_of(effective, options.target_late.complement().value());
  report.tail_verdict = disorder::verdict_of(effective, options.tail.value());
  if (!profile.all_extra.empty())
    set(profile.all_extra, report.watermark_delay_us, report.allowed_lateness_us);
  for (size_t i = 0; i < profile.ids.size(); ++i) {
    if (profile.partition_extra[i].empty()) continue;
    PartitionBudget& mine = report.partitions[i];
    set(profile.partition_extra[i], mine.watermark_delay_us.emplace(), mine.allowed_lateness_us.emplace());
    mine.verdict = disorder::verdict_of(
        static_cast<double>(profile.report.partitions[i].with_arrival) / report.design_effect,
        options.target_late.complement().value());
  }
  return {};
}

WindowPass LatenessBudget::State::pass_of(const BudgetReport& report) const {
  return WindowPass({.shape = pairs.shape(),
                     .windows = options.window.has_value(),
                     .delay_us = report.watermark_delay_us,
                     .lateness_us = report.allowed_lateness_us,
                     .partitions = core.partition_count()});
}

// The same run again, in which the watermark does not look at the partition that held most windows back.
std::expected<void, std::string> LatenessBudget::State::play_without_slowest(BudgetReport& report) {
  if (report.partitions.size() < 2 || !report.latency || report.latency->windows == 0) return {};
  const auto most = std::ranges::max_element(report.partitions, {}, &PartitionBudget::windows_held);
  if (most->windows_held == 0) return {};
  PartitionId id = 0;
  while (core.partition_name(id) != most->partition) ++id;
  WindowPass pass = pass_of(report);
  without = id;
  auto played = replay(
      [&](const Judged& record) {
        const auto arrival =
            record.delay_us ? std::optional(saturating_add(record.event_us, *record.delay_us)) : std::nullopt;
        pass.judge({record.partition, record.event_us, arrival, record.key_hash, record.refused,
                    record.progress_us});
      },
      [&](PartitionId partition, int64_t progress_us) { pass.advance(partition, progress_us); });
  without.reset();
  if (!played) return played;
  const BudgetCounts counts = pass.total();
  report.slowest = SlowestPartition{.partition = most->partition,
                                    .windows_held = most->windows_held,
                                    .without = pass.latency().value_or(BudgetLatency()),
                                    .late_without = counts.pairs - counts.on_time - counts.refused_future};
  return {};
}

std::expected<void, std::string> LatenessBudget::State::play(BudgetReport& report) {
  WindowPass pass = pass_of(report);
  uint64_t digest = 0xCBF29CE484222325;
  const auto mix = [&](uint64_t value) { digest = (digest ^ value) * 0x9E3779B97F4A7C15 ^ digest >> 29; };
  auto played = replay(
      [&](const Judged& record) {
        mix(static_cast<uint64_t>(record.event_us));
        mix(record.delay_us ? static_cast<uint64_t>(*record.delay_us) + 1 : 0);
        mix(record.partition);
        const auto arrival =
            record.delay_us ? std::optional(saturating_add(record.event_us, *record.delay_us)) : std::nullopt;
        pass.judge({record.partition, record.event_us, arrival, record.key_hash, record.refused,
                    record.progress_us});
        if (record.refused || (split_us && record.delay_us && *record.delay_us > *split_us)) return;
        const WindowPairs::Windows windows = pairs.of(record.event_us);
        report.late_in_sample +=
            windows.count - windows.first_behind(record.progress_us, report.watermark_delay_us);
      },
      [&](PartitionId partition, int64_t progress_us) { pass.advance(partition, progress_us); });
  if (!played) return played;
  report.input_digest = digest;
  report.counts = pass.total();
  const int64_t late = report.counts.pairs - report.counts.on_time - report.counts.refused_future;
  for (size_t i = 0, id = 0; i < report.partitions.size(); ++i, ++id) {
    while (core.partition_name(static_cast<PartitionId>(id)) != report.partitions[i].partition) ++id;
    PartitionBudget& mine = report.partitions[i];
    mine.counts = pass.by_partition()[id];
    mine.windows_held = pass.windows_held()[id];
    const int64_t own_late = mine.counts.pairs - mine.counts.on_time - mine.counts.refused_future;
    mine.share_of_late = late == 0 ? 0 : static_cast<double>(own_late) / static_cast<double>(late);
  }
  report.latency = pass.latency();
  if (options.window) add_state(pass, report);
  return {};
}

void LatenessBudget::State::add_state(const WindowPass& pass, BudgetReport& report) const {
  BudgetState state;
  state.windows = pass.peak_states();
  if (has_keys) {
    state.basis = BudgetState::Basis::kMeasuredKeys;
  } else if (options.keys) {
    state.basis = BudgetState::Basis::kExpectedKeys;
    if (__builtin_mul_overflow(state.windows, *options.keys, &state.windows)) state.windows = kMicrosMax;
  }
  if (__builtin_mul_overflow(state.windows, options.bytes_per_window_state, &state.bytes))
    state.bytes = kMicrosMax;
  report.state = state;
}

std::expected<BudgetReport, std::string> LatenessBudget::State::finish() {
  std::vector<ProfileCore::RankOf> extra;
  if (options.rule == BudgetRule::kNearestRank) {
    for (const Share share : {options.target_late.complement(), options.tail}) {
      extra.push_back([share](uint64_t count) -> uint64_t {
        const auto n = static_cast<int64_t>(count);
        return n == 0 ? 0 : static_cast<uint64_t>(std::min(share.floor_of(n), n - 1) + 1);
      });
    }
  }
  auto profile = core.finish(extra);
  if (!profile) return std::unexpected(profile.error());
  BudgetReport report;
  report.options = options;
  for (const DelaySummary& summary : profile->report.partitions) {
    PartitionBudget& mine = report.partitions.emplace_back();
    mine.partition = summary.partition;
    mine.records = summary.records;
  }
  auto chosen = options.rule == BudgetRule::kExact ? choose_exactly(*profile, report)
                                                   : choose_by_rank(*profile, report);
  if (!chosen) return std::unexpected(chosen.error());
  report.profile = std::move(profile->report);
  if (auto played = play(report); !played) return std::unexpected(played.error());
  if (auto played = play_without_slowest(report); !played) return std::unexpected(played.error());
  const double effective = std::floor(static_cast<double>(report.sample) / report.design_effect);
  if (options.rule == BudgetRule::kExact && effective >= 1) {
    const auto late =
        static_cast<int64_t>(std::ceil(static_cast<double>(report.late_in_sample) / report.design_effect));
    report.late_share_upper = disorder::share_upper_bound(late, static_cast<int64_t>(effective), kAlpha);
  }
  report.notes = disorder::budget_notes(report);
  return report;
}

LatenessBudget::LatenessBudget(BudgetOptions options) : state_(std::make_unique<State>(std::move(options))) {}
LatenessBudget::~LatenessBudget() = default;
LatenessBudget::LatenessBudget(LatenessBudget&&) noexcept = default;
LatenessBudget& LatenessBudget::operator=(LatenessBudget&&) noexcept = default;

PartitionId LatenessBudget::register_partition(std::string_view name) {
  WRACKLINE_CHECK(state_->core.rows() == 0, "partitions are registered before the first record");
  const PartitionId id = state_->core.partition(name);
  if (state_->registered.size() <= id) state_->registered.resize(id + 1);
  state_->registered[id] = true;
  return id;
}

PartitionId LatenessBudget::partition(std::string_view name) {
  return state_->core.partition(name);
}

void LatenessBudget::end_partition(PartitionId partition) {
  state_->ends.emplace_back(state_->core.rows(), partition);
}

std::expected<void, std::string> LatenessBudget::add(const DelayBatch& batch) {
  if (!batch.key_hash.empty()) state_->has_keys = true;
  return state_->core.add(batch);
}

std::expected<BudgetReport, std::string> LatenessBudget::finish() {
  return state_->finish();
}

}  // namespace wrackline
