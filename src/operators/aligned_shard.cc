#include "operators/aligned_shard.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace wrackline {
namespace {

// A group's version counts its publications; the top bit says that the last of them withdrew it.
constexpr uint32_t kHidden = 1U << 31;
constexpr size_t kSpareTables = 4;
constexpr uint32_t kNoRow = UINT32_MAX;

bool is_visible(uint32_t version) {
  return version != 0 && (version & kHidden) == 0;
}

void start_rows(ChangeBatch& to, const ChangeBatch& like, size_t rows, int64_t generation) {
  to.rows = rows;
  to.columns.resize(like.columns.size());
  for (size_t i = 0; i < like.columns.size(); ++i) {
    to.columns[i].reset(like.columns[i].type());
    to.columns[i].resize(rows);
  }
  to.ops.resize(rows);
  to.versions.resize(rows);
  to.statuses.resize(rows);
  to.generation = generation;
}

// Puts rows of projected batches into a publication one by one.
class RowWriter {
 public:
  RowWriter(ChangeBatch& to, std::vector<uint32_t>& groups, const ChangeBatch& like, size_t most,
            RowStatus status, int64_t generation)
      : to_(to), groups_(groups), status_(status) {
    start_rows(to, like, most, generation);
    groups.clear();
  }

  void put(RowOp op, uint32_t version, const ChangeBatch& from, size_t row, uint32_t group) {
    for (size_t i = 0; i < to_.columns.size(); ++i) to_.columns[i].copy_value(rows_, from.columns[i], row);
    to_.ops[rows_] = op;
    to_.versions[rows_] = version;
    to_.statuses[rows_] = status_;
    groups_.push_back(group);
    ++rows_;
  }

  void finish() {
    to_.rows = rows_;
    for (Column& column : to_.columns) column.resize(rows_);
    to_.ops.resize(rows_);
    to_.versions.resize(rows_);
    to_.statuses.resize(rows_);
  }

 private:
  ChangeBatch& to_;
  std::vector<uint32_t>& groups_;
  RowStatus status_;
  size_t rows_ = 0;
};

}  // namespace

struct AlignedShard::Table {
  explicit Table(const Grouping& grouping) : groups(grouping.make_table()) {}

  state::GroupTable groups;
  std::vector<uint32_t> touched;    // since the last publication; mark(group) is the index here + 1
  std::vector<std::byte> old_rows;  // of the touched groups as they were published, when they are needed
  uint64_t changed_at = 0;          // the shard's count of changes when this table last changed
};

AlignedShard::AlignedShard(const ViewOptions& options, const WindowPlan& plan, const Grouping& grouping,
                           int64_t generation)
    : options_(options),
      plan_(plan),
      grouping_(grouping),
      generation_(generation),
      writer_(grouping),
      projection_(options, grouping),
      old_projection_(options, grouping) {}

AlignedShard::~AlignedShard() = default;

std::unique_ptr<AlignedShard::Table> AlignedShard::new_table() {
  std::unique_ptr<Table> table;
  if (spare_.empty()) {
    table = std::make_unique<Table>(grouping_);
  } else {
    table = std::move(spare_.back());
    spare_.pop_back();
  }
  table->groups.expect(last_closed_groups_);
  changed(*table);
  return table;
}

void AlignedShard::changed(Table& table) {
  table.changed_at = ++changes_;
}

void AlignedShard::recycle(std::unique_ptr<Table> table) {
  if (!table || spare_.size() >= kSpareTables) return;
  table->groups.clear();
  table->touched.clear();
  table->old_rows.clear();
  spare_.push_back(std::move(table));
}

AlignedShard::Table& AlignedShard::slice_table(int64_t start_us) {
  std::unique_ptr<Table>& table = slices_[start_us];
  if (!table) table = new_table();
  return *table;
}

void AlignedShard::add(const Window& slice, const InputColumns& columns, std::span<const uint32_t> rows) {
  if (rows.empty()) return;
  Table& table = slice_table(slice.start.micros());
  changed(table);
  if (options_.early) {
    const std::span<const uint32_t> groups = writer_.find(table.groups, columns, rows);
    track(table, groups);
    writer_.update({table.groups.states(), table.groups.stride()}, table.groups.arena(), columns, groups,
                   rows, errors_);
  } else {
    writer_.add(table.groups, columns, rows, errors_);
  }
  if (slice.start.micros() < front_end_us_) add_folded(slice.start.micros(), columns, rows);
}

