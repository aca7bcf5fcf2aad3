// Bounded input in the order of arrival: option order_by = 'arrival_time'.
//
// Reads every split to its end, keeps all records in memory, and hands them out again merged by (arrival
// time, split, offset). A reject has no arrival time; it keeps its place behind the record before it. Cost:
// memory for the whole input; use it for recorded samples, not for archives.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "operators/source.h"
#include "operators/time_stage.h"

namespace wrackline::runtime {

// Drains `splits` and returns one reader over all of them. Its batches never mix files, so Batch::file still
// names each record's log. `read_at` stands in for a missing arrival time.
Result<std::unique_ptr<SplitReader>> read_in_arrival_order(std::vector<std::unique_ptr<SplitReader>> splits,
                                                           const std::vector<Field>& fields,
                                                           const TimeStage& stage, WallTime read_at);

}  // namespace wrackline::runtime
