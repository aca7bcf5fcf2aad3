#include "operators/session_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/check.h"

namespace wrackline {
namespace {

constexpr int64_t kBucketsPerGap = 32;
constexpr uint32_t kStampMask = (1U << 23) - 1;  // what is left of 32 bits by the flags
constexpr size_t kPrefetchKeys = 12;
constexpr size_t kPrefetchSessions = 6;
constexpr size_t kSpareBuckets = 2 * kBucketsPerGap;

}  // namespace

SessionStore::SessionStore(const ViewOptions& options, const SessionOptions& sessions,
                           const Grouping& grouping)
    : grouping_(grouping),
      writer_(grouping),
      rules_(sessions.gap, sessions.max_length),
      router_(options.router),
      tracks_changes_(options.early.has_value()),
      stride_(sizeof(Session) + grouping.state_bytes()),
      bucket_us_(std::max<int64_t>(1, rules_.gap().micros() / kBucketsPerGap)),
      keys_(grouping.codec().shape(), sizeof(Ghost)) {
  static_assert(sizeof(Session) == 32);
  WRACKLINE_CHECK(sessions.gap > Duration() && (!sessions.max_length || *sessions.max_length > Duration()),
                  "the parser refuses other spans");
}

// ---- The pool

uint32_t SessionStore::new_slot() {
  uint32_t slot = 0;
  if (free_ != 0) {
    slot = free_ - 1;
    free_ = session(slot).next;
  } else {
    slot = static_cast<uint32_t>(slots_used_++);
    WRACKLINE_CHECK(slots_used_ < UINT32_MAX, "slots are numbered with 32 bits");
    if (slots_used_ * stride_ > pool_.capacity())
      pool_.reserve(pool_.capacity() + pool_.capacity() / 4 + 64 * stride_);
    pool_.resize(slots_used_ * stride_);
  }
  std::memset(pool_.data() + slot * stride_, 0, stride_);
  return slot;
}

void SessionStore::free_slot(uint32_t slot) {
  // Records that wait for this slot go to the session that took its events; their way leads through here.
  if (session(slot).stamp() == stamp_) flush();
  session(slot).set_only(kMerged);
  session(slot).next = free_;
  free_ = slot + 1;
}

// A slot with the same header and states; records that wait for `slot` are not in it. States are merged into
// empty ones rather than copied, because a state may point to what the next update changes.
uint32_t SessionStore::copy_of(uint32_t slot) {
  const uint32_t copy = new_slot();
  session(copy) = session(slot);
  session(copy).bits = session(slot).bits & (kShown | kShownEarly);
  session(copy).next = 0;
  grouping_.merge(states_of(copy), states_of(slot), arena_);
  return copy;
}

void SessionStore::wait(uint32_t slot, uint32_t row) {
  waiting_rows_.push_back(row);
  waiting_slots_.push_back(slot);
  session(slot).set_stamp(stamp_);
}

uint32_t SessionStore::resolve(uint32_t slot) const {
  while (session(slot).is(kMerged)) slot = session(slot).next - 1;
  return slot;
}

void SessionStore::flush() {
  if (waiting_rows_.empty()) return;
  stamp_ = (stamp_ + 1) & kStampMask;
  stamp_ += stamp_ == 0;
  if (any_merged_) {
    for (uint32_t& slot : waiting_slots_) slot = resolve(slot);
    any_merged_ = false;
  }
  writer_.update(states(), arena_, *columns_, waiting_slots_, waiting_rows_, errors_);
  waiting_rows_.clear();
  waiting_slots_.clear();
}

// ---- Records

void SessionStore::begin_rows(const InputColumns& columns, std::span<const uint32_t> rows) {
  columns_ = &columns;
  rows_ = rows;
  groups_ = writer_.find(keys_, columns, rows);
}

void SessionStore::clear_row_results() {
  late_.clear();
  corrected_.clear();
  errors_.clear();
  behind_watermark_ = 0;
}

size_t SessionStore::add(size_t from) {
  const std::vector<int64_t>& times = columns_->times->event_us;
  const std::vector<int64_t>& watermarks = columns_->times->watermark_before;
  // A session with none of these is open and has never been published; with `kChanged` missing, the change
  // would have to be noted.
  const uint32_t ignored = tracks_changes_ ? uint32_t{kChanged} : 0U;
  for (size_t i = from; i < rows_.size(); ++i) {
    if (i + kPrefetchKeys < rows_.size()) __builtin_prefetch(keys_.row(groups_[i + kPrefetchKeys]));
    if (i + kPrefetchSessions < rows_.size()) {
      const uint32_t soon = keys_.mark(groups_[i + kPrefetchSessions]);
      if (soon != 0) __builtin_prefetch(pool_.data() + (soon - 1) * stride_);
    }
    const uint32_t row = rows_[i];
    const int64_t event_us = times[row];
    watermark_us_ = std::max(watermark_us_, watermarks[row]);
    if (watermark_us_ >= next_timer_us_) advance(watermark_us_);
    const uint32_t newest = keys_.mark(groups_[i]);
    if (newest != 0) {
      Session& s = session(newest - 1);
      if (s.flags() == ignored && event_us >= s.first_us && event_us < rules_.end_of(s.last_us)) {
        s.last_us = std::max(s.last_us, event_us);
        behind_watermark_ += event_us < watermark_us_;
        wait(newest - 1, row);
        continue;
      }
    }
    if (!place(row, groups_[i], event_us)) return i;
  }
  return rows_.size();
}

// A key without sessions whose ghost is out of reach is as good as new: what was sealed before is forgotten,
// so nothing may begin where it could have been.
void SessionStore::renew_key(uint32_t group) {
  const int64_t out_of_reach_us = saturating_subtract(
      saturating_subtract(watermark_us_, router_.allowed_lateness().micros()), rules_.gap().micros());
  Ghost& g = ghost(group);
  if (g.start_us < g.end_us && g.end_us > out_of_reach_us) return;
  g = {out_of_reach_us, out_of_reach_us};
}

bool SessionStore::is_behind_ghost(uint32_t row, uint32_t group, int64_t event_us) {
  const Ghost& g = ghost(group);
  if (event_us >= g.end_us) return false;
  Late late{.row = row, .missed = rules_.window_of(event_us, event_us)};
  late.touches_ghost = g.start_us < g.end_us && g.start_us < late.missed.end.micros();
  if (late.touches_ghost) late.missed = {EventTime(g.start_us), EventTime(g.end_us)};
  late.verdict = router_.route(late.missed.end, EventTime(watermark_us_));
  WRACKLINE_CHECK(late.verdict != LateVerdict::kOnTime && late.verdict != LateVerdict::kCorrects,
                  "what lies before a ghost's end is sealed");
  late_.push_back(late);
  return true;
}

// Gives a record its session, or finds it late. False: the session has yet to publish its first version.
bool SessionStore::place(uint32_t row, uint32_t group, int64_t event_us) {
  const uint32_t newest = keys_.mark(group);
  if (newest == 0) renew_key(group);
  if (is_behind_ghost(row, group, event_us)) return true;
  const int64_t end_us = rules_.end_of(event_us);
  uint32_t newer = 0;
  uint32_t at = newest;
  while (at != 0 && session(at - 1).first_us >= end_us) {
    newer = at;
    at = session(at - 1).next;
  }
  // Sessions lie a gap apart, so at most one that begins after the record and one that does not touch it.
  uint32_t above = 0;
  if (at != 0 && session(at - 1).first_us > event_us) {
    above = at;
    at = session(at - 1).next;
  }
  const uint32_t below = at != 0 && event_us < end_of(at - 1) ? at : 0;
  for (const uint32_t touched : {above, below}) {
    if (touched != 0 && session(touched - 1).is(kClosing)) return false;
  }
  if (above == 0 && below == 0) {
    begin_session(row, group, event_us, newer);
  } else if (above != 0) {
    grow(row, event_us, above - 1, below, newer);
  } else {
    grow(row, event_us, below - 1, 0, newer);
  }
  return true;
}

void SessionStore::begin_session(uint32_t row, uint32_t group, int64_t event_us, uint32_t newer) {
  const Window window = rules_.window_of(event_us, event_us);
  const LateVerdict verdict = router_.route(window.end, EventTime(watermark_us_));
  if (verdict != LateVerdict::kOnTime && verdict != LateVerdict::kCorrects) {
    late_.push_back({row, verdict, false, window});
    return;
  }
  const uint32_t slot = new_slot();
  Session& s = session(slot);
  s.first_us = event_us;
  s.last_us = event_us;
  s.group = group;
  if (newer == 0) {
    s.next = keys_.mark(group);
    keys_.mark(group) = slot + 1;
    keys_live_ += s.next == 0;
  } else {
    s.next = session(newer - 1).next;
    session(newer - 1).next = slot + 1;
  }
  ++live_count_;
  if (verdict == LateVerdict::kOnTime) {
    set_timer(slot, window.end.micros());
  } else {
    s.set(kClosed);
    set_timer(slot, router_.sealed_at(window.end.micros()));
  }
  accept(row, slot, event_us);
}

// The record, and the session `merged_plus_one` below it if any, join the session `slot`, which keeps its
// place in the key's list. `newer` comes before `slot` there.
void SessionStore::grow(uint32_t row, int64_t event_us, uint32_t slot, uint32_t merged_plus_one,
                        uint32_t newer) {
  const int64_t first_us =
      std::min(event_us, session(merged_plus_one != 0 ? merged_plus_one - 1 : slot).first_us);
  const int64_t last_us = std::max(event_us, session(slot).last_us);
  const bool is_same =
      first_us == session(slot).first_us && rules_.end_of(last_us) == rules_.end_of(session(slot).last_us);
  if (is_same) {
    keep_old_row(slot);
  } else {
    end_identity(slot);
  }
  if (merged_plus_one != 0) {
    const uint32_t merged = merged_plus_one - 1;
    end_identity(merged);
    grouping_.merge(states_of(slot), states_of(merged), arena_);
    session(slot).next = session(merged).next;
    session(merged).set_only(kMerged);
    session(merged).next = slot + 1;
    any_merged_ = true;
    --live_count_;
  }
  session(slot).first_us = first_us;
  session(slot).last_us = last_us;
  if (session(slot).is(kClosed) && rules_.end_of(last_us) > watermark_us_) slot = reopen(slot, newer);
  accept(row, slot, event_us);
}

void SessionStore::accept(uint32_t row, uint32_t slot, int64_t event_us) {
  wait(slot, row);
  Session& s = session(slot);
  if (s.is(kClosed)) {
    corrected_.push_back(row);
    if (!s.is(kCorrected)) corrected_slots_.push_back(slot);
    s.set(kCorrected);
    return;
  }
  behind_watermark_ += event_us < watermark_us_;
  if (!tracks_changes_ || s.is(kChanged)) return;
  s.set(kChanged);
  changed_slots_.push_back(slot);
}

// Called before the first change since the row was published. flush() came before that, so no record waits.
void SessionStore::keep_old_row(uint32_t slot) {
  if (!session(slot).is(kShown) || session(slot).is(kHasOld)) return;
  old_rows_[slot] = copy_of(slot);
  session(slot).set(kHasOld);
}

std::optional<uint32_t> SessionStore::take_old_row(uint32_t slot) {
  if (!session(slot).is(kHasOld)) return std::nullopt;
  session(slot).clear(kHasOld);
  return old_rows_.extract(slot).mapped();
}

void SessionStore::free_old_row(uint32_t slot) {
  if (const auto old = take_old_row(slot)) free_slot(*old);
}

// The window becomes another one: the row that readers have must be withdrawn.
void SessionStore::end_identity(uint32_t slot) {
  keep_old_row(slot);
  if (const auto old = take_old_row(slot)) withdrawn_.push_back(*old);
  session(slot).version = 0;
  session(slot).clear(kShown | kShownEarly);
}

// A closed session has an end ahead of the watermark again. Its timer is set for its sealing, too late: so it
// moves to a slot with a new timer.
uint32_t SessionStore::reopen(uint32_t slot, uint32_t newer) {
  const uint32_t moved = new_slot();
  session(moved) = session(slot);
  session(moved).clear(kClosed | kCorrected);
  session(moved).set_stamp(0);
  grouping_.merge(states_of(moved), states_of(slot), arena_);
  if (newer == 0) {
    keys_.mark(session(slot).group) = moved + 1;
  } else {
    session(newer - 1).next = moved + 1;
  }
  session(slot).set_only(kMerged);
  session(slot).next = moved + 1;
  any_merged_ = true;
  set_timer(moved, end_of(moved));
  return moved;
}

// ---- Timers

void SessionStore::set_timer(uint32_t slot, int64_t time_us) {
  if (time_us < opened_before_us_) {
    due_.push_back({time_us, slot});
    std::ranges::push_heap(due_, std::greater<>());
    next_timer_us_ = std::min(next_timer_us_, due_.front().time_us);
    return;
  }
  const int64_t bucket = floor_divide(time_us, bucket_us_);
  std::vector<uint32_t>& slots = buckets_[bucket];
  if (slots.capacity() == 0 && !spare_buckets_.empty()) {
    slots = std::move(spare_buckets_.back());
    spare_buckets_.pop_back();
  }
  slots.push_back(slot);
  next_timer_us_ = std::min(next_timer_us_, bucket * bucket_us_);
}

void SessionStore::find_next_timer() {
  next_timer_us_ = due_.empty() ? kMicrosMax : due_.front().time_us;
  if (!opened_.empty()) next_timer_us_ = std::min(next_timer_us_, opened_.back().time_us);
  if (!buckets_.empty()) next_timer_us_ = std::min(next_timer_us_, buckets_.begin()->first * bucket_us_);
}

int64_t SessionStore::timer_of(uint32_t slot) const {
  const int64_t end_us = end_of(slot);
  return session(slot).is(kClosed) ? router_.sealed_at(end_us) : end_us;
}

// Puts the timers of the first bucket in order. Requires: those of the bucket before have rung.
void SessionStore::open_bucket() {
  auto node = buckets_.extract(buckets_.begin());
  const std::vector<uint32_t>& slots = node.mapped();
  opened_before_us_ = std::max(opened_before_us_, saturating_add(node.key() * bucket_us_, bucket_us_));
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + kPrefetchSessions < slots.size()) {
      __builtin_prefetch(pool_.data() + slots[i + kPrefetchSessions] * stride_);
    }
    const uint32_t slot = slots[i];
    if (session(slot).is(kMerged)) {
      free_slot(slot);
      continue;
    }
    const int64_t time_us = timer_of(slot);
    if (time_us < opened_before_us_) {
      opened_.push_back({time_us, slot});
    } else {
      set_timer(slot, time_us);
    }
  }
  std::ranges::sort(opened_, std::greater<>(), &Timer::time_us);
  if (spare_buckets_.size() >= kSpareBuckets) return;
  node.mapped().clear();
  spare_buckets_.push_back(std::move(node.mapped()));
}