// A record behind the watermark that some open window still takes: its slice has been merged already.
void AlignedShard::add_folded(int64_t slice_start_us, const InputColumns& columns,
                              std::span<const uint32_t> rows) {
  if (slice_start_us >= front_begin_us_) {
    writer_.add(front_->groups, columns, rows, errors_);
    return;
  }
  const auto next = back_.lower_bound(slice_start_us);
  if (next == back_.end() || next->first != slice_start_us) {
    std::unique_ptr<Table> table = new_table();
    if (next != back_.end()) writer_.merge_all(table->groups, next->second->groups);
    back_.emplace_hint(next, slice_start_us, std::move(table));
  }
  for (auto& [start, table] : back_) {
    if (start <= slice_start_us) writer_.add(table->groups, columns, rows, errors_);
  }
}

void AlignedShard::revise(const Window& window, const InputColumns& columns, std::span<const uint32_t> rows) {
  if (rows.empty()) return;
  std::unique_ptr<Table>& table = windows_[window.end.micros()];
  if (!table) table = new_table();
  changed(*table);
  const std::span<const uint32_t> groups = writer_.find(table->groups, columns, rows);
  track(*table, groups);
  writer_.update({table->groups.states(), table->groups.stride()}, table->groups.arena(), columns, groups,
                 rows, errors_);
}

void AlignedShard::track(Table& table, std::span<const uint32_t> groups) {
  for (const uint32_t group : groups) {
    if (table.groups.mark(group) != 0) continue;
    table.touched.push_back(group);
    table.groups.mark(group) = static_cast<uint32_t>(table.touched.size());
    if (needs_old_rows()) keep_old_row(table, group);
  }
}

// The group's published row as it stands before a change. States are merged into empty ones rather than
// copied, because a state may point to what the next update changes.
void AlignedShard::keep_old_row(Table& table, uint32_t group) {
  const size_t at = table.old_rows.size();
  table.old_rows.resize(at + table.groups.stride());
  const std::byte* row = table.groups.row(group);
  const auto states_at = static_cast<size_t>(table.groups.states() - table.groups.row(0));
  std::memcpy(table.old_rows.data() + at, row, states_at);
  grouping_.merge(table.old_rows.data() + at + states_at, row + states_at, table.groups.arena());
}

void AlignedShard::clear_touched(Table& table) {
  for (const uint32_t group : table.touched) table.groups.mark(group) = 0;
  table.touched.clear();
  table.old_rows.clear();
}

// ---- Closing

Status AlignedShard::close(const Window& window, bool make_empty, Publication& out) {
  const int64_t end = window.end.micros();
  std::unique_ptr<Table> table;
  if (plan_.window_is_slice()) {
    if (auto slice = slices_.extract(window.start.micros())) table = std::move(slice.mapped());
  } else if (auto early = windows_.extract(end)) {
    table = std::move(early.mapped());
    refresh_early(window, *table);
  } else {
    table = merged(window);
  }
  if (make_empty && !table) table = new_table();
  if (make_empty && table->groups.size() == 0) {
    state::EncodedKeys no_key;
    no_key.count = 1;
    uint32_t group[1] = {};
    table->groups.find_or_insert(no_key, group);
  }
  out.changes.rows = 0;
  out.changelog.rows = 0;
  if (!table) return {};
  table->groups.sorted_groups(order_);
  if (!order_.empty()) {
    WRACKLINE_TRY(publish(*table, window, order_, Moment::kFirst, out));
    out.statistics.windows_closed = 1;
  }
  clear_touched(*table);
  changed(*table);
  last_closed_groups_ = table->groups.size();
  out.table = &table->groups;
  windows_[end] = std::move(table);
  return {};
}

// The groups of a window, from its slices.
std::unique_ptr<AlignedShard::Table> AlignedShard::merged(const Window& window) {
  const int64_t start = window.start.micros();
  const int64_t end = window.end.micros();
  if (!front_) front_ = new_table();
  back_.erase(back_.begin(), back_.lower_bound(start));
  if (start >= front_end_us_) {
    front_->groups.clear();
    back_.clear();
    front_begin_us_ = front_end_us_ = start;
  } else if (start > front_begin_us_) {
    flip(start);
  }
  for (auto at = slices_.lower_bound(front_end_us_); at != slices_.end() && at->first < end; ++at) {
    writer_.merge_all(front_->groups, at->second->groups);
  }
  front_end_us_ = end;
  const auto older = back_.lower_bound(start);
  if (older == back_.end() && front_->groups.size() == 0) return nullptr;
  std::unique_ptr<Table> table = new_table();
  if (older != back_.end()) writer_.merge_all(table->groups, older->second->groups);
  writer_.merge_all(table->groups, front_->groups);
  return table;
}

