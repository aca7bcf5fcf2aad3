// A series over time: one staircase a name on a log axis, with the changes of regime.
#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/figure_parts.h"
#include "report/figures.h"

namespace wrackline::report {
namespace {

constexpr double kLeft = 58;
constexpr double kSide = 12;
constexpr double kAxisBelow = 24;
constexpr double kBadges = 22;  // height of a line of them
constexpr double kBadgeRadius = 9;
constexpr double kAloneWidth = 3;
constexpr std::array<std::string_view, 3> kCurves = {"curve first", "curve second", "curve third"};

std::string steps_of(const Series& series, size_t which, const TimeAxis& times, const SpanAxis& spans) {
  std::string steps;
  bool drawing = false;
  int64_t end_us = 0;
  for (size_t i = 0; i < series.points.size(); ++i) {
    const SeriesPoint& point = series.points[i];
    const auto& value = point.values_us[which];
    if (!value) {
      drawing = false;
      continue;
    }
    // A gap between intervals stays a gap.
    const double y = spans.at(static_cast<double>(*value));
    const bool joined = drawing && point.begin_us == end_us;
    steps +=
        joined ? format("V{}", pixels(y)) : format("M{} {}", pixels(times.at(point.begin_us)), pixels(y));
    // An interval on its own is drawn wide enough to be seen.
    const bool goes_on = i + 1 < series.points.size() && series.points[i + 1].begin_us == point.end_us;
    const double least = joined || goes_on ? 0 : times.at(point.begin_us) + kAloneWidth;
    steps += format("H{}", pixels(std::max(times.at(point.end_us), least)));
    drawing = true;
    end_us = point.end_us;
  }
  return steps;
}

std::string told(const Series& series, const SeriesPoint& point) {
  std::string text = format("{}: {} records", instant_text(point.begin_us), with_thousands(point.records));
  for (size_t i = 0; i < series.names.size(); ++i) {
    if (point.values_us[i]) text += format(", {} {}", series.names[i], short_span(*point.values_us[i]));
  }
  return text;
}

// The line of badges, counted from the plot upward, on which each change finds room.
std::vector<size_t> badge_lines(const Series& series, const TimeAxis& times) {
  std::vector<double> free_from;
  std::vector<size_t> lines;
  for (const SeriesChange& change : series.changes) {
    const double x = times.at(change.at_us);
    size_t line = 0;
    while (line < free_from.size() && free_from[line] > x - kBadgeRadius) ++line;
    if (line == free_from.size()) free_from.push_back(0);
    free_from[line] = x + kBadgeRadius + 2;
    lines.push_back(line);
  }
  return lines;
}

// Lines before badges, so that none crosses a number.
void draw_changes(Drawing& drawing, const Series& series, const TimeAxis& times, const Box& plot) {
  const std::vector<size_t> lines = badge_lines(series, times);
  const auto badge_at = [&](size_t i) {
    return Point{times.at(series.changes[i].at_us), plot.top - 13 - kBadges * static_cast<double>(lines[i])};
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    drawing.line(badge_at(i), {badge_at(i).x, plot.top + plot.height}, "setting-line");
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const Point at = badge_at(i);
    drawing.begin_mark(format("change {}: {}", i + 1, series.changes[i].text));
    drawing.dot(at, kBadgeRadius, "badge");
    drawing.text({at.x, at.y + 4}, Anchor::kMiddle, "badge-text", format("{}", i + 1));
    drawing.end_mark();
  }
}

}  // namespace

std::string series_svg(const Series& series, const Canvas& canvas) {
  SpanRange range;
  for (const SeriesPoint& point : series.points) {
    for (const auto& value : point.values_us) {
      if (value) range.include(static_cast<double>(*value));
    }
  }
  if (range.empty()) return {};
  const TimeAxis times(series.points.front().begin_us, series.points.back().end_us,
                       {kLeft, canvas.width - kSide});
  size_t badges = 0;
  for (const size_t line : badge_lines(series, times)) badges = std::max(badges, line + 1);
  const Box plot{kLeft, 8 + kBadges * static_cast<double>(badges), canvas.width - kLeft - kSide,
                 canvas.narrow() ? 180.0 : 220.0};
  const SpanAxis spans(range, {plot.top + plot.height - 6, plot.top + 6});
  Drawing drawing({format("{}-{}", series.id, canvas.kind), series.title, series.lead, canvas.width,
                   plot.top + plot.height + kAxisBelow, canvas.kind});
  draw_lines_across(drawing, plot, spans.ticks(8, false));
  draw_axis_below(drawing, plot, times.ticks());
  for (size_t which = series.names.size(); which-- > 0;) {
    drawing.path(steps_of(series, which, times, spans), kCurves[std::min(which, kCurves.size() - 1)]);
  }
  for (const SeriesPoint& point : series.points) {
    const double left = times.at(point.begin_us);
    drawing.box({left, plot.top, std::max(0.5, times.at(point.end_us) - left), plot.height}, "hover",
                told(series, point));
  }
  draw_changes(drawing, series, times, plot);
  return drawing.finish();
}

}  // namespace wrackline::report
