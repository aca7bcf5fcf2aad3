// Pages from what was measured: profiles and budgets.
#pragma once

#include <string>

#include "disorder/report_json.h"
#include "report/page.h"
#include "wrackline/delay_profile.h"
#include "wrackline/lateness_budget.h"

namespace wrackline::report {

// `title`: what was measured, for people ("events.csv.gz").
Page profile_page(const ProfileReport& profile, const RejectedCounts& rejected, std::string title);
// The profile's page with the two spans marked, and what they cost.
Page budget_page(const BudgetReport& budget, const RejectedCounts& rejected, std::string title);

}  // namespace wrackline::report
