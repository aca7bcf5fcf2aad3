// Upper and lower case of Unicode text, one character for one character, whatever the host's locale.
#pragma once

#include <string_view>

#include "data/column.h"

namespace wrackline::expr {

char32_t to_lower(char32_t c);
char32_t to_upper(char32_t c);

// The text in lower or upper case, written into `arena`. Bytes that are not UTF-8 stay as they are.
std::string_view lower_text(std::string_view text, Arena& arena);
std::string_view upper_text(std::string_view text, Arena& arena);

}  // namespace wrackline::expr
