// string_agg, array_agg and jsonb_agg: every value of the group, in a stated order.
//
// Order: ORDER BY in the call, then (event time, partition, offset), so that the list does not depend on how
// records came. DISTINCT orders by the values; of values that SQL calls equal it keeps the earliest.
// State: 16 bytes; in the arena, for each value (each duplicate too) 36 bytes, its sort keys and its text.
// Cost:  finishing sorts the list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "expr/aggregate.h"

namespace wrackline::expr {

enum class ListForm : uint8_t {
  kJson,  // a JSON array as jsonb writes it, with null for NULL
  kText,  // texts with a separator between; NULLs are left out
};

struct ListOptions {
  ListForm form = ListForm::kJson;
  bool distinct = false;
  std::vector<SortKey> order = {};  // with `distinct`: of the argument itself
  std::string separator = {};
};

// Null: there is no such list of this type.
std::shared_ptr<const Aggregate> make_list(const Type& argument, ListOptions options);

}  // namespace wrackline::expr