uint32_t SessionStore::take_opened() {
  const size_t count = opened_.size();
  if (count > kPrefetchKeys) {
    __builtin_prefetch(pool_.data() + opened_[count - 1 - kPrefetchKeys].slot * stride_);
    const Session& soon = session(opened_[count - 1 - kPrefetchSessions].slot);
    if (!soon.is(kMerged)) __builtin_prefetch(keys_.row(soon.group));
  }
  const uint32_t slot = opened_.back().slot;
  opened_.pop_back();
  return slot;
}

// Does what is due for the session, and sets its timer for what is not.
void SessionStore::ring(uint32_t slot) {
  if (session(slot).is(kMerged)) {
    free_slot(slot);
    return;
  }
  const int64_t end_us = end_of(slot);
  if (!session(slot).is(kClosed)) {
    if (end_us > watermark_us_) {
      set_timer(slot, end_us);
      return;
    }
    session(slot).set(kClosed | kClosing);
    closed_.push_back(slot);
  }
  const int64_t sealed_us = router_.sealed_at(end_us);
  if (sealed_us > watermark_us_) {
    set_timer(slot, sealed_us);
  } else {
    seal(slot);
  }
}

void SessionStore::seal(uint32_t slot) {
  Session& s = session(slot);
  uint32_t* link = &keys_.mark(s.group);
  while (*link != slot + 1) link = &session(*link - 1).next;
  *link = s.next;
  keys_live_ -= keys_.mark(s.group) == 0;
  --live_count_;
  const int64_t end_us = end_of(slot);
  if (end_us > ghost(s.group).end_us) ghost(s.group) = {s.first_us, end_us};
  s.set(kSealed);
  s.next = 0;
  if (s.is(kClosing | kCorrected)) return;
  free_old_row(slot);
  free_slot(slot);
}

