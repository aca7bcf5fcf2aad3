// The histogram and the exceedance curve of a distribution of spans.
//
// A clock that ticks once a second gives delays of 1 s, 2 s, 3 s: on a log axis these are far apart at the
// left and crowded at the right, and counting them into columns would draw teeth that are not in the data. So
// a value stands for the step around it, [v - step/2, v + step/2), and its count is spread over the columns
// that the step covers. Sums stay what they were.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/figure_parts.h"
#include "report/figures.h"

namespace wrackline::report {
namespace {

constexpr double kColumn = 4;  // pixels
constexpr double kSide = 12;
constexpr double kAxisBelow = 24;

double records_of(const Distribution& distribution) {
  double records = 0;
  for (const SpanCell& cell : distribution.cells) records += static_cast<double>(cell.count);
  return records;
}

struct Stretch {
  double from = 0;
  double to = 0;
};

// The span of values that a cell stands for.
Stretch stretch_of(const SpanCell& cell, int64_t resolution_us) {
  const auto lower = static_cast<double>(cell.lower_us);
  const auto upper = static_cast<double>(cell.upper_us);
  const double half = static_cast<double>(std::max<int64_t>(resolution_us, 1)) / 2;
  if (cell.lower_us <= 0 && cell.upper_us >= 0) return {0, 0};
  // A cell narrower than the step holds one value: its middle, near enough.
  if (upper - lower < 2 * half) {
    const double middle = lower + (upper - lower) / 2;
    return {middle - half, middle + half};
  }
  return {lower, upper};
}

SpanRange range_of(const Distribution& distribution) {
  SpanRange range;
  for (const SpanCell& cell : distribution.cells) {
    const Stretch stretch = stretch_of(cell, distribution.resolution_us);
    // Half a step off a value of one step may come out as next to nothing; the axis begins at half of it.
    const double least = std::min(std::abs(stretch.from), std::abs(stretch.to));
    const double most = std::max(std::abs(stretch.from), std::abs(stretch.to));
    const double sign = stretch.from < 0 ? -1 : 1;
    range.include(sign * std::max(least, most / 4));
    range.include(sign * most);
  }
  for (const SpanMark& mark : distribution.marks) range.include(static_cast<double>(mark.value_us));
  return range;
}

struct Column {
  double first_mode = 0;
  double second_mode = 0;
  double all() const { return first_mode + second_mode; }
};

std::vector<Column> columns_of(const Distribution& distribution, const SpanAxis& axis, const Box& plot) {
  std::vector<Column> columns(static_cast<size_t>(plot.width / kColumn));
  const auto column_at = [&](double x) {
    const auto at = static_cast<int64_t>(std::floor((x - plot.left) / kColumn));
    return std::clamp<int64_t>(at, 0, static_cast<int64_t>(columns.size()) - 1);
  };
  for (const SpanCell& cell : distribution.cells) {
    const Stretch stretch = stretch_of(cell, distribution.resolution_us);
    const bool second = distribution.split_us && cell.lower_us > *distribution.split_us;
    const auto add = [&](int64_t at, double count) {
      Column& column = columns[static_cast<size_t>(at)];
      (second ? column.second_mode : column.first_mode) += count;
    };
    const double from = axis.at(stretch.from);
    const double to = axis.at(stretch.to);
    const auto count = static_cast<double>(cell.count);
    const int64_t last = column_at(to);
    if (to - from < 1e-9 || column_at(from) == last) {
      add(column_at(from + (to - from) / 2), count);
      continue;
    }
    for (int64_t at = column_at(from); at <= last; ++at) {
      const double left = std::max(from, plot.left + static_cast<double>(at) * kColumn);
      const double right = std::min(to, plot.left + static_cast<double>(at + 1) * kColumn);
      add(at, count * std::max(0.0, right - left) / (to - from));
    }
  }
  return columns;
}

void draw_columns(Drawing& drawing, const std::vector<Column>& columns, const Box& plot, double records,
                  const SpanAxis& axis) {
  double most = 0;
  for (const Column& column : columns) most = std::max(most, column.all());
  if (most <= 0) return;
  for (size_t i = 0; i < columns.size(); ++i) {
    const double all = columns[i].all();
    if (all <= 0) continue;
    // Low columns are drawn at least this high: no record is too few to be seen.
    const double height = std::max(1.5, all / most * plot.height);
    const double left = plot.left + static_cast<double>(i) * kColumn;
    const auto edge = [&](double x) {
      return short_span(std::llround(std::clamp(axis.value_at(x), -9e18, 9e18)));
    };
    drawing.box(
        {left, plot.top + plot.height - height, kColumn - 0.5, height},
        columns[i].second_mode > columns[i].first_mode ? "bar second" : "bar",
        format("{} to {}: {} of the records", edge(left), edge(left + kColumn), percent_text(all / records)));
  }
}

// The scale: a line at the tallest column, told at the end that is farther from it.
void draw_scale(Drawing& drawing, const std::vector<Column>& columns, const Box& plot, double records) {
  const auto tallest = std::ranges::max_element(columns, {}, &Column::all);
  const bool at_left = (tallest - columns.begin()) * 2 > std::ssize(columns);
  const std::string told = format("{} of the records", percent_text(tallest->all() / records));
  const double width = label_width(told);
  drawing.line({plot.left, plot.top}, {plot.left + plot.width, plot.top}, "grid");
  drawing.box({at_left ? plot.left : plot.left + plot.width - width, plot.top + 2, width, 16}, "paper");
  drawing.text({at_left ? plot.left : plot.left + plot.width, plot.top + 14},
               at_left ? Anchor::kStart : Anchor::kEnd, "soft", told);
}

std::vector<double> places_of(const std::vector<SpanMark>& marks, const SpanAxis& axis) {
  std::vector<double> places;
  for (const SpanMark& mark : marks) places.push_back(axis.at(static_cast<double>(mark.value_us)));
  return places;
}

}  // namespace

std::string histogram_svg(const Distribution& distribution, const Canvas& canvas) {
  const SpanRange range = range_of(distribution);
  const double records = records_of(distribution);
  if (range.empty() || records <= 0) return {};
  const SpanAxis axis(range, {kSide, canvas.width - kSide});
  const std::vector<double> places = places_of(distribution.marks, axis);
  Box plot{kSide, 8, canvas.width - 2 * kSide, canvas.narrow() ? 150.0 : 190.0};
  plot.top += MarkLabels::height(distribution.marks, places, plot.left, plot.width);
  Drawing drawing(
      {format("{}-histogram-{}", distribution.id, canvas.kind), format("{}: histogram", distribution.title),
       format("Share of the records by span of time, on a logarithmic axis. {}", distribution.lead),
       canvas.width, plot.top + plot.height + kAxisBelow, canvas.kind});
  draw_axis_below(drawing, plot, axis.ticks(12, true));
  const std::vector<Column> columns = columns_of(distribution, axis, plot);
  draw_columns(drawing, columns, plot, records, axis);
  MarkLabels(distribution.marks, places, plot).draw(drawing);
  draw_scale(drawing, columns, plot, records);
  return drawing.finish();
}

std::string exceedance_svg(const Distribution& distribution, const Canvas& canvas) {
  const SpanRange range = range_of(distribution);
  const double records = records_of(distribution);
  if (range.empty() || records <= 0) return {};
  const Box plot{58, 10, canvas.width - 58 - kSide, canvas.narrow() ? 150.0 : 170.0};
  const SpanAxis axis(range, {plot.left, plot.left + plot.width});
  const ShareAxis shares(1 / records, plot.top + plot.height, plot.top);
  Drawing drawing({format("{}-exceedance-{}", distribution.id, canvas.kind),
                   format("{}: share beyond", distribution.title),
                   "Share of the records beyond each span of time; both axes are logarithmic.", canvas.width,
                   plot.top + plot.height + kAxisBelow, canvas.kind});
  draw_lines_across(drawing, plot, shares.ticks());
  draw_axis_below(drawing, plot, axis.ticks(12, true));
  for (const SpanMark& mark : distribution.marks) {
    if (mark.kind == SpanMark::Kind::kQuantile) continue;
    const double x = axis.at(static_cast<double>(mark.value_us));
    drawing.line({x, plot.top}, {x, plot.top + plot.height},
                 mark.kind == SpanMark::Kind::kSplit ? "split-line" : "setting-line");
  }
  double beyond = records;
  std::string steps = format("M{} {}", pixels(plot.left), pixels(shares.at(1)));
  double drawn_x = plot.left;
  for (const SpanCell& cell : distribution.cells) {
    beyond -= static_cast<double>(cell.count);
    const double x = axis.at(static_cast<double>(cell.upper_us));
    const bool last = &cell == &distribution.cells.back();
    if (x - drawn_x < 1 && !last) continue;  // no two steps in a pixel
    drawn_x = x;
    steps += format("H{}V{}", pixels(x), pixels(shares.at(last ? 0 : beyond / records)));
  }
  drawing.path(steps, "curve first");
  return drawing.finish();
}

}  // namespace wrackline::report
