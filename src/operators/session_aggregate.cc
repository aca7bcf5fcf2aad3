#include "operators/session_aggregate.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace wrackline {
namespace {

void reset(ChangeBatch& changes, size_t rows, const ChangeBatch& like) {
  changes.rows = rows;
  changes.columns.resize(like.columns.size());
  for (size_t i = 0; i < like.columns.size(); ++i) {
    changes.columns[i].reset(like.columns[i].type());
    changes.columns[i].resize(rows);
  }
  changes.ops.resize(rows);
  changes.versions.resize(rows);
  changes.statuses.resize(rows);
  changes.generation = like.generation;
}

void copy_row(ChangeBatch& to, size_t at, const ChangeBatch& from, size_t row) {
  for (size_t i = 0; i < to.columns.size(); ++i) to.columns[i].copy_value(at, from.columns[i], row);
  to.statuses[at] = from.statuses[row];
}

// Only a snapshot that is not what it says can bring this about.
Status damaged_row() {
  return fail(ErrorCode::kData, "a published row does not pass HAVING",
              "The state was restored from a checkpoint in which it is not what was published.",
              "Restore from an older checkpoint, or read the input again from the beginning.");
}

}  // namespace

SessionAggregate::SessionAggregate(ViewOptions options, SessionOptions sessions, ChangeConsumer& consumer,
                                   int64_t generation)
    : options_(std::move(options)),
      sessions_(sessions),
      rules_(sessions.gap, sessions.max_length),
      consumer_(consumer),
      generation_(generation),
      grouping_(options_),
      intake_(options_,
              [this](int64_t event_us, std::vector<Window>& windows) {
                windows.push_back(rules_.window_of(event_us, event_us));
              }),
      store_(options_, sessions, grouping_),
      projection_(options_, grouping_) {}

Status SessionAggregate::process(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                 size_t begin, size_t end) {
  WRACKLINE_TRY(intake_.take(batch, times, tick, begin, end));
  rows_.clear();
  const std::vector<uint8_t>& selected = intake_.selected();
  for (size_t row = begin; row < end; ++row) {
    if (selected[row] != 0) rows_.push_back(static_cast<uint32_t>(row));
  }
  store_.begin_rows(intake_.columns(), rows_);
  for (size_t next = 0; next < rows_.size();) {
    next = store_.add(next);
    if (next < rows_.size()) WRACKLINE_TRY(publish_closed());
  }
  store_.flush();
  WRACKLINE_TRY(settle_rows(times, tick));
  return advance(times.watermark_before[end]);
}

Status SessionAggregate::advance(int64_t watermark_us) {
  watermark_us_ = std::max(watermark_us_, watermark_us);
  store_.advance(watermark_us_);
  return publish_closed();
}

// ---- Fates

Status SessionAggregate::settle_rows(const RecordTimes& times, const TickContext& tick) {
  Balance& balance = intake_.balance();
  if (times.partitions.size() == 1) {
    balance.of(times.partitions[0]).accepted += static_cast<int64_t>(rows_.size());
  } else {
    for (const uint32_t row : rows_) ++balance.of(times.partitions[row]).accepted;
  }
  for (const uint32_t row : store_.corrected()) ++balance.of(times.partition(row)).corrected;
  statistics_.behind_watermark += store_.behind_watermark();

  errors_ = store_.errors();
  std::ranges::stable_sort(errors_, {}, &expr::RowError::row);
  const auto same_row = [](const expr::RowError& a, const expr::RowError& b) { return a.row == b.row; };
  errors_.erase(std::unique(errors_.begin(), errors_.end(), same_row), errors_.end());
  // Both lists in one walk, so that the ledger has them in the order of records.
  auto error = errors_.begin();
  for (const SessionStore::Late& late : store_.late()) {
    for (; error != errors_.end() && error->row < late.row; ++error) {
      WRACKLINE_TRY(settle_error(times, tick, *error));
    }
    --balance.of(times.partition(late.row)).accepted;
    WRACKLINE_TRY(settle_late(tick, late));
  }
  for (; error != errors_.end(); ++error) WRACKLINE_TRY(settle_error(times, tick, *error));
  store_.clear_row_results();
  return {};
}

Status SessionAggregate::settle_late(const TickContext& tick, const SessionStore::Late& late) {
  const Reason reason = late.touches_ghost ? Reason::kLateSession : intake_.late_reason(late.row);
  if (late.verdict == LateVerdict::kDropped) {
    const PartitionIndex partition = intake_.columns().times->partition(late.row);
    ++intake_.balance().of(partition).dropped[static_cast<size_t>(reason)];
    return {};
  }
  const bool past_horizon = late.verdict == LateVerdict::kPastHorizon;
  return intake_.set_aside(tick, late.row, past_horizon ? Reason::kPastHorizon : reason, {}, {late.missed});
}