// The slices of `front` from `from_us` on become `back`.
void AlignedShard::flip(int64_t from_us) {
  back_.clear();
  const Table* newer = nullptr;
  for (auto at = slices_.lower_bound(front_end_us_); at != slices_.lower_bound(from_us);) {
    --at;
    std::unique_ptr<Table> table = new_table();
    if (newer != nullptr) writer_.merge_all(table->groups, const_cast<Table*>(newer)->groups);
    writer_.merge_all(table->groups, at->second->groups);
    newer = table.get();
    back_.emplace_hint(back_.begin(), at->first, std::move(table));
  }
  front_->groups.clear();
  front_begin_us_ = front_end_us_;
}

void AlignedShard::release_slice(int64_t start_us) {
  if (auto slice = slices_.extract(start_us)) recycle(std::move(slice.mapped()));
}

void AlignedShard::release_window(int64_t end_us) {
  if (auto window = windows_.extract(end_us)) recycle(std::move(window.mapped()));
}

// ---- Corrections and early versions

Status AlignedShard::publish_corrections(const Window& window, Publication& out) {
  out.changes.rows = 0;
  out.changelog.rows = 0;
  const auto at = windows_.find(window.end.micros());
  if (at == windows_.end()) return {};
  Table& table = *at->second;
  out.table = &table.groups;
  order_ = table.touched;
  table.groups.sort_groups(order_);
  if (order_.empty()) return {};
  changed(table);
  WRACKLINE_TRY(publish(table, window, order_, Moment::kCorrection, out));
  clear_touched(table);
  return {};
}

Status AlignedShard::publish_early(const Window& window, Publication& out) {
  out.changes.rows = 0;
  out.changelog.rows = 0;
  Table* table = nullptr;
  if (plan_.window_is_slice()) {
    const auto at = slices_.find(window.start.micros());
    if (at == slices_.end()) return {};
    table = at->second.get();
  } else {
    std::unique_ptr<Table>& own = windows_[window.end.micros()];
    if (!own) own = new_table();
    table = own.get();
    refresh_early(window, *table);
  }
  out.table = &table->groups;
  order_ = table->touched;
  table->groups.sort_groups(order_);
  if (order_.empty()) return {};
  changed(*table);
  WRACKLINE_TRY(publish(*table, window, order_, Moment::kEarly, out));
  clear_touched(*table);
  return {};
}

// Brings the groups of an open window that changed in its slices up to date: their states are merged anew.
void AlignedShard::refresh_early(const Window& window, Table& table) {
  const auto first = slices_.lower_bound(window.start.micros());
  const auto last = slices_.lower_bound(window.end.micros());
  for (auto at = first; at != last; ++at) {
    Table& slice = *at->second;
    if (slice.touched.empty()) continue;
    // The keys alone: a merge of nothing would do, but states must be emptied once per group first.
    state::EncodedKeys keys;
    slice.groups.export_keys(slice.touched, keys);
    std::vector<uint32_t> groups(slice.touched.size());
    table.groups.find_or_insert(keys, groups);
    track(table, groups);
  }
  const std::span<const uint32_t> changed = table.touched;
  if (changed.empty()) return;
  const auto states_at = static_cast<size_t>(table.groups.states() - table.groups.row(0));
  for (const uint32_t group : changed) {
    std::memset(table.groups.row(group) + states_at, 0, grouping_.state_bytes());
  }
  state::EncodedKeys keys;
  table.groups.export_keys(changed, keys);
  for (auto at = first; at != last; ++at) {
    Table& slice = *at->second;
    std::vector<uint32_t> found(changed.size());
    slice.groups.find(keys, found);
    for (size_t i = 0; i < changed.size(); ++i) {
      if (found[i] == state::GroupTable::kNoGroup) continue;
      grouping_.merge(table.groups.row(changed[i]) + states_at, slice.groups.row(found[i]) + states_at,
                      table.groups.arena());
    }
  }
}

void AlignedShard::forget_early_changes() {
  if (plan_.window_is_slice()) return;  // publishing has cleared them
  for (auto& [start, slice] : slices_) {
    if (slice->touched.empty()) continue;
    clear_touched(*slice);
    changed(*slice);
  }
}

