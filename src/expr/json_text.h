// A small navigator over JSON text: finds members and elements in place, without building a tree.
//
// Strict RFC 8259. Never reads past the text, whatever it holds; nesting is bounded.
// Cost: one pass over the value that is looked into; nothing is allocated but the caller's `out`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wrackline::expr {

enum class JsonKind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };
std::string_view to_string(JsonKind kind);  // PostgreSQL's jsonb_typeof: "null", "boolean", "number", ...

// A value inside a JSON text: its bytes, without blanks around them.
struct JsonPart {
  JsonKind kind = JsonKind::kNull;
  std::string_view text;
};

enum class JsonLookup : uint8_t { kFound, kMissing, kInvalid };

inline constexpr int kJsonDepthMax = 256;

// The whole text as one value. kInvalid: not one JSON value, or nested deeper than kJsonDepthMax. Never
// kMissing.
JsonLookup json_root(std::string_view text, JsonPart& root);

// The lookups take what json_root or another lookup gave. Of members with the same name the last counts, as
// in jsonb.
JsonLookup json_member(const JsonPart& object, std::string_view name,
                       JsonPart& member);  // kMissing if not an object
JsonLookup json_element(const JsonPart& array, int64_t index, JsonPart& element);  // negative: from the end
int64_t json_length(const JsonPart& array);                                        // Requires: kind is kArray

// PostgreSQL's `?`: a member of that name, an element that is that string, or the string itself.
bool json_has(const JsonPart& part, std::string_view name);

// Appends what the string says. False: it has an escape that text cannot hold (\u0000, half a surrogate
// pair).
bool append_json_string(std::string& out, const JsonPart& string);

// Appends jsonb's text form: members sorted by size and bytes, the last of equal names, ": " and ", "
// between, numbers without exponents. False: as append_json_string, or a number too long to write out.
bool append_json_canonical(std::string& out, const JsonPart& part);

}  // namespace wrackline::expr
