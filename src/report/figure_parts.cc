#include "report/figure_parts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "disorder/report_text.h"

namespace wrackline::report {
namespace {

constexpr double kMargin = 11;      // beside a plot
constexpr double kLabelLine = 16;   // height of a line of labels
constexpr double kZeroPart = 0.08;  // of a share axis, for the share of nothing

// Beyond some thousand years around now a clock is wrong and a calendar of no use.
constexpr int64_t kInstantMost = 900'000'000'000'000'000;

std::string date_text(int64_t micros, bool day, bool time) {
  using namespace std::chrono;
  micros = std::clamp(micros, -kInstantMost, kInstantMost);
  const sys_time<microseconds> at{microseconds(micros)};
  const sys_days midnight = floor<days>(at);
  const year_month_day date(midnight);
  const hh_mm_ss clock(floor<std::chrono::seconds>(at - midnight));
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const std::string hours = format("{:02}:{:02}", clock.hours().count(), clock.minutes().count());
  const std::string seconds = clock.seconds().count() == 0 ? "" : format(":{:02}", clock.seconds().count());
  if (!day) return time ? hours + seconds : format("{:04}-{:02}", year, month);
  const std::string date_only = format("{:04}-{:02}-{:02}", year, month, static_cast<unsigned>(date.day()));
  return time ? date_only + " " + hours + seconds : date_only;
}

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3600 * kSecond;
constexpr int64_t kDay = 24 * kHour;
constexpr std::array<int64_t, 22> kTimeSteps = {
    kSecond,        5 * kSecond, 15 * kSecond, 60 * kSecond, 300 * kSecond, 900 * kSecond,
    1800 * kSecond, kHour,       3 * kHour,    6 * kHour,    12 * kHour,    kDay,
    2 * kDay,       7 * kDay,    14 * kDay,    30 * kDay,    91 * kDay,     182 * kDay,
    365 * kDay,     1826 * kDay, 3652 * kDay,  36525 * kDay};

}  // namespace

std::string instant_text(int64_t micros) {
  return date_text(micros, true, micros % kDay != 0);
}

ShareAxis::ShareAxis(double least, double at_zero, double at_one)
    : decades_(std::max(1.0, std::ceil(-std::log10(std::clamp(least, 1e-12, 1.0)) - 1e-9))),
      at_zero_(at_zero),
      at_least_(at_zero + (at_one - at_zero) * kZeroPart),
      at_one_(at_one) {}

double ShareAxis::at(double share) const {
  if (share <= 0) return at_zero_;
  const double part = 1 + std::log10(std::min(share, 1.0)) / decades_;
  return at_least_ + (at_one_ - at_least_) * std::max(part, 0.0);
}

std::vector<AxisTick> ShareAxis::ticks() const {
  std::vector<AxisTick> ticks = {{at_zero_, "0"}};
  const int every = std::abs(at_one_ - at_least_) / decades_ < 14 ? 2 : 1;
  for (int decade = 0; decade <= static_cast<int>(decades_); decade += every) {
    const double share = std::pow(10.0, -decade);
    ticks.push_back({at(share), format("{:g} %", 100 * share)});
  }
  return ticks;
}

CountAxis::CountAxis(double most, double at_zero, double at_top, bool bytes)
    : at_zero_(at_zero), at_top_(at_top), bytes_(bytes) {
  const double base = bytes ? 2 : 10;
  const double rough = std::max(most, 1.0) / 4;
  step_ = std::pow(base, std::floor(std::log(rough) / std::log(base) + 1e-9));
  if (!bytes) {
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
      if (step_ * factor >= rough * (1 - 1e-9)) {
        step_ *= factor;
        break;
      }
    }
    step_ = std::max(step_, 1.0);
  } else if (step_ < rough) {
    step_ *= 2;
  }
  top_ = step_ * std::max(1.0, std::ceil(most / step_ - 1e-9));
}

std::vector<AxisTick> CountAxis::ticks() const {
  std::vector<AxisTick> ticks;
  for (double value = 0; value <= top_ * (1 + 1e-9); value += step_) {
    ticks.push_back({at(value), bytes_ ? (value > 0 ? bytes_text(value) : "0")
                                       : with_thousands(std::llround(std::min(value, 9e18)))});
  }
  return ticks;
}

TimeAxis::TimeAxis(int64_t from_us, int64_t to_us, SpanAxis::Place place)
    : from_us_(std::clamp(from_us, -kInstantMost, kInstantMost)),
      to_us_(std::clamp(to_us, from_us_ + 1, kInstantMost + 1)),
      place_(place) {}

double TimeAxis::at(int64_t micros) const {
  const double part = (static_cast<double>(micros) - static_cast<double>(from_us_)) /
                      (static_cast<double>(to_us_) - static_cast<double>(from_us_));
  return place_.from + (place_.to - place_.from) * std::clamp(part, 0.0, 1.0);
}

