// A picture of a delay distribution for a terminal: bars over a logarithmic axis, negative delays mirrored to
// the left of zero, marks below.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "disorder/report_text.h"
#include "wrackline/delay_histogram.h"

namespace wrackline::disorder {

struct ChartMark {
  std::string label;
  int64_t value_us = 0;
};

// Lines with line ends. Every column is a range of delays as wide on the log axis as the next one; a bar's
// height is its share of the records, and no record is too few to show. Requires: the histogram is not empty.
std::string delay_chart(const DelayHistogram& histogram, const std::vector<ChartMark>& marks,
                        const ReportTextOptions& options);

}  // namespace wrackline::disorder