void SessionStore::advance(int64_t watermark_us) {
  watermark_us_ = std::max(watermark_us_, watermark_us);
  while (true) {
    const bool has_bucket = !buckets_.empty() && buckets_.begin()->first * bucket_us_ <= watermark_us_;
    if (!due_.empty() && due_.front().time_us <= watermark_us_) {
      const uint32_t slot = due_.front().slot;
      std::ranges::pop_heap(due_, std::greater<>());
      due_.pop_back();
      ring(slot);
    } else if (!opened_.empty() && opened_.back().time_us <= watermark_us_) {
      ring(take_opened());
    } else if (has_bucket) {
      open_bucket();
    } else {
      break;
    }
  }
  find_next_timer();
}

// ---- Publishing

Window SessionStore::window_of(uint32_t slot) const {
  return rules_.window_of(session(slot).first_us, session(slot).last_us);
}

std::vector<uint32_t> SessionStore::take_closed() {
  std::vector<uint32_t> slots = std::exchange(closed_, {});
  for (const uint32_t slot : slots) session(slot).clear(kClosing);
  sort_slots(slots);
  return slots;
}

std::vector<uint32_t> SessionStore::take_corrected() {
  // A slot that was merged or opened again since has lost its flag, and one that was used again may stand
  // here twice.
  std::vector<uint32_t> slots;
  for (const uint32_t slot : corrected_slots_) {
    Session& s = session(slot);
    if (s.is(kMerged) || !s.is(kCorrected)) continue;
    s.clear(kCorrected);
    slots.push_back(slot);
  }
  corrected_slots_.clear();
  sort_slots(slots);
  return slots;
}

