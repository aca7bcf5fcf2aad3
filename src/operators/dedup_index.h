// The ids that a source has seen, for as long as a record that can still be accepted could carry one of them.
//
// An id belongs to the bucket of its record's event time. A bucket is dropped whole when the watermark has
// left all of its times behind by more than the horizon; a record that is so old itself is past the horizon
// and is not looked up. So a copy of a forgotten record is never taken for a new one. Whether an id is known
// is a function of the records and watermarks before it alone: when memory is cleaned up does not show.
//
// The first record of an id wins. One with other content is a conflict, and lends the id its own event time
// if that is later: a copy of the conflict must not be taken for new either.
//
// Layout:  one flat table in the order of hashes with gaps, 24 bytes a slot: 112 bits of the id, 48 bits of
//          bucket, 32 bits of content. At most 80 % full: 30 to 43 bytes an id. While it grows, both the
//          old and the new table are there.
// Errors:  an id that was never seen is taken for a known one with probability n / 2^112 for n ids kept:
//          about 1e-17 a day at 10,000 records/s with 72 million ids. A key of one integer column has no
//          such error. A conflict is counted as a duplicate with probability 2^-32; both are kept out of
//          the totals. This is chance, not malice: who can choose ids that collide could as well send an
//          id that is taken.
// Threads: one thread.
// Cost:    about one cache miss a record, no allocation: 30 ns for a copy, 100 ns for a new id with its
//          share of growing and cleaning up (bench/dedup, a million ids).
// Source:  docs/semantics.md section 6; decision 0009; Amble and Knuth, "Ordered hash tables", The Computer
//          Journal 17(2), 1974.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/snapshot.h"
#include "operators/record_times.h"
#include "wrackline/time.h"

namespace wrackline {

enum class DedupVerdict : uint8_t {
  kNew,          // its id is known from now on
  kDuplicate,    // the id is known, with the same content
  kConflict,     // the id is known, with other content
  kPastHorizon,  // so old that its id may have been forgotten; not looked up
};

class DedupIndex {
 public:
  // nullopt: ids are kept for ever.
  explicit DedupIndex(std::optional<Duration> horizon);

  // Judges a record and remembers its id. Requires: the id has a bit of kIdLowMask; `watermark_us`, as it
  // stands before the record, is not less than in any call before; |event_us| <= kEventMicrosLimit.
  DedupVerdict judge(const RecordId& id, int64_t event_us, int64_t watermark_us);
  // Fetches what judge() will look at, the run of slots from the id's home on. Worth it some records ahead.
  void prefetch(const RecordId& id) const {
    const Slot* const slot = slots_.get() + home(id.high);
    for (size_t i = 0; i < 9; i += 3) __builtin_prefetch(slot + i, 1);
  }

  // Ids that are known.
  size_t size() const { return used_ - dead_; }
  size_t bytes() const { return slot_count() * sizeof(Slot) + buckets_.size() * kBucketBytes; }
  // Event times of one bucket span so much; a record's id is known for the horizon and at most this longer.
  Duration bucket_width() const { return Duration(width_us_); }

  // Everything that a later judge() depends on: 24 bytes an id. The ids of one bucket are a piece, whose
  // revision is the number of the last change in it; ids that are kept for ever lie in buckets of
  // kIdsPerBucket in the order in which they came, so that a full one never changes again.
  // Cost: one walk through the table if any piece has changed.
  void save(SnapshotWriter& out) const;
  // Becomes what was saved. On failure it stays as it was. Errors: kData for bytes that save() has not
  // written; kInvalid for another horizon.
  Status restore(SnapshotReader& in);
  static constexpr size_t kIdsPerBucket = size_t{1} << 18;

 private:
  // Stored: the fields of a slot are what save() writes; never change their order or meaning.
  struct Slot {
    uint64_t high = 0;
    uint64_t low =
        0;  // 48 bits of the id above, the upper 16 of the bucket below; no bit of the id: the slot is free
    uint32_t content = 0;
    uint32_t bucket_low = 0;

    bool is_free() const { return low >> 16 == 0; }
    uint64_t id_low() const { return low >> 16; }
    int64_t bucket() const;
    void set_bucket(int64_t bucket);
  };
  struct Free {
    void operator()(Slot* slots) const { std::free(slots); }
  };
  using Slots = std::unique_ptr<Slot, Free>;
  struct Bucket {
    size_t ids = 0;
    uint64_t changed_at = 0;  // changes_ after its last change
  };
  static constexpr size_t kBucketBytes = 64;  // of a node of the map
  class ByBucket;

  static Slots allocate(size_t slots);
  size_t home(uint64_t high) const {
    return static_cast<size_t>(static_cast<unsigned __int128>(high) * capacity_ >> 64);
  }
  size_t slot_count() const { return capacity_ + overrun_; }
  bool is_dead(const Slot& slot) const { return slot.bucket() < first_live_; }
  int64_t bucket_of(int64_t event_us);
  void evict(int64_t watermark_us);
  void set_first_live(int64_t bucket);
  void count_in(int64_t bucket);
  void count_out(int64_t bucket);
  void insert(size_t at, const Slot& slot);
  void make_room();
  void clean_up();
  void resize(size_t capacity, size_t overrun);
  bool refill(const Slot* from, size_t count, Slot* to) const;
  void restore_bucket(SnapshotReader& in, std::vector<Slot>& slots);
  void fill(std::span<const Slot> slots);

  // configuration
  int64_t horizon_us_;  // kMicrosMax: for ever
  int64_t width_us_;
  // state that is saved
  Slots slots_;
  size_t used_ = 0;  // slots with an id, known or dead
  int64_t first_live_;
  uint64_t changes_ = 0;               // of ids since the first record
  std::map<int64_t, Bucket> buckets_;  // with ids that are known
  // state that follows from it
  size_t capacity_;
  size_t overrun_;  // slots behind the last home, for what is pushed on; one of them stays free
  size_t dead_ = 0;
  int64_t evict_at_us_ = kMicrosMin;           // the watermark that drops the next bucket
  std::pair<int64_t, Bucket*> last_bucket_{};  // of the record before
  int64_t bucket_number_ = 0;  // bucket_of() of the record before, and where that bucket starts
  int64_t bucket_start_us_ = kMicrosMax;
};

}  // namespace wrackline
