// The state of aligned windows for a part of the keys: slices that are filling, windows that may still
// change, and the running merges that hopping and cumulative windows close from.
//
// Closing a hopping window merges its slices. Two stacks make that cost amortised constant per (key, slide)
// whatever size/slide is, with no inverse of an aggregate: `front` holds the newest slices merged, `back`
// holds for each older slice the merge of it and all after it up to `front`; a window is one of `back` and
// `front` (Tangwongsan, Hirzel, Schneider, "Low-Latency Sliding-Window Aggregation in Worst-Case Constant
// Time", DEBS 2017, section 2: Two-Stacks).
//
// Threads: one thread at a time.
// Cost:    tumbling windows: one row per live (key, window). Others: a row per (key, slice) and, while a
//          window is being closed from them, at most one per (key, open window).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/grouping.h"
#include "operators/projection.h"
#include "operators/window_plan.h"

namespace wrackline {

// Rows of one publication of one shard. groups[i] is the group of row i in `table`, for merging shards by
// key.
struct Publication {
  ChangeBatch changes;
  std::vector<uint32_t> groups;
  ChangeBatch changelog;
  std::vector<uint32_t> changelog_groups;
  const state::GroupTable* table = nullptr;
  ViewStatistics statistics;
};

class AlignedShard {
 public:
  // Borrows all three.
  AlignedShard(const ViewOptions& options, const WindowPlan& plan, const Grouping& grouping,
               int64_t generation);
  ~AlignedShard();

  // Adds rows of the intake's batch to a slice, and to the merges that hold the slice already.
  void add(const Window& slice, const InputColumns& columns, std::span<const uint32_t> rows);
  // Adds rows to a closed window that may still change.
  void revise(const Window& window, const InputColumns& columns, std::span<const uint32_t> rows);
  // Rows that an aggregate could not hold since the last take_errors().
  expr::RowErrors take_errors() { return std::exchange(errors_, {}); }

  // The window has reached its end: its rows, marked on_time. `make_empty`: also when there is none (views
  // without keys). The window stays until release_window().
  Status close(const Window& window, bool make_empty, Publication& out);
  // The groups that changed since their window's last publication: of a closed window, marked correction; of
  // an open one, marked early.
  Status publish_corrections(const Window& window, Publication& out);
  Status publish_early(const Window& window, Publication& out);
  // After publish_early() of every open window.
  void forget_early_changes();

  void release_slice(int64_t start_us);
  void release_window(int64_t end_us);
  size_t state_bytes() const;
  // Between two ticks. Each table is a piece of the snapshot, which is written again only if it has changed;
  // `label` makes the names of this shard's pieces its own. The running merges are not saved: the next window
  // to close is merged from its slices anew. Errors of restore(): kData.
  void save(SnapshotWriter& out, std::string_view label) const;
  Status restore(SnapshotReader& in, std::string_view label);
  // Gives every group, with its version and what it has yet to publish, to the one of `shards` that its key
  // belongs to. Requires: this shard and those have closed the same windows.
  void share_out(std::span<const std::unique_ptr<AlignedShard>> shards);

 private:
  struct Table;
  using Tables = std::map<int64_t, std::unique_ptr<Table>>;
  enum class Moment : uint8_t { kFirst, kCorrection, kEarly };

  std::unique_ptr<Table> new_table();
  void changed(Table& table);
  void recycle(std::unique_ptr<Table> table);
  Table& slice_table(int64_t start_us);
  void add_folded(int64_t slice_start_us, const InputColumns& columns, std::span<const uint32_t> rows);
  void track(Table& table, std::span<const uint32_t> groups);
  void keep_old_row(Table& table, uint32_t group);
  std::unique_ptr<Table> merged(const Window& window);
  void flip(int64_t from_us);
  void refresh_early(const Window& window, Table& table);
  Status publish(Table& table, const Window& window, std::span<const uint32_t> order, Moment moment,
                 Publication& out);
  void publish_first_versions(Table& table, std::span<const uint32_t> order, RowStatus status,
                              Publication& out);
  Status publish_changes(Table& table, const Window& window, std::span<const uint32_t> order,
                         RowStatus status, Publication& out);
  Status find_old_rows(Table& table, const Window& window, std::span<const uint32_t> order);
  Status project(Table& table, const Window& window, std::span<const uint32_t> order, bool old,
                 ChangeBatch& changes, std::vector<uint32_t>& kept);
  void clear_touched(Table& table);
  void save_table(const Table& table, SnapshotWriter& out) const;
  Status restore_table(SnapshotReader& in, Table& table) const;
  Status restore_old_rows(SnapshotReader& in, Table& table) const;
  void save_tables(const Tables& tables, std::string_view label, SnapshotWriter& out) const;
  Status restore_tables(SnapshotReader& in, std::string_view label, Tables& tables);
  void receive(Table& to, Table& from, std::span<const uint32_t> groups);
  bool needs_old_rows() const { return options_.wants_retractions || options_.having != nullptr; }

  const ViewOptions& options_;
  const WindowPlan& plan_;
  const Grouping& grouping_;
  int64_t generation_;

  // State that a checkpoint holds.
  Tables slices_;         // by start: not in every window that holds them yet
  Tables windows_;        // by end: closed and revisable, or published early
  uint64_t changes_ = 0;  // of tables, ever: the revisions of pieces

  // Merges of slices, made anew after a restore.
  std::unique_ptr<Table> front_;
  std::map<int64_t, std::unique_ptr<Table>> back_;  // by the start of their first slice
  int64_t front_begin_us_ = kMicrosMin;
  int64_t front_end_us_ = kMicrosMin;

  // Scratch.
  GroupWriter writer_;
  Projection projection_;
  Projection old_projection_;
  expr::RowErrors errors_;
  std::vector<std::unique_ptr<Table>> spare_;
  size_t last_closed_groups_ = 0;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> kept_;
  std::vector<uint32_t> old_kept_;
  std::vector<uint32_t> old_order_;
  std::vector<uint32_t> old_places_;
  std::vector<uint32_t> old_at_;
  ChangeBatch new_rows_;
  ChangeBatch old_rows_;
};

}  // namespace wrackline
