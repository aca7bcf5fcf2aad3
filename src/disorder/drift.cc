#include "disorder/drift.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "disorder/binomial.h"
#include "disorder/saved_histogram.h"
#include "wrackline/time.h"

namespace wrackline::disorder {
namespace {

constexpr int kGreensToClear = 3;
constexpr int kLowerToFall = 3;
constexpr double kLower = 0.8;
constexpr double kFallAnHour = 0.1;
constexpr double kFallAtOnce = 0.02;  // no smaller steps: each is an entry in a log and a line to read
constexpr int64_t kHourUs = INT64_C(3'600'000'000);

// The log-likelihood ratio of a late share `to` against `from`.
double evidence(const IntervalCount& count, double from, double to) {
  const auto late = static_cast<double>(count.late);
  const auto on_time = static_cast<double>(count.records - count.late);
  return (late * std::log(to / from) + on_time * std::log((1 - to) / (1 - from))) / count.design_effect;
}

}  // namespace

std::string_view to_string(DriftStatus status) {
  switch (status) {
    case DriftStatus::kNoData:
      return "no_data";
    case DriftStatus::kGreen:
      return "green";
    case DriftStatus::kAmber:
      return "amber";
    case DriftStatus::kRed:
      return "red";
  }
  return "no_data";
}

DriftStatus interval_status(const IntervalCount& count, double target_late) {
  const auto records =
      static_cast<int64_t>(std::floor(static_cast<double>(count.records) / count.design_effect));
  const auto late = static_cast<int64_t>(std::llround(static_cast<double>(count.late) / count.design_effect));
  if (records < sample_minimum(1 - target_late, kAlpha)) return DriftStatus::kNoData;
  if (late <= late_allowed(records, target_late, kAlpha)) return DriftStatus::kGreen;
  const double as_many_by_chance = 1 - Binomial(records, target_late).at_most(late - 1);
  return as_many_by_chance < kAlpha ? DriftStatus::kRed : DriftStatus::kAmber;
}

DriftWatch::DriftWatch(DriftOptions options) : options_(options) {
  WRACKLINE_CHECK(options.target_late > 0 && options.target_late < 0.5, "a target share below a half");
  WRACKLINE_CHECK(options.intervals_between_false_alarms >= 1, "at least an interval between false alarms");
}

DriftWatch::Judgement DriftWatch::judge(const IntervalCount& count, size_t series) {
  const double target = options_.target_late;
  Judgement result;
  result.status = interval_status(count, target);
  result.threshold =
      std::log(options_.intervals_between_false_alarms * static_cast<double>(std::max<size_t>(series, 1)));
  up_ = std::max(0.0, up_ + evidence(count, target, 2 * target));
  down_ = std::max(0.0, down_ + evidence(count, target, target / 4));
  result.evidence = up_;
  if (result.status == DriftStatus::kGreen) {
    ++greens_;
  } else if (result.status != DriftStatus::kNoData) {
    greens_ = 0;
  }
  if (up_ >= result.threshold) {
    up_ = 0;
    result.alarm = !std::exchange(alarmed_, true);
    greens_ = 0;
  } else if (alarmed_ && greens_ >= kGreensToClear) {
    alarmed_ = false;
    result.cleared = true;
  }
  if (down_ >= result.threshold) {
    down_ = 0;
    result.over_provisioned = true;
  }
  return result;
}

void DriftWatch::save(SnapshotWriter& out) const {
  out.f64(up_);
  out.f64(down_);
  out.u8(alarmed_ ? 1 : 0);
  out.i64(greens_);
}

void DriftWatch::restore(SnapshotReader& in) {
  up_ = in.f64();
  down_ = in.f64();
  alarmed_ = in.u8() != 0;
  greens_ = static_cast<int>(std::clamp<int64_t>(in.i64(), 0, kGreensToClear));
}

void SlidingHistogram::push(DelayHistogram slice) {
  total_.merge(slice);
  slices_.push_back(std::move(slice));
  if (slices_.size() <= slices_max_) return;
  total_.subtract(slices_.front());
  slices_.pop_front();
}

void SlidingHistogram::save(SnapshotWriter& out) const {
  out.section("slid");
  out.u64(slices_.size());
  for (const DelayHistogram& slice : slices_) disorder::save(slice, out);
  // The sum of the slices, but for its extremes: those that left may have tightened them.
  disorder::save(total_, out);
}

void SlidingHistogram::restore(SnapshotReader& in) {
  in.section("slid");
  slices_.clear();
  DelayHistogram sum;
  for (size_t left = in.count(sizeof(uint64_t)); left > 0; --left) {
    slices_.push_back(restore_histogram(in));
    sum.merge(slices_.back());
  }
  total_ = restore_histogram(in);
  if (slices_.size() > slices_max_) in.refuse("more slices than are kept");
  // Slices are subtracted later, which must not fail.
  const auto same = [](const auto& a, const auto& b) { return a.index == b.index && a.count == b.count; };
  if (!std::ranges::equal(total_.buckets(), sum.buckets(), same))
    in.refuse("a sum is not that of its slices");
}

std::optional<int64_t> delay_for_target(const DelayHistogram& disorder, double target_late,
                                        double design_effect, std::optional<int64_t> split) {
  const uint64_t count = split ? disorder.count_at_most(*split) : disorder.count();
  const auto effective = static_cast<int64_t>(std::floor(static_cast<double>(count) / design_effect));
  const int64_t allowed = late_allowed(effective, target_late, kAlpha);
  if (allowed < 0) return std::nullopt;
  const auto late = static_cast<uint64_t>(static_cast<double>(allowed) * design_effect);
  if (late >= count) return 0;
  int64_t delay_us = saturating_add(disorder.rank_upper(count - late), 1);
  if (split) delay_us = std::min(delay_us, *split);
  return std::max<int64_t>(delay_us, 0);
}

int64_t DelayFollower::next(int64_t current_us, std::optional<int64_t> target_us, int64_t interval_us) {
  if (!target_us) return current_us;
  const int64_t target = std::clamp(*target_us, options_.min_us, options_.max_us);
  if (target > current_us) {
    lower_ = 0;
    fall_ = 0;
    return target;
  }
  const auto current = static_cast<double>(current_us);
  if (static_cast<double>(target) >= kLower * current) {
    lower_ = 0;
    fall_ = 0;
    return current_us;
  }
  const double hours = static_cast<double>(std::clamp<int64_t>(interval_us, 0, kHourUs)) / kHourUs;
  fall_ = std::min(kFallAnHour, fall_ + kFallAnHour * hours);
  if (++lower_ < kLowerToFall || fall_ < kFallAtOnce) return current_us;
  const auto lowest = static_cast<int64_t>(std::ceil(current * (1 - std::exchange(fall_, 0))));
  return std::min(current_us, std::max(target, lowest));
}

void DelayFollower::save(SnapshotWriter& out) const {
  out.f64(fall_);
  out.i64(lower_);
}

void DelayFollower::restore(SnapshotReader& in) {
  fall_ = in.f64();
  if (!(fall_ >= 0 && fall_ <= kFallAnHour)) in.refuse("a delay does not fall so far");
  lower_ = static_cast<int>(std::clamp<int64_t>(in.i64(), 0, kLowerToFall));
}

}  // namespace wrackline::disorder
