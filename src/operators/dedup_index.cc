// Why one sorted table and not one per bucket: the copy of a record lies in the bucket of the original, but a
// conflict may lie in any, so with a table per bucket a new id would be looked for in all of them, a cache
// miss each. One table answers with one. It pays with ids that are dead, their buckets dropped, until they
// are swept out.
//
// Ordered linear probing. An id's home is its hash scaled to the table, so homes rise with hashes. Ids stand
// in the order of their hashes, each at its home or, if that is taken, at the first place after its
// predecessor:
//
//   home   0   1   2   3   4   5   6   7
//         [.] [a] [b] [c] [.] [.] [d] [.]      a, b, c all have home 1
//
// Looking up goes from the home on while hashes are smaller: a miss ends early. Putting in moves the rest of
// the run on by one place, until a free or dead one takes it up. Because order survives, sweeping out the
// dead is one walk from left to right that moves each id towards its home, growing is the same walk into a
// greater table, and saving writes a sorted array.
#include "operators/dedup_index.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <unordered_map>

#include "base/check.h"
#include "base/text.h"
#include "data/time_text.h"

namespace wrackline {
namespace {

constexpr size_t kCapacityMin = 1024;
constexpr size_t kOverrun = 256;
constexpr size_t kDeadMin = 4096;  // fewer dead ids are not worth a walk
constexpr int64_t kBucketsPerHorizon = 64;
constexpr int64_t kWidthMin = 1000;  // a millisecond
constexpr int64_t kBucketLimit = (int64_t{1} << 47) - 1;
constexpr size_t kPieceIdsMin = 256;  // fewer ids are not worth a piece of their own

// At most 4/5 full.
size_t most_used(size_t capacity) {
  return capacity - capacity / 5;
}

// Buckets beyond 48 bits share the outermost ones, which are then dropped later than they could be.
int64_t clamped(int64_t bucket) {
  return std::clamp(bucket, -kBucketLimit, kBucketLimit);
}

}  // namespace

int64_t DedupIndex::Slot::bucket() const {
  const uint64_t bits = (low & 0xFFFF) << 32 | bucket_low;
  return static_cast<int64_t>(bits << 16) >> 16;
}

void DedupIndex::Slot::set_bucket(int64_t bucket) {
  const auto bits = static_cast<uint64_t>(bucket);
  low = (low & ~uint64_t{0xFFFF}) | (bits >> 32 & 0xFFFF);
  bucket_low = static_cast<uint32_t>(bits);
}

DedupIndex::DedupIndex(std::optional<Duration> horizon)
    : horizon_us_(horizon ? horizon->micros() : kMicrosMax),
      width_us_(std::max(kWidthMin, (horizon_us_ - 1) / kBucketsPerHorizon + 1)),
      slots_(allocate(kCapacityMin + kOverrun)),
      first_live_(-kBucketLimit),
      capacity_(kCapacityMin),
      overrun_(kOverrun) {
  WRACKLINE_CHECK(horizon_us_ >= 0);
}

DedupIndex::Slots DedupIndex::allocate(size_t slots) {
  Slots made(static_cast<Slot*>(std::calloc(slots, sizeof(Slot))));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

DedupVerdict DedupIndex::judge(const RecordId& id, int64_t event_us, int64_t watermark_us) {
  if (watermark_us >= evict_at_us_) evict(watermark_us);
  if (event_us < saturating_subtract(watermark_us, horizon_us_)) return DedupVerdict::kPastHorizon;
  Slot slot{id.high, (id.low & kIdLowMask) << 16, static_cast<uint32_t>(id.content), 0};
  WRACKLINE_DCHECK(!slot.is_free());
  const int64_t bucket = bucket_of(event_us);
  slot.set_bucket(bucket);
  Slot* const slots = slots_.get();
  size_t at = home(id.high);
  while (!slots[at].is_free() && slots[at].high < id.high) ++at;
  for (size_t same = at; !slots[same].is_free() && slots[same].high == id.high; ++same) {
    Slot& known = slots[same];
    if (known.id_low() != slot.id_low()) continue;
    if (is_dead(known)) {
      known = slot;
      --dead_;
      count_in(bucket);
      return DedupVerdict::kNew;
    }
    if (known.content == slot.content) return DedupVerdict::kDuplicate;
    if (bucket > known.bucket() && horizon_us_ != kMicrosMax) {
      count_out(known.bucket());
      known.set_bucket(bucket);
      count_in(bucket);
    }
    return DedupVerdict::kConflict;
  }
  insert(at, slot);
  count_in(bucket);
  return DedupVerdict::kNew;
}

// Records come nearly in order: most are in the bucket of the one before.
int64_t DedupIndex::bucket_of(int64_t event_us) {
  if (horizon_us_ == kMicrosMax) return static_cast<int64_t>(size() / kIdsPerBucket);
  const uint64_t into = static_cast<uint64_t>(event_us) - static_cast<uint64_t>(bucket_start_us_);
  if (into >= static_cast<uint64_t>(width_us_)) {
    const int64_t bucket = floor_divide(event_us, width_us_);
    bucket_start_us_ = bucket * width_us_;
    bucket_number_ = clamped(bucket);
  }
  return bucket_number_;
}

// A bucket goes when the watermark is a whole horizon past its end.
void DedupIndex::evict(int64_t watermark_us) {
  if (horizon_us_ == kMicrosMax) {
    evict_at_us_ = kMicrosMax;
    return;
  }
  const int64_t first = floor_divide(saturating_subtract(watermark_us, horizon_us_), width_us_);
  const __int128 next = (static_cast<__int128>(first) + 1) * width_us_ + horizon_us_;
  evict_at_us_ = next > kMicrosMax ? kMicrosMax : next < kMicrosMin ? kMicrosMin : static_cast<int64_t>(next);
  set_first_live(std::max(first_live_, clamped(first)));
}

void DedupIndex::set_first_live(int64_t bucket) {
  first_live_ = bucket;
  last_bucket_ = {};
  while (!buckets_.empty() && buckets_.begin()->first < first_live_) {
    dead_ += buckets_.begin()->second.ids;
    buckets_.erase(buckets_.begin());
  }
  if (dead_ > kDeadMin && dead_ > size() / 4) clean_up();
}

void DedupIndex::count_in(int64_t bucket) {
  if (last_bucket_.second == nullptr || last_bucket_.first != bucket) {
    last_bucket_ = {bucket, &buckets_[bucket]};
  }
  ++last_bucket_.second->ids;
  last_bucket_.second->changed_at = ++changes_;
}

void DedupIndex::count_out(int64_t bucket) {
  const auto at = buckets_.find(bucket);
  WRACKLINE_CHECK(at != buckets_.end() && at->second.ids > 0);
  at->second.changed_at = ++changes_;
  if (--at->second.ids > 0) return;
  buckets_.erase(at);
  last_bucket_ = {};
}

// Puts the slot at `at`, where ids of greater hashes begin, and moves those on.
void DedupIndex::insert(size_t at, const Slot& slot) {
  if (used_ >= most_used(capacity_)) {
    make_room();
    at = home(slot.high);
    while (!slots_.get()[at].is_free() && slots_.get()[at].high < slot.high) ++at;
  }
  Slot* const slots = slots_.get();
  size_t end = at;
  while (!slots[end].is_free() && !is_dead(slots[end])) ++end;
  if (slots[end].is_free()) {
    ++used_;
  } else {
    --dead_;
  }
  std::memmove(slots + at + 1, slots + at, (end - at) * sizeof(Slot));
  slots[at] = slot;
  // The last slot stays free, so that every search ends.
  if (end + 1 == slot_count()) resize(capacity_, overrun_ * 2);
}

void DedupIndex::make_room() {
  if (dead_ > used_ / 8) {
    clean_up();
  } else {
    resize(capacity_ + capacity_ / 5 * 2, overrun_);
  }
}

// Sweeps out the dead; a table that has become far too large shrinks.
void DedupIndex::clean_up() {
  if (size() < most_used(capacity_) / 4 && capacity_ > kCapacityMin) {
    resize(std::max(kCapacityMin, size() + size() / 2), overrun_);
    return;
  }
  // In place: no id moves to the right, so what is written has been read.
  const bool fits = refill(slots_.get(), slot_count(), slots_.get());
  WRACKLINE_CHECK(fits, "ids that are fewer need no more room");
  used_ -= dead_;
  dead_ = 0;
}

void DedupIndex::resize(size_t capacity, size_t overrun) {
  const size_t count = slot_count();
  const Slots old = std::move(slots_);
  capacity_ = capacity;
  for (overrun_ = overrun;; overrun_ *= 2) {
    slots_ = allocate(slot_count());
    if (refill(old.get(), count, slots_.get())) break;
  }
  used_ -= dead_;
  dead_ = 0;
}

// Writes the ids of `from` that are known, which are in order, to their places in `to`: an empty table, or
// `from` itself. False: they need more room behind the last home.
bool DedupIndex::refill(const Slot* from, size_t count, Slot* to) const {
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    if (from[i].is_free()) continue;
    const Slot slot = from[i];
    if (from == to) to[i] = Slot{};
    if (is_dead(slot)) continue;
    const size_t at = std::max(home(slot.high), next);
    if (at + 1 >= slot_count()) return false;
    to[at] = slot;
    next = at + 1;
  }
  return true;
}

// ---- Snapshots

// Which slots belong to a bucket. The table is walked when the first bucket is asked for.
class DedupIndex::ByBucket {
 public:
  explicit ByBucket(const DedupIndex& index) : index_(index) {}