// ---- Publishing

Status AlignedShard::project(Table& table, const Window& window, std::span<const uint32_t> order, bool old,
                             ChangeBatch& changes, std::vector<uint32_t>& kept) {
  state::GroupTable& groups = table.groups;
  GroupRows rows{
      .windows = {&window, 1}, .keys = &groups, .key_groups = order, .states = {}, .state_rows = order};
  if (!old) {
    rows.states = {groups.states(), groups.stride()};
    return projection_.project(rows, generation_, changes, kept);
  }
  const auto states_at = static_cast<size_t>(groups.states() - groups.row(0));
  std::vector<uint32_t> at;
  for (const uint32_t group : order) at.push_back(groups.mark(group) - 1);
  rows.states = {table.old_rows.data() + states_at, groups.stride()};
  rows.state_rows = at;
  return old_projection_.project(rows, generation_, changes, kept);
}

Status AlignedShard::publish(Table& table, const Window& window, std::span<const uint32_t> order,
                             Moment moment, Publication& out) {
  const RowStatus status = moment == Moment::kFirst        ? RowStatus::kOnTime
                           : moment == Moment::kCorrection ? RowStatus::kCorrection
                                                           : RowStatus::kEarly;
  WRACKLINE_TRY(project(table, window, order, false, new_rows_, kept_));
  const bool is_new = moment == Moment::kFirst && !options_.early;
  const bool has_published =
      !is_new && std::ranges::any_of(order, [&](uint32_t group) { return table.groups.version(group) != 0; });
  if (has_published) {
    WRACKLINE_TRY(publish_changes(table, window, order, status, out));
  } else {
    publish_first_versions(table, order, status, out);
    out.statistics.versions += static_cast<int64_t>(out.changes.rows);
    if (status == RowStatus::kEarly) out.statistics.early += static_cast<int64_t>(out.changes.rows);
    if (status == RowStatus::kCorrection)
      out.statistics.corrections += static_cast<int64_t>(out.changes.rows);
    return {};
  }
  for (size_t i = 0; i < out.changes.rows; ++i) {
    if (out.changes.ops[i] == RowOp::kRetract) {
      if (!options_.wants_retractions) ++out.statistics.retractions;
      continue;
    }
    ++out.statistics.versions;
    out.statistics.corrections += status == RowStatus::kCorrection;
    out.statistics.early += status == RowStatus::kEarly;
  }
  for (size_t i = 0; i < out.changelog.rows; ++i) {
    out.statistics.retractions += out.changelog.ops[i] == RowOp::kRetract;
  }
  return {};
}

// The common case: the projected rows are the publication.
void AlignedShard::publish_first_versions(Table& table, std::span<const uint32_t> order, RowStatus status,
                                          Publication& out) {
  std::swap(out.changes, new_rows_);
  out.groups.resize(kept_.size());
  for (size_t i = 0; i < kept_.size(); ++i) out.groups[i] = order[kept_[i]];
  if (kept_.size() == table.groups.size()) {  // in the order of memory
    for (uint32_t group = 0; group < kept_.size(); ++group) table.groups.version(group) = 1;
  } else {
    for (const uint32_t group : out.groups) table.groups.version(group) = 1;
  }
  std::ranges::fill(out.changes.ops, RowOp::kInsert);
  std::ranges::fill(out.changes.versions, 1);
  std::ranges::fill(out.changes.statuses, status);
  if (!options_.wants_retractions) return;
  start_rows(out.changelog, out.changes, out.changes.rows, generation_);
  for (size_t i = 0; i < out.changes.columns.size(); ++i)
    out.changelog.columns[i].copy_from(out.changes.columns[i]);
  out.changelog.ops = out.changes.ops;
  out.changelog.versions = out.changes.versions;
  out.changelog.statuses = out.changes.statuses;
  out.changelog_groups = out.groups;
}

