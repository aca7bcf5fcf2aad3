// The sessions of a part of the keys: found, grown, merged, closed and sealed as the watermark moves.
//
// Layout. A key has a row in a table: its newest live session and its ghost. Sessions lie in a pool of rows
// (header, then the aggregates' states) and form a list per key, newest first; most keys have one. A slot is
// one of
//   live     in its key's list: open, or closed and revisable
//   sealed   out of the list, waiting to be published one last time
//   merged   another session has taken its events; stays until its timer rings
//   old row  a published row as it was before its session changed, until that change is published
//
// Time. Every live or merged session has one timer, for its end when it was set, later for its sealing. When
// it rings and the session has grown, it is set again: a record that lengthens a session touches no timer.
// Timers hang in buckets of a fraction of the gap; only the bucket that the watermark is in is kept in order
// (a lazy timing wheel: Varghese, Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, scheme 6).
//
// Aggregates. A record is first given its session and waits in a list; whole lists go to the aggregates, when
// states are needed and at the end of a range. A session that closes with no record waiting needs none of it.
//
// The rules are those of wrackline/window_session.h.
//
// Threads: one thread at a time.
// Cost:    a session takes 32 bytes, its states and 4-8 of timer, its key 32 bytes and 8-16 of index. No
//          allocation per record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operators/grouping.h"
#include "operators/view_operator.h"
#include "wrackline/window_session.h"

namespace wrackline {

struct SessionOptions {
  Duration gap;                        // more than nothing
  std::optional<Duration> max_length;  // where sessions are cut: wrackline/window_session.h
};

class SessionStore {
 public:
  // A record that is in no session.
  struct Late {
    uint32_t row = 0;
    LateVerdict verdict = LateVerdict::kLedgered;
    bool touches_ghost = false;
    Window missed;
  };

  // Borrows both.
  SessionStore(const ViewOptions& options, const SessionOptions& sessions, const Grouping& grouping);

  // ---- Records

  // Finds the keys of the rows that add() will take.
  void begin_rows(const InputColumns& columns, std::span<const uint32_t> rows);
  // Takes the rows from the one with index `from` on and moves with their watermarks. Returns the index of
  // the first row not taken: it would change a session whose first version is still in closed().
  size_t add(size_t from);
  // Moves the watermark. Requires: it does not go back.
  void advance(int64_t watermark_us);
  // Brings all states up to date. Call it before publishing and before the batch ends.
  void flush();

  // What became of the rows since clear_row_results(), in row order but for errors.
  const std::vector<Late>& late() const { return late_; }
  const std::vector<uint32_t>& corrected() const { return corrected_; }
  const expr::RowErrors& errors() const { return errors_; }
  int64_t behind_watermark() const { return behind_watermark_; }
  void clear_row_results();

  // ---- Publishing. Lists of slots come in the order of (window end, key).

  // Sessions that the watermark has reached, without a first version.
  std::vector<uint32_t> take_closed();
  bool has_closed() const { return !closed_.empty(); }
  // Closed sessions that have changed.
  std::vector<uint32_t> take_corrected();
  // Open sessions that have changed since the last call.
  std::vector<uint32_t> take_changed();
  // Old rows of windows that are gone. `early`: also those that were only ever published early.
  std::vector<uint32_t> take_withdrawn(bool early);

  Window window_of(uint32_t slot) const;
  uint32_t group_of(uint32_t slot) const { return session(slot).group; }
  uint32_t version_of(uint32_t slot) const { return session(slot).version; }
  // The session has a row with readers.
  bool is_shown(uint32_t slot) const { return session(slot).is(kShown); }
  bool is_shown_early(uint32_t slot) const { return session(slot).is(kShownEarly); }
  // Where the row lies that readers have: the session's own slot while nothing has changed.
  uint32_t shown_row(uint32_t slot) const { return session(slot).is(kHasOld) ? old_rows_.at(slot) : slot; }
  // The next version of the session's row has been published: shown to readers, or taken from them.
  // Returns it.
  uint32_t count_version(uint32_t slot, bool shown, bool early);
  // The slots have been published: old rows and sealed sessions among them are freed.
  void release(std::span<const uint32_t> slots);

