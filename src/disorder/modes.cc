#include "disorder/modes.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wrackline::disorder {
namespace {

constexpr int kCellsPerOctave = 4;
constexpr int kPeakDistanceMin = 2 * kCellsPerOctave;
constexpr double kSmoothingSigma = 1.5;
constexpr int kSmoothingReach = 5;
constexpr int kWindowReach = 2;
constexpr double kMassMin = 200;
constexpr double kMassShareMin = 5e-4;
constexpr double kDepthMax = 0.5;
constexpr double kSignificance = 4;
constexpr double kEdgeMax = 9e18;  // just inside int64

double cell_position(double value, double resolution) {
  return kCellsPerOctave * std::log2(1 + value / resolution);
}
double value_at(double cell, double resolution) {
  return (std::exp2(cell / kCellsPerOctave) - 1) * resolution;
}

// Spreads each bucket over the cells that it touches, in proportion to their common width on the log axis.
std::vector<double> cells_of(const BucketTable& table, int64_t resolution) {
  std::vector<double> cells;
  const auto step = static_cast<double>(resolution);
  const auto cell_at = [&](size_t cell) -> double& {
    if (cells.size() <= cell) cells.resize(cell + 1);
    return cells[cell];
  };
  for (const auto& bucket : table.buckets()) {
    if (bucket.index < 0) continue;
    const auto count = static_cast<double>(bucket.count);
    // Clock steps: a bucket that holds at most one of them is a point there, not a range.
    const int64_t last_step = bucket.upper / resolution * resolution;
    const bool point = last_step - resolution < bucket.lower;
    const double from = cell_position(static_cast<double>(point ? last_step : bucket.lower), step);
    const double to = point ? from : cell_position(static_cast<double>(bucket.upper), step);
    const auto first = static_cast<size_t>(std::max(from, 0.0));
    const auto last = static_cast<size_t>(std::max(to, 0.0));
    if (first == last) {
      cell_at(first) += count;
      continue;
    }
    for (size_t cell = first; cell <= last; ++cell) {
      const double common =
          std::min(to, static_cast<double>(cell + 1)) - std::max(from, static_cast<double>(cell));
      cell_at(cell) += count * common / (to - from);
    }
  }
  return cells;
}

std::vector<double> smoothed(const std::vector<double>& cells) {
  std::vector<double> kernel;
  double total = 0;
  for (int at = -kSmoothingReach; at <= kSmoothingReach; ++at) {
    kernel.push_back(std::exp(-0.5 * std::pow(at / kSmoothingSigma, 2)));
    total += kernel.back();
  }
  const auto size = static_cast<int>(cells.size());
  std::vector<double> result(cells.size());
  for (int i = 0; i < size; ++i) {
    for (int at = -kSmoothingReach; at <= kSmoothingReach; ++at) {
      if (i + at < 0 || i + at >= size) continue;
      result[static_cast<size_t>(i)] +=
          kernel[static_cast<size_t>(at + kSmoothingReach)] / total * cells[static_cast<size_t>(i + at)];
    }
  }
  return result;
}

struct Shape {
  std::vector<double> cells;
  std::vector<double> height;  // smoothed
  std::vector<double> mass;    // mass[i]: sum of cells[0 .. i)
};

std::vector<size_t> peaks_of(const std::vector<double>& height) {
  std::vector<size_t> peaks;
  for (size_t i = 0; i < height.size(); ++i) {
    const bool rises = i == 0 || height[i] > height[i - 1];
    const bool falls = i + 1 == height.size() || height[i] >= height[i + 1];
    if (height[i] > 0 && rises && falls) peaks.push_back(i);
  }
  return peaks;
}

// The middle of the lowest stretch between two peaks.
size_t valley_between(const Shape& shape, size_t left, size_t right) {
  const auto begin = shape.height.begin();
  const double lowest = *std::min_element(begin + static_cast<std::ptrdiff_t>(left),
                                          begin + static_cast<std::ptrdiff_t>(right) + 1);
  size_t first = right;
  size_t last = left;
  for (size_t i = left; i <= right; ++i) {
    if (shape.height[i] > lowest + 1e-9) continue;
    first = std::min(first, i);
    last = i;
  }
  return (first + last) / 2;
}

double window_count(const Shape& shape, size_t centre) {
  const size_t from = centre < kWindowReach ? 0 : centre - kWindowReach;
  const size_t to = std::min(centre + kWindowReach + 1, shape.cells.size());
  return shape.mass[to] - shape.mass[from];
}

// Standard errors by which both peaks rise above the valley, or nullopt when another guard already fails.
std::optional<double> significance(const Shape& shape, size_t left, size_t valley, size_t right,
                                   double effect) {
  const double total = shape.mass.back();
  const double below = shape.mass[valley + 1];
  if (std::min(below, total - below) < std::max(kMassMin, kMassShareMin * total)) return std::nullopt;
  if (shape.height[valley] > kDepthMax * std::min(shape.height[left], shape.height[right]))
    return std::nullopt;
  const double bottom = window_count(shape, valley);
  const auto drop = [&](size_t peak) {
    const double top = window_count(shape, peak);
    return (top - bottom) / std::sqrt((top + bottom) * effect + 1e-9);
  };
  return std::min(drop(left), drop(right));
}

}  // namespace

std::optional<ModeSplit> find_mode_split(const BucketTable& table, const ModeOptions& options) {
  Shape shape;
  shape.cells = cells_of(table, options.resolution);
  shape.mass.push_back(0);
  for (const double cell : shape.cells) shape.mass.push_back(shape.mass.back() + cell);
  if (shape.mass.back() < 2 * kMassMin) return std::nullopt;
  shape.height = smoothed(shape.cells);
  const std::vector<size_t> peaks = peaks_of(shape.height);
  std::optional<ModeSplit> best;
  double best_depth = 0;
  const auto step = static_cast<double>(options.resolution);
  for (size_t a = 0; a < peaks.size(); ++a) {
    for (size_t b = a + 1; b < peaks.size(); ++b) {
      if (peaks[b] - peaks[a] < kPeakDistanceMin) continue;
      const size_t valley = valley_between(shape, peaks[a], peaks[b]);
      const double depth = std::min(shape.height[peaks[a]], shape.height[peaks[b]]) - shape.height[valley];
      if (best && depth <= best_depth) continue;
      const auto z = significance(shape, peaks[a], valley, peaks[b], options.design_effect);
      if (!z || *z < kSignificance) continue;
      best_depth = depth;
      const double edge = std::min(value_at(static_cast<double>(valley + 1), step), kEdgeMax);
      const auto split = DelayHistogram::upper_edge(DelayHistogram::bucket_of(static_cast<int64_t>(edge)));
      best = ModeSplit{split, value_at(static_cast<double>(peaks[a]) + 0.5, step),
                       value_at(static_cast<double>(peaks[b]) + 0.5, step), *z};
    }
  }
  return best;
}

}  // namespace wrackline::disorder