std::vector<uint32_t> SessionStore::take_changed() {
  std::vector<uint32_t> slots;
  for (const uint32_t slot : changed_slots_) {
    Session& s = session(slot);
    if (s.is(kMerged) || !s.is(kChanged)) continue;
    s.clear(kChanged);
    if (!s.is(kClosed)) slots.push_back(slot);
  }
  changed_slots_.clear();
  sort_slots(slots);
  return slots;
}

std::vector<uint32_t> SessionStore::take_withdrawn(bool early) {
  std::vector<uint32_t> slots;
  std::vector<uint32_t> kept;
  for (const uint32_t slot : withdrawn_) (early || !is_shown_early(slot) ? slots : kept).push_back(slot);
  withdrawn_ = std::move(kept);
  for (const uint32_t slot : slots) session(slot).set(kSealed);
  sort_slots(slots);
  return slots;
}

uint32_t SessionStore::count_version(uint32_t slot, bool shown, bool early) {
  Session& s = session(slot);
  free_old_row(slot);
  s.clear(kShown | kShownEarly);
  if (shown) s.set(kShown);
  if (shown && early) s.set(kShownEarly);
  return ++s.version;
}

void SessionStore::release(std::span<const uint32_t> slots) {
  for (const uint32_t slot : slots) {
    const Session& s = session(slot);
    if (!s.is(kSealed) || s.is(kClosing | kCorrected)) continue;
    free_old_row(slot);
    free_slot(slot);
  }
}

