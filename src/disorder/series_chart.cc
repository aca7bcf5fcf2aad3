#include "disorder/series_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/text.h"
#include "data/time_text.h"
#include "disorder/text_plot.h"

namespace wrackline::disorder {
namespace {

constexpr size_t kRows = 4;
constexpr size_t kColumnsMost = 120;
// The lowest bar is not nothing: a blank column means that no record came.
constexpr double kLowest = 0.1;

// Logarithmic beyond a millisecond, for either sign.
double level_of(int64_t micros) {
  const double size = std::log10(1 + std::abs(static_cast<double>(micros)) / 1000);
  return micros < 0 ? -size : size;
}

// An instant to the minute before it.
std::string minute_text(int64_t micros) {
  constexpr int64_t kMinute = 60'000'000;
  const int64_t past = ((micros % kMinute) + kMinute) % kMinute;
  return timestamp_text(saturating_subtract(micros, past));
}

struct Columns {
  int64_t from_us = 0;
  double column_us = 1;
  size_t count = 0;
  size_t of(int64_t at_us) const {
    const double place = (static_cast<double>(at_us) - static_cast<double>(from_us)) / column_us;
    return static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(count - 1)));
  }
};

std::string marks_text(const DelaySeries& series, const Columns& columns) {
  std::string arrows(columns.count, ' ');
  std::string numbers(columns.count, ' ');
  for (size_t i = 0; i < series.changes.size(); ++i) {
    const size_t column = columns.of(series.changes[i].at_us);
    arrows[column] = '^';
    place_label(numbers, column, format("{}", i + 1));
  }
  std::string out;
  if (series.changes.empty()) return out;
  append_plot_line(out, arrows);
  append_plot_line(out, numbers);
  return out;
}

}  // namespace

std::string series_chart(const DelaySeries& series, const ReportTextOptions& options) {
  if (series.intervals.size() < 2) return {};
  const int64_t from_us = series.intervals.front().start_us;
  const int64_t to_us = saturating_add(series.intervals.back().start_us, series.width_us);
  const double span = static_cast<double>(to_us) - static_cast<double>(from_us);
  const double intervals = span / static_cast<double>(std::max<int64_t>(series.width_us, 1));
  const size_t room = std::min(std::max<size_t>(options.width, 60) - 2 * kPlotIndent, kColumnsMost);
  Columns columns{from_us, 1, static_cast<size_t>(std::clamp(intervals, 2.0, static_cast<double>(room)))};
  columns.column_us = std::max(span / static_cast<double>(columns.count), 1.0);

  std::vector<const DelayInterval*> shown(columns.count);
  for (const DelayInterval& interval : series.intervals) {
    const DelayInterval*& best = shown[columns.of(interval.start_us)];
    if (best == nullptr || interval.records > best->records) best = &interval;
  }
  int64_t least_us = std::numeric_limits<int64_t>::max();
  int64_t most_us = std::numeric_limits<int64_t>::min();
  for (const DelayInterval* interval : shown) {
    if (interval == nullptr) continue;
    least_us = std::min(least_us, interval->p50_us);
    most_us = std::max(most_us, interval->p50_us);
  }
  const double low = level_of(least_us);
  const double range = std::max(level_of(most_us) - low, 1e-9);
  std::vector<double> heights;
  for (const DelayInterval* interval : shown) {
    const double part = interval == nullptr ? 0 : (level_of(interval->p50_us) - low) / range;
    heights.push_back(interval == nullptr ? 0 : kLowest + (1 - kLowest) * part);
  }
  std::string out = format("  median delay over time, {} to {}, logarithmic\n\n", short_span(least_us),
                           short_span(most_us));
  out += plot_bars(heights, kRows, options.unicode) + marks_text(series, columns);
  append_plot_line(out, format("{} to {}", minute_text(from_us), minute_text(to_us)));
  return out;
}

}  // namespace wrackline::disorder
