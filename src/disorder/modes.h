// Finds whether delays have two humps: records sent at once (transport) and records that waited on a device
// (offline).
//
// The picture: counts over log2(1 + delay), cells of a quarter octave, smoothed. Two peaks at least two
// octaves apart with a valley between them at most half as high as the lower peak, each side holding enough
// records, and both drops significant. Chosen so that heavy-tailed but one-humped distributions (log-normal,
// Pareto, exponential, uniform) do not trip it, and an offline mode of half a percent is still found. Why not
// Hartigan's dip test: its statistic is bounded by half the smaller mode's mass, so such a mode is invisible
// to it, and at ten million samples any ripple is significant.
//
// Source: both drops must be significant, which is an intersection-union test (Berger 1982).
#pragma once

#include <cstdint>
#include <optional>

#include "disorder/rank_selector.h"

namespace wrackline::disorder {

struct ModeSplit {
  // Greatest value of the lower mode; an upper edge of the histogram, so counts at it are exact.
  int64_t split = 0;
  double lower_peak = 0;  // where the peaks lie
  double upper_peak = 0;
  double z = 0;  // how many standard errors the shallower drop into the valley is deep
};

struct ModeOptions {
  int64_t resolution = 1;    // the clock's step: spans below it are not told apart
  double design_effect = 1;  // of the sample
};

// Looks at values >= 0 only. nullopt: one hump, or too few records to say.
std::optional<ModeSplit> find_mode_split(const BucketTable& table, const ModeOptions& options);

}  // namespace wrackline::disorder