// By (window end, key). Slots of one key and end keep their order.
void SessionStore::sort_slots(std::vector<uint32_t>& slots) {
  const auto end_of_slot = [this](uint32_t slot) { return end_of(slot); };
  if (!std::ranges::is_sorted(slots, {}, end_of_slot)) std::ranges::stable_sort(slots, {}, end_of_slot);
  std::vector<uint32_t> groups;
  for (size_t begin = 0; begin < slots.size();) {
    size_t end = begin + 1;
    while (end < slots.size() && end_of(slots[end]) == end_of(slots[begin])) ++end;
    if (end - begin > 1) {
      run_.clear();
      groups.clear();
      for (size_t i = begin; i < end; ++i) run_.emplace_back(group_of(slots[i]), slots[i]);
      std::ranges::stable_sort(run_, {}, &std::pair<uint32_t, uint32_t>::first);
      for (const auto& [group, slot] : run_) {
        if (groups.empty() || groups.back() != group) groups.push_back(group);
      }
      keys_.sort_groups(groups);
      size_t at = begin;
      for (const uint32_t group : groups) {
        auto found = std::ranges::lower_bound(run_, group, {}, &std::pair<uint32_t, uint32_t>::first);
        for (; found != run_.end() && found->first == group; ++found) slots[at++] = found->second;
      }
    }
    begin = end;
  }
}

