// Aggregates as plain state in a row of bytes, so that a window's table is one block of memory.
//
// Exact and independent of order: integers and decimals accumulate in wide integers, float sums are correctly
// rounded whatever the order (docs/semantics.md section 4), NULLs are skipped as in PostgreSQL. Of values
// that SQL calls equal (1.5 and 1.50, 0 and -0, 1 month and 30 days) min and max keep the same one in any
// order. Text compares byte by byte, PostgreSQL's "C" collation.
//
//   count                                bigint
//   sum   smallint, integer -> bigint;   bigint, numeric -> numeric;   real, double precision, interval ->
//   itself avg   integers, numeric -> numeric;  real, double precision -> double precision;   interval ->
//   itself min, max  every type with an order: numbers, text, date, timestamps, interval -> itself
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
  // be moved by copying its bytes (the old place is then dead: two copies must not both be updated). States
  // own nothing: text they keep, and sums too wide for the state, lie in the arena given to update() or
  // merge(), and last as long as that arena.
  virtual size_t state_bytes() const = 0;

  // Adds rows[i] of `argument` to the state of groups[i], for all i. `argument` is null for count(*).
  // Errors: a row that would take the running result out of its type (a sum(double precision) beyond 1.8e308,
  // a sum(numeric) beyond 38 digits) is listed and not added, so that one absurd value cannot stop a job.
  // Cost: one plain loop per call; no allocation but in `arena`.
  virtual void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
                      const Column* argument, Arena& arena, RowErrors& errors) const = 0;
  // Adds the state `from` to the state `into`; text is copied into `arena`. Both are states of this
  // aggregate.
  virtual void merge(std::byte* into, const std::byte* from, Arena& arena) const = 0;
  // Writes the results of groups order[0..] into rows 0.. of `out` (resized). The states stay as they are;
  // text is copied into `arena`, so that later updates do not change a result. Errors: kOutOfRange when
  // merged states do not fit the type; update() alone never leads there.
  virtual Status finish(StateRows states, std::span<const uint32_t> order, Column& out,
                        Arena& arena) const = 0;
};

// count(*) has no argument. `argument` is the argument's type. Errors: kUnsupported with a hint naming what
// there is.
Result<std::shared_ptr<const Aggregate>> make_aggregate(std::string_view name, const Type* argument);
std::vector<std::string_view> aggregate_names();
bool is_aggregate(std::string_view name);

}  // namespace wrackline::expr
