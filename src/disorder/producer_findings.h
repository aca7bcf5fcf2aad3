// Producers' clock faults among the findings of a profile.
#pragma once

#include <vector>

#include "wrackline/delay_producers.h"
#include "wrackline/delay_profile.h"

namespace wrackline {

// The gravest faults of the producers, a few of each kind by name and the rest summed up; what other findings
// count over all records already (units, time zones, centuries) is left to the producers' own list.
void add_producer_findings(const ProducersReport& report, std::vector<Finding>& findings);

}  // namespace wrackline