// Of the groups in `order`, the published rows that are replaced or withdrawn; old_at_[i] is the row of
// order[i] in old_rows_, or kNoRow where the new row is the old one or nothing was published.
Status AlignedShard::find_old_rows(Table& table, const Window& window, std::span<const uint32_t> order) {
  old_at_.assign(order.size(), kNoRow);
  if (!needs_old_rows()) return {};
  old_order_.clear();
  old_places_.clear();
  for (uint32_t i = 0; i < order.size(); ++i) {
    if (!is_visible(table.groups.version(order[i])) || table.groups.mark(order[i]) == 0) continue;
    old_order_.push_back(order[i]);
    old_places_.push_back(i);
  }
  WRACKLINE_TRY(project(table, window, old_order_, true, old_rows_, old_kept_));
  for (uint32_t i = 0; i < old_kept_.size(); ++i) old_at_[old_places_[old_kept_[i]]] = i;
  return {};
}

// What each group's change means: a row appears, changes, disappears (HAVING), or stays away.
Status AlignedShard::publish_changes(Table& table, const Window& window, std::span<const uint32_t> order,
                                     RowStatus status, Publication& out) {
  WRACKLINE_TRY(find_old_rows(table, window, order));
  RowWriter changes(out.changes, out.groups, new_rows_, order.size(), status, generation_);
  RowWriter changelog(out.changelog, out.changelog_groups, new_rows_,
                      options_.wants_retractions ? order.size() * 2 : 0, status, generation_);
  size_t next = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t group = order[i];
    uint32_t& version = table.groups.version(group);
    const uint32_t count = version & ~kHidden;
    const bool was_visible = is_visible(version);
    const bool passes = next < kept_.size() && kept_[next] == i;
    const size_t new_row = next;
    if (passes) ++next;
    if (!passes && !was_visible) continue;
    const bool has_old = old_at_[i] != kNoRow;
    const ChangeBatch& old_from = has_old ? old_rows_ : new_rows_;
    const size_t old_row = has_old ? old_at_[i] : new_row;
    if (passes) {
      changes.put(was_visible ? RowOp::kUpdate : RowOp::kInsert, count + 1, new_rows_, new_row, group);
    } else {
      changes.put(RowOp::kRetract, count + 1, old_from, old_row, group);
    }
    if (options_.wants_retractions) {
      if (was_visible) changelog.put(RowOp::kRetract, count, old_from, old_row, group);
      if (passes) changelog.put(RowOp::kInsert, count + 1, new_rows_, new_row, group);
    }
    version = passes ? count + 1 : (count + 1) | kHidden;
  }
  changes.finish();
  changelog.finish();
  return {};
}

size_t AlignedShard::state_bytes() const {
  size_t bytes = front_ ? front_->groups.bytes() : 0;
  for (const auto* tables : {&slices_, &windows_, &back_}) {
    for (const auto& [at, table] : *tables) bytes += table->groups.bytes();
  }
  return bytes;
}

// ---- Snapshots

void AlignedShard::save(SnapshotWriter& out, std::string_view label) const {
  out.section("shrd");
  out.u64(changes_);
  save_tables(slices_, format("slice/{}", label), out);
  save_tables(windows_, format("window/{}", label), out);
}

Status AlignedShard::restore(SnapshotReader& in, std::string_view label) {
  in.section("shrd");
  const uint64_t changes = in.u64();
  WRACKLINE_TRY(restore_tables(in, format("slice/{}", label), slices_));
  WRACKLINE_TRY(restore_tables(in, format("window/{}", label), windows_));
  changes_ = changes;
  return in.status();
}

void AlignedShard::save_tables(const Tables& tables, std::string_view label, SnapshotWriter& out) const {
  out.u64(tables.size());
  for (const auto& [at, table] : tables) {
    out.i64(at);
    out.u64(table->changed_at);
    out.piece(format("{}/{}", label, at), table->changed_at,
              [&](SnapshotWriter& piece) { save_table(*table, piece); });
  }
}

Status AlignedShard::restore_tables(SnapshotReader& in, std::string_view label, Tables& tables) {
  tables.clear();
  for (size_t left = in.count(2 * sizeof(int64_t)); left > 0; --left) {
    const int64_t at = in.i64();
    const uint64_t changed_at = in.u64();
    std::unique_ptr<Table>& table = tables[at];
    if (table) in.refuse("two tables have the same time");
    WRACKLINE_TRY(in.status());
    table = new_table();
    table->changed_at = changed_at;
    // What is wrong with the fields is an error of the piece's reader, which hands it on.
    Status restored;
    in.piece(format("{}/{}", label, at),
             [&](SnapshotReader& piece) { restored = restore_table(piece, *table); });
    WRACKLINE_TRY(std::move(restored));
    WRACKLINE_TRY(in.status());
  }
  return in.status();
}

