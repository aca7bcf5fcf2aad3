// Aggregates as plain state in a row of bytes, so that a window's table is one block of memory.
//
// Exact and independent of order: integers and decimals accumulate in wide integers, float sums are correctly
// rounded whatever the order (docs/semantics.md section 4), NULLs are skipped as in PostgreSQL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/column.h"
#include "data/types.h"
#include "expr/expr.h"

namespace wrackline::expr {

// Where the states of one aggregate lie: state of group g at base + g * stride. Groups are dense from 0.
struct StateRows {
  std::byte* base = nullptr;
  size_t stride = 0;
  std::byte* at(size_t group) const { return base + group * stride; }
};

class Aggregate {
 public:
  virtual ~Aggregate() = default;

  virtual Type result_type() const = 0;
  // Size of a state: a multiple of 8, aligned to 8; all-zero bytes are a valid empty state, and a state may
  // be moved by copying its bytes. States own nothing: text they keep lies in the arena given to update().
  virtual size_t state_bytes() const = 0;

  // Adds rows[i] of `argument` to the state of groups[i], for all i. `argument` is null for count(*).
  // Errors: rows whose value cannot be added (the exact result would leave its range) are listed and not
  // added. Cost: one plain loop per call; no allocation but in `arena`.
  virtual void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
                      const Column* argument, Arena& arena, RowErrors& errors) const = 0;
  // Adds the state `from` to the state `into`; text is copied into `arena`. Both are states of this
  // aggregate.
  virtual void merge(std::byte* into, const std::byte* from, Arena& arena) const = 0;
  // Writes the results of groups order[0..] into rows 0.. of `out` (resized). Text points into the update's
  // arena. Errors: kOutOfRange when a result does not fit its type (sum(integer) over bigint, for one).
  virtual Status finish(StateRows states, std::span<const uint32_t> order, Column& out,
                        Arena& arena) const = 0;
};

// count(*) has no argument. `argument` is the argument's type. Errors: kUnsupported with a hint naming what
// there is.
Result<std::shared_ptr<const Aggregate>> make_aggregate(std::string_view name, const Type* argument);
std::vector<std::string_view> aggregate_names();
bool is_aggregate(std::string_view name);

}  // namespace wrackline::expr
