// Zone files as compiled by zic (TZif, RFC 8536), turned into zones that answer in nanoseconds.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/time_zone.h"

namespace wrackline {

// Returns nullptr if `bytes` are no whole TZif file of version 1 to 4, or hold a rule that POSIX does not
// know. Cost: a file with summer time is unrolled to 800 switches; some 20 microseconds. Source: RFC 8536;
// the rule at its end is POSIX TZ with the hours of RFC 8536 section 3.3.1 (-167 to 167).
std::unique_ptr<TimeZone> parse_zone_file(std::string name, std::string_view bytes);

}  // namespace wrackline
