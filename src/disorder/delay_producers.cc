#include "wrackline/delay_producers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "data/time_text.h"
#include "disorder/findings.h"
#include "wrackline/delay_histogram.h"

namespace wrackline {

using disorder::records_text;
using disorder::span_words;

namespace {

constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kNearHour = 120'000'000;  // two minutes
constexpr int kHoursMax = 14;
constexpr uint64_t kFloorRecordsMin = 100;  // from here on the floor is a percentile
constexpr int64_t kYear = int64_t{366} * 86'400'000'000;
constexpr double kYearUs = 365.2425 * 86'400e6;
constexpr int64_t kStuckSpan = kHour;
constexpr size_t kSlotsMost = 64;
constexpr size_t kDriftSlotsMin = 8;
constexpr int64_t kDriftSpanMin = 600'000'000;
constexpr double kDriftPpmMin = 20;
constexpr double kDriftPpmMax = 500;  // beyond what clocks do: such delays grow for another reason

// The least delay in each stretch of arrival time: all that the hull needs.
class FloorPoints {
 public:
  struct Point {
    int64_t arrival_us = 0;
    int64_t delay_us = 0;
  };
  void add(int64_t arrival_us, int64_t delay_us) {
    const int64_t slot = floor_divide(arrival_us, width_us_);
    const auto [at, fresh] = points_.try_emplace(slot, Point{arrival_us, delay_us});
    if (!fresh && delay_us < at->second.delay_us) at->second = {arrival_us, delay_us};
    while (points_.size() > kSlotsMost) widen();
  }
  // Slope of the line below all points that is closest to them, in microseconds per second; null when the
  // points are too few, too close, or scatter more than the line moves.
  std::optional<double> drift_ppm() const;

