// Text and JSON scalars to typed column values, as PostgreSQL's input functions read them.
//
// Used by: both parsers. A JSON string is read by the same rules as a CSV field; other JSON values only by the
//          types that they naturally are (a number into a bigint, never true into one).
// Threads: free functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/batch.h"
#include "data/time_zone.h"

namespace wrackline::formats {

// Why a value did not become one of the column's type.
enum class Conversion : uint8_t {
  kOk,
  kMalformed,
  kOutOfRange,
  kTooLong,       // more characters than character varying(n) holds
  kNoZone,        // a time without a zone for a column that names instants
  kFraction,      // 5.5 into an integer
  kEpochNumber,   // a bare number into a time: its unit must be declared
  kWrongKind,     // a JSON value of a kind that the type does not take
  kNulCharacter,  // text holds no NUL, as in PostgreSQL
};

enum class JsonKind : uint8_t { kMissing, kNull, kBoolean, kNumber, kString, kContainer };

// One value of a valid JSON document.
struct JsonValue {
  JsonKind kind = JsonKind::kMissing;
  bool escaped = false;      // a string with a backslash: `content` is not in the document
  std::string_view token;    // its JSON text, without blanks around
  std::string_view content;  // of a string: what it says
};

// Writes the value that `text` stands for at `row` of `column` (of type column.type()). Text columns point at
// `text`. Blanks around the text are ignored except for text types. A jsonb column takes `text` as it is: the
// caller has checked that it is valid JSON. `zone` says how zoneless times are read; nullptr rejects them.
// Requires: row < column.size(); `text` is valid UTF-8.
Conversion convert_text(std::string_view text, const TimeZone* zone, Column& column, size_t row);

// The same for a JSON value; null and missing become NULL. An escaped string is copied into `arena`.
Conversion convert_json(const JsonValue& value, const TimeZone* zone, Column& column, size_t row,
                        Arena& arena);

// The integer that a valid JSON number stands for: 5, 5.0 and 5e0 are the integer 5.
Conversion integer_from_json_number(std::string_view number, int64_t& value);

// Returns true if `text` is a number by JSON's grammar: no plus, no leading zeros, digits around the point.
bool is_json_number(std::string_view text);

// Returns true if `value` fits an integer type of `bits` (16, 32, 64).
constexpr bool fits_bits(int64_t value, unsigned bits) {
  if (bits >= 64) return true;
  const int64_t limit = int64_t{1} << (bits - 1);
  return value >= -limit && value < limit;
}

Reason reason_of(Conversion conversion);
// The Reject's detail: 'column "price": "abc" is not a bigint'. `shown` is the value as the record has it.
std::string describe(Conversion conversion, const Field& field, std::string_view shown);

}  // namespace wrackline::formats