// Every shard has every table, as if it had been there when the window was closed.
void AlignedShard::share_out(std::span<const std::unique_ptr<AlignedShard>> shards) {
  state::EncodedKeys keys;
  std::vector<uint32_t> shard_of;
  std::vector<std::vector<uint32_t>> groups_of(shards.size());
  // Before a table is made: its revision must not be one that its name had earlier.
  for (const auto& shard : shards) shard->changes_ = std::max(shard->changes_, changes_);
  for (Tables AlignedShard::* tables : {&AlignedShard::slices_, &AlignedShard::windows_}) {
    for (auto& [at, table] : this->*tables) {
      table->groups.sorted_groups(order_);
      table->groups.export_keys(order_, keys);
      state::assign_shards(grouping_.codec().shape(), keys, shards.size(), shard_of);
      for (auto& groups : groups_of) groups.clear();
      for (size_t i = 0; i < order_.size(); ++i) groups_of[shard_of[i]].push_back(order_[i]);
      for (size_t i = 0; i < shards.size(); ++i) {
        std::unique_ptr<Table>& to = ((*shards[i]).*tables)[at];
        if (!to) to = shards[i]->new_table();
        shards[i]->receive(*to, *table, groups_of[i]);
      }
    }
  }
}

// States are merged into empty ones rather than copied, because a state may point into its table's memory.
void AlignedShard::receive(Table& to, Table& from, std::span<const uint32_t> groups) {
  const std::span<const uint32_t> placed = writer_.merge(to.groups, from.groups, groups);
  const size_t stride = to.groups.stride();
  const size_t states_at = stride - grouping_.state_bytes();
  for (size_t i = 0; i < groups.size(); ++i) {
    to.groups.version(placed[i]) = from.groups.version(groups[i]);
    const uint32_t mark = from.groups.mark(groups[i]);
    if (mark == 0) continue;
    to.touched.push_back(placed[i]);
    to.groups.mark(placed[i]) = static_cast<uint32_t>(to.touched.size());
    if (from.old_rows.empty()) continue;
    const size_t at = to.old_rows.size();
    to.old_rows.resize(at + stride);
    std::memcpy(to.old_rows.data() + at, to.groups.row(placed[i]), states_at);
    grouping_.merge(to.old_rows.data() + at + states_at,
                    from.old_rows.data() + (mark - 1) * stride + states_at, to.groups.arena());
  }
}

void AlignedShard::save_table(const Table& table, SnapshotWriter& out) const {
  grouping_.save(table.groups, out);
  out.u64(table.touched.size());
  for (const uint32_t group : table.touched) out.u32(group);
  out.u8(table.old_rows.empty() ? 0 : 1);
  const size_t stride = table.groups.stride();
  const size_t states_at = stride - grouping_.state_bytes();
  for (size_t at = 0; at < table.old_rows.size(); at += stride) {
    grouping_.save(table.old_rows.data() + at + states_at, out);
  }
}

Status AlignedShard::restore_table(SnapshotReader& in, Table& table) const {
  WRACKLINE_TRY(grouping_.restore(in, table.groups));
  table.touched.resize(in.count(sizeof(uint32_t)));
  size_t marked = 0;
  for (size_t group = 0; group < table.groups.size(); ++group) marked += table.groups.mark(group) != 0;
  if (marked != table.touched.size()) in.refuse("changed groups are missing");
  for (size_t i = 0; i < table.touched.size(); ++i) {
    const uint32_t group = table.touched[i] = in.u32();
    if (!in.failed() && (group >= table.groups.size() || table.groups.mark(group) != i + 1)) {
      in.refuse("a changed group is not marked");
    }
  }
  if (in.u8() == 0) return in.status();
  return restore_old_rows(in, table);
}

// Keys and versions stand in the table still; what was published is in the states.
Status AlignedShard::restore_old_rows(SnapshotReader& in, Table& table) const {
  WRACKLINE_TRY(in.status());
  const size_t stride = table.groups.stride();
  const size_t states_at = stride - grouping_.state_bytes();
  table.old_rows.assign(table.touched.size() * stride, std::byte{});
  for (size_t i = 0; i < table.touched.size(); ++i) {
    std::byte* old_row = table.old_rows.data() + i * stride;
    std::memcpy(old_row, table.groups.row(table.touched[i]), states_at);
    WRACKLINE_TRY(grouping_.restore(in, old_row + states_at, table.groups.arena()));
  }
  return in.status();
}

}  // namespace wrackline