  const state::GroupTable& keys() const { return keys_; }
  expr::StateRows states() { return {pool_.data() + sizeof(Session), stride_}; }

  // ---- Snapshots, between two ticks

  // Writes the keys that have sessions, ghosts within reach or rows to withdraw, each with all of them:
  // nothing in it depends on how keys are spread over stores.
  void save(SnapshotWriter& out) const;
  // Reads a key, for assign_shards(). It points into the snapshot.
  static void restore_key(SnapshotReader& in, const state::KeyCodec& codec, state::EncodedKeys& key);
  // Takes what belongs to that key. Requires: a store of the same options that has seen no record, and the
  // watermark of the snapshot. Errors: kData; the store is then of no use.
  Status restore(const state::EncodedKeys& key, int64_t watermark_us, SnapshotReader& in);

  // Frees what lies around: keys without sessions and ghosts, text of sessions that are gone. Call it between
  // batches, when everything is published.
  void tidy();
  size_t live_count() const { return live_count_; }
  size_t key_count() const { return keys_.size(); }
  size_t state_bytes() const;

 private:
  enum Flag : uint32_t {
    kClosed = 1,       // the watermark has reached its end
    kClosing = 2,      // in closed_
    kSealed = 4,       // out of its key's list
    kMerged = 8,       // `next` is the session that took its events
    kShown = 16,       // readers have a row of it
    kShownEarly = 32,  // that row is provisional
    kCorrected = 64,   // in corrected_slots_
    kChanged = 128,    // in changed_slots_
    kHasOld = 256,     // its row as readers have it lies in old_rows_
  };
  static constexpr uint32_t kFlagBits = 9;
  static constexpr uint32_t kFlagMask = (1U << kFlagBits) - 1;
  // "Slot + 1, 0 for none" wherever a slot is named.
  struct Session {
    int64_t first_us;
    int64_t last_us;
    uint32_t next;  // the key's next older session; of a free slot, the next free one
    uint32_t group;
    uint32_t version;  // the last one published of this window
    uint32_t bits;     // flags, and above them the stamp of the waiting list that has records of it

    bool is(uint32_t flags) const { return (bits & flags) != 0; }
    uint32_t flags() const { return bits & kFlagMask; }
    void set(uint32_t flags) { bits |= flags; }
    void clear(uint32_t flags) { bits &= ~flags; }
    void set_only(uint32_t flags) { bits = (bits & ~kFlagMask) | flags; }
    uint32_t stamp() const { return bits >> kFlagBits; }
    void set_stamp(uint32_t stamp) { bits = flags() | stamp << kFlagBits; }
  };

  // Bounds of the last sealed session of the key; no session may begin before `end_us`. Equal: no ghost.
  struct Ghost {
    int64_t start_us;
    int64_t end_us;
  };
  struct Timer {
    int64_t time_us;
    uint32_t slot;
    friend bool operator>(const Timer& a, const Timer& b) { return a.time_us > b.time_us; }
  };

  Session& session(uint32_t slot) { return *reinterpret_cast<Session*>(pool_.data() + slot * stride_); }
  const Session& session(uint32_t slot) const {
    return *reinterpret_cast<const Session*>(pool_.data() + slot * stride_);
  }
  std::byte* states_of(uint32_t slot) { return pool_.data() + slot * stride_ + sizeof(Session); }
  const std::byte* states_of(uint32_t slot) const { return pool_.data() + slot * stride_ + sizeof(Session); }
  Ghost& ghost(uint32_t group) { return *reinterpret_cast<Ghost*>(keys_.states() + group * keys_.stride()); }
  const Ghost& ghost(uint32_t group) const {
    return *reinterpret_cast<const Ghost*>(keys_.states() + group * keys_.stride());
  }
  int64_t end_of(uint32_t slot) const { return rules_.end_of(session(slot).last_us); }

  uint32_t new_slot();
  void free_slot(uint32_t slot);
  uint32_t copy_of(uint32_t slot);
  void wait(uint32_t slot, uint32_t row);
  uint32_t resolve(uint32_t slot) const;

