// The page that --report writes.
#pragma once

#include <string>
#include <vector>

#include "report/page.h"

namespace wrackline::cli {

// What was measured, for a page's title: the file names, without their folders.
std::string report_title(const std::vector<std::string>& paths);

// Writes the page, whole or not at all, and returns the exit code.
int write_report(const std::string& path, const report::Page& page);

}  // namespace wrackline::cli
