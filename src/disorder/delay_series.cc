#include "disorder/delay_series.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "data/time_text.h"
#include "disorder/findings.h"
#include "disorder/kernels.h"
#include "disorder/running_max.h"

namespace wrackline::disorder {
namespace {

constexpr int64_t kSecond = 1'000'000;
// Each divides the next one, so that merging neighbours is exact.
constexpr std::array<int64_t, 12> kWidths = {kSecond,           10 * kSecond,       60 * kSecond,
                                             600 * kSecond,     3600 * kSecond,     21600 * kSecond,
                                             86400 * kSecond,   604800 * kSecond,   2419200 * kSecond,
                                             4838400 * kSecond, 29030400 * kSecond, 290304000 * kSecond};
constexpr size_t kIntervalsMost = 1024;
constexpr size_t kIntervalsShown = 400;

// Change points.
constexpr size_t kSideIntervals = 14;                     // on each side of a candidate
constexpr size_t kSideIntervalsMin = 2 * kSideIntervals;  // fewer could be one phase of what comes and goes
// Seen from so far the sides still differ: what comes and goes with the time of day is no change for good.
constexpr size_t kLongSideIntervals = 4 * kSideIntervals;
constexpr double kLongPart = 0.8;  // of the distance that is asked for near by
constexpr uint64_t kValuesPerInterval = 20;
constexpr size_t kValuesMin = 20;        // on each side
constexpr double kFloorDistance = 0.35;  // so much of one side lies below the other side's floor
constexpr double kFloorQuantile = 0.02;  // what counts as the floor
constexpr double kFloorDecades = 9;      // -log10 of the chance of that by luck
constexpr double kShapeDistance = 0.75;
constexpr int64_t kAbsurd = int64_t{50} * 366 * 86'400'000'000;  // a broken number, no delay

int64_t next_width(int64_t width_us) {
  const auto at = std::ranges::upper_bound(kWidths, width_us);
  return at == kWidths.end() ? 2 * width_us : *at;
}

// Held at the ends of the range of times.
int64_t start_of(int64_t index, int64_t width_us) {
  int64_t start_us = 0;
  if (!__builtin_mul_overflow(index, width_us, &start_us)) return start_us;
  return index < 0 ? kMicrosMin : kMicrosMax;
}

// At most 20 values that stand for an interval: order statistics at equal distances, the ends among them.
std::vector<int64_t> sample_of(const DelayHistogram& histogram) {
  std::vector<int64_t> values;
  const uint64_t count = histogram.count();
  if (count == 0) return values;
  const uint64_t taken = std::min(count, kValuesPerInterval);
  const BucketTable table(histogram);
  for (uint64_t i = 0; i < taken; ++i) {
    const uint64_t rank = taken == 1 ? 1 : 1 + i * (count - 1) / (taken - 1);
    const int64_t value = std::max(table.locate(rank).bucket.lower, histogram.min());
    if (value > -kAbsurd && value < kAbsurd) values.push_back(value);
  }
  return values;
}

struct Sides {
  std::vector<int64_t> before;  // sorted
  std::vector<int64_t> after;
};

int64_t quantile_of(const std::vector<int64_t>& sorted, double p) {
  const auto at = static_cast<size_t>(p * static_cast<double>(sorted.size()));
  return sorted[std::min(at, sorted.size() - 1)];
}

double share_below(const std::vector<int64_t>& sorted, int64_t value) {
  return static_cast<double>(std::ranges::lower_bound(sorted, value) - sorted.begin()) /
         static_cast<double>(sorted.size());
}

// Walks both samples in order; equal values count on both sides before the distance is taken.
double ks_distance(const Sides& sides) {
  const auto share = [](size_t count, size_t all) {
    return static_cast<double>(count) / static_cast<double>(all);
  };
  double most = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < sides.before.size() && j < sides.after.size()) {
    const int64_t value = std::min(sides.before[i], sides.after[j]);
    while (i < sides.before.size() && sides.before[i] == value) ++i;
    while (j < sides.after.size() && sides.after[j] == value) ++j;
    most = std::max(most, std::abs(share(i, sides.before.size()) - share(j, sides.after.size())));
  }
  return most;
}

// -log10 of the probability that all `below` low values of two mixed samples fall into the one of size n by
// chance (Fisher's exact test with an empty cell).
double decades_by_chance(size_t n, size_t m, size_t below) {
  const auto choose = [](double a, double b) {
    return std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1);
  };
  const auto k = static_cast<double>(below);
  return (choose(static_cast<double>(n + m), k) - choose(static_cast<double>(n), k)) / std::log(10.0);
}

