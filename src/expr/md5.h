// The MD5 digest of a text, for keys that other systems made with md5(); it protects nothing.
//
// Source: RFC 1321.
#pragma once

#include <array>
#include <string_view>

namespace wrackline::expr {

std::array<char, 32> md5_hex(std::string_view text);  // lower case, no terminator

}  // namespace wrackline::expr
