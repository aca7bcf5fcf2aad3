// Profiles and budgets for people: a page of plain text for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "disorder/report_json.h"
#include "wrackline/delay_profile.h"
#include "wrackline/delay_profile_file.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {

struct ReportTextOptions {
  size_t width = 80;     // columns, at least 60 are used
  bool unicode = false;  // block characters and lines; else plain ASCII
};

// Quantiles, shares, a picture of the delays on a log axis, the 20 largest partitions, findings.
std::string profile_text(const ProfileReport& report, const RejectedCounts& rejected,
                         const ReportTextOptions& options);

// The two spans, why these, what they cost, the options to paste, by partition, notes.
std::string budget_text(const BudgetReport& report, const RejectedCounts& rejected,
                        const ReportTextOptions& options);

// The two staircases, the candidates at the knee and around it, and what the pair of the job file does.
std::string sweep_text(const SweepReport& report, const SweepSubject& subject,
                       const ReportTextOptions& options);

// How a profile moved against a saved one, whose name is `against`.
std::string comparison_text(const ProfileComparison& comparison, std::string_view against,
                            const ReportTextOptions& options);

// A span with three significant digits and one unit, for tables: "350 ms", "11.7 h", "-3 s", "0 s".
std::string short_span(int64_t micros);
// A span as an exact interval literal for a job file: "90 s", "1500 ms", "2 h".
std::string span_literal(int64_t micros);

}  // namespace wrackline
