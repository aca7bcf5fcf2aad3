// Grouped aggregates over session windows.
//
// What is published, and when:
//   1. A session publishes its first version when W reaches its end, [first, last + gap): `on_time`. If
//      it exists only because of records later than that, at the end of their tick: `correction`.
//   2. Later changes within the allowed lateness are published once more at the end of the tick. Where they
//      leave the window as it is, as its next version, `correction`. Where they make it another window, which
//      may be open again, or one with another session, the old rows are withdrawn (a retract with the next
//      version and the old values), at the latest before the new window's first row.
//   3. Versions rise by one for every (key, window) from 1. A window that is gone does not come back.
//   4. A session whose row does not pass HAVING has no row; one that passed and no longer does is withdrawn.
//   5. Early rows of open sessions are replaced at the next early publication or by the first version that
//      is not early; until then readers keep the old one, even when the session has grown.
// Withdrawals come first in a publication; rows are ordered by (window end, key).
//
// Which records are late, and for what, is said in wrackline/window_session.h. Records that touch a sealed
// session have reason `late_session` and its window; other late ones `late` and the window of the record
// alone. With the policies `ledger` and `drop` a session is sealed when it closes.
//
// The state by key lies in a SessionStore; this class counts fates and publishes.
// Threads: one caller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "operators/intake.h"
#include "operators/projection.h"
#include "operators/session_store.h"
#include "operators/view_operator.h"

namespace wrackline {

class SessionAggregate : public ViewOperator {
 public:
  SessionAggregate(ViewOptions options, SessionOptions sessions, ChangeConsumer& consumer,
                   int64_t generation);

  void begin_batch(const Batch& batch) override { intake_.begin_batch(batch); }
  Status process(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                 size_t end) override;
  Status advance(int64_t watermark_us) override;
  Status finish_tick(const TickContext& tick) override;

  Status save(SnapshotWriter& out) const override;
  Status restore(SnapshotReader& in) override;

  const Balance& balance() const override { return intake_.balance(); }
  const ViewStatistics& statistics() const override { return statistics_; }
  size_t live_windows() const override { return store_.live_count(); }
  size_t state_bytes() const override { return store_.state_bytes(); }

 private:
  Status settle_rows(const RecordTimes& times, const TickContext& tick);
  Status settle_late(const TickContext& tick, const SessionStore::Late& late);
  Status settle_error(const RecordTimes& times, const TickContext& tick, const expr::RowError& error);
  bool early_is_due(const TickContext& tick);

  Status publish_closed();
  Status publish(std::span<const uint32_t> slots, RowStatus status);
  Status publish_rows(std::span<const uint32_t> slots, RowStatus status);
  Status publish_changelog(std::span<const uint32_t> slots, RowStatus status);
  Status withdraw_gone(bool early);
  Status withdraw(std::span<const uint32_t> slots);
  Status project(std::span<const uint32_t> windows_of, std::span<const uint32_t> state_rows,
                 ChangeBatch& changes, std::vector<uint32_t>& kept);

  ViewOptions options_;
  SessionOptions sessions_;
  SessionRules rules_;
  ChangeConsumer& consumer_;
  int64_t generation_;
  Grouping grouping_;
  Intake intake_;
  SessionStore store_;
  Projection projection_;

  // State that a checkpoint holds.
  int64_t watermark_us_ = kMicrosMin;
  int64_t early_mark_ = kMicrosMin;  // of the last early publication: time / every
  ViewStatistics statistics_;

  // Scratch.
  std::vector<uint32_t> rows_;
  expr::RowErrors errors_;
  std::vector<Window> windows_;
  std::vector<uint32_t> key_groups_;
  std::vector<uint32_t> kept_;
  std::vector<uint32_t> old_kept_;
  ChangeBatch changes_;
  ChangeBatch old_changes_;
  ChangeBatch changelog_;
};

}  // namespace wrackline