  bool place(uint32_t row, uint32_t group, int64_t event_us);
  void renew_key(uint32_t group);
  bool is_behind_ghost(uint32_t row, uint32_t group, int64_t event_us);
  void begin_session(uint32_t row, uint32_t group, int64_t event_us, uint32_t newer);
  void grow(uint32_t row, int64_t event_us, uint32_t slot, uint32_t merged_plus_one, uint32_t newer);
  void accept(uint32_t row, uint32_t slot, int64_t event_us);
  void end_identity(uint32_t slot);
  std::optional<uint32_t> take_old_row(uint32_t slot);
  void free_old_row(uint32_t slot);
  void keep_old_row(uint32_t slot);
  uint32_t reopen(uint32_t slot, uint32_t newer);
  uint32_t newer_of(uint32_t slot) const;

  void set_timer(uint32_t slot, int64_t time_us);
  int64_t timer_of(uint32_t slot) const;
  void open_bucket();
  uint32_t take_opened();
  void ring(uint32_t slot);
  void seal(uint32_t slot);
  void find_next_timer();

  void sort_slots(std::vector<uint32_t>& slots);
  std::vector<uint32_t> needed_keys() const;
  void rebuild_keys();
  void rebuild_arena();

  void save_key(uint32_t group, SnapshotWriter& out) const;
  void save_session(uint32_t slot, SnapshotWriter& out) const;
  void save_old_row(uint32_t slot, SnapshotWriter& out) const;
  void restore_ghost(SnapshotReader& in, uint32_t group);
  Status restore_session(SnapshotReader& in, uint32_t group, uint32_t newer);
  void check_session(SnapshotReader& in, uint32_t slot, uint32_t newer) const;
  Status restore_old_row(SnapshotReader& in, uint32_t group, uint32_t slot);

  const Grouping& grouping_;
  GroupWriter writer_;
  SessionRules rules_;
  LateRouter router_;
  bool tracks_changes_;
  size_t stride_;
  int64_t bucket_us_;

  // State that a checkpoint holds.
  state::GroupTable keys_;  // mark: the newest session, slot + 1; states: a Ghost
  std::vector<std::byte> pool_;
  Arena arena_;
  uint32_t free_ = 0;
  size_t slots_used_ = 0;
  size_t live_count_ = 0;
  size_t keys_live_ = 0;                              // with a session in their list
  std::map<int64_t, std::vector<uint32_t>> buckets_;  // time / bucket_us_ -> slots
  // Timers of the bucket that the watermark is in: those it had when it was opened, the next one last, and a
  // heap of those set since.
  std::vector<Timer> opened_;
  std::vector<Timer> due_;
  int64_t opened_before_us_ = kMicrosMin;
  int64_t next_timer_us_ = kMicrosMax;
  int64_t watermark_us_ = kMicrosMin;
  std::vector<uint32_t> closed_;
  std::vector<uint32_t> corrected_slots_;
  std::vector<uint32_t> changed_slots_;
  std::vector<uint32_t> withdrawn_;
  std::unordered_map<uint32_t, uint32_t> old_rows_;  // of sessions that changed since they were published

  // Of the range of rows at hand.
  const InputColumns* columns_ = nullptr;
  std::span<const uint32_t> rows_;
  std::span<const uint32_t> groups_;
  std::vector<uint32_t> waiting_rows_;
  std::vector<uint32_t> waiting_slots_;
  uint32_t stamp_ = 1;
  bool any_merged_ = false;  // since the last flush: waiting slots may have been merged away
  std::vector<Late> late_;
  std::vector<uint32_t> corrected_;
  expr::RowErrors errors_;
  int64_t behind_watermark_ = 0;

  // When to tidy next.
  size_t keys_checked_at_ = 1024;
  int64_t keys_checked_us_ = kMicrosMin;
  size_t arena_checked_at_ = size_t{1} << 20;
  std::vector<std::pair<uint32_t, uint32_t>> run_;    // scratch of sort_slots
  std::vector<std::vector<uint32_t>> spare_buckets_;  // with memory
};

}  // namespace wrackline
