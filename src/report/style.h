// The style sheet of every page: light, dark and printed, wide and narrow.
#pragma once

#include <string_view>

namespace wrackline::report {

std::string_view page_style();

}  // namespace wrackline::report
