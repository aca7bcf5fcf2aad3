#include "operators/dedup.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "data/time_text.h"

namespace wrackline {
namespace {

constexpr size_t kLookAhead = 12;  // records: about as many cache misses as a core waits for at once

}  // namespace

Dedup::Dedup(DedupOptions options, std::optional<size_t> arrival)
    : conflict_text_(format("a record with the same {} and other content was here before", options.name)),
      ids_(std::move(options.columns), arrival),
      index_(options.horizon) {
  if (options.horizon) {
    horizon_text_ = format("the event time is more than dedup_horizon ({}) behind the watermark",
                           span_text(options.horizon->micros()));
  }
}

void Dedup::judge(RecordTimes& times, size_t begin, size_t end) {
  const auto asides_before = static_cast<ptrdiff_t>(times.set_aside.size());
  const auto has_id = [&](size_t row) { return (times.ids[row].low & kIdLowMask) != 0; };
  for (size_t row = begin; row < std::min(end, begin + kLookAhead); ++row) index_.prefetch(times.ids[row]);
  for (size_t row = begin; row < end; ++row) {
    if (row + kLookAhead < end) index_.prefetch(times.ids[row + kLookAhead]);
    if (times.usable[row] == 0) continue;
    if (!has_id(row)) {
      ++counts_.without_id;
      continue;
    }
    const DedupVerdict verdict =
        index_.judge(times.ids[row], times.event_us[row], times.watermark_before[row]);
    if (verdict == DedupVerdict::kNew) continue;
    const auto at = static_cast<uint32_t>(row);
    times.usable[row] = 0;
    if (verdict == DedupVerdict::kDuplicate) {
      ++counts_.duplicates;
      times.duplicates.push_back(at);
    } else if (verdict == DedupVerdict::kConflict) {
      ++counts_.conflicts;
      times.set_aside.push_back({at, Reason::kConflict, conflict_text_});
    } else {
      ++counts_.too_old;
      times.set_aside.push_back({at, Reason::kPastHorizon, horizon_text_});
    }
  }
  const auto middle = times.set_aside.begin() + asides_before;
  std::inplace_merge(times.set_aside.begin(), middle, times.set_aside.end(),
                     [](const SetAside& a, const SetAside& b) { return a.row < b.row; });
  counts_.ids_max = std::max(counts_.ids_max, index_.size());
  counts_.bytes_max = std::max(counts_.bytes_max, index_.bytes());
}

DedupStatistics Dedup::statistics() const {
  DedupStatistics statistics = counts_;
  statistics.ids = index_.size();
  return statistics;
}

void Dedup::save(SnapshotWriter& out) const {
  out.section("ddup");
  for (const int64_t count : {counts_.duplicates, counts_.conflicts, counts_.too_old, counts_.without_id}) {
    out.i64(count);
  }
  out.u64(counts_.ids_max);
  out.u64(counts_.bytes_max);
  index_.save(out);
}

Status Dedup::restore(SnapshotReader& in) {
  in.section("ddup");
  for (int64_t* count : {&counts_.duplicates, &counts_.conflicts, &counts_.too_old, &counts_.without_id}) {
    *count = in.i64();
    if (*count < 0) in.refuse("a count of records is negative");
  }
  counts_.ids_max = in.u64();
  counts_.bytes_max = in.u64();
  return index_.restore(in);
}

}  // namespace wrackline
