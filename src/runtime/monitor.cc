#include "runtime/monitor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "data/time_text.h"
#include "disorder/binomial.h"
#include "disorder/kernels.h"
#include "disorder/modes.h"
#include "disorder/nowcast.h"
#include "disorder/rank_selector.h"
#include "runtime/monitor_slot.h"

namespace wrackline::runtime {
namespace {

constexpr size_t kPieceRows = 2048;  // that are looked at together
constexpr size_t kSlots = 64;        // partitions with figures of their own
constexpr int64_t kRecordsMin = 400;
constexpr int64_t kRecordsMinMore = 200;
constexpr size_t kIntervalsKept = 60;
constexpr size_t kSumsKept = 24;
constexpr int64_t kBlocks = 32;     // of an interval, for the design effect
constexpr size_t kBlocksMax = 256;  // of one that is long because records are few
constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kReach = 4;         // delays of one mode reach so much further: two octaves
constexpr int64_t kGapRecords = 400;  // of a mode, after which the test for modes has had its chance
constexpr size_t kWindowsShown = 5;   // whose completeness is told

MonitorQuantiles quantiles_of(const DelayHistogram& histogram) {
  MonitorQuantiles result;
  result.count = histogram.count();
  if (histogram.empty()) return result;
  for (size_t i = 0; i < result.kShares.size(); ++i) {
    const double rank = result.kShares[i] * static_cast<double>(result.count);
    const auto at = static_cast<uint64_t>(rank);
    result.upper_us[i] = histogram.rank_upper(
        std::clamp<uint64_t>(at + (static_cast<double>(at) < rank ? 1 : 0), 1, result.count));
  }
  return result;
}

std::string percent(double share) {
  return format("{:.3g} %", 100 * share);
}

// Nobody needs a delay to the microsecond.
int64_t rounded_up(int64_t us) {
  const int64_t step = us >= 10'000'000 ? 100'000 : us >= 1'000'000 ? 10'000 : 1'000;
  return us <= 0 ? us : saturating_add(us, step - 1) / step * step;
}

}  // namespace

Monitor::Monitor(std::string source, MonitorPlan plan)
    : source_(std::move(source)),
      plan_(std::move(plan)),
      all_(std::make_unique<Slot>(plan_.options)),
      follower_(plan_.follow.value_or(disorder::DelayFollower::Options{})),
      disorder_hour_(kIntervalsKept),
      disorder_day_(kSumsKept),
      delay_hour_(kIntervalsKept),
      delay_day_(kSumsKept) {
  slots_.resize(kSlots + 1);
  scratch_behind_.resize(kPieceRows);
  scratch_delay_.resize(kPieceRows);
  report_.source = source_;
  report_.automatic = plan_.follow.has_value();
  report_.target_late = plan_.options.target_late;
}

Monitor::~Monitor() = default;

int64_t Monitor::end_of(int64_t event_us) {
  for (const Window& window : cached_) {
    if (window.start.micros() <= event_us && event_us < window.end.micros()) return window.end.micros();
  }
  cached_[1] = std::exchange(cached_[0], plan_.slice(event_us));
  return cached_[0].end.micros();
}

int64_t Monitor::records_needed() const {
  return kRecordsMin + kRecordsMinMore * static_cast<int64_t>(active_slots_ - 1);
}

void Monitor::begin_block(int64_t arrival_us) {
  block_start_us_ = arrival_us;
  block_end_us_ = saturating_add(arrival_us, plan_.options.interval.micros() / kBlocks);
}

void Monitor::move_clock(int64_t arrival_us, const std::vector<std::string>& names) {
  const int64_t interval_us = plan_.options.interval.micros();
  if (end_us_ == INT64_MIN) {
    begin_interval(arrival_us);
  } else if (saturating_add(arrival_us, interval_us) < block_start_us_) {
    // A single arrival time from the far future must not hold the interval open until then.
    newest_us_ = arrival_us;
    begin_block(arrival_us);
    if (arrival_us < start_us_) {
      start_us_ = arrival_us;
      end_us_ = saturating_add(arrival_us, interval_us);
    }
  }
  if (arrival_us >= end_us_ && records_ >= records_needed()) {
    close_interval(names);
    begin_interval(arrival_us);
  } else if (arrival_us >= block_end_us_) {
    end_block();
    begin_block(arrival_us);
  }
}

void Monitor::begin_interval(int64_t arrival_us) {
  start_us_ = newest_us_ = arrival_us;
  end_us_ = saturating_add(arrival_us, plan_.options.interval.micros());
  begin_block(arrival_us);
  records_ = late_ = 0;
  blocks_.clear();
  block_begin_ = {};
}

void Monitor::end_block() {
  if (blocks_.size() >= kBlocksMax) return;  // the rest of a long interval is one block
  blocks_.push_back({records_ - block_begin_.records, late_ - block_begin_.late});
  block_begin_ = {records_, late_};
}

void Monitor::feed(const RecordTimes& times, size_t begin, size_t end, Duration delay,
                   const std::vector<std::string>& names) {
  if (delay_us_ >= 0 && delay_us_ != delay.micros()) {
    ++report_.delay_changes;
    all_->watch.restart();
    for (auto& slot : slots_) {
      if (slot) slot->watch.restart();
    }
  }
  delay_us_ = delay.micros();
  while (begin < end) {
    const size_t piece_end = std::min(end, begin + kPieceRows);
    if (feed_together(times, begin, piece_end)) begin = piece_end;
    // What stands in the way is in one part of it.
    while (begin < piece_end) {
      const size_t part_end = std::min(piece_end, begin + kPieceRows / 8);
      if (!feed_together(times, begin, part_end)) feed_one_by_one(times, begin, part_end, names);
      begin = part_end;
    }
  }
}

// Most pieces are of one partition, all their rows are usable, and no block ends among them: then plain loops
// over the columns do. Returns false when this is none of those.
bool Monitor::feed_together(const RecordTimes& times, size_t begin, size_t end) {
  const size_t rows = end - begin;
  const auto piece = [&](const std::vector<int64_t>& of) { return std::span(of).subspan(begin, rows); };
  if (times.partitions.size() != 1 || times.progress_before[begin] == kMicrosMin) return false;
  if (std::memchr(times.usable.data() + begin, 0, rows) != nullptr) return false;
  const auto arrival_us = piece(times.arrival_us);
  const disorder::Extremes arrivals = disorder::extremes(arrival_us);
  if (arrivals.min < block_start_us_ || arrivals.max >= block_end_us_) return false;
  const auto event_us = piece(times.event_us);
  const auto progress_us = piece(times.progress_before);
  // Of arrivals the extremes tell; progress never falls.
  const std::array<int64_t, 4> ends = {arrivals.min, arrivals.max, progress_us.front(), progress_us.back()};
  if (disorder::any_far(ends) || disorder::any_far(event_us)) return false;
  const std::span<int64_t> delay(scratch_delay_.data(), rows);
  const std::span<int64_t> behind(scratch_behind_.data(), rows);
  disorder::subtract(arrival_us, event_us, delay.data());
  find_ends(event_us, behind);
  disorder::subtract(progress_us, behind, behind.data());
  const auto late = static_cast<int64_t>(disorder::count_above(behind, delay_us_ - 1));
  slot_of(times.partitions[0]).add(behind, delay, late);
  late_ += late;
  records_ += static_cast<int64_t>(rows);
  newest_us_ = std::max(newest_us_, arrivals.max);
  return true;
}

// When the first window of each row closes. Requires: no time is far out.
void Monitor::find_ends(std::span<const int64_t> event_us, std::span<int64_t> ends_us) {
  if (!plan_.slice) {
    const int64_t after_us = plan_.closes_after.micros();
    for (size_t i = 0; i < event_us.size(); ++i) ends_us[i] = saturating_add(event_us[i], after_us);
    return;
  }
  for (size_t i = 0; i < event_us.size(); ++i) {
    // Records near each other are in the newest window or the one before, again and again.
    const int64_t first_us = cached_[0].start.micros();
    const int64_t first_end_us = cached_[0].end.micros();
    const int64_t other_us = cached_[1].start.micros();
    const int64_t other_end_us = cached_[1].end.micros();
    for (; i < event_us.size(); ++i) {
      const int64_t at_us = event_us[i];
      const bool in_first = (at_us >= first_us) & (at_us < first_end_us);
      const bool in_other = (at_us >= other_us) & (at_us < other_end_us);
      if (!(in_first | in_other)) break;
      ends_us[i] = in_first ? first_end_us : other_end_us;
    }
    if (i < event_us.size()) ends_us[i] = end_of(event_us[i]);
  }
}

void Monitor::feed_one_by_one(const RecordTimes& times, size_t begin, size_t end,
                              const std::vector<std::string>& names) {
  const bool slices = static_cast<bool>(plan_.slice);
  const int64_t after_us = plan_.closes_after.micros();
  for (size_t row = begin; row < end; ++row) {
    const int64_t progress_us = times.progress_before[row];
    if (times.usable[row] == 0 || progress_us == kMicrosMin) continue;
    const int64_t event_us = times.event_us[row];
    const int64_t arrival_us = times.arrival_us[row];
    if (arrival_us >= block_end_us_ || arrival_us < block_start_us_) [[unlikely]]
      move_clock(arrival_us, names);
    // Late is what W >= end says.
    const int64_t closes_us = slices ? end_of(event_us) : saturating_add(event_us, after_us);
    const int64_t behind_us = saturating_subtract(progress_us, closes_us);
    const int64_t late = behind_us >= delay_us_ ? 1 : 0;
    slot_of(times.partition(row)).add(behind_us, saturating_subtract(arrival_us, event_us), late);
    late_ += late;
    ++records_;
    newest_us_ = std::max(newest_us_, arrival_us);
  }
}

Monitor::Slot& Monitor::slot_of(PartitionIndex partition) {
  auto& slot = slots_[std::min<size_t>(partition, kSlots)];
  if (!slot) slot = std::make_unique<Slot>(plan_.options);
  return *slot;
}

void Monitor::finish(const std::vector<std::string>& names) {
  if (records_ > 0) close_interval(names);
  block_start_us_ = INT64_MAX;
  end_us_ = INT64_MIN;
  records_ = 0;
}

// Of the intervals so far, the mean: one alone has too few blocks to be trusted. Within intervals only, so
// that a change between them is not taken for noise.
double Monitor::design_effect() {
  end_block();
  std::vector<disorder::BlockCount> blocks;
  for (const Block& block : blocks_) blocks.push_back({block.records, block.late});
  if (const auto effect = disorder::design_effect(blocks))
    effects_[effects_seen_++ % effects_.size()] = *effect;
  const size_t known = std::min(effects_seen_, effects_.size());
  if (known == 0) return 1;
  double sum = 0;
  for (size_t i = 0; i < known; ++i) sum += effects_[i];
  return std::max(1.0, sum / static_cast<double>(known));
}

void Monitor::judge(Slot& slot, std::string partition, double effect, size_t series) {
  const int64_t records = slot.records;
  const auto result = slot.watch.judge({records, slot.late, effect}, series);
  report_.series.push_back({partition, result.status, records, slot.late, slot.watch.alarmed()});
  const auto tell = [&](MonitorAlarm::Kind kind) {
    alarms_.push_back({.kind = kind,
                       .source = source_,
                       .partition = partition,
                       .interval_start_us = start_us_,
                       .interval_end_us = newest_us_,
                       .records = records,
                       .late = slot.late,
                       .target_late = plan_.options.target_late,
                       .delay_us = delay_us_,
                       .measured_us = disorder::delay_for_target(slot.disorder, plan_.options.target_late,
                                                                 effect, report_.split_us),
                       .evidence = result.evidence,
                       .threshold = result.threshold});
  };
  if (result.alarm) {
    ++report_.alarms;
    tell(MonitorAlarm::Kind::kLate);
  }
  if (result.cleared) tell(MonitorAlarm::Kind::kCleared);
  // Once is enough, and not for single partitions: one delay stands for all of them.
  if (result.over_provisioned && partition.empty() && delay_us_ > 0 && !plan_.follow) {
    if (report_.advices++ == 0) tell(MonitorAlarm::Kind::kOverProvisioned);
  }
}

void Monitor::close_interval(const std::vector<std::string>& names) {
  const double effect = design_effect();
  ++report_.intervals;
  report_.interval_start_us = start_us_;
  report_.interval_end_us = newest_us_;
  report_.design_effect = effect;
  report_.series.clear();
  all_->clear();
  all_->records = records_;
  all_->late = late_;
  active_slots_ = 0;
  for (const auto& slot : slots_) {
    if (!slot) continue;
    ++active_slots_;
    slot->count_waiting();
    all_->disorder.merge(slot->disorder);
    all_->delay.merge(slot->delay);
  }
  const size_t series = active_slots_ > 1 ? active_slots_ + 1 : 1;
  judge(*all_, "", effect, series);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i]) continue;
    if (series > 1) judge(*slots_[i], i < kSlots ? names[i] : "(all others)", effect, series);
    slots_[i]->clear();
  }
  const auto recent = [&] {
    return disorder::delay_for_target(all_->disorder, plan_.options.target_late, effect, report_.split_us);
  };
  if (plan_.follow && plan_.arrivals_mean_something) find_split(effect);
  if (plan_.follow) look_for_gap();
  const bool red = report_.series[0].status == disorder::DriftStatus::kRed;
  const auto now = plan_.follow && red ? recent() : std::nullopt;
  disorder_sum_.merge(all_->disorder);
  delay_sum_.merge(all_->delay);
  disorder_hour_.push(std::move(all_->disorder));
  delay_hour_.push(std::move(all_->delay));
  if (++summed_ == kIntervalsKept) {
    summed_ = 0;
    disorder_day_.push(std::exchange(disorder_sum_, DelayHistogram()));
    delay_day_.push(std::exchange(delay_sum_, DelayHistogram()));
  }
  if (plan_.follow) follow(effect, now);
}

