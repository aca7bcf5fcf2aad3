// How the profile is exact and still one pass over the input.
//
// The first pass keeps, per partition, the greatest admissible event time and two histograms, and appends
// event time and delay to a packed log. When the input ends, the histograms say in which bucket every wanted
// rank lies. One scan of the log then repeats the same arithmetic (disorder depends on order alone, so it
// comes out the same) and collects the values of those buckets only, about a hundredth of all. Sorting all of
// them would need memory and time for every one.
//
// Speed: a batch is taken in blocks that fit the first-level cache; each step (delays, disorder, histogram)
// is a plain loop over a block or over a run of one partition's records. While only one partition has spoken
// its figures are those of all, so the figures "together" are not computed twice.
#include "disorder/profile_core.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "disorder/kernels.h"
#include "disorder/running_max.h"

namespace wrackline::disorder {
namespace {

constexpr size_t kStageBelow = 512;  // rows; smaller batches are collected before they are packed

// The delay from which on a record may have been stored before it was sent.
int64_t stored_from(const DelayHistogram& delay) {
  if (delay.empty()) return 0;
  const int64_t median = delay.rank_upper((delay.count() + 1) / 2);
  int64_t from = 0;
  if (__builtin_mul_overflow(std::max<int64_t>(median, 100'000), OrderSuspicion::kStoredTimes, &from))
    return 0;
  return from;
}

}  // namespace

ProfileCore::ProfileCore(ProfileOptions options)
    : options_(std::move(options)), log_(options_.memory_bytes_max, options_.spill) {
  WRACKLINE_CHECK(options_.max_future_skew.micros() >= 0, "max_future_skew is a span of zero or more");
}

PartitionId ProfileCore::partition(std::string_view name) {
  if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
  const auto id = static_cast<PartitionId>(partitions_.size());
  ids_.emplace(name, id);
  partitions_.emplace_back();
  partitions_.back().name = name;
  return id;
}

ProfileCore::Block ProfileCore::slice(const DelayBatch& batch, size_t from, size_t count) {
  const auto part = [&](auto span) { return span.empty() ? span : span.subspan(from, count); };
  return {part(batch.event_us),   part(batch.arrival_us), part(batch.has_arrival),
          part(batch.partitions), batch.partition,        part(batch.key_hash)};
}

std::expected<void, std::string> ProfileCore::add(const DelayBatch& batch) {
  const size_t rows = batch.event_us.size();
  const auto fits = [&](auto span) { return span.empty() || span.size() == rows; };
  WRACKLINE_CHECK(
      fits(batch.arrival_us) && fits(batch.has_arrival) && fits(batch.partitions) && fits(batch.key_hash),
      "the spans of a batch are empty or equally long");
  for (size_t from = 0; from < rows;) {
    const size_t rest = rows - from;
    if (staged_ > 0 || rest < kStageBelow) {
      const size_t count = std::min(rest, kLogBlockRows - staged_);
      stage(slice(batch, from, count));
      from += count;
      if (staged_ < kLogBlockRows) break;
      if (auto done = flush(); !done) return done;
    } else {
      const size_t count = std::min(rest, kLogBlockRows);
      if (auto done = take(slice(batch, from, count)); !done) return done;
      from += count;
    }
  }
  return {};
}

void ProfileCore::stage(const Block& block) {
  if (staged_event_us_.empty()) {
    staged_event_us_.resize(kLogBlockRows);
    staged_arrival_us_.resize(kLogBlockRows);
    staged_has_arrival_.resize(kLogBlockRows);
    staged_partition_.resize(kLogBlockRows);
    staged_key_.resize(kLogBlockRows);
  }
  staged_keys_ = !block.key_hash.empty();
  const size_t count = block.event_us.size();
  const auto copy_or_fill = [&](auto from, auto& to, auto otherwise) {
    const auto at = to.begin() + static_cast<std::ptrdiff_t>(staged_);
    if (from.empty()) {
      std::fill_n(at, count, otherwise);
    } else {
      std::ranges::copy(from, at);
    }
  };
  copy_or_fill(block.event_us, staged_event_us_, int64_t{0});
  copy_or_fill(block.arrival_us, staged_arrival_us_, int64_t{0});
  const uint8_t has_arrival = block.arrival_us.empty() ? 0 : 1;
  const auto has = has_arrival == 0 ? std::span<const uint8_t>() : block.has_arrival;
  copy_or_fill(has, staged_has_arrival_, has_arrival);
  copy_or_fill(block.partitions, staged_partition_, block.partition_all);
  copy_or_fill(block.key_hash, staged_key_, uint64_t{0});
  for (size_t i = 0; i < has.size(); ++i) {
    if (has[i] == 0) staged_arrival_us_[staged_ + i] = 0;
  }
  staged_ += count;
}

std::expected<void, std::string> ProfileCore::flush() {
  if (staged_ == 0) return {};
  const auto first = [&](const auto& values) { return std::span(values.data(), staged_); };
  Block block{first(staged_event_us_),
              first(staged_arrival_us_),
              first(staged_has_arrival_),
              first(staged_partition_),
              0,
              {}};
  if (staged_keys_) block.key_hash = first(staged_key_);
  staged_ = 0;
  return take(block);
}

std::expected<void, std::string> ProfileCore::take(const Block& given) {
  if (!failed_.empty()) return std::unexpected(failed_);
  Block block = given;
  if (all_set(block.has_arrival)) {
    block.has_arrival = {};
  } else if (std::ranges::none_of(block.has_arrival, [](uint8_t has) { return has != 0; })) {
    block.has_arrival = {};
    block.arrival_us = {};
  }
  compute_delays(block);
  sample_resolution(block);
  units_.look(block.event_us, block.arrival_us, block.has_arrival);
  take_together(block);
  const LogRows rows{.event_us = block.event_us,
                     .delay_us = std::span(delay_us_).first(block.event_us.size()),
                     .partition = block.partitions,
                     .partition_all = block.partition_all,
                     .has_arrival = block.has_arrival,
                     .arrival_all = !block.arrival_us.empty(),
                     .key_hash = block.key_hash};
  groups_.add(rows, partitions_.size(), [&](const PartitionRun& run) { take_run(run); });
  auto logged = log_.append(rows);
  if (!logged) failed_ = logged.error();
  return logged;
}

// Fills delay_us_, with 0 for records without arrival: they are then admissible like any record that is not
// early.
void ProfileCore::compute_delays(const Block& block) {
  const size_t rows = block.event_us.size();
  const bool far = any_far(block.event_us) || any_far(block.arrival_us);
  any_far_ = any_far_ || far;
  if (block.arrival_us.empty()) {
    std::fill_n(delay_us_.begin(), rows, 0);
  } else if (far) {
    for (size_t i = 0; i < rows; ++i) {
      delay_us_[i] = saturating_subtract(block.arrival_us[i], block.event_us[i]);
    }
  } else {
    subtract(block.arrival_us, block.event_us, delay_us_.data());
  }
  for (size_t i = 0; i < block.has_arrival.size(); ++i) {
    if (block.has_arrival[i] == 0) delay_us_[i] = 0;
  }
}

void ProfileCore::sample_resolution(const Block& block) {
  if (block.arrival_us.empty() || resolution_us_ == 1) return;
  constexpr size_t kSamples = 16;
  const size_t rows = block.event_us.size();
  const size_t step = rows / kSamples + 1;
  for (size_t i = 0; i < rows; i += step) {
    if (delay_us_[i] != kMicrosMin) resolution_us_ = std::gcd(resolution_us_, delay_us_[i]);
  }
}

void ProfileCore::take_together(const Block& block) {
  const PartitionId first = block.partitions.empty() ? block.partition_all : block.partitions.front();
  if (!first_speaker_) first_speaker_ = first;
  if (!together_started_) {
    if (first == *first_speaker_ && all_equal(block.partitions)) return;
    // Until here one partition had spoken, and its figures were those of all.
    WRACKLINE_CHECK(*first_speaker_ < partitions_.size(), "a partition's id comes from partition()");
    together_started_ = true;
    together_.disorder = partitions_[*first_speaker_].disorder;
    together_.max_event_us = partitions_[*first_speaker_].max_event_us;
  }
  const size_t count = compute_disorder(block.event_us, delay_us_.data(), together_.max_event_us);
  together_.disorder.add(std::span(computed_us_).first(count));
}

void ProfileCore::take_run(const PartitionRun& run) {
  WRACKLINE_CHECK(run.partition < partitions_.size(), "a partition's id comes from partition()");
  PartitionFigures& state = partitions_[run.partition];
  state.records += static_cast<int64_t>(run.event_us.size());
  take_delays(state, run);
  const size_t count = compute_disorder(run.event_us, run.delay_us.data(), state.max_event_us);
  state.disorder.add(std::span(computed_us_).first(count));
}

void ProfileCore::take_delays(PartitionFigures& state, const PartitionRun& run) {
  std::span<const int64_t> delays = run.delay_us;
  if (!run.has_arrival.empty()) {
    size_t kept = 0;
    for (size_t i = 0; i < delays.size(); ++i) {
      computed_us_[kept] = delays[i];
      kept += run.has_arrival[i] != 0 ? 1 : 0;
    }
    delays = std::span(computed_us_).first(kept);
  } else if (!run.arrival_all) {
    return;
  }
  if (delays.empty()) return;
  const int64_t early = -options_.max_future_skew.micros();
  state.future += static_cast<int64_t>(count_below(delays, early));
  state.far_behind += static_cast<int64_t>(count_above(delays, options_.warn_behind.micros()));
  state.with_arrival += static_cast<int64_t>(delays.size());
  const int64_t max_before = state.delay.max();
  const int64_t min_before = state.delay.min();
  const bool first = state.delay.empty();
  state.delay.add(delays);
  // Remember the records at the ends; rare, so a second look is cheaper than carrying them through the loop.
  const auto record_of = [&](int64_t delay_us) {
    for (size_t i = 0; i < run.delay_us.size(); ++i) {
      const bool has = run.has_arrival.empty() || run.has_arrival[i] != 0;
      if (has && run.delay_us[i] == delay_us)
        return TimedRecord{run.event_us[i], saturating_add(run.event_us[i], delay_us)};
    }
    return TimedRecord{};
  };
  if (first || state.delay.max() > max_before) state.behind = record_of(state.delay.max());
  if (first || state.delay.min() < min_before) state.ahead = record_of(state.delay.min());
}

size_t ProfileCore::compute_disorder(std::span<const int64_t> event_us, const int64_t* delay_us,
                                     int64_t& max_event_us) {
  return disorder_of(event_us, delay_us, -options_.max_future_skew.micros(), any_far_, max_event_us,
                     computed_us_.data());
}

void ProfileCore::merge_together() {
  for (const PartitionFigures& state : partitions_) {
    if (state.records == 0) continue;
    if (!state.delay.empty()) {
      const bool first = together_.delay.empty();
      if (first || state.delay.max() > together_.delay.max()) together_.behind = state.behind;
      if (first || state.delay.min() < together_.delay.min()) together_.ahead = state.ahead;
    }
    together_.records += state.records;
    together_.with_arrival += state.with_arrival;
    together_.future += state.future;
    together_.far_behind += state.far_behind;
    together_.delay.merge(state.delay);
  }
  if (!together_started_ && first_speaker_) together_.disorder = partitions_[*first_speaker_].disorder;
}

std::expected<ProfileCore::Finished, std::string> ProfileCore::finish(const std::vector<RankOf>& extra) {
  if (auto done = flush(); !done) return std::unexpected(done.error());
  if (!failed_.empty()) return std::unexpected(failed_);
  groups_.flush([&](const PartitionRun& run) { take_run(run); });
  merge_together();
  const int64_t resolution_us = std::max<int64_t>(1, resolution_us_);
  std::vector<PartitionScan> scans;
  scans.reserve(partitions_.size());
  for (const PartitionFigures& state : partitions_) scans.emplace_back(state, resolution_us, extra);
  PartitionScan together(together_, resolution_us, extra);
  Suspicions seen{.zones = {},
                  .order = OrderSuspicion(stored_from(together_.delay)),
                  .series = SeriesBuilder(-options_.max_future_skew.micros())};
  const int64_t early = -options_.max_future_skew.micros();
  const auto visit = [&](const PartitionRun& run) {
    scans[run.partition].offer(run, early, any_far_);
    seen.zones.look(run);
    seen.order.look(run);
  };
  auto scanned = log_.scan([&](const LogRows& rows) {
    groups_.add(rows, partitions_.size(), visit);
    seen.order.look(rows);
    if (together_.with_arrival > 0) seen.series.add(rows.event_us, rows.delay_us, rows.has_arrival, any_far_);
    if (together_started_) {
      together.offer({0, rows.event_us, rows.delay_us, rows.has_arrival, true}, early, any_far_);
    }
  });
  groups_.flush(visit);
  if (!scanned) return std::unexpected(scanned.error());
  return assemble(scans, together, seen);
}

ProfileCore::Finished ProfileCore::assemble(std::vector<PartitionScan>& scans, PartitionScan& together,
                                            Suspicions& seen) {
  Finished finished;
  ProfileReport& report = finished.report;
  report.resolution_us = std::max<int64_t>(1, resolution_us_);
  report.max_future_skew = options_.max_future_skew;
  std::vector<std::string> names;
  for (PartitionId id = 0; id < partitions_.size(); ++id) {
    PartitionFigures& state = partitions_[id];
    names.push_back(state.name);
    if (state.records == 0) continue;
    report.partitions.push_back(scans[id].summarise(state));
    report.partitions.back().partition = state.name;
    finished.ids.push_back(id);
    finished.partition_extra.push_back(scans[id].extra_values());
  }
  if (together_started_) {
    report.all = together.summarise(together_);
    finished.all_extra = together.extra_values();
  } else if (!report.partitions.empty()) {
    report.all = report.partitions.front();
    report.all.partition.clear();
    finished.all_extra = finished.partition_extra.front();
  }
  units_.report(options_.time_unit, report.findings);
  seen.zones.report(report.resolution_us, names, report.findings);
  add_clock_findings(options_, report, together_.far_behind, report.findings);
  report.series = seen.series.finish();
  seen.order.report(names, report, report.findings);
  add_stream_findings(report, report.findings);
  return finished;
}

}  // namespace wrackline::disorder
