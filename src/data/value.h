// One SQL value, for literals, keys and rows on the slow path.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "data/column.h"
#include "data/types.h"

namespace wrackline {

// monostate is NULL. Timestamps and dates use int64_t, json uses std::string, by the type that stands beside
// the value.
using ValueData = std::variant<std::monostate, bool, int64_t, double, Decimal, std::string, Interval>;

struct Value {
  Type type;
  ValueData data;
  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
};

// The value of `column` at `row`, copied out.
Value value_at(const Column& column, size_t row);
// Writes `value` (of the column's type) at `row`; text is copied into `arena`. Requires: row < column.size().
void set_value(Column& column, size_t row, const Value& value, Arena& arena);

// PostgreSQL's text form of a value ("t", "12.50", "2024-01-01 00:00:00+00" becomes RFC 3339
// "2024-01-01T00:00:00Z"). NULL gives "". This is the form of CSV fields and terminal cells; timestamps are
// RFC 3339 in UTC with as many fraction digits as needed, local timestamps the same without the Z.
void append_text(std::string& out, const Column& column, size_t row);
// The JSON form: numbers bare (numeric keeps its digits; NaN and infinities are quoted), booleans, null,
// jsonb as it is, everything else a string in the text form.
void append_json(std::string& out, const Column& column, size_t row);

}  // namespace wrackline