const DelayHistogram& Monitor::delays() const {
  return delay_hour_.total();
}

// Over the hour up to now, the interval at hand included: an offline mode that begins must not be followed.
// Where the offline mode begins. What most records of the newest interval are beyond is no offline mode but a
// transport that has become slower: the older records beside it make two modes of what is one after the
// other.
void Monitor::find_split(double effect) {
  DelayHistogram seen = delay_hour_.total();
  seen.merge(all_->delay);
  const auto split =
      disorder::find_mode_split(disorder::BucketTable(seen), {.resolution = 1, .design_effect = effect});
  report_.split_us = split ? std::optional(split->split) : std::nullopt;
  if (!split) return;
  const uint64_t now = all_->delay.count();
  const bool is_full = 2 * now * std::max<size_t>(1, delay_hour_.slices()) >= delay_hour_.total().count();
  if (is_full && 2 * all_->delay.count_at_least(split->split) > now) report_.split_us.reset();
}

// Whether the late records of the interval stand apart from the others, as those of an offline mode do: few
// of them are within two octaves of the delay. Until there are enough for find_mode_split to say which, the
// delay does not go there.
void Monitor::look_for_gap() {
  const int64_t reach_us = std::clamp(delay_us_, kSecondUs, kMicrosMax / kReach) * kReach;
  const auto late = static_cast<int64_t>(all_->disorder.count_at_least(std::max(delay_us_, kSecondUs)));
  const auto beyond = static_cast<int64_t>(all_->disorder.count_at_least(reach_us));
  const auto records = static_cast<int64_t>(all_->disorder.count());
  const bool apart = beyond > 0 && 2 * late < records && 2 * (late - beyond) < late;
  gap_records_ = apart ? gap_records_ + beyond : 0;
  gap_from_us_ = apart && gap_records_ < kGapRecords ? std::optional(reach_us) : std::nullopt;
}

