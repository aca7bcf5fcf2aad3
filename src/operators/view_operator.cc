#include "operators/view_operator.h"

namespace wrackline {

void ViewStatistics::save(SnapshotWriter& out) const {
  for (const int64_t count :
       {windows_closed, versions, corrections, retractions, early, behind_watermark, pairs_missed}) {
    out.i64(count);
  }
}

void ViewStatistics::restore(SnapshotReader& in) {
  for (int64_t* count :
       {&windows_closed, &versions, &corrections, &retractions, &early, &behind_watermark, &pairs_missed}) {
    *count = in.i64();
    if (*count < 0) in.refuse("a count is negative");
  }
}

}  // namespace wrackline
