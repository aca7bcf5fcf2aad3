// Rows of values on one axis of spans: partitions, producers.
#include <algorithm>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/figure_parts.h"
#include "report/figures.h"

namespace wrackline::report {
namespace {

constexpr double kSide = 12;
constexpr double kNamesMost = 170;
constexpr double kAxisBelow = 24;

void draw_point(Drawing& drawing, size_t which, Point at) {
  if (which == 0) return drawing.dot(at, 4.5, "point first");
  if (which == 1) return drawing.diamond(at, 5.5, "point second");
  drawing.line({at.x, at.y - 6}, {at.x, at.y + 6}, "point-tick");
}

// What the longest name needs left of the plot.
double names_width(const SpanRows& rows) {
  double width = 40;
  for (const SpanRow& row : rows.rows) {
    width = std::max(width, std::min(label_width(row.name), kNamesMost) + 18);
  }
  return width;
}

std::string told(const SpanRows& rows, const SpanRow& row) {
  std::string text = row.name;
  for (size_t i = 0; i < row.points_us.size() && i < rows.point_names.size(); ++i) {
    text += format("{} {} {}", i == 0 ? ":" : ",", rows.point_names[i], short_span(row.points_us[i]));
  }
  if (row.range_from_us && row.range_to_us && !rows.range_name.empty()) {
    text += format("; {} {} to {}", rows.range_name, short_span(*row.range_from_us),
                   short_span(*row.range_to_us));
  }
  return row.note.empty() ? text : text + ". " + row.note;
}

}  // namespace

std::string rows_svg(const SpanRows& rows, const Canvas& canvas) {
  SpanRange range;
  for (const SpanRow& row : rows.rows) {
    for (const int64_t point : row.points_us) range.include(static_cast<double>(point));
    if (row.range_from_us) range.include(static_cast<double>(*row.range_from_us));
    if (row.range_to_us) range.include(static_cast<double>(*row.range_to_us));
  }
  if (range.empty()) return {};
  const double left = canvas.narrow() ? kSide : names_width(rows);
  const double row_height = canvas.narrow() ? 40 : 26;
  const Box plot{left, 6, canvas.width - left - kSide, row_height * static_cast<double>(rows.rows.size())};
  const SpanAxis axis(range, {plot.left + 8, plot.left + plot.width - 8});
  Drawing drawing({format("{}-{}", rows.id, canvas.kind), rows.title, rows.lead, canvas.width,
                   plot.top + plot.height + kAxisBelow, canvas.kind});
  draw_axis_below(drawing, plot, axis.ticks(12, true));
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    const SpanRow& row = rows.rows[i];
    const double top = plot.top + row_height * static_cast<double>(i);
    const double y = canvas.narrow() ? top + 29 : top + row_height / 2;
    drawing.begin_mark(told(rows, row));
    drawing.box({canvas.narrow() ? plot.left : 0, top, canvas.narrow() ? plot.width : plot.left + plot.width,
                 row_height},
                "row");
    if (canvas.narrow()) {
      drawing.text({plot.left, top + 15}, Anchor::kStart, "name", fitted(row.name, plot.width));
    } else {
      drawing.text({plot.left - 10, y + 4}, Anchor::kEnd, "name", fitted(row.name, kNamesMost));
    }
    if (row.range_from_us && row.range_to_us) {
      drawing.line({axis.at(static_cast<double>(*row.range_from_us)), y},
                   {axis.at(static_cast<double>(*row.range_to_us)), y}, "range");
    }
    for (size_t p = row.points_us.size(); p-- > 0;) {  // the first one on top
      draw_point(drawing, p, {axis.at(static_cast<double>(row.points_us[p])), y});
    }
    drawing.end_mark();
  }
  return drawing.finish();
}

}  // namespace wrackline::report