void Monitor::follow(double effect, std::optional<int64_t> now) {
  const double target = plan_.options.target_late;
  // The hour for what is new, the day for what comes back every few hours; a red interval speaks for itself.
  std::optional<int64_t> wanted =
      disorder::delay_for_target(disorder_hour_.total(), target, effect, report_.split_us);
  const auto of_day = disorder::delay_for_target(disorder_day_.total(), target, effect, report_.split_us);
  if (of_day) wanted = std::max(wanted.value_or(0), *of_day);
  report_.measured_us = wanted;
  std::string why = format("the last {} intervals", disorder_hour_.slices());
  if (now && *now > wanted.value_or(0)) {
    wanted = now;
    why = "the last interval alone";
  }
  if (wanted && gap_from_us_ && *wanted > *gap_from_us_) return;
  if (wanted) wanted = rounded_up(*wanted);
  if (wanted && report_.split_us) wanted = std::min(*wanted, *report_.split_us);
  const int64_t from_us = change_ ? change_->to_us : delay_us_;  // several intervals in a tick
  int64_t to_us = follower_.next(from_us, wanted, newest_us_ - start_us_);
  if (wanted && report_.split_us) to_us = std::min(to_us, std::max(*report_.split_us, plan_.follow->min_us));
  if (to_us == from_us) return;
  change_ = DelayChange{
      delay_us_, to_us,
      format("{} would keep {} late, as measured over {}{}", span_text(*wanted), percent(target), why,
             report_.split_us ? format("; delays beyond {} are of another mode and left to allowed_lateness",
                                       span_text(*report_.split_us))
                              : "")};
}

