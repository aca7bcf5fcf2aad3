// Text for people: the one place that includes fmt, and a few helpers that every message needs.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wrackline {

using fmt::format;

// "1,234,567"
std::string with_thousands(int64_t value);

// The name in `known` closest to `name` (edit distance at most a third of its length), or empty.
std::string nearest_name(std::string_view name, std::span<const std::string_view> known);

// `text` with control characters escaped and cut to `length_max` bytes (an ellipsis marks the cut): safe to
// print.
std::string printable(std::string_view text, size_t length_max = 80);

// A JSON string literal with quotes; invalid UTF-8 becomes U+FFFD so that the result is always valid JSON.
std::string json_quoted(std::string_view text);
void append_json_quoted(std::string& out, std::string_view text);

// Returns true if `text` is valid UTF-8 (no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

}  // namespace wrackline
