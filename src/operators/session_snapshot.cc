// Sessions in a snapshot: key by key, so that a store, or several that share the keys in another way, can be
// filled from it.
//
// Only what later records can reach is written. Slots have no place in it, and neither have timers and the
// sessions that were merged away and wait for theirs: a timer is a function of its session.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "operators/session_store.h"

namespace wrackline {
namespace {

constexpr uint32_t kVersionMax = 1U << 31;

bool is_event_time(int64_t time_us) {
  return time_us >= -kEventMicrosLimit && time_us <= kEventMicrosLimit;
}

}  // namespace

void SessionStore::save(SnapshotWriter& out) const {
  WRACKLINE_CHECK(waiting_rows_.empty() && closed_.empty() && corrected_slots_.empty(),
                  "a snapshot is taken between ticks");
  const std::vector<uint32_t> groups = needed_keys();
  std::vector<uint32_t> withdrawn = withdrawn_;  // of one key they stay in order
  std::ranges::stable_sort(withdrawn, {}, [this](uint32_t slot) { return session(slot).group; });
  out.section("keys");
  out.u64(groups.size());
  auto next = withdrawn.begin();
  for (const uint32_t group : groups) {
    save_key(group, out);
    const auto begin = next;
    while (next != withdrawn.end() && session(*next).group == group) ++next;
    out.u32(static_cast<uint32_t>(next - begin));
    for (auto slot = begin; slot != next; ++slot) save_old_row(*slot, out);
  }
  WRACKLINE_CHECK(next == withdrawn.end(), "rows to withdraw have keys");
}

void SessionStore::save_key(uint32_t group, SnapshotWriter& out) const {
  const bool is_null = keys_.is_null_key(group);
  const state::KeyShape shape = grouping_.codec().shape();
  out.u8(is_null ? 1 : 0);
  if (shape == state::KeyShape::kInteger && !is_null) out.i64(keys_.integer_key(group));
  if (shape == state::KeyShape::kBytes && !is_null) out.text(keys_.bytes_key(group));
  out.i64(ghost(group).start_us);
  out.i64(ghost(group).end_us);
  uint32_t sessions = 0;
  for (uint32_t at = keys_.mark(group); at != 0; at = session(at - 1).next) ++sessions;
  out.u32(sessions);
  for (uint32_t at = keys_.mark(group); at != 0; at = session(at - 1).next) save_session(at - 1, out);
}

void SessionStore::save_session(uint32_t slot, SnapshotWriter& out) const {
  const Session& s = session(slot);
  WRACKLINE_CHECK(!s.is(kClosing | kSealed | kMerged | kCorrected));
  out.i64(s.first_us);
  out.i64(s.last_us);
  out.u32(s.version);
  out.u32(s.flags());
  grouping_.save(states_of(slot), out);
  if (s.is(kHasOld)) save_old_row(old_rows_.at(slot), out);
}

void SessionStore::save_old_row(uint32_t slot, SnapshotWriter& out) const {
  const Session& s = session(slot);
  out.i64(s.first_us);
  out.i64(s.last_us);
  out.u32(s.version);
  out.u32(s.flags() & (kShown | kShownEarly));
  grouping_.save(states_of(slot), out);
}

void SessionStore::restore_key(SnapshotReader& in, const state::KeyCodec& codec, state::EncodedKeys& key) {
  key.count = 1;
  key.nulls.assign(1, in.u8());
  key.integers.assign(1, 0);
  key.bytes.assign(1, {});
  const bool is_null = key.nulls[0] != 0;
  if (key.nulls[0] > 1 || (is_null && codec.shape() == state::KeyShape::kNone)) in.refuse("no key");
  if (is_null) return;
  if (codec.shape() == state::KeyShape::kInteger) key.integers[0] = in.i64();
  if (codec.shape() != state::KeyShape::kBytes) return;
  key.bytes[0] = in.text();
  if (!codec.could_have_made(key.bytes[0])) in.refuse("a key is not of the view's key columns");
}

Status SessionStore::restore(const state::EncodedKeys& key, int64_t watermark_us, SnapshotReader& in) {
  watermark_us_ = watermark_us;
  uint32_t group = 0;
  keys_.find(key, {&group, 1});
  if (group != state::GroupTable::kNoGroup) in.refuse("a key stands there twice");
  WRACKLINE_TRY(in.status());
  keys_.find_or_insert(key, {&group, 1});
  restore_ghost(in, group);
  uint32_t newer = 0;
  for (uint32_t left = in.u32(); left > 0; --left) {
    WRACKLINE_TRY(restore_session(in, group, newer));
    newer = newer == 0 ? keys_.mark(group) : session(newer - 1).next;
  }
  keys_live_ += newer != 0;
  for (uint32_t left = in.u32(); left > 0; --left) {
    const uint32_t slot = new_slot();
    withdrawn_.push_back(slot);
    WRACKLINE_TRY(restore_old_row(in, group, slot));
  }
  return in.status();
}

// What lies before a ghost's end must be sealed: place() relies on it.
void SessionStore::restore_ghost(SnapshotReader& in, uint32_t group) {
  Ghost& g = ghost(group);
  g.start_us = in.i64();
  g.end_us = in.i64();
  const int64_t out_of_reach_us = saturating_subtract(
      saturating_subtract(watermark_us_, router_.allowed_lateness().micros()), rules_.gap().micros());
  const bool is_sealed = g.start_us < g.end_us ? router_.sealed_at(g.end_us) <= watermark_us_
                                               : g.start_us == g.end_us && g.end_us <= out_of_reach_us;
  if (!is_sealed) in.refuse("a session is called sealed and is not");
}

// The next session of the key, after `newer` in its list.
Status SessionStore::restore_session(SnapshotReader& in, uint32_t group, uint32_t newer) {
  const uint32_t slot = new_slot();
  Session& s = session(slot);
  s.first_us = in.i64();
  s.last_us = in.i64();
  s.version = in.u32();
  s.bits = in.u32();
  s.group = group;
  check_session(in, slot, newer);
  WRACKLINE_TRY(in.status());
  WRACKLINE_TRY(grouping_.restore(in, states_of(slot), arena_));
  if (newer == 0) {
    keys_.mark(group) = slot + 1;
  } else {
    session(newer - 1).next = slot + 1;
  }
  ++live_count_;
  set_timer(slot, timer_of(slot));
  if (session(slot).is(kChanged)) changed_slots_.push_back(slot);
  if (!session(slot).is(kHasOld)) return {};
  const uint32_t old = new_slot();
  WRACKLINE_TRY(restore_old_row(in, group, old));
  const Session& row = session(old);
  const Session& now = session(slot);
  if (row.first_us != now.first_us || end_of(old) != end_of(slot) || row.version != now.version ||
      row.flags() != (now.flags() & (kShown | kShownEarly))) {
    in.refuse("a published row is not of its session");
  }
  old_rows_[slot] = old;
  return in.status();
}

void SessionStore::check_session(SnapshotReader& in, uint32_t slot, uint32_t newer) const {
  const Session& s = session(slot);
  if (!is_event_time(s.first_us) || !is_event_time(s.last_us) || s.first_us > s.last_us) {
    return in.refuse("a session is out of the range of times");
  }
  constexpr uint32_t kLiveFlags = kClosed | kShown | kShownEarly | kChanged | kHasOld;
  const bool shown = s.is(kShown);
  if ((s.bits & ~kLiveFlags) != 0 || (!shown && s.is(kShownEarly | kHasOld)) || (shown && s.version == 0) ||
      s.version >= kVersionMax) {
    return in.refuse("a session is in no state that there is");
  }
  const int64_t end_us = end_of(slot);
  if (newer != 0 && end_us > session(newer - 1).first_us) return in.refuse("two sessions of a key overlap");
  const bool closed = s.is(kClosed);
  if (closed != (end_us <= watermark_us_) || (closed && router_.sealed_at(end_us) <= watermark_us_)) {
    in.refuse("a session does not fit the watermark");
  }
}

Status SessionStore::restore_old_row(SnapshotReader& in, uint32_t group, uint32_t slot) {
  Session& s = session(slot);
  s.first_us = in.i64();
  s.last_us = in.i64();
  s.version = in.u32();
  s.bits = in.u32();
  s.group = group;
  const bool in_range = is_event_time(s.first_us) && is_event_time(s.last_us) && s.first_us <= s.last_us;
  const bool shown = s.is(kShown) && (s.bits & ~(kShown | kShownEarly)) == 0;
  if (!in_range || !shown || s.version == 0 || s.version >= kVersionMax) {
    in.refuse("a published row is in no state that there is");
  }
  WRACKLINE_TRY(in.status());
  return grouping_.restore(in, states_of(slot), arena_);
}

}  // namespace wrackline
