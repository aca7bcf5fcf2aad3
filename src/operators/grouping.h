// Groups and their aggregates: the layout of a group's row, and the two ways in, rows of a batch and rows of
// another table.
//
// A Grouping is the plan, shared and constant; a GroupWriter is one thread's hands and scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/intake.h"
#include "operators/view_operator.h"
#include "state/group_table.h"
#include "state/key_codec.h"

namespace wrackline {

class Grouping {
 public:
  // Borrows options.
  explicit Grouping(const ViewOptions& options);

  const state::KeyCodec& codec() const { return codec_; }
  size_t state_bytes() const { return state_bytes_; }
  size_t count() const { return calls_.size(); }
  const expr::Aggregate& aggregate(size_t i) const { return *calls_[i].aggregate; }
  // Where the state of aggregate i begins in a group's states.
  size_t offset(size_t i) const { return offsets_[i]; }
  state::GroupTable make_table() const { return {codec_.shape(), state_bytes_}; }
  // Adds all states of one group to those of another; what they point to is copied into `arena`.
  void merge(std::byte* into, const std::byte* from, Arena& arena) const;

  // All states of one group in a snapshot, and back.
  void save(const std::byte* states, SnapshotWriter& out) const;
  Status restore(SnapshotReader& in, std::byte* states, Arena& arena) const;
  // A table of such groups.
  void save(const state::GroupTable& table, SnapshotWriter& out) const;
  Status restore(SnapshotReader& in, state::GroupTable& table) const;

 private:
  const std::vector<ViewOptions::Call>& calls_;
  state::KeyCodec codec_;
  size_t state_bytes_ = 0;
  std::vector<size_t> offsets_;
};

// Threads: one writer belongs to one thread at a time.
class GroupWriter {
 public:
  explicit GroupWriter(const Grouping& grouping) : grouping_(grouping) {}

  // Finds or makes the groups of `rows` and adds the rows to every aggregate. The groups, one per row, are
  // valid until the next call. Rows that an aggregate cannot hold are listed in `errors` and are in its other
  // aggregates.
  std::span<const uint32_t> add(state::GroupTable& table, const InputColumns& columns,
                                std::span<const uint32_t> rows, expr::RowErrors& errors);
  // The groups alone, without adding.
  std::span<const uint32_t> find(state::GroupTable& table, const InputColumns& columns,
                                 std::span<const uint32_t> rows);
  // Adds rows[i] to the states of groups[i], wherever these lie.
  void update(expr::StateRows states, Arena& arena, const InputColumns& columns,
              std::span<const uint32_t> groups, std::span<const uint32_t> rows, expr::RowErrors& errors);
  // Adds the states of `groups` of `from` to the groups with the same keys in `into`, which are returned, one
  // per group, valid until the next call.
  std::span<const uint32_t> merge(state::GroupTable& into, state::GroupTable& from,
                                  std::span<const uint32_t> groups);
  std::span<const uint32_t> merge_all(state::GroupTable& into, state::GroupTable& from);

 private:
  const Grouping& grouping_;
  state::EncodedKeys encoded_;
  std::vector<uint32_t> groups_;
  std::vector<uint32_t> all_;
  std::vector<uint32_t> filtered_rows_;
  std::vector<uint32_t> filtered_groups_;
};

}  // namespace wrackline