struct FloorStep {
  double distance = 0;
  double decades = 0;
};

// How much of one side lies below the other side's floor, the greater of both ways.
FloorStep floor_step(const Sides& sides) {
  FloorStep best;
  for (const bool swap : {false, true}) {
    const auto& low = swap ? sides.after : sides.before;
    const auto& high = swap ? sides.before : sides.after;
    const int64_t floor = quantile_of(high, kFloorQuantile);
    const double below = share_below(low, floor);
    const double distance = below - share_below(high, floor);
    if (distance <= best.distance) continue;
    const auto count = static_cast<size_t>(below * static_cast<double>(low.size()) + 0.5);
    best = {distance, decades_by_chance(low.size(), high.size(), count)};
  }
  return best;
}

struct Candidate {
  size_t at = 0;  // index of the first interval after it
  double strength = 0;
  bool floor = false;
};

class ChangeFinder {
 public:
  ChangeFinder(const std::map<int64_t, SeriesBuilder::Interval>& intervals, int64_t width_us)
      : width_us_(width_us) {
    for (const auto& [index, interval] : intervals) {
      if (interval.delay.empty()) continue;
      starts_.push_back(index);
      samples_.push_back(sample_of(interval.delay));
    }
  }

  std::vector<RegimeChange> find() const {
    std::vector<Candidate> floors;
    std::vector<Candidate> shapes;
    for (size_t at = kSideIntervalsMin; at + kSideIntervalsMin <= samples_.size(); ++at) {
      const Sides near = sides(at, kSideIntervals);
      if (near.before.size() < kValuesMin || near.after.size() < kValuesMin) continue;
      const FloorStep floor = floor_step(near);
      const double distance = ks_distance(near);
      const bool by_floor = floor.distance >= kFloorDistance && floor.decades >= kFloorDecades;
      if (!by_floor && distance < kShapeDistance) continue;
      const Sides far = sides(at, kLongSideIntervals);
      if (by_floor && floor_step(far).distance >= kLongPart * kFloorDistance) {
        floors.push_back({at, floor.decades, true});
      } else if (distance >= kShapeDistance && ks_distance(far) >= kLongPart * kShapeDistance) {
        shapes.push_back({at, distance, false});
      }
    }
    std::vector<Candidate> kept = strongest(floors, {});
    kept = strongest(shapes, kept);
    std::ranges::sort(kept, {}, &Candidate::at);
    std::vector<RegimeChange> changes;
    for (size_t first = 0; first < kept.size();) {
      // Where one change follows another before the first has held for a long side, delays are on the way
      // from somewhere to somewhere: that is one change that takes its time.
      size_t last = first;
      while (last + 1 < kept.size() && kept[last + 1].at - kept[last].at < kLongSideIntervals) ++last;
      changes.push_back(last == first ? describe(kept[first]) : describe_steps(kept, first, last));
      first = last + 1;
    }
    return changes;
  }