std::vector<AxisTick> TimeAxis::ticks() const {
  const double length = std::abs(place_.to - place_.from);
  const auto span = static_cast<double>(to_us_) - static_cast<double>(from_us_);
  const double most = std::max(2.0, length / (label_width("2024-03-10") + 14));
  const auto* step = std::ranges::find_if(
      kTimeSteps, [&](int64_t candidate) { return span / static_cast<double>(candidate) <= most; });
  if (step == kTimeSteps.end()) return {};
  const bool by_day = *step >= kDay;
  std::vector<AxisTick> ticks;
  double free_from = -1e9;
  // Steps count from 1970, so that the same times of day come again.
  int64_t tick = from_us_ - ((from_us_ % *step) + *step) % *step;
  for (int guard = 0; tick <= to_us_ && guard < 64; tick += *step, ++guard) {
    if (tick < from_us_) continue;
    const bool midnight = tick % kDay == 0;
    const std::string label =
        by_day || midnight ? date_text(tick, true, false) : date_text(tick, false, true);
    const double half = label_width(label) / 2;
    if (at(tick) - half < free_from) continue;
    free_from = at(tick) + half + 8;
    ticks.push_back({at(tick), label});
  }
  return ticks;
}

void draw_lines_across(Drawing& drawing, const Box& plot, const std::vector<AxisTick>& ticks) {
  for (const AxisTick& tick : ticks) {
    drawing.line({plot.left, tick.at}, {plot.left + plot.width, tick.at}, "grid");
    drawing.text({plot.left - 6, tick.at + 4}, Anchor::kEnd, "soft", tick.label);
  }
}

void draw_axis_below(Drawing& drawing, const Box& plot, const std::vector<AxisTick>& ticks) {
  const double bottom = plot.top + plot.height;
  for (const AxisTick& tick : ticks) {
    drawing.line({tick.at, plot.top}, {tick.at, bottom + 4}, "grid");
    // A label at the edge leans inward, as far as the margin allows.
    const double half = label_width(tick.label) / 2;
    const double least = plot.left - kMargin + half;
    const double most = std::max(least, plot.left + plot.width + kMargin - half);
    drawing.text({std::clamp(tick.at, least, most), bottom + 17}, Anchor::kMiddle, "soft", tick.label);
  }
  drawing.line({plot.left, bottom}, {plot.left + plot.width, bottom}, "axis");
}

std::vector<MarkLabels::Label> MarkLabels::arranged(std::span<const SpanMark> marks,
                                                    const std::vector<double>& places, double left,
                                                    double width) {
  std::vector<size_t> order(marks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return places[i]; });
  std::vector<double> free_from;  // of each line
  std::vector<Label> labels;
  for (const size_t i : order) {
    Label label{i, places[i], 0, 0, format("{} {}", marks[i].label, short_span(marks[i].value_us))};
    const double half = label_width(label.text) / 2;
    label.text_x = std::clamp(label.x, left + half, std::max(left + half, left + width - half));
    while (label.line < free_from.size() && free_from[label.line] > label.text_x - half) ++label.line;
    if (label.line == free_from.size()) free_from.push_back(0);
    free_from[label.line] = label.text_x + half + 8;
    labels.push_back(std::move(label));
  }
  return labels;
}

double MarkLabels::height(std::span<const SpanMark> marks, const std::vector<double>& places, double left,
                          double width) {
  size_t lines = 0;
  for (const Label& label : arranged(marks, places, left, width)) lines = std::max(lines, label.line + 1);
  return kLabelLine * static_cast<double>(lines) + (lines > 0 ? 4 : 0);
}

MarkLabels::MarkLabels(std::span<const SpanMark> marks, const std::vector<double>& places, const Box& plot)
    : marks_(marks), plot_(plot), labels_(arranged(marks, places, plot.left, plot.width)) {}

void MarkLabels::draw(Drawing& drawing) const {
  const auto kind_of = [&](const Label& label) -> std::string_view {
    const SpanMark::Kind kind = marks_[label.mark].kind;
    if (kind == SpanMark::Kind::kSetting) return "setting";
    return kind == SpanMark::Kind::kSplit ? "split" : "quantile";
  };
  const auto baseline = [&](const Label& label) {
    return plot_.top - 8 - kLabelLine * static_cast<double>(label.line);
  };
  // All lines before all labels, whose own background then keeps lines from crossing them.
  for (const Label& label : labels_) {
    drawing.line({label.x, baseline(label) + 3}, {label.x, plot_.top + plot_.height},
                 format("{}-line", kind_of(label)));
  }
  for (const Label& label : labels_) {
    const std::string& note = marks_[label.mark].note;
    const double half = label_width(label.text) / 2;
    drawing.begin_mark(note.empty() ? label.text : format("{}: {}", label.text, note));
    drawing.box({label.text_x - half, baseline(label) - 11, 2 * half, 14}, "paper");
    drawing.text({label.text_x, baseline(label)}, Anchor::kMiddle, kind_of(label), label.text);
    drawing.end_mark();
  }
}

}  // namespace wrackline::report