 private:
  void widen() {
    std::map<int64_t, Point> merged;
    for (const auto& [slot, point] : points_) {
      const auto [at, fresh] = merged.try_emplace(floor_divide(slot, 2), point);
      if (!fresh && point.delay_us < at->second.delay_us) at->second = point;
    }
    points_ = std::move(merged);
    width_us_ = saturating_add(width_us_, width_us_);
  }
  int64_t width_us_ = 1'000'000;
  std::map<int64_t, Point> points_;  // by slot, so in order of arrival
};

std::optional<double> FloorPoints::drift_ppm() const {
  if (points_.size() < kDriftSlotsMin) return std::nullopt;
  const int64_t first_us = points_.begin()->second.arrival_us;
  const int64_t span_us = saturating_subtract(points_.rbegin()->second.arrival_us, first_us);
  if (span_us < kDriftSpanMin || span_us == kMicrosMax) return std::nullopt;
  struct Place {
    double x, y;
  };
  std::vector<Place> hull;
  double mean = 0;
  const int64_t base_us = points_.begin()->second.delay_us;
  for (const auto& [slot, point] : points_) {
    const Place next{static_cast<double>(point.arrival_us - first_us),
                     static_cast<double>(saturating_subtract(point.delay_us, base_us))};
    mean += next.x / static_cast<double>(points_.size());
    while (hull.size() >= 2) {
      const Place& a = hull[hull.size() - 2];
      const Place& b = hull.back();
      if ((b.x - a.x) * (next.y - a.y) - (b.y - a.y) * (next.x - a.x) > 0) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  size_t edge = 1;
  while (edge + 1 < hull.size() && hull[edge].x < mean) ++edge;
  const Place& a = hull[edge - 1];
  const Place& b = hull[edge];
  const double slope = (b.y - a.y) / (b.x - a.x);
  // How far the points scatter above the line: their median, in each half of the time. A line that rests on
  // one record of a half says nothing about the clock then.
  std::array<std::vector<double>, 2> above;
  for (const auto& [slot, point] : points_) {
    const double x = static_cast<double>(point.arrival_us - first_us);
    above[2 * x < static_cast<double>(span_us) ? 0 : 1].push_back(
        static_cast<double>(saturating_subtract(point.delay_us, base_us)) - (a.y + slope * (x - a.x)));
  }
  double scatter = 1000.0;
  for (std::vector<double>& half : above) {
    if (half.size() < kDriftSlotsMin / 2) return std::nullopt;
    std::ranges::nth_element(half, half.begin() + static_cast<std::ptrdiff_t>(half.size() / 2));
    scatter = std::max(scatter, half[half.size() / 2]);
  }
  const double moved = std::abs(slope) * static_cast<double>(span_us);
  const double ppm = slope * 1e6;
  if (std::abs(ppm) < kDriftPpmMin || std::abs(ppm) > kDriftPpmMax || moved < 3 * scatter)
    return std::nullopt;
  return ppm;
}

struct Producer {
  int64_t records = 0;
  int64_t error = 0;  // the count may be too small by this
  int64_t negative = 0;
  int64_t wrong_unit = 0;
  int64_t unit_factor = 0;  // of the last misfit; negative: too small
  int64_t lost_century = 0;
  DelayHistogram delay;
  FloorPoints floor;
  std::array<int64_t, 2 * kHoursMax + 1> near_hour{};
  int64_t last_event_us = kMicrosMin;
  int64_t same_records = 0;  // consecutive records with last_event_us
  int64_t same_from_us = 0;  // arrival of the first of them
  int64_t stuck_records = 0;
  int64_t stuck_span_us = 0;
  int64_t stuck_event_us = 0;

  void add(int64_t event_us, int64_t arrival_us);
  int64_t floor_us() const {
    const uint64_t count = delay.count();
    return count >= kFloorRecordsMin ? delay.rank_lower((count + 99) / 100) : delay.min();
  }
};

// By how much the time would have to be divided (positive) or multiplied (negative) to come near its arrival.
int64_t unit_misfit(int64_t event_us, int64_t arrival_us) {
  if (arrival_us < kYear) return 0;  // arrival itself makes no sense as a time of today
  for (const int64_t factor : {int64_t{1'000}, int64_t{1'000'000}, int64_t{1'000'000'000}}) {
    if (event_us > 100 * kYear && std::abs(event_us / factor - arrival_us) < kYear) return factor;
    int64_t product = 0;
    if (event_us > 0 && !__builtin_mul_overflow(event_us, factor, &product) &&
        std::abs(saturating_subtract(product, arrival_us)) < kYear)
      return -factor;
  }
  return 0;
}

void Producer::add(int64_t event_us, int64_t arrival_us) {
  const int64_t delay_us = saturating_subtract(arrival_us, event_us);
  ++records;
  if (delay_us < -kYear || delay_us > kYear) [[unlikely]] {
    if (const int64_t factor = unit_misfit(event_us, arrival_us); factor != 0) {
      ++wrong_unit;
      unit_factor = factor;
      return;  // such a number says nothing about the clock
    }
    const auto years = std::lround(static_cast<double>(delay_us) / kYearUs);
    lost_century += years == 100 || years == 1900;
  }
  delay.add(delay_us);
  negative += delay_us < 0;
  floor.add(arrival_us, delay_us);
  const int64_t hours = floor_divide(saturating_add(delay_us, kHour / 2), kHour);
  if (hours != 0 && hours >= -kHoursMax && hours <= kHoursMax &&
      std::abs(delay_us - hours * kHour) <= kNearHour)
    ++near_hour[static_cast<size_t>(hours + kHoursMax)];
  if (event_us != last_event_us) {
    last_event_us = event_us;
    same_records = 1;
    same_from_us = arrival_us;
    return;
  }
  ++same_records;
  const int64_t span_us = saturating_subtract(arrival_us, same_from_us);
  if (span_us <= stuck_span_us) return;
  stuck_span_us = span_us;
  stuck_records = same_records;
  stuck_event_us = event_us;
}

int severity(ClockFault fault) {
  switch (fault) {
    case ClockFault::kWrongUnit:
      return 6;
    case ClockFault::kLostCentury:
      return 5;
    case ClockFault::kStuck:
      return 4;
    case ClockFault::kTimeZone:
      return 3;
    case ClockFault::kAhead:
      return 2;
    case ClockFault::kDrift:
      return 1;
    case ClockFault::kNone:
      return 0;
  }
  return 0;
}

std::string hours_words(int64_t hours) {
  return format("{} hour{}", std::abs(hours), std::abs(hours) == 1 ? "" : "s");
}

int64_t median_of(std::vector<int64_t> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

std::string_view to_string(ClockFault fault) {
  switch (fault) {
    case ClockFault::kNone:
      return "none";
    case ClockFault::kWrongUnit:
      return "wrong_unit";
    case ClockFault::kLostCentury:
      return "lost_century";
    case ClockFault::kStuck:
      return "stuck";
    case ClockFault::kTimeZone:
      return "time_zone";
    case ClockFault::kAhead:
      return "clock_ahead";
    case ClockFault::kDrift:
      return "drift";
  }
  return "none";
}

struct ProducerTracker::State {
  explicit State(ProducerOptions given) : options(std::move(given)) {}

  Producer& find(std::string_view name) {
    if (const auto known = producers.find(name); known != producers.end()) return known->second;
    if (producers.size() >= 2 * options.producers_max) forget_smallest();
    Producer& fresh = producers.try_emplace(std::string(name)).first->second;
    fresh.error = forgotten_most;
    return fresh;
  }
  void forget_smallest();
  ProducerSummary summarise(const std::string& name, const Producer& producer) const;
  void judge(const Producer& producer, ProducerSummary& summary) const;

  ProducerOptions options;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Producer, TextHash, std::equal_to<>> producers;
  int64_t forgotten_most = 0;  // records of the largest producer that was forgotten
  int64_t forgotten_records = 0;
  std::string last_name;
  Producer* last = nullptr;
};

// Half of the producers leave at once, those with the fewest records: one sort for many look-ups.
void ProducerTracker::State::forget_smallest() {
  std::vector<int64_t> counts;
  for (const auto& [name, producer] : producers) counts.push_back(producer.records);
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() - options.producers_max);
  std::ranges::nth_element(counts, middle);
  size_t leaving = counts.size() - options.producers_max;
  for (const int64_t limit : {*middle - 1, *middle}) {
    for (auto at = producers.begin(); at != producers.end() && leaving > 0;) {
      if (at->second.records > limit) {
        ++at;
        continue;
      }
      forgotten_most = std::max(forgotten_most, at->second.records + at->second.error);
      forgotten_records += at->second.records;
      at = producers.erase(at);
      --leaving;
    }
  }
  last = nullptr;
}

ProducerSummary ProducerTracker::State::summarise(const std::string& name, const Producer& producer) const {
  ProducerSummary summary;
  summary.producer = name;
  summary.records = producer.records;
  summary.negative = producer.negative;
  if (!producer.delay.empty()) {
    summary.delay_min_us = producer.delay.min();
    summary.delay_p50_us = producer.delay.rank_upper((producer.delay.count() + 1) / 2);
    summary.delay_max_us = producer.delay.max();
    if (const int64_t floor = producer.floor_us(); floor < 0)
      summary.offset_proven_us = saturating_subtract(0, floor);
    summary.drift_ppm = producer.floor.drift_ppm();
  }
  return summary;
}

// The gravest fault that the figures show, in a sentence.
void ProducerTracker::State::judge(const Producer& producer, ProducerSummary& summary) const {
  const auto fault = [&](ClockFault kind, int64_t records, std::string text) {
    if (summary.fault != ClockFault::kNone) return;
    summary.fault = kind;
    summary.fault_records = records;
    summary.text = std::move(text);
  };
  const std::string of = format(" of {}", with_thousands(producer.records));  // "3 of 12"
  if (producer.wrong_unit > 0) {
    const bool great = producer.unit_factor > 0;
    fault(ClockFault::kWrongUnit, producer.wrong_unit,
          format("{}{} {} {} times too {} for the declared unit", with_thousands(producer.wrong_unit), of,
                 producer.wrong_unit == 1 ? "times is" : "times are",
                 with_thousands(std::abs(producer.unit_factor)), great ? "great" : "small"));
  }
  if (producer.lost_century > 0) {
    fault(ClockFault::kLostCentury, producer.lost_century,
          format("{}{} stamped a century or 1900 years early", records_text(producer.lost_century), of));
  }
  if (producer.delay.empty()) return;
  const int64_t ahead = summary.offset_proven_us.value_or(0);
  const bool is_far = ahead > options.max_future_skew.micros();
  if (producer.stuck_span_us >= kStuckSpan && (is_far || producer.stuck_records >= 3)) {
    fault(ClockFault::kStuck, producer.stuck_records,
          format("its clock stood at {} for {} of arrivals{}", timestamp_text(producer.stuck_event_us),
                 span_words(producer.stuck_span_us),
                 is_far ? format(", up to {} ahead", span_words(saturating_subtract(0, producer.delay.min())))
                        : std::string()));
  }
  const auto most = std::ranges::max_element(producer.near_hour);
  const int64_t hours = most - producer.near_hour.begin() - kHoursMax;
  const auto counted = static_cast<int64_t>(producer.delay.count());
  const int64_t floor_hours = -floor_divide(saturating_add(ahead, kHour / 2), kHour);
  const bool floor_near = floor_hours != 0 && std::abs(ahead + floor_hours * kHour) <= kNearHour;
  if ((2 * *most >= counted && *most >= 3) || (floor_near && floor_hours >= -kHoursMax)) {
    const int64_t by = floor_near ? floor_hours : hours;
    const int64_t records = producer.near_hour[static_cast<size_t>(by + kHoursMax)];
    fault(ClockFault::kTimeZone, records,
          format("{}{} within 2 minutes of {} {}: probably a time-zone fault", records_text(records), of,
                 hours_words(by), by < 0 ? "ahead" : "behind"));
  }
  if (is_far) {
    fault(ClockFault::kAhead, producer.negative,
          format("its clock is ahead by at least {}", span_words(ahead)));
  }
  if (summary.drift_ppm) {
    fault(ClockFault::kDrift, counted,
          format("its clock {} {:.0f} microseconds a second", *summary.drift_ppm > 0 ? "loses" : "gains",
                 std::abs(*summary.drift_ppm)));
  }
}

ProducerTracker::ProducerTracker(ProducerOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
ProducerTracker::~ProducerTracker() = default;
ProducerTracker::ProducerTracker(ProducerTracker&&) noexcept = default;
ProducerTracker& ProducerTracker::operator=(ProducerTracker&&) noexcept = default;

void ProducerTracker::add(std::string_view producer, int64_t event_us, int64_t arrival_us) {
  State& state = *state_;
  if (state.last == nullptr || state.last_name != producer) {
    state.last = &state.find(producer);
    state.last_name = producer;
  }
  state.last->add(event_us, arrival_us);
}

ProducersReport ProducerTracker::finish() {
  State& state = *state_;
  if (state.producers.size() > state.options.producers_max) state.forget_smallest();
  ProducersReport report;
  report.forgotten_records = state.forgotten_records;
  std::vector<int64_t> floors;
  for (const auto& [name, producer] : state.producers) {
    report.count_error_max = std::max(report.count_error_max, producer.error);
    if (!producer.delay.empty()) floors.push_back(producer.floor_us());
  }
  if (floors.size() >= 3) {
    report.floor_median_us = median_of(floors);
    std::vector<int64_t> apart;
    for (const int64_t floor : floors) {
      const int64_t distance = saturating_subtract(floor, *report.floor_median_us);
      apart.push_back(distance < 0 ? saturating_subtract(0, distance) : distance);
    }
    report.offset_spread_us = static_cast<int64_t>(1.4826 * static_cast<double>(median_of(apart)));
  }
  for (const auto& [name, producer] : state.producers) {
    ProducerSummary summary = state.summarise(name, producer);
    if (report.floor_median_us && !producer.delay.empty())
      summary.offset_estimated_us = saturating_subtract(*report.floor_median_us, producer.floor_us());
    state.judge(producer, summary);
    report.list.push_back(std::move(summary));
  }
  std::ranges::sort(report.list, [](const ProducerSummary& a, const ProducerSummary& b) {
    if (a.fault != b.fault) return severity(a.fault) > severity(b.fault);
    if (a.fault == ClockFault::kAhead && a.offset_proven_us != b.offset_proven_us)
      return *a.offset_proven_us > *b.offset_proven_us;
    return a.records != b.records ? a.records > b.records : a.producer < b.producer;
  });
  return report;
}

}  // namespace wrackline
