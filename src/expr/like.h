// LIKE patterns: % is any text, _ any one character, a backslash makes the next character plain.
#pragma once

#include <cstdint>
#include <string_view>

namespace wrackline::expr {

enum class LikeResult : uint8_t { kNo, kYes, kBadPattern };  // kBadPattern: the pattern ends with its escape

// Cost: O(text * pattern) at worst, one pass for patterns with a single %.
LikeResult match_like(std::string_view text, std::string_view pattern);

}  // namespace wrackline::expr