 private:
  Sides sides(size_t at, size_t reach) const {
    Sides both;
    for (size_t i = at - std::min(at, reach); i < at; ++i) append(both.before, samples_[i]);
    for (size_t i = at; i < std::min(at + reach, samples_.size()); ++i) append(both.after, samples_[i]);
    std::ranges::sort(both.before);
    std::ranges::sort(both.after);
    return both;
  }
  static void append(std::vector<int64_t>& to, const std::vector<int64_t>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  // Of candidates closer than one side to each other the strongest, and none that close to one of `taken`.
  static std::vector<Candidate> strongest(std::vector<Candidate> from, std::vector<Candidate> taken) {
    std::ranges::stable_sort(from, std::greater<>(), &Candidate::strength);
    for (const Candidate& candidate : from) {
      const bool clear = std::ranges::all_of(taken, [&](const Candidate& other) {
        return (candidate.at > other.at ? candidate.at - other.at : other.at - candidate.at) > kSideIntervals;
      });
      if (clear) taken.push_back(candidate);
    }
    return taken;
  }
  RegimeChange describe(const Candidate& candidate) const {
    const Sides both = sides(candidate.at, kSideIntervals);
    const auto side = [](const std::vector<int64_t>& sorted) {
      return RegimeChange::Side{quantile_of(sorted, 0.05), quantile_of(sorted, 0.5),
                                quantile_of(sorted, 0.95)};
    };
    RegimeChange change;
    change.at_us = change.until_us = start_of(starts_[candidate.at], width_us_);
    change.before = side(both.before);
    change.after = side(both.after);
    change.distance = ks_distance(both);
    change.floor = candidate.floor;
    change.shift_us = saturating_subtract(change.after.p5_us, change.before.p5_us);
    if (candidate.floor) {
      change.text = format("the floor of delay {} from {} to {} at {}", change.shift_us < 0 ? "fell" : "rose",
                           span_words(change.before.p5_us), span_words(change.after.p5_us),
                           timestamp_text(change.at_us));
    } else {
      change.text =
          format("delays changed at {}: their median went from {} to {}", timestamp_text(change.at_us),
                 span_words(change.before.p50_us), span_words(change.after.p50_us));
    }
    return change;
  }

  RegimeChange describe_steps(const std::vector<Candidate>& kept, size_t first, size_t last) const {
    RegimeChange change = describe(kept[first]);
    const RegimeChange end = describe(kept[last]);
    change.until_us = end.at_us;
    change.after = end.after;
    change.distance = std::max(change.distance, end.distance);
    change.shift_us = saturating_subtract(change.after.p5_us, change.before.p5_us);
    change.floor = false;
    change.text = format("delays kept changing from {} to {}, in {} steps: their median went from {} to {}",
                         timestamp_text(change.at_us), timestamp_text(change.until_us), last - first + 1,
                         span_words(change.before.p50_us), span_words(change.after.p50_us));
    return change;
  }

  int64_t width_us_;
  std::vector<int64_t> starts_;
  std::vector<std::vector<int64_t>> samples_;
};

DelayInterval interval_of(int64_t start_us, SeriesBuilder::Interval&& from) {
  DelayInterval interval;
  interval.start_us = start_us;
  interval.future = from.future;
  const auto quantile = [](const DelayHistogram& histogram, const BucketTable& table, uint64_t permille) {
    return std::min(table.locate(nearest_rank(table.count(), permille)).bucket.upper, histogram.max());
  };
  const BucketTable delays(from.delay);
  interval.records = static_cast<int64_t>(delays.count());
  interval.negative = static_cast<int64_t>(delays.count_at_most_index(-1));
  interval.min_us = from.delay.min();
  interval.p5_us = quantile(from.delay, delays, 50);
  interval.p50_us = quantile(from.delay, delays, 500);
  interval.p95_us = quantile(from.delay, delays, 950);
  interval.p99_us = quantile(from.delay, delays, 990);
  interval.max_us = from.delay.max();
  if (!from.disorder.empty()) {
    const BucketTable disorders(from.disorder);
    interval.disorder_p50_us = quantile(from.disorder, disorders, 500);
    interval.disorder_p99_us = quantile(from.disorder, disorders, 990);
    interval.disorder_max_us = from.disorder.max();
  }
  interval.delay = std::move(from.delay);
  interval.disorder = std::move(from.disorder);
  return interval;
}

}  // namespace

SeriesBuilder::Interval& SeriesBuilder::at(int64_t arrival_us) {
  const int64_t index = floor_divide(arrival_us, width_us_);
  if (current_ != nullptr && index == current_index_) return *current_;
  current_ = &intervals_[index];
  current_index_ = index;
  if (intervals_.size() > kIntervalsMost) {
    widen();
    return at(arrival_us);
  }
  return *current_;
}

