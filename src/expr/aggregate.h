// Aggregates as plain state in a row of bytes, so that a window's table is one block of memory.
//
// Exact and independent of order: integers and decimals accumulate in wide integers, float sums are correctly
// rounded whatever the order (docs/semantics.md section 4), NULLs are skipped as in PostgreSQL. Of values
// that SQL calls equal (1.5 and 1.50, 0 and -0, 1 month and 30 days) min and max keep the same one in any
// order. Text compares byte by byte, PostgreSQL's "C" collation.
//
//   count, count(DISTINCT)    bigint
//   sum                       smallint, integer -> bigint;  bigint, numeric -> numeric;  real, double
//   precision,
//                             interval -> itself
//   avg                       integers, numeric -> numeric;  real, double precision -> double precision;
//                             interval -> itself
//   min, max                  numbers, text, date, timestamps, interval -> itself
//   stddev[_samp|_pop],       integers, numeric -> numeric, with PostgreSQL's digits;  real, double precision
//   -> variance, var_samp|_pop   double precision, correctly rounded bool_and, every, bool_or  boolean first,
//   last               every type -> itself: the value that is not null of the earliest or latest record,
//                             by (event time, partition, offset)
//   approx_count_distinct     bigint; exact up to 384 values, beyond with a standard error of 1.6 %
//   approx_percentile(x, p)   numbers -> double precision; the value of nearest rank, at most 0.4 % off
//   string_agg(x, separator)  text
//   array_agg, jsonb_agg      jsonb: a JSON array. NULLs stay in it, as in PostgreSQL. Both list aggregates
//   order
//                             by ORDER BY in the call and then by (event time, partition, offset)
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
#include "data/snapshot.h"
#include "data/types.h"
#include "data/value.h"
#include "expr/expr.h"

namespace wrackline::expr {

// Where the states of one aggregate lie: state of group g at base + g * stride. Groups are dense from 0.
struct StateRows {
  std::byte* base = nullptr;
  size_t stride = 0;
  std::byte* at(size_t group) const { return base + group * stride; }
};

// Where the records of a batch stand in event time and in their logs.
// Shape: one element per row of the batch; `partitions` one per row, or exactly one for all of them.
struct RowOrder {
  std::span<const int64_t> event_us;
  std::span<const uint32_t> partitions;  // PartitionIndex: a number that stays the partition's own
  std::span<const int64_t> offsets;      // in the partition's log

  uint32_t partition(size_t row) const { return partitions.size() == 1 ? partitions[0] : partitions[row]; }
};

// What an aggregate reads of a batch. An argument alone converts to it.
struct AggregateInput {
  AggregateInput(const Column* column) : argument(column) {}  // NOLINT(google-explicit-constructor)
  AggregateInput(const Column* column, std::span<const Column* const> keys, const RowOrder* rows)
      : argument(column), sort_keys(keys), order(rows) {}

  const Column* argument = nullptr;               // null for count(*)
  std::span<const Column* const> sort_keys = {};  // of ORDER BY in the call, as many as make_aggregate had
  const RowOrder* order = nullptr;                // may be null unless needs_row_order()
};

// An expression of ORDER BY in a call, as PostgreSQL reads it: nulls last unless DESC or NULLS FIRST says so.
struct SortKey {
  Type type;
  bool descending = false;
  bool nulls_first = false;
  friend bool operator==(const SortKey&, const SortKey&) = default;
};

// How a call is written beside its name and its first argument.
struct AggregateOptions {
  bool distinct = false;
  std::vector<SortKey> order = {};
  std::vector<Value> constants = {};  // the arguments after the first
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
  // True if the result depends on where a record stands: update() then needs AggregateInput::order.
  virtual bool needs_row_order() const { return false; }
  // How many of AggregateOptions::order update() wants as AggregateInput::sort_keys: all, or none where the
  // order cannot change the result.
  virtual size_t sort_key_count() const { return 0; }

  // Adds rows[i] of the input to the state of groups[i], for all i.
  // Errors: a row that would take the running result out of its type (a sum(double precision) beyond 1.8e308,
  // a sum(numeric) beyond 38 digits) is listed and not added, so that one absurd value cannot stop a job.
  // Cost: one plain loop per call; no allocation but in `arena`.
  virtual void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
                      const AggregateInput& input, Arena& arena, RowErrors& errors) const = 0;
  // Adds the state `from` to the state `into`; text is copied into `arena`. Both are states of this
  // aggregate.
  virtual void merge(std::byte* into, const std::byte* from, Arena& arena) const = 0;
  // Writes the results of groups order[0..] into rows 0.. of `out` (resized). The states stay as they are;
  // text is copied into `arena`, so that later updates do not change a result. Errors: kOutOfRange when
  // merged states do not fit the type; update() alone never leads there.
  virtual Status finish(StateRows states, std::span<const uint32_t> order, Column& out,
                        Arena& arena) const = 0;
  // Writes a state, with everything that it keeps in an arena.
  virtual void save(const std::byte* state, SnapshotWriter& out) const = 0;
  // `state` becomes a state that cannot be told from the one that was saved by an aggregate of the same
  // making; what it keeps goes into `arena`. What `state` held is forgotten. Errors: kData; the state is then
  // of no use but to be restored again.
  virtual Status restore(SnapshotReader& in, std::byte* state, Arena& arena) const = 0;
};

// count(*) has no argument. `argument` is the argument's type.
// Errors: kUnsupported with a hint naming what there is; kInvalid for constants that cannot be.
Result<std::shared_ptr<const Aggregate>> make_aggregate(std::string_view name, const Type* argument,
                                                        const AggregateOptions& options = {});
std::vector<std::string_view> aggregate_names();
bool is_aggregate(std::string_view name);
// An aggregate of other systems; make_aggregate says what to write instead.
bool is_aggregate_elsewhere(std::string_view name);
// How many arguments a call has; those after the first are constants.
size_t aggregate_arguments(std::string_view name);

}  // namespace wrackline::expr