  void write(int64_t bucket, SnapshotWriter& out) {
    if (slots_.empty()) walk();
    const auto end = ends_.find(bucket);
    WRACKLINE_CHECK(end != ends_.end());
    const size_t ids = index_.buckets_.at(bucket).ids;
    out.u64(ids);
    for (size_t i = end->second - ids; i < end->second; ++i) {
      out.bytes(index_.slots_.get() + slots_[i], sizeof(Slot));
    }
  }

 private:
  void walk() {
    size_t begin = 0;
    for (const auto& [bucket, known] : index_.buckets_) {
      ends_[bucket] = begin;
      begin += known.ids;
    }
    WRACKLINE_CHECK(begin == index_.size(), "every known id is in a bucket");
    slots_.resize(begin);
    for (size_t i = 0; i < index_.slot_count(); ++i) {
      const Slot& slot = index_.slots_.get()[i];
      if (!slot.is_free() && !index_.is_dead(slot)) slots_[ends_.at(slot.bucket())++] = i;
    }
  }

  const DedupIndex& index_;
  std::vector<size_t> slots_;  // by bucket, and within it in the order of hashes
  std::unordered_map<int64_t, size_t> ends_;
};

void DedupIndex::save(SnapshotWriter& out) const {
  out.section("dids");
  out.i64(horizon_us_);
  out.i64(first_live_);
  out.u64(changes_);
  out.u64(buckets_.size());
  ByBucket ids(*this);
  for (const auto& [bucket, known] : buckets_) {
    out.i64(bucket);
    out.u64(known.ids);
    out.u64(known.changed_at);
    if (known.ids < kPieceIdsMin) {
      ids.write(bucket, out);
      continue;
    }
    out.piece(format("dedup/{}", bucket), known.changed_at,
              [&](SnapshotWriter& piece) { ids.write(bucket, piece); });
  }
}

Status DedupIndex::restore(SnapshotReader& in) {
  in.section("dids");
  const int64_t horizon_us = in.i64();
  WRACKLINE_TRY(in.status());
  if (horizon_us != horizon_us_) {
    const auto text = [](int64_t us) { return us == kMicrosMax ? std::string("unlimited") : span_text(us); };
    return fail(ErrorCode::kInvalid, "cannot restore the ids of dedup: the horizon has changed",
                format("It was {} and is now {}.", text(horizon_us), text(horizon_us_)),
                "Set dedup_horizon to what it was, or start without the checkpoint.");
  }
  DedupIndex made(horizon_us == kMicrosMax ? std::nullopt : std::optional(Duration(horizon_us)));
  made.first_live_ = in.i64();
  made.changes_ = in.u64();
  if (made.first_live_ != clamped(made.first_live_)) in.refuse("a bucket is out of range");
  std::vector<Slot> slots;
  for (size_t left = in.count(3 * sizeof(int64_t)); left > 0 && !in.failed(); --left) {
    made.restore_bucket(in, slots);
  }
  WRACKLINE_TRY(in.status());
  std::ranges::sort(slots, [](const Slot& a, const Slot& b) {
    return std::pair(a.high, a.id_low()) < std::pair(b.high, b.id_low());
  });
  made.fill(slots);
  *this = std::move(made);
  return {};
}

// Appends the ids of the next bucket to `slots`.
void DedupIndex::restore_bucket(SnapshotReader& in, std::vector<Slot>& slots) {
  const int64_t bucket = in.i64();
  const uint64_t ids = in.u64();
  const uint64_t changed_at = in.u64();
  const bool in_order = buckets_.empty() || bucket > buckets_.rbegin()->first;
  if (!in_order || bucket < first_live_ || bucket != clamped(bucket) || ids == 0 || changed_at > changes_) {
    return in.refuse("a bucket of ids is out of order");
  }
  const auto read = [&](SnapshotReader& from) {
    if (from.count(sizeof(Slot)) != ids) return from.refuse("there are not as many ids as they say");
    const size_t begin = slots.size();
    slots.resize(begin + ids);
    from.bytes(slots.data() + begin, ids * sizeof(Slot));
    for (size_t i = begin; i < slots.size(); ++i) {
      const bool rises = i == begin || slots[i - 1].high <= slots[i].high;
      if (slots[i].is_free() || slots[i].bucket() != bucket || !rises) from.refuse("an id is out of order");
    }
  };
  if (ids < kPieceIdsMin) {
    read(in);
  } else {
    in.piece(format("dedup/{}", bucket), read);
  }
  buckets_[bucket] = {ids, changed_at};
}

// Fills an empty table with ids that are in order.
void DedupIndex::fill(std::span<const Slot> slots) {
  capacity_ = std::max(kCapacityMin, slots.size() + slots.size() / 2);
  used_ = slots.size();
  while (true) {
    slots_ = allocate(slot_count());
    if (refill(slots.data(), slots.size(), slots_.get())) break;
    overrun_ *= 2;
  }
}

}  // namespace wrackline
