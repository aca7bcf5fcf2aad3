// From groups to rows of a view: finished aggregates, HAVING, the SELECT list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/grouping.h"
#include "operators/sink.h"
#include "operators/view_operator.h"

namespace wrackline {

// Groups to project. Row i has the key of keys_group[i] in `keys`, the window windows[i] (or windows[0] for
// all of them) and the states state_rows[i] of `states` (of all aggregates together).
struct GroupRows {
  std::span<const Window> windows;
  const state::GroupTable* keys = nullptr;
  std::span<const uint32_t> key_groups;
  expr::StateRows states;
  std::span<const uint32_t> state_rows;
};

// Threads: one projection belongs to one thread at a time.
// Cost:    works in blocks whose rows fit the first caches, since groups in the order of keys lie anywhere:
// each
//          group's row is fetched once, ahead of its use, whatever number of columns is made from it.
class Projection {
 public:
  // Borrows both.
  Projection(const ViewOptions& options, const Grouping& grouping);

  // Fills `changes` (all but ops, versions and statuses) with the rows that pass HAVING, in the order given.
  // kept[i] is the index in `rows` of the i-th of them. What the columns point to lives until the second call
  // after this one, so that new and old rows can stand side by side. Errors: kData for a row that cannot be
  // computed, naming view, window and key; kOutOfRange for merged states that do not fit their type.
  Status project(const GroupRows& rows, int64_t generation, ChangeBatch& changes,
                 std::vector<uint32_t>& kept);

 private:
  // The rows [begin, begin + count) of `rows`, behind the `written` rows that `changes` has.
  Status project_block(const GroupRows& rows, size_t begin, size_t count, Arena& arena, ChangeBatch& changes,
                       size_t& written, std::vector<uint32_t>& kept);
  Status finish(const GroupRows& rows, Arena& arena);
  Status pass_having(const GroupRows& rows);
  GroupRows keep_passed(const GroupRows& rows);
  Status evaluate(const GroupRows& shown, size_t all, ChangeBatch& changes, size_t& written);
  Status fail_row(const GroupRows& rows, std::string_view what) const;

  const ViewOptions& options_;
  const Grouping& grouping_;
  std::vector<Column> inputs_;  // window_start, window_end, keys, aggregates
  std::vector<expr::Evaluator> outputs_;
  std::optional<expr::Evaluator> having_;
  expr::RowErrors errors_;
  Arena arenas_[2];
  size_t turn_ = 0;
  size_t block_rows_;
  std::vector<uint32_t> passed_;  // of the block
  std::vector<uint32_t> kept_groups_;
  std::vector<uint32_t> kept_states_;
  std::vector<Window> kept_windows_;
};

}  // namespace wrackline