// One absurd value must not stop a job: the aggregate that cannot hold it leaves it out and the ledger says
// so. The record's other aggregates have it, so its fate is to be accepted partially.
Status SessionAggregate::settle_error(const RecordTimes& times, const TickContext& tick,
                                      const expr::RowError& error) {
  FateCounts& counts = intake_.balance().of(times.partition(error.row));
  --counts.accepted;
  ++counts.accepted_partially;
  // The session may still grow: the window of the record alone does not depend on when one looks.
  const int64_t event_us = times.event_us[error.row];
  return intake_.note_missed(tick, error.row, error.reason, error.message,
                             {rules_.window_of(event_us, event_us)});
}

// ---- Publishing

Status SessionAggregate::finish_tick(const TickContext& tick) {
  const bool early = early_is_due(tick);
  WRACKLINE_TRY(withdraw_gone(early));
  WRACKLINE_TRY(publish(store_.take_corrected(), RowStatus::kCorrection));
  if (early) WRACKLINE_TRY(publish(store_.take_changed(), RowStatus::kEarly));
  store_.tidy();
  return {};
}

// Early rows come at the end of the first tick in which the clock they go by has passed a multiple of the
// interval.
bool SessionAggregate::early_is_due(const TickContext& tick) {
  if (!options_.early) return false;
  const int64_t now = options_.early->wall_time ? tick.wall_us : watermark_us_;
  if (now == kMicrosMin || watermark_us_ == kMicrosMax) return false;
  const int64_t mark = floor_divide(now, options_.early->every.micros());
  const bool due = early_mark_ != kMicrosMin && mark > early_mark_;
  early_mark_ = std::max(early_mark_, mark);
  return due;
}

Status SessionAggregate::publish_closed() {
  if (!store_.has_closed()) return {};
  store_.flush();
  const std::vector<uint32_t> slots = store_.take_closed();
  statistics_.windows_closed += static_cast<int64_t>(slots.size());
  // A session that now closes may have grown out of rows that readers still have.
  WRACKLINE_TRY(withdraw_gone(true));
  return publish(slots, RowStatus::kOnTime);
}

Status SessionAggregate::project(std::span<const uint32_t> slots, std::span<const uint32_t> state_rows,
                                 ChangeBatch& changes, std::vector<uint32_t>& kept) {
  windows_.clear();
  key_groups_.clear();
  for (const uint32_t slot : slots) {
    windows_.push_back(store_.window_of(slot));
    key_groups_.push_back(store_.group_of(slot));
  }
  return projection_.project({windows_, &store_.keys(), key_groups_, store_.states(), state_rows},
                             generation_, changes, kept);
}

Status SessionAggregate::publish(std::span<const uint32_t> slots, RowStatus status) {
  if (slots.empty()) return {};
  WRACKLINE_TRY(publish_rows(slots, status));
  store_.release(slots);
  return {};
}

Status SessionAggregate::publish_rows(std::span<const uint32_t> slots, RowStatus status) {
  WRACKLINE_TRY(project(slots, slots, changes_, kept_));
  // Rows that HAVING has taken away since they were published.
  std::vector<uint32_t> gone;
  for (size_t i = 0, k = 0; i < slots.size(); ++i) {
    const bool is_kept = k < kept_.size() && kept_[k] == i;
    k += is_kept;
    if (!is_kept && store_.is_shown(slots[i])) gone.push_back(slots[i]);
  }
  std::vector<uint32_t> shown;
  for (const uint32_t i : kept_) shown.push_back(slots[i]);
  if (!gone.empty()) {
    WRACKLINE_TRY(withdraw(gone));
    // What was projected before may lie where the withdrawn rows lie now.
    WRACKLINE_TRY(project(shown, shown, changes_, kept_));
  }
  if (shown.empty()) return {};
  for (size_t i = 0; i < shown.size(); ++i) {
    changes_.ops[i] = store_.is_shown(shown[i]) ? RowOp::kUpdate : RowOp::kInsert;
    changes_.versions[i] = store_.version_of(shown[i]) + 1;
    changes_.statuses[i] = status;
  }
  WRACKLINE_TRY(consumer_.take(changes_));
  if (options_.wants_retractions) WRACKLINE_TRY(publish_changelog(shown, status));
  for (const uint32_t slot : shown) store_.count_version(slot, true, status == RowStatus::kEarly);
  const auto count = static_cast<int64_t>(shown.size());
  statistics_.versions += count;
  if (status == RowStatus::kCorrection) statistics_.corrections += count;
  if (status == RowStatus::kEarly) statistics_.early += count;
  return {};
}