std::vector<MonitorAlarm> Monitor::take_alarms() {
  return std::exchange(alarms_, {});
}

std::optional<DelayChange> Monitor::take_delay_change() {
  return std::exchange(change_, std::nullopt);
}

void Monitor::add_completeness(MonitorReport& report) const {
  if (!plan_.slice || !plan_.arrivals_mean_something || report_.intervals == 0) return;
  if (newest_us_ > kEventMicrosLimit || newest_us_ < -kEventMicrosLimit) return;
  Window window = plan_.slice(newest_us_);
  for (size_t i = 0; i < kWindowsShown; ++i) {
    const auto share = disorder::window_completeness(delays(), window.start.micros(), window.end.micros(),
                                                     saturating_add(newest_us_, 1));
    if (share) report.completeness.push_back({window, *share});
    window = plan_.slice(window.start.micros() - 1);
  }
}

MonitorReport Monitor::report() const {
  MonitorReport report = report_;
  report.delay_us = std::max<int64_t>(delay_us_, 0);
  if (!plan_.follow) {
    report.measured_us = disorder::delay_for_target(disorder_hour_.total(), plan_.options.target_late,
                                                    report_.design_effect, std::nullopt);
  }
  report.disorder = quantiles_of(disorder_hour_.total());
  if (plan_.arrivals_mean_something) report.delay = quantiles_of(delays());
  add_completeness(report);
  return report;
}

}  // namespace wrackline::runtime
