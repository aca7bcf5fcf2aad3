#include "report/span_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "disorder/report_text.h"
#include "report/markup.h"

namespace wrackline::report {
namespace {

constexpr double kZeroPixels = 28;  // the place of zero
constexpr double kSideShareMin = 0.15;
constexpr double kLeastDecades = 0.15;
constexpr double kMarginDecades = 0.02;

struct Round {
  double micros;
  std::string_view label;
};
constexpr double kMinute = 60e6;
constexpr double kHour = 3600e6;
constexpr double kDay = 86'400e6;
constexpr double kYear = 365.25 * kDay;
// First those that people count in, then those that fill the gaps.
constexpr std::array<Round, 17> kFirst = {{{1, "1 us"},
                                           {1e3, "1 ms"},
                                           {1e6, "1 s"},
                                           {kMinute, "1 min"},
                                           {kHour, "1 h"},
                                           {kDay, "1 d"},
                                           {kYear, "1 y"},
                                           {10, "10 us"},
                                           {100, "100 us"},
                                           {1e4, "10 ms"},
                                           {1e5, "100 ms"},
                                           {1e7, "10 s"},
                                           {10 * kMinute, "10 min"},
                                           {10 * kDay, "10 d"},
                                           {100 * kDay, "100 d"},
                                           {10 * kYear, "10 y"},
                                           {100 * kYear, "100 y"}}};
constexpr std::array<Round, 38> kThen = {{{2, "2 us"},
                                          {5, "5 us"},
                                          {20, "20 us"},
                                          {50, "50 us"},
                                          {200, "200 us"},
                                          {500, "500 us"},
                                          {2e3, "2 ms"},
                                          {5e3, "5 ms"},
                                          {2e4, "20 ms"},
                                          {5e4, "50 ms"},
                                          {2e5, "200 ms"},
                                          {5e5, "500 ms"},
                                          {2e6, "2 s"},
                                          {5e6, "5 s"},
                                          {3e7, "30 s"},
                                          {2e7, "20 s"},
                                          {2 * kMinute, "2 min"},
                                          {5 * kMinute, "5 min"},
                                          {30 * kMinute, "30 min"},
                                          {20 * kMinute, "20 min"},
                                          {6 * kHour, "6 h"},
                                          {3 * kHour, "3 h"},
                                          {2 * kHour, "2 h"},
                                          {12 * kHour, "12 h"},
                                          {4 * kHour, "4 h"},
                                          {8 * kHour, "8 h"},
                                          {2 * kDay, "2 d"},
                                          {5 * kDay, "5 d"},
                                          {3 * kDay, "3 d"},
                                          {20 * kDay, "20 d"},
                                          {50 * kDay, "50 d"},
                                          {200 * kDay, "200 d"},
                                          {30 * kDay, "30 d"},
                                          {2 * kYear, "2 y"},
                                          {5 * kYear, "5 y"},
                                          {3 * kYear, "3 y"},
                                          {20 * kYear, "20 y"},
                                          {50 * kYear, "50 y"}}};

struct Taken {
  double from;
  double to;
};

}  // namespace

void SpanRange::include(double micros) {
  const double magnitude = std::abs(micros);
  if (magnitude < 1) {
    zero_ = true;
    return;
  }
  Side& side = micros < 0 ? negative_ : positive_;
  side.low = side.used ? std::min(side.low, magnitude) : magnitude;
  side.high = side.used ? std::max(side.high, magnitude) : magnitude;
  side.used = true;
}

SpanAxis::Side SpanAxis::side_of(const SpanRange::Side& range) {
  if (!range.used) return {};
  Side side;
  side.used = true;
  side.low = std::log10(range.low) - kMarginDecades;
  side.high = std::log10(range.high) + kMarginDecades;
  const double missing = kLeastDecades - (side.high - side.low);
  if (missing > 0) {
    side.low -= missing / 2;
    side.high += missing / 2;
  }
  return side;
}

double SpanAxis::Side::at(double magnitude) const {
  const double part = (std::log10(std::max(magnitude, 1e-3)) - low) / (high - low);
  return near + (far - near) * std::clamp(part, 0.0, 1.0);
}

bool SpanAxis::Side::holds(double place) const {
  return place >= std::min(near, far) && place <= std::max(near, far);
}

bool SpanAxis::Side::covers(double magnitude) const {
  const double log = std::log10(magnitude);
  return used && log >= low && log <= high;
}

SpanAxis::SpanAxis(const SpanRange& range, Place place)
    : negative_(side_of(range.negative_)), positive_(side_of(range.positive_)) {
  WRACKLINE_CHECK(!range.empty(), "an axis needs at least one value");
  const double length = std::abs(place.to - place.from);
  const double way = place.to >= place.from ? 1 : -1;
  // Two sides are kept apart also when no value is zero.
  zero_ = range.zero_ || (negative_.used && positive_.used);
  const double zero = !zero_                             ? 0
                      : negative_.used || positive_.used ? std::min(kZeroPixels, length / 4)
                                                         : length;
  const double rest = length - zero;
  const double decades = (negative_.high - negative_.low) + (positive_.high - positive_.low);
  double left = negative_.used ? rest : 0;
  if (negative_.used && positive_.used) {
    const double share = (negative_.high - negative_.low) / decades;
    left = rest * std::clamp(share, kSideShareMin, 1 - kSideShareMin);
  }
  negative_.far = place.from;
  negative_.near = place.from + way * left;
  zero_at_ = negative_.near + way * zero / 2;
  positive_.near = negative_.near + way * zero;
  positive_.far = place.to;
}

double SpanAxis::at(double micros) const {
  const double magnitude = std::abs(micros);
  if (magnitude < 1) return zero_ ? zero_at_ : positive_.used ? positive_.near : negative_.near;
  if (micros < 0) return negative_.used ? negative_.at(magnitude) : zero_ ? zero_at_ : positive_.near;
  return positive_.used ? positive_.at(magnitude) : zero_ ? zero_at_ : negative_.near;
}

double SpanAxis::value_at(double place) const {
  const auto inside = [&](const Side& side) { return side.used && side.holds(place); };
  const auto value = [&](const Side& side) {
    return std::pow(10, side.low + (side.high - side.low) * (place - side.near) / (side.far - side.near));
  };
  if (inside(positive_)) return value(positive_);
  return inside(negative_) ? -value(negative_) : 0;
}

std::vector<AxisTick> SpanAxis::ticks(double gap, bool along) const {
  std::vector<AxisTick> ticks;
  std::vector<Taken> taken;
  const auto place = [&](double at, std::string label) {
    const double half = along ? label_width(label) / 2 : 6;
    const Taken mine{at - half, at + half};
    for (const Taken& other : taken) {
      if (mine.from - gap < other.to && other.from - gap < mine.to) return;
    }
    taken.push_back(mine);
    ticks.push_back({at, std::move(label)});
  };
  if (zero_) place(zero_at_, "0");
  const auto place_round = [&](const Round& round) {
    if (positive_.covers(round.micros)) place(positive_.at(round.micros), std::string(round.label));
    if (negative_.covers(round.micros)) place(negative_.at(round.micros), format("-{}", round.label));
  };
  for (const Round& round : kFirst) place_round(round);
  for (const Round& round : kThen) place_round(round);
  // A short side may hold no round span: then its ends say where it is.
  for (const Side* side : {&positive_, &negative_}) {
    if (!side->used || std::ranges::any_of(ticks, [&](const AxisTick& tick) { return side->holds(tick.at); }))
      continue;
    for (const double log : {side->low, side->high}) {
      const double micros = std::pow(10, log) * (side == &negative_ ? -1 : 1);
      place(at(micros), short_span(std::llround(std::clamp(micros, -9e18, 9e18))));
    }
  }
  std::ranges::sort(ticks, {}, &AxisTick::at);
  return ticks;
}

}  // namespace wrackline::report
