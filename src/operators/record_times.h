// What is known of a batch's records in time before any view sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "wrackline/watermark_tracker.h"

namespace wrackline {

// A row of the batch that no view can use, and why.
struct SetAside {
  uint32_t row = 0;
  Reason reason = Reason::kNoEventTime;
  std::string detail;
};

// Who a record is, for dedup: its id, and a digest of its content (dedup_id.h). No low bits of kIdLowMask: it
// has no id.
struct RecordId {
  uint64_t high = 0;
  uint64_t low = 0;
  uint64_t content = 0;
};
inline constexpr uint64_t kIdLowMask = (uint64_t{1} << 48) - 1;  // the bits of `low` that are kept

// Shape: every per-row vector has batch.rows elements; `partitions` has one per row, or exactly one for all
// of them.
struct RecordTimes {
  std::vector<int64_t> event_us;  // unspecified where usable[i] == 0 and has_event[i] == 0
  std::vector<int64_t> arrival_us;
  std::vector<uint8_t>
      arrival_read;                // 0: the record has no arrival time of its own; arrival_us is the clock's
  std::vector<uint8_t> usable;     // 0: the row is in set_aside or in duplicates
  std::vector<uint8_t> has_event;  // 0: no event time could be read
  std::vector<PartitionIndex> partitions;
  std::vector<int64_t> progress_before;   // G before each row, and after the last: batch.rows + 1 elements
  std::vector<int64_t> watermark_before;  // W likewise; non-decreasing
  std::vector<uint8_t> after_idle;  // empty, or 1 where the row's partition came back from idleness behind W
  std::vector<SetAside> set_aside;  // in row order
  // Rows whose id was seen before with the same content, in row order. Such a row has usable[row] == 0 and is
  // not in set_aside: it is no loss, it has been counted once already. Filled by judge(), so only for the
  // rows that have been judged. The same id with other content is set aside with Reason::kConflict.
  std::vector<uint32_t> duplicates;
  std::vector<RecordId> ids;            // empty: the source has no dedup_key
  PartitionIndex reject_partition = 0;  // the partition that the batch's rejects count in
  bool arrival_known = false;           // false: arrival_us is this machine's clock, read once for the tick

  PartitionIndex partition(size_t row) const {
    return partitions.size() == 1 ? partitions[0] : partitions[row];
  }
};

}  // namespace wrackline
