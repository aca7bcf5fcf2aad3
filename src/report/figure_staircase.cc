// A staircase of a sweep: what a setting costs or gains.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.h"
#include "disorder/report_text.h"
#include "report/figure_parts.h"
#include "report/figures.h"

namespace wrackline::report {
namespace {

constexpr double kLeft = 66;
constexpr double kSide = 12;
constexpr double kAxisBelow = 24;

// The vertical axis of any unit.
class ValueAxis {
 public:
  ValueAxis(const Staircase& curve, const Box& plot) : unit_(curve.unit) {
    const double bottom = plot.top + plot.height;
    double most = 0;
    double least_share = 1;
    SpanRange range;
    for (const Staircase::Step& step : curve.steps) {
      most = std::max(most, step.value);
      if (step.value > 0) least_share = std::min(least_share, step.value);
      range.include(step.value);
    }
    if (unit_ == Staircase::Unit::kShare) {
      shares_ = std::make_unique<ShareAxis>(least_share, bottom, plot.top);
    } else if (unit_ == Staircase::Unit::kSpan) {
      spans_ = std::make_unique<SpanAxis>(range, SpanAxis::Place{bottom - 4, plot.top + 4});
    } else {
      counts_ = std::make_unique<CountAxis>(most, bottom, plot.top, unit_ == Staircase::Unit::kBytes);
    }
  }
  double at(double value) const {
    return shares_ ? shares_->at(value) : spans_ ? spans_->at(value) : counts_->at(value);
  }
  std::vector<AxisTick> ticks() const {
    return shares_ ? shares_->ticks() : spans_ ? spans_->ticks(8, false) : counts_->ticks();
  }
  std::string text(double value) const {
    switch (unit_) {
      case Staircase::Unit::kShare:
        return percent_text(value);
      case Staircase::Unit::kSpan:
        return short_span(std::llround(value));
      case Staircase::Unit::kCount:
        return with_thousands(std::llround(value));
      case Staircase::Unit::kBytes:
        return bytes_text(value);
    }
    return {};
  }

 private:
  Staircase::Unit unit_;
  std::unique_ptr<ShareAxis> shares_;
  std::unique_ptr<SpanAxis> spans_;
  std::unique_ptr<CountAxis> counts_;
};

}  // namespace

std::string staircase_svg(const Staircase& curve, const Canvas& canvas) {
  if (curve.steps.empty()) return {};
  SpanRange range;
  for (const Staircase::Step& step : curve.steps) range.include(static_cast<double>(step.setting_us));
  for (const SpanMark& mark : curve.marks) range.include(static_cast<double>(mark.value_us));
  Box plot{kLeft, 8, canvas.width - kLeft - kSide, canvas.narrow() ? 150.0 : 170.0};
  const SpanAxis settings(range, {plot.left, plot.left + plot.width});
  std::vector<double> places;
  for (const SpanMark& mark : curve.marks) places.push_back(settings.at(static_cast<double>(mark.value_us)));
  plot.top += MarkLabels::height(curve.marks, places, plot.left, plot.width);
  const ValueAxis values(curve, plot);
  Drawing drawing({format("{}-{}", curve.id, canvas.kind), curve.title,
                   format("{} for each {}.", curve.title, curve.setting_name), canvas.width,
                   plot.top + plot.height + kAxisBelow, canvas.kind});
  draw_lines_across(drawing, plot, values.ticks());
  draw_axis_below(drawing, plot, settings.ticks(12, true));
  std::string steps;
  for (const Staircase::Step& step : curve.steps) {
    const std::string x = pixels(settings.at(static_cast<double>(step.setting_us)));
    const std::string y = pixels(values.at(step.value));
    steps += steps.empty() ? format("M{} {}", x, y) : format("H{}V{}", x, y);
  }
  drawing.path(steps + format("H{}", pixels(plot.left + plot.width)), "curve first");
  for (const Staircase::Step& step : curve.steps) {
    drawing.box(
        {settings.at(static_cast<double>(step.setting_us)) - 3, values.at(step.value) - 3, 6, 6}, "step",
        format("{} {}: {}", curve.setting_name, short_span(step.setting_us), values.text(step.value)));
  }
  MarkLabels(curve.marks, places, plot).draw(drawing);
  return drawing.finish();
}

}  // namespace wrackline::report
