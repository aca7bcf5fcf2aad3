// The time stage: from a batch of a source to event time, arrival time, partition and watermark of every
// record, and to which of them repeat earlier ones.
//
// One stage belongs to one source and is shared by all its views, so that they judge alike. It owns the
// source's watermark tracker, the names of its partitions and the ids that dedup knows. Threads: one thread.
// Cost: plain loops over columns; a partition column costs one hash look-up a record, dedup another
// (dedup.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/batch.h"
#include "data/time_text.h"
#include "data/time_zone.h"
#include "disorder/findings.h"
#include "operators/dedup.h"
#include "operators/record_times.h"
#include "wrackline/watermark_tracker.h"

namespace wrackline {

// How a time is read from a column of the source.
struct TimeColumnOptions {
  size_t column = 0;
  std::optional<TimeUnit> unit;    // numeric columns
  const TimeZone* zone = nullptr;  // `timestamp` and `date` columns; nullptr: read as UTC
  std::optional<int64_t> missing;  // a number that means "no time"
};

struct TimeStageOptions {
  TimeColumnOptions event;
  std::optional<TimeColumnOptions> arrival;
  std::optional<size_t> partition_column;
  Duration watermark_delay;
  Duration max_future_skew = seconds(300);
  Duration max_future_accept = seconds(86400);
  std::optional<DedupOptions> dedup;
};

// What came of reading one time.
enum class TimeRead : uint8_t { kOk, kMissing, kOutOfRange };

class TimeStage {
 public:
  explicit TimeStage(TimeStageOptions options);

  // Registers a partition by name; the same name gives the same partition.
  PartitionIndex partition(std::string_view name);
  const std::vector<std::string>& partition_names() const { return names_; }

  // Registers a name that takes no part in the watermark until a record speaks for it: values of a partition
  // column, and the split in which records count that cannot be parsed and so have no such value.
  PartitionIndex silent_partition(std::string_view name);

  // Reads the times of `batch`. `split` is the partition of the batch's rows when no column names one, and of
  // its rejects; `read_at` is the tick's clock reading. Moves nothing yet.
  void read(const Batch& batch, PartitionIndex split, WallTime read_at, RecordTimes& times);
  // Moves the watermark by the rows [begin, end), record by record, and fills progress_before and
  // watermark_before for them and for the place after the last. With dedup it then takes out those that it
  // knows; they move the watermark all the same: a copy shows as well as the original how far its partition
  // has come.
  void judge(RecordTimes& times, size_t begin, size_t end);
  // Arrival times of a batch's rows as read() gives them.
  void arrival_times(const Batch& batch, WallTime read_at, std::vector<int64_t>& arrival_us) const;

  // nullptr: the source has no dedup_key.
  Dedup* dedup() { return dedup_ ? &*dedup_ : nullptr; }
  const Dedup* dedup() const { return dedup_ ? &*dedup_ : nullptr; }
  // Event times that another unit than the declared one would fit, counted over all that was judged; until
  // there are any, over all that was read, so that they are told of at once. They stand as read; the guards
  // against the future and the past deal with them.
  std::vector<Finding> unit_findings() const;

  // Everything that the next records depend on: watermark, partitions, ids that dedup knows, and the counts.
  void save(SnapshotWriter& out) const;
  // Requires: the stage was made with the same options. Partition indices that it gave before are void: ask
  // for them by name again. Errors: kData; kInvalid where the snapshot is of a stage with other options.
  // The stage is then of no use.
  Status restore(SnapshotReader& in);

  WatermarkTracker& tracker() { return tracker_; }
  const WatermarkTracker& tracker() const { return tracker_; }

 private:
  void read_event_times(const Batch& batch, RecordTimes& times);
  struct NoArrival {
    uint32_t row;
    TimeRead read;
  };
  std::vector<NoArrival> read_arrival_times(const Batch& batch, WallTime read_at,
                                            std::vector<int64_t>& arrival_us) const;
  void read_partitions(const Batch& batch, PartitionIndex split, RecordTimes& times);
  void restore_partitions(SnapshotReader& in, WatermarkTracker::State& state);
  void suspect_units(const RecordTimes& times, size_t begin, size_t end,
                     disorder::UnitSuspicion& units) const;
  void guard_future(const Batch& batch, RecordTimes& times);

  TimeStageOptions options_;
  WatermarkTracker tracker_;
  std::optional<Dedup> dedup_;
  disorder::UnitSuspicion units_;        // of what was judged
  disorder::UnitSuspicion units_ahead_;  // of what was read: not saved, since it is read again
  std::vector<std::string> names_;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, PartitionIndex, TextHash, std::equal_to<>> by_name_;
  std::unordered_map<int64_t, PartitionIndex> by_integer_;  // partition columns of integer type
  std::string scratch_;
};

}  // namespace wrackline
