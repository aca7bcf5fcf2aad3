// What several figures share: axes with their lines and labels, and labels that keep out of each other's way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/markup.h"
#include "report/page.h"
#include "report/span_axis.h"

namespace wrackline::report {

// A logarithmic axis of shares from `least` to 1, with a place for 0 at its end.
class ShareAxis {
 public:
  ShareAxis(double least, double at_zero, double at_one);
  double at(double share) const;
  std::vector<AxisTick> ticks() const;

 private:
  double decades_;
  double at_zero_;
  double at_least_;  // the place of `least`
  double at_one_;
};

// From zero to a round value that is no less than `most`.
class CountAxis {
 public:
  CountAxis(double most, double at_zero, double at_top, bool bytes);
  double at(double value) const { return at_zero_ + (at_top_ - at_zero_) * value / top_; }
  std::vector<AxisTick> ticks() const;

 private:
  double step_ = 1;
  double top_ = 1;
  double at_zero_;
  double at_top_;
  bool bytes_;
};

// Instants from `from_us` to `to_us`, labels in UTC.
class TimeAxis {
 public:
  TimeAxis(int64_t from_us, int64_t to_us, SpanAxis::Place place);
  double at(int64_t micros) const;
  std::vector<AxisTick> ticks() const;

 private:
  int64_t from_us_;
  int64_t to_us_;
  SpanAxis::Place place_;
};

// Lines across the plot with their labels left of it.
void draw_lines_across(Drawing& drawing, const Box& plot, const std::vector<AxisTick>& ticks);
// The axis under the plot: lines up through it, labels below.
void draw_axis_below(Drawing& drawing, const Box& plot, const std::vector<AxisTick>& ticks);

// Labels above a plot, in as many lines as keep them apart, each with a line down to the axis.
class MarkLabels {
 public:
  // `places`: x of each mark. The marks must outlive this.
  MarkLabels(std::span<const SpanMark> marks, const std::vector<double>& places, const Box& plot);
  // Height that the labels of these marks need.
  static double height(std::span<const SpanMark> marks, const std::vector<double>& places, double left,
                       double width);
  void draw(Drawing& drawing) const;

 private:
  struct Label {
    size_t mark;
    double x;
    double text_x;
    size_t line;
    std::string text;
  };
  static std::vector<Label> arranged(std::span<const SpanMark> marks, const std::vector<double>& places,
                                     double left, double width);
  std::span<const SpanMark> marks_;
  Box plot_;
  std::vector<Label> labels_;
};

// "2024-03-10 07:00" in UTC, without the time of day when it is midnight.
std::string instant_text(int64_t micros);

}  // namespace wrackline::report