// changes_ with each updated row as a retract of the old one and an insert of the new one.
Status SessionAggregate::publish_changelog(std::span<const uint32_t> slots, RowStatus status) {
  std::vector<uint32_t> updated;
  std::vector<uint32_t> old_rows;
  for (const uint32_t slot : slots) {
    if (!store_.is_shown(slot)) continue;
    updated.push_back(slot);
    old_rows.push_back(store_.shown_row(slot));
  }
  if (updated.empty()) return consumer_.take_changelog(changes_);
  WRACKLINE_TRY(project(updated, old_rows, old_changes_, old_kept_));
  if (old_kept_.size() != updated.size()) return damaged_row();
  reset(changelog_, slots.size() + updated.size(), changes_);
  for (size_t i = 0, at = 0, old = 0; i < slots.size(); ++i) {
    if (old < updated.size() && updated[old] == slots[i]) {
      old_changes_.statuses[old] = status;
      copy_row(changelog_, at, old_changes_, old++);
      changelog_.ops[at] = RowOp::kRetract;
      changelog_.versions[at++] = store_.version_of(slots[i]);
    }
    copy_row(changelog_, at, changes_, i);
    changelog_.ops[at] = RowOp::kInsert;
    changelog_.versions[at++] = changes_.versions[i];
  }
  statistics_.retractions += static_cast<int64_t>(updated.size());
  return consumer_.take_changelog(changelog_);
}

// Takes the rows of windows that are no more from readers.
Status SessionAggregate::withdraw_gone(bool early) {
  const std::vector<uint32_t> slots = store_.take_withdrawn(early);
  WRACKLINE_TRY(withdraw(slots));
  store_.release(slots);
  return {};
}

// Takes rows from readers: the rows of the slots as they were last published.
Status SessionAggregate::withdraw(std::span<const uint32_t> slots) {
  if (slots.empty()) return {};
  std::vector<uint32_t> old_rows;
  for (const uint32_t slot : slots) old_rows.push_back(store_.shown_row(slot));
  WRACKLINE_TRY(project(slots, old_rows, old_changes_, old_kept_));
  if (old_kept_.size() != slots.size()) return damaged_row();
  for (size_t i = 0; i < slots.size(); ++i) {
    old_changes_.ops[i] = RowOp::kRetract;
    old_changes_.statuses[i] = store_.is_shown_early(slots[i]) ? RowStatus::kEarly : RowStatus::kCorrection;
    old_changes_.versions[i] = store_.version_of(slots[i]) + 1;
  }
  WRACKLINE_TRY(consumer_.take(old_changes_));
  if (options_.wants_retractions) {
    for (int64_t& version : old_changes_.versions) --version;
    WRACKLINE_TRY(consumer_.take_changelog(old_changes_));
  }
  for (const uint32_t slot : slots) store_.count_version(slot, false, false);
  statistics_.retractions += static_cast<int64_t>(slots.size());
  return {};
}

// ---- Snapshots

Status SessionAggregate::save(SnapshotWriter& out) const {
  out.section("sesn");
  out.i64(sessions_.gap.micros());
  out.i64(sessions_.max_length.value_or(Duration()).micros());
  intake_.balance().save(out);
  statistics_.save(out);
  out.i64(watermark_us_);
  out.i64(early_mark_);
  store_.save(out);
  return {};
}

Status SessionAggregate::restore(SnapshotReader& in) {
  in.section("sesn");
  const bool same_gap = in.i64() == sessions_.gap.micros();
  const bool same_length = in.i64() == sessions_.max_length.value_or(Duration()).micros();
  WRACKLINE_TRY(in.status());
  if (!same_gap || !same_length) {
    return fail(ErrorCode::kInvalid,
                "cannot restore the sessions: they were saved with another gap or length", {},
                "Run the job as it was, or start without the checkpoint.");
  }
  intake_.balance().restore(in);
  statistics_.restore(in);
  watermark_us_ = in.i64();
  early_mark_ = in.i64();
  in.section("keys");
  state::EncodedKeys key;
  constexpr size_t kKeyBytesMin = 1 + 2 * sizeof(int64_t) + 2 * sizeof(uint32_t);
  for (size_t left = in.count(kKeyBytesMin); left > 0; --left) {
    SessionStore::restore_key(in, grouping_.codec(), key);
    WRACKLINE_TRY(in.status());
    WRACKLINE_TRY(store_.restore(key, watermark_us_, in));
  }
  return in.status();
}

}  // namespace wrackline
