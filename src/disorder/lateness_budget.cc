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
#include "base/text.h"
#include "data/time_text.h"
#include "disorder/binomial.h"
#include "disorder/modes.h"
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

std::string_view to_string(BudgetRule rule) {
  return rule == BudgetRule::kExact ? "exact" : "nearest-rank";
}

std::optional<Share> Share::parse_percent(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.ends_with('%')) text.remove_suffix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  constexpr int64_t kPercent = kWhole / 100;
  int64_t parts = 0;
  int64_t step = kPercent;  // what a digit here is worth
  bool digits = false;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    digits = true;
    const int64_t digit = c - '0';
    if (!point) {
      parts = parts * 10 + digit * kPercent;
    } else {
      step /= 10;
      if (step == 0 && digit != 0) return std::nullopt;
      parts += digit * step;
    }
    if (parts > kWhole) return std::nullopt;
  }
  if (!digits) return std::nullopt;
  return Share{parts};
}

int64_t Share::floor_of(int64_t count) const {
  return static_cast<int64_t>(static_cast<__int128>(parts) * count / kWhole);
}

std::string Share::percent_text() const {
  constexpr int64_t kPercent = kWhole / 100;
  std::string text = format("{}", parts / kPercent);
  if (parts % kPercent == 0) return text;
  std::string fraction = format("{:010}", parts % kPercent);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

BudgetShares BudgetCounts::shares() const {
  if (pairs == 0) return {};
  const auto of = [&](int64_t count) { return static_cast<double>(count) / static_cast<double>(pairs); };
  return {of(on_time), of(corrected), of(ledgered)};
}

namespace {

constexpr double kAlpha = 0.05;

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
  std::expected<void, std::string> sample(std::optional<int64_t> split_us);
  std::expected<void, std::string> collect(std::optional<int64_t> split_us, RankSelector& transport,
                                           RankSelector& everything);
  double measure_effect(const Sample& transport, BudgetReport& report) const;
  std::expected<void, std::string> play(BudgetReport& report);
  void add_state(const WindowPass& pass, BudgetReport& report) const;
  void add_notes(BudgetReport& report) const;

  BudgetOptions options;
  ProfileCore core;
  WindowPairs pairs;
  std::vector<bool> registered;                        // by partition
  std::vector<std::pair<uint64_t, PartitionId>> ends;  // (records before it, partition)
  bool has_keys = false;

  // Exact rule.
  std::vector<Sample> blocks;  // of the transport mode, by stretch of the input
  Sample everything;
  std::vector<Alone> alone;  // by partition
};

template <class Visit, class After>
std::expected<void, std::string> LatenessBudget::State::replay(Visit visit, After after) const {
  WatermarkTracker tracker({.delay = Duration(0), .max_future_skew = options.profile.max_future_skew});
  std::vector<std::optional<PartitionIndex>> index(core.partition_count());
  for (PartitionId id = 0; id < registered.size(); ++id) {
    if (registered[id]) index[id] = tracker.add_partition();
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
        after(tracker.progress().micros());
      }
      record.partition = rows.partition[i];
      record.event_us = rows.event_us[i];
      record.delay_us = rows.has_arrival[i] != 0 ? std::optional(rows.delay_us[i]) : std::nullopt;
      record.key_hash = rows.key_hash.empty() ? 0 : rows.key_hash[i];
      record.admissible = !record.delay_us || *record.delay_us >= early;
      record.refused = record.delay_us && *record.delay_us < refuse;
      record.progress_us = tracker.progress().micros();
      visit(record);
      auto& mine = index[record.partition];
      if (!mine) mine = tracker.add_partition();
      // Without an arrival time a record is admissible: it arrived when it happened, for all we know.
      if (!record.refused) {
        const int64_t arrival = saturating_add(record.event_us, record.delay_us.value_or(0));
        tracker.observe(*mine, EventTime(record.event_us), ArrivalTime(arrival));
      }
      after(tracker.progress().micros());
    }
  });
}

std::expected<void, std::string> LatenessBudget::State::sample(std::optional<int64_t> split_us) {
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
      [](int64_t) {});
}

std::expected<void, std::string> LatenessBudget::State::collect(std::optional<int64_t> split_us,
                                                                RankSelector& transport, RankSelector& all) {
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
      [](int64_t) {});
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
  const std::optional<int64_t> split_us = profile.report.all.split_us;
  alone.assign(core.partition_count(), {});
  for (size_t i = 0; i < profile.ids.size(); ++i)
    alone[profile.ids[i]].split_us = profile.report.partitions[i].split_us;
  if (auto done = sample(split_us); !done) return done;
  Sample transport;
  for (const Sample& block : blocks) transport.merge(block);
  report.from_transport_mode = split_us.has_value();
  report.sample = transport.pairs;
  report.offline_pairs = everything.pairs - transport.pairs;
  report.design_effect = measure_effect(transport, report);
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
  RankSelector all_values(BucketTable(everything.behind), {horizon_rank});
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
  if (auto done = collect(split_us, transport_values, all_values); !done) return done;
  report.watermark_delay_us = span_at(delay_rank, transport_values);
  report.point_delay_us = span_at(point_rank, transport_values);
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

