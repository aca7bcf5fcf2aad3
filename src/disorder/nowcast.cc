#include "disorder/nowcast.h"

#include <algorithm>

#include "base/check.h"
#include "wrackline/time.h"

namespace wrackline::disorder {
namespace {

constexpr int64_t kPoints = 16;
constexpr size_t kCohortsPerCell = 4;

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

std::optional<double> share_arrived(const DelayHistogram& delay, int64_t age_us) {
  if (delay.empty()) return std::nullopt;
  return static_cast<double>(delay.count_at_most(age_us)) / static_cast<double>(delay.count());
}

std::optional<double> window_completeness(const DelayHistogram& delay, int64_t start_us, int64_t end_us,
                                          int64_t now_us) {
  const int64_t until_us = std::min(end_us, now_us);
  if (delay.empty() || until_us <= start_us) return std::nullopt;
  const double step = static_cast<double>(until_us - start_us) / kPoints;
  double sum = 0;
  for (int64_t point = 0; point < kPoints; ++point) {
    const auto into_us = static_cast<int64_t>((static_cast<double>(point) + 0.5) * step);
    sum += share_arrived(delay, saturating_subtract(now_us, start_us + into_us)).value_or(0);
  }
  return sum / kPoints;
}

DelayTriangle::DelayTriangle(int64_t cell_us, size_t cells)
    : cell_us_(cell_us), cells_(cells), cohorts_(cells * kCohortsPerCell) {
  WRACKLINE_CHECK(cell_us > 0 && cells > 0, "cells have a length, and there is one");
}

DelayTriangle::Cohort* DelayTriangle::cohort(int64_t index) {
  const auto size = static_cast<int64_t>(cohorts_.size());
  Cohort& found = cohorts_[static_cast<size_t>(index - floor_divide(index, size) * size)];
  if (found.counts.empty() || found.index < index) {
    found.index = index;
    found.counts.assign(cells_, 0);
  }
  return found.index == index ? &found : nullptr;
}

void DelayTriangle::add(int64_t event_us, int64_t arrival_us) {
  const int64_t first = floor_divide(event_us, cell_us_);
  const int64_t cell = std::max<int64_t>(0, floor_divide(arrival_us, cell_us_) - first);
  if (cell >= static_cast<int64_t>(cells_)) return;
  if (Cohort* found = cohort(first)) ++found->counts[static_cast<size_t>(cell)];
}

std::optional<double> DelayTriangle::share_arrived(int64_t age_us, int64_t now_us) const {
  const int64_t now = floor_divide(now_us, cell_us_);
  const int64_t age = floor_divide(age_us, cell_us_);
  bool any = false;
  double share = 1;
  for (int64_t cell = static_cast<int64_t>(cells_) - 1; cell >= 0; --cell) {
    // Of the records that came within `cell`, those that came in it: among cohorts that are old enough.
    int64_t in_cell = 0;
    int64_t up_to_cell = 0;
    for (const Cohort& cohort : cohorts_) {
      if (cohort.counts.empty() || now - cohort.index <= cell) continue;
      for (int64_t i = 0; i <= cell; ++i) up_to_cell += cohort.counts[static_cast<size_t>(i)];
      in_cell += cohort.counts[static_cast<size_t>(cell)];
    }
    any |= up_to_cell > 0;
    if (cell <= age) break;
    if (up_to_cell > 0) share *= 1 - static_cast<double>(in_cell) / static_cast<double>(up_to_cell);
  }
  if (!any) return std::nullopt;
  return share;
}

}  // namespace wrackline::disorder
