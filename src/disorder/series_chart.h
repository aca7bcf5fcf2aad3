// Delay over time for a terminal: bars of the median on a logarithmic scale, changes of regime marked below.
#pragma once

#include <string>

#include "disorder/report_text.h"
#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

// Lines with line ends, the first one a caption; empty with fewer than two intervals. A column stands for
// equal spans of arrival time and shows its interval with the most records; one without records is blank.
std::string series_chart(const DelaySeries& series, const ReportTextOptions& options);

}  // namespace wrackline::disorder