std::expected<void, std::string> LatenessBudget::State::play(BudgetReport& report) {
  WindowPass pass({.shape = pairs.shape(),
                   .windows = options.window.has_value(),
                   .delay_us = report.watermark_delay_us,
                   .lateness_us = report.allowed_lateness_us,
                   .partitions = core.partition_count()});
  const std::optional<int64_t> split_us = report.profile.all.split_us;
  auto played = replay(
      [&](const Judged& record) {
        const auto arrival =
            record.delay_us ? std::optional(saturating_add(record.event_us, *record.delay_us)) : std::nullopt;
        pass.judge({record.partition, record.event_us, arrival, record.key_hash, record.refused,
                    record.progress_us});
        if (record.refused || (split_us && record.delay_us && *record.delay_us > *split_us)) return;
        const WindowPairs::Windows windows = pairs.of(record.event_us);
        report.late_in_sample +=
            windows.count - windows.first_behind(record.progress_us, report.watermark_delay_us);
      },
      [&](int64_t progress_us) { pass.advance(progress_us); });
  if (!played) return played;
  report.counts = pass.total();
  const int64_t late = report.counts.pairs - report.counts.on_time - report.counts.refused_future;
  for (size_t i = 0, id = 0; i < report.partitions.size(); ++i, ++id) {
    while (core.partition_name(static_cast<PartitionId>(id)) != report.partitions[i].partition) ++id;
    PartitionBudget& mine = report.partitions[i];
    mine.counts = pass.by_partition()[id];
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

void LatenessBudget::State::add_notes(BudgetReport& report) const {
  const DelaySummary& all = report.profile.all;
  const auto note = [&](std::string text) { report.notes.push_back(std::move(text)); };
  if (all.records == 0) note("There are no records: nothing can be said.");
  if (all.records == 0) return;
  const std::string target = options.target_late.percent_text();
  if (report.verdict == Verdict::kInsufficient) {
    note(format(
        "The sample is too small to promise at most {} % late with 95 % confidence: {} independent records "
        "are "
        "needed, these count as {:.0f}. The delay only covers what was seen.",
        target, with_thousands(disorder::sample_minimum(options.target_late.complement().value(), kAlpha)),
        static_cast<double>(report.sample) / report.design_effect));
  }
  if (report.from_transport_mode) {
    note(
        format("Delays have two modes: {:.3g} % of the records arrive within {}, the rest waited before they "
               "were sent. "
               "The delay covers the first mode; the second one is corrected or ledgered.",
               all.modes.front().share * 100, span_text(*all.split_us)));
  }
  if (all.with_arrival == 0) {
    note(
        "There are no arrival times: the budget follows from order alone; a record ahead of its time cannot "
        "be told from "
        "a newer one, and output latency is not known.");
  }
  if (!options.window) {
    note(
        "No window was given: records are judged by their lag behind the watermark. Windows close later than "
        "their "
        "records, so fewer will be late; give --window for the exact figures.");
  }
  if (report.design_effect > 1.5) {
    note(format(
        "Late records come in bursts: the sample counts as {:.0f} independent ones (design effect {:.1f}).",
        static_cast<double>(report.sample) / report.design_effect, report.design_effect));
  }
  if (report.counts.refused_future > 0) {
    note(
        format("{} (record, window) pairs lie more than {} in the future of their arrival and are ledgered "
               "whatever the "
               "budget.",
               with_thousands(report.counts.refused_future), span_text(options.max_future_accept.micros())));
  }
  if (all.delay_us && all.disorder_us) {
    const double delay = static_cast<double>(std::max<int64_t>(all.delay_us->p99, 0)) + 1;
    const double behind = static_cast<double>(std::max<int64_t>(all.disorder_us->p99, 0)) + 1;
    if (delay / behind > 2 || behind / delay > 2) {
      note(format(
          "Arrival delay and disorder disagree: their 99 % quantiles are {} and {}. {}",
          span_text(all.delay_us->p99), span_text(all.disorder_us->p99),
          delay > behind
              ? "Records are late together and do not overtake each other, so a watermark need not wait "
                "for the whole delay."
              : "Some clock or partition runs ahead of the others, so records fall further behind the "
                "watermark than their own delay."));
    }
  }
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
  const double effective = std::floor(static_cast<double>(report.sample) / report.design_effect);
  if (options.rule == BudgetRule::kExact && effective >= 1) {
    const auto late =
        static_cast<int64_t>(std::ceil(static_cast<double>(report.late_in_sample) / report.design_effect));
    report.late_share_upper = disorder::share_upper_bound(late, static_cast<int64_t>(effective), kAlpha);
  }
  add_notes(report);
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
