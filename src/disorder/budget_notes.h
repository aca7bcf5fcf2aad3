// What a person should know about a budget, in sentences: why it is as it is, what it leaves out, what it
// costs.
#pragma once

#include <string>
#include <vector>

#include "wrackline/lateness_budget.h"

namespace wrackline::disorder {

// Requires: `report` is complete but for its notes.
std::vector<std::string> budget_notes(const BudgetReport& report);

}  // namespace wrackline::disorder
