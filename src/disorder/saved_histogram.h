// Histograms in snapshots of state: what a monitor keeps over a restart.
//
// Used by: disorder/drift.h, runtime/monitor.h.
// Shape:   non-empty buckets in ascending order, each as the step from the one before and its count, both as
//          variable-length integers: two to four bytes for most. Then minimum, maximum, sum, exactness.
// Threads: any. Cost: O(non-empty buckets).
#pragma once

#include "data/snapshot.h"
#include "wrackline/delay_histogram.h"

namespace wrackline::disorder {

void save(const DelayHistogram& histogram, SnapshotWriter& out);
// What no histogram can have saved is an error of the reader, and the result is empty.
DelayHistogram restore_histogram(SnapshotReader& in);

}  // namespace wrackline::disorder