// ---- Tidying

void SessionStore::tidy() {
  WRACKLINE_CHECK(waiting_rows_.empty() && closed_.empty(), "call tidy() when everything is published");
  groups_ = {};
  rows_ = {};
  const bool many_keys = keys_.size() >= keys_checked_at_;
  // Ghosts go a while after their sessions: looking more often than that finds the same ones again.
  const int64_t patience_us = saturating_add(saturating_add(rules_.gap().micros(), rules_.gap().micros()),
                                             router_.allowed_lateness().micros());
  const bool mostly_dead = keys_.size() >= 1024 && keys_live_ < keys_.size() / 4 &&
                           watermark_us_ >= saturating_add(keys_checked_us_, patience_us);
  if (many_keys || mostly_dead) rebuild_keys();
  if (arena_.bytes() >= arena_checked_at_) rebuild_arena();
}

// The keys that have sessions, a ghost within reach or rows to withdraw: others are as good as new.
std::vector<uint32_t> SessionStore::needed_keys() const {
  const int64_t out_of_reach_us = saturating_subtract(
      saturating_subtract(watermark_us_, router_.allowed_lateness().micros()), rules_.gap().micros());
  std::vector<uint8_t> is_needed(keys_.size());
  for (uint32_t group = 0; group < keys_.size(); ++group) {
    const Ghost& g = ghost(group);
    is_needed[group] = keys_.mark(group) != 0 || (g.start_us < g.end_us && g.end_us > out_of_reach_us);
  }
  for (uint32_t slot = 0; slot < slots_used_; ++slot) {
    if (!session(slot).is(kMerged)) is_needed[session(slot).group] = 1;
  }
  std::vector<uint32_t> groups;
  for (uint32_t group = 0; group < keys_.size(); ++group) {
    if (is_needed[group] != 0) groups.push_back(group);
  }
  return groups;
}

void SessionStore::rebuild_keys() {
  const std::vector<uint32_t> kept = needed_keys();
  keys_checked_at_ = std::max<size_t>(1024, 2 * kept.size());
  keys_checked_us_ = watermark_us_;
  if (kept.size() > keys_.size() / 2) return;

  state::EncodedKeys encoded;
  keys_.export_keys(kept, encoded);
  state::GroupTable table(grouping_.codec().shape(), sizeof(Ghost));
  std::vector<uint32_t> groups(kept.size());
  table.find_or_insert(encoded, groups);
  std::vector<uint32_t> new_group(keys_.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    new_group[kept[i]] = groups[i];
    table.mark(groups[i]) = keys_.mark(kept[i]);
    std::memcpy(table.states() + groups[i] * table.stride(), &ghost(kept[i]), sizeof(Ghost));
  }
  for (uint32_t slot = 0; slot < slots_used_; ++slot) {
    if (!session(slot).is(kMerged)) session(slot).group = new_group[session(slot).group];
  }
  keys_ = std::move(table);
}

// States point into the arena, where what they once pointed to lies as well. What is needed moves to a new
// one.
void SessionStore::rebuild_arena() {
  Arena arena;
  std::vector<std::byte> state(grouping_.state_bytes());
  for (uint32_t slot = 0; slot < slots_used_; ++slot) {
    if (session(slot).is(kMerged)) continue;
    std::ranges::fill(state, std::byte{0});
    grouping_.merge(state.data(), states_of(slot), arena);
    std::ranges::copy(state, states_of(slot));
  }
  arena_ = std::move(arena);
  arena_checked_at_ = std::max(size_t{1} << 20, 2 * arena_.bytes());
}

size_t SessionStore::state_bytes() const {
  constexpr size_t kMapNodeBytes = 72;  // of buckets_, a little less of old_rows_
  size_t bytes = keys_.bytes() + pool_.capacity() + arena_.bytes();
  bytes += (due_.capacity() + opened_.capacity()) * sizeof(Timer);
  bytes += (buckets_.size() + old_rows_.size()) * kMapNodeBytes;
  for (const auto& [time, slots] : buckets_) bytes += slots.capacity() * sizeof(uint32_t);
  for (const auto& slots : spare_buckets_) bytes += slots.capacity() * sizeof(uint32_t);
  return bytes;
}

}  // namespace wrackline
