#include "disorder/delay_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text.h"
#include "disorder/text_plot.h"

namespace wrackline::disorder {
namespace {

constexpr size_t kRows = 8;
constexpr size_t kNegativeColumnsMin = 6;

// Round spans that label the axis.
struct Tick {
  int64_t micros;
  std::string_view label;
};
constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr std::array<Tick, 17> kTicks = {{{1, "1us"},
                                          {10, "10us"},
                                          {100, "100us"},
                                          {1'000, "1ms"},
                                          {10'000, "10ms"},
                                          {100'000, "100ms"},
                                          {kSecond, "1s"},
                                          {10 * kSecond, "10s"},
                                          {60 * kSecond, "1min"},
                                          {600 * kSecond, "10min"},
                                          {3600 * kSecond, "1h"},
                                          {kDay, "1d"},
                                          {10 * kDay, "10d"},
                                          {100 * kDay, "100d"},
                                          {1'000 * kDay, "3y"},
                                          {10'000 * kDay, "30y"},
                                          {100'000 * kDay, "300y"}}};

double magnitude_log(int64_t value) {
  const double magnitude = value < 0 ? -static_cast<double>(value) : static_cast<double>(value);
  return std::log2(std::max(magnitude, 1.0));
}

// One side of zero: magnitudes from 2^low to 2^high over some columns.
struct Side {
  double low = 0;
  double high = 0;
  size_t columns = 0;

  size_t column_of(int64_t value) const {
    const double part = (magnitude_log(value) - low) / std::max(high - low, 1e-9);
    const auto at = static_cast<int64_t>(part * static_cast<double>(columns));
    return static_cast<size_t>(std::clamp<int64_t>(at, 0, static_cast<int64_t>(columns) - 1));
  }
};

class Axis {
 public:
  Axis(const DelayHistogram& histogram, size_t columns) {
    for (const auto& bucket : histogram.buckets()) {
      if (bucket.index == 0) zero_ = true;
      if (bucket.index < 0) widen(negative_, bucket.lower, bucket.upper);
      if (bucket.index > 0) widen(positive_, bucket.lower, bucket.upper);
    }
    const size_t rest = columns - (zero_ ? 1 : 0);
    const double octaves = length(negative_) + length(positive_);
    if (octaves <= 0) return;
    auto left = static_cast<size_t>(static_cast<double>(rest) * length(negative_) / octaves);
    if (has_negative()) left = std::clamp(left, kNegativeColumnsMin, rest - kNegativeColumnsMin);
    if (!has_positive()) left = has_negative() ? rest : 0;
    negative_.columns = left;
    positive_.columns = has_positive() ? rest - left : 0;
  }

  size_t columns() const { return negative_.columns + (zero_ ? 1 : 0) + positive_.columns; }
  bool zero() const { return zero_; }
  size_t zero_column() const { return negative_.columns; }
  // The column of a value, or of its nearest neighbour on the axis.
  size_t column_of(int64_t value) const {
    if (value < 0 && negative_.columns > 0) return negative_.columns - 1 - negative_.column_of(value);
    const size_t origin = negative_.columns + (zero_ ? 1 : 0);
    if (value <= 0 || positive_.columns == 0) return std::min(negative_.columns, columns() - 1);
    return origin + positive_.column_of(value);
  }
  bool covers(int64_t value) const {
    const Side& side = value < 0 ? negative_ : positive_;
    const double at = magnitude_log(value);
    return side.columns > 0 && at >= side.low && at < side.high;
  }

 private:
  static void widen(Side& side, int64_t a, int64_t b) {
    const double low = std::min(magnitude_log(a), magnitude_log(b));
    // A side is at least an octave wide, so that a single value still has an axis.
    const double high = std::max({magnitude_log(a), magnitude_log(b), low + 1});
    if (side.high <= side.low) {
      side.low = low;
      side.high = high;
    }
    side.low = std::min(side.low, low);
    side.high = std::max(side.high, high);
  }
  static double length(const Side& side) { return side.high - side.low; }
  bool has_negative() const { return length(negative_) > 0; }
  bool has_positive() const { return length(positive_) > 0; }

  Side negative_;
  Side positive_;
  bool zero_ = false;
};

void append_bars(std::string& out, const std::vector<uint64_t>& counts, bool unicode) {
  const auto greatest = static_cast<double>(*std::ranges::max_element(counts));
  std::vector<double> heights;
  for (const uint64_t count : counts) heights.push_back(static_cast<double>(count) / greatest);
  out += plot_bars(heights, kRows, unicode);
}

void append_axis(std::string& out, const Axis& axis, bool unicode) {
  std::vector<bool> ticks(axis.columns());
  std::string labels(axis.columns(), ' ');
  if (axis.zero() && place_label(labels, axis.zero_column(), "0")) ticks[axis.zero_column()] = true;
  for (const int sign : {1, -1}) {
    for (const Tick& tick : kTicks) {
      const int64_t value = sign * tick.micros;
      const std::string label = format("{}{}", sign < 0 ? "-" : "", tick.label);
      if (!axis.covers(value) || !place_label(labels, axis.column_of(value), label)) continue;
      ticks[axis.column_of(value)] = true;
    }
  }
  std::string rule;
  for (const bool tick : ticks) rule += unicode ? (tick ? "┬" : "─") : (tick ? "+" : "-");
  append_plot_line(out, rule);
  append_plot_line(out, labels);
}

void append_marks(std::string& out, const Axis& axis, const std::vector<ChartMark>& marks) {
  std::string arrows(axis.columns(), ' ');
  for (const ChartMark& mark : marks) arrows[axis.column_of(mark.value_us)] = '^';
  append_plot_line(out, arrows);
  std::vector<const ChartMark*> waiting;
  for (const ChartMark& mark : marks) waiting.push_back(&mark);
  while (!waiting.empty()) {
    std::string line(axis.columns(), ' ');
    std::vector<const ChartMark*> left;
    for (const ChartMark* mark : waiting) {
      if (!place_label(line, axis.column_of(mark->value_us), mark->label)) left.push_back(mark);
    }
    if (left.size() == waiting.size()) return;  // too narrow for any label
    append_plot_line(out, line);
    waiting = std::move(left);
  }
}

}  // namespace

std::string delay_chart(const DelayHistogram& histogram, const std::vector<ChartMark>& marks,
                        const ReportTextOptions& options) {
  const Axis axis(histogram, std::max<size_t>(options.width, 60) - 2 * kPlotIndent);
  std::vector<uint64_t> counts(axis.columns());
  for (const auto& bucket : histogram.buckets()) {
    counts[axis.column_of(bucket.lower + (bucket.upper - bucket.lower) / 2)] += bucket.count;
  }
  std::string out;
  append_bars(out, counts, options.unicode);
  append_axis(out, axis, options.unicode);
  append_marks(out, axis, marks);
  return out;
}

}  // namespace wrackline::disorder
