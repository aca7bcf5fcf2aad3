// Profiles and budgets as JSON documents, one line, keys as docs/reference/json.md lists them.
//
// Times and spans are integers of microseconds, shares are numbers between 0 and 1, what is not known is
// null.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "wrackline/delay_profile.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {

// Records that could not be measured, by reason ("unparseable": 3).
using RejectedCounts = std::map<std::string, int64_t>;

std::string profile_to_json(const ProfileReport& report, const RejectedCounts& rejected);
std::string budget_to_json(const BudgetReport& report, const RejectedCounts& rejected);

}  // namespace wrackline
