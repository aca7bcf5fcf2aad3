// Reading values out of text, as PostgreSQL's input functions do (blanks around the value are allowed).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/types.h"

namespace wrackline::expr {

enum class Input : uint8_t { kOk, kMalformed, kOutOfRange };

std::string_view trim_blanks(std::string_view text);

Input read_boolean(std::string_view text, bool& value);  // t, true, y, yes, on, 1 and their opposites
Input read_integer(std::string_view text, int bits, int64_t& value);
Input read_float(std::string_view text, int bits, double& value);  // also NaN, Infinity, inf
Input read_decimal(std::string_view text, Decimal& value);
Input read_timestamp(std::string_view text, bool with_zone,
                     int64_t& micros);  // ISO 8601, infinity, epoch; zone UTC
Input read_date(std::string_view text, int64_t& days);
Input read_interval(std::string_view text, Interval& value);

}  // namespace wrackline::expr
