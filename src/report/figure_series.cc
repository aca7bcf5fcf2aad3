// A series over time: one staircase a name on a log axis, with the changes of regime.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/figure_parts.h"
#include "report/figures.h"

namespace wrackline::report {
namespace {

constexpr double kLeft = 58;
constexpr double kSide = 12;
constexpr double kAxisBelow = 24;
constexpr double kBadges = 24;
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

void draw_change(Drawing& drawing, const SeriesChange& change, size_t number, double x, const Box& plot) {
  drawing.begin_mark(format("change {}: {}", number, change.text));
  drawing.line({x, plot.top - 4}, {x, plot.top + plot.height}, "setting-line");
  drawing.dot({x, plot.top - 13}, 9, "badge");
  drawing.text({x, plot.top - 9}, Anchor::kMiddle, "badge-text", format("{}", number));
  drawing.end_mark();
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
  const Box plot{kLeft, 8 + (series.changes.empty() ? 0 : kBadges), canvas.width - kLeft - kSide,
                 canvas.narrow() ? 180.0 : 220.0};
  const SpanAxis spans(range, {plot.top + plot.height - 6, plot.top + 6});
  const TimeAxis times(series.points.front().begin_us, series.points.back().end_us,
                       {plot.left, plot.left + plot.width});
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
  for (size_t i = 0; i < series.changes.size(); ++i) {
    draw_change(drawing, series.changes[i], i + 1, times.at(series.changes[i].at_us), plot);
  }
  return drawing.finish();
}

}  // namespace wrackline::report
