// Bounded input in the order of arrival: option order_by = 'arrival_time'.
//
// Reads every split to its end, keeps all records in memory, and hands them out again merged by (arrival
// time, split, offset). A reject has no arrival time; it keeps its place behind the record before it. Cost:
// memory for the whole input; use it for recorded samples, not for archives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "operators/source.h"
#include "operators/time_stage.h"

namespace wrackline::runtime {

// One reader over all the splits. Its batches never mix splits or files, and none goes on behind the last
// record of a split, so that whoever reads can tell when a split has ended.
class ArrivalOrderReader : public SplitReader {
 public:
  // Name of the split that the records of the last batch are from.
  virtual const std::string& split() const = 0;
  // Splits whose last record has been handed out since the last call; those without a record are told at the
  // first.
  virtual std::vector<std::string> take_ended() = 0;
  // Goes on where save() was. Requires: nothing was handed out. Errors: kData when the input is not what it
  // was.
  virtual Status restore(SnapshotReader& from) = 0;
};

// Drains `splits`. `read_at` stands in for a missing arrival time.
Result<std::unique_ptr<ArrivalOrderReader>> read_in_arrival_order(
    std::vector<std::unique_ptr<SplitReader>> splits, const std::vector<Field>& fields,
    const TimeStage& stage, WallTime read_at);

}  // namespace wrackline::runtime
