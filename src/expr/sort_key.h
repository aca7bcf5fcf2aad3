// Values as bytes that compare as the values do: memcmp decides what SQL's ORDER BY does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/column.h"
#include "expr/aggregate.h"

namespace wrackline::expr {

// Appends row `row` of `column` as an element of an ORDER BY: equal values give equal bytes, and no element
// is the beginning of another. Values that SQL calls equal (1.5 and 1.50) are equal. Requires: column.type()
// is of key.type's kind, and not jsonb, whose order is PostgreSQL's own.
void append_sort_key(std::string& out, const Column& column, size_t row, const SortKey& key);
// Appends `value` so that greater ones come later.
void append_sorted(std::string& out, int64_t value);
void append_sorted(std::string& out, uint32_t value);

}  // namespace wrackline::expr
