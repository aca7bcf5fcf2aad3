// The page of a sweep: its staircases, the knee, and the pair of the job.
#pragma once

#include "disorder/report_json.h"
#include "report/page.h"
#include "wrackline/lateness_sweep.h"

namespace wrackline::report {

Page sweep_page(const SweepReport& sweep, const SweepSubject& subject);

}  // namespace wrackline::report
