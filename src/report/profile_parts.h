// The parts of a profile's page that not every profile has: delay over time, and producers.
#pragma once

#include "report/page.h"
#include "wrackline/delay_profile.h"

namespace wrackline::report {

// Null without at least two intervals: one is no course of time.
std::optional<Series> series_part(const DelaySeries& series);
std::optional<SpanRows> producers_part(const ProducersReport& producers);

}  // namespace wrackline::report
