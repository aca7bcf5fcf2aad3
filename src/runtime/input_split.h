// What an Input knows of one of its splits. For input*.cc only.
#pragma once

#include <memory>
#include <optional>

#include "runtime/input.h"

namespace wrackline::runtime {

struct Input::Split {
  std::unique_ptr<SplitReader> reader;
  PartitionIndex partition = 0;   // of its rejects, and of its rows when no column names the partition
  int64_t event_us = kMicrosMin;  // greatest event time consumed from it that may move time
  bool ended = false;             // consumed to its end
  bool caught_up = false;
  bool has_batch = false;
  Batch batch;
  RecordTimes times;
  WallTime read_at;                    // of the batch
  size_t next_row = 0;                 // rows before it are consumed
  ReadState state = ReadState::kRows;  // as of the last read
  size_t rows_wanted = 0;              // 0: as many as a step may have
  uint64_t read_again = 0;             // restored: the records that come next were read once, at read_at

  // Live input.
  bool paused = false;
  std::optional<int64_t> found_end_us;  // when the last look found nothing
  int64_t silent_us = 0;                // since its last record

  bool has_records() const { return batch.rows > 0 || !batch.rejects.empty(); }
};

}  // namespace wrackline::runtime