void SeriesBuilder::widen() {
  widen_to(next_width(width_us_));
}

void SeriesBuilder::widen_to(int64_t width_us) {
  if (width_us <= width_us_) return;
  const int64_t times = width_us / width_us_;
  std::map<int64_t, Interval> merged;
  for (auto& [index, interval] : intervals_) {
    Interval& into = merged[floor_divide(index, times)];
    if (into.delay.empty() && into.disorder.empty()) {
      into = std::move(interval);
      continue;
    }
    into.delay.merge(interval.delay);
    into.disorder.merge(interval.disorder);
    into.future += interval.future;
  }
  intervals_ = std::move(merged);
  width_us_ = width_us;
  current_ = nullptr;
}

void SeriesBuilder::add_interval(int64_t start_us, int64_t width_us, const Interval& interval) {
  widen_to(width_us);
  Interval& into = at(start_us);
  into.delay.merge(interval.delay);
  into.disorder.merge(interval.disorder);
  into.future += interval.future;
}

void SeriesBuilder::add(std::span<const int64_t> event_us, std::span<const int64_t> delay_us,
                        std::span<const uint8_t> has_arrival, bool far) {
  std::array<int64_t, kLogBlockRows> disorder;
  const size_t rows = event_us.size();
  const size_t known = disorder_of(event_us, delay_us.data(), early_us_, far, max_event_us_, disorder.data());
  const size_t skipped = rows - known;  // records before the first admissible one
  const bool all = all_set(has_arrival);
  if (all && !far && rows > 0) {
    // A block that lies in one interval, as nearly always, is counted in one go.
    std::array<int64_t, kLogBlockRows> arrival_us;
    for (size_t i = 0; i < rows; ++i) arrival_us[i] = event_us[i] + delay_us[i];
    const Extremes ends = extremes(std::span(arrival_us).first(rows));
    if (floor_divide(ends.min, width_us_) == floor_divide(ends.max, width_us_)) {
      Interval& interval = at(ends.min);
      interval.delay.add(delay_us);
      interval.future += static_cast<int64_t>(count_below(delay_us, early_us_));
      interval.disorder.add(std::span(disorder).first(known));
      return;
    }
  }
  size_t from = 0;
  const auto arrival = [&](size_t row) { return saturating_add(event_us[row], delay_us[row]); };
  while (from < rows) {
    if (!all && has_arrival[from] == 0) {
      ++from;
      continue;
    }
    Interval& interval = at(arrival(from));
    const int64_t index = current_index_;
    // Modulo 2^64, because the first interval may begin before the range of times.
    const uint64_t begin_us = static_cast<uint64_t>(index) * static_cast<uint64_t>(width_us_);
    size_t to = from + 1;
    while (to < rows && (all || has_arrival[to] != 0) &&
           static_cast<uint64_t>(arrival(to)) - begin_us < static_cast<uint64_t>(width_us_))
      ++to;
    const auto delays = delay_us.subspan(from, to - from);
    interval.delay.add(delays);
    interval.future += static_cast<int64_t>(count_below(delays, early_us_));
    const size_t first = std::max(from, skipped);
    if (first < to) interval.disorder.add(std::span(disorder).subspan(first - skipped, to - first));
    from = to;
  }
}

DelaySeries SeriesBuilder::finish() {
  DelaySeries series;
  current_ = nullptr;
  if (intervals_.empty()) return series;
  series.changes = find_changes(intervals_, width_us_);
  while (intervals_.size() > kIntervalsShown) widen();
  series.width_us = width_us_;
  for (auto& [index, interval] : intervals_) {
    if (!interval.delay.empty())
      series.intervals.push_back(interval_of(start_of(index, width_us_), std::move(interval)));
  }
  intervals_.clear();
  return series;
}

std::vector<RegimeChange> find_changes(const std::map<int64_t, SeriesBuilder::Interval>& intervals,
                                       int64_t width_us) {
  return ChangeFinder(intervals, width_us).find();
}

}  // namespace wrackline::disorder
