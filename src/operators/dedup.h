// Dedup of one source: which of its records are copies of earlier ones.
//
// It stands before all views of the source, in logged order, record by record: where batches end does not
// show. A record that is set aside already (no event time, future) is not looked at and its id stays free;
// one that a view will ledger as late is, so its copy is a duplicate. A copy has the fate `duplicate`; the
// same id with other content goes to the ledger as `conflict`; what is older than the horizon is dropped as
// `past_horizon`. A redelivery of the same offset is not dedup's business: the position takes care of it.
//
// Threads: one thread.
// Source:  docs/semantics.md section 6, decision 0009.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "operators/dedup_id.h"
#include "operators/dedup_index.h"
#include "operators/record_times.h"

namespace wrackline {

struct DedupOptions {
  std::vector<size_t> columns;      // of the source, at least one: together they are the id
  std::string name;                 // of those columns, for messages: "event_id"
  std::optional<Duration> horizon;  // nullopt: ids are kept for ever
};

struct DedupStatistics {
  int64_t duplicates = 0;
  int64_t conflicts = 0;
  int64_t too_old = 0;     // past the horizon
  int64_t without_id = 0;  // NULL in a key column: taken as they are
  size_t ids = 0;          // known now
  size_t ids_max = 0;      // at any time
  size_t bytes_max = 0;    // of memory for them
};

class Dedup {
 public:
  // `arrival` is the column of the arrival time, if there is one: it is not content.
  Dedup(DedupOptions options, std::optional<size_t> arrival);

  // Fills times.ids. Moves nothing yet.
  void read(const Batch& batch, RecordTimes& times) { ids_.read(batch, times.ids); }
  // Judges the usable rows [begin, end), whose watermark_before is known: takes copies, conflicts and those
  // past the horizon out of `usable` and into duplicates or set_aside. Requires: rows are judged once, in
  // logged order.
  void judge(RecordTimes& times, size_t begin, size_t end);

  DedupStatistics statistics() const;
  Duration bucket_width() const { return index_.bucket_width(); }

  // The ids and the statistics (dedup_index.h).
  void save(SnapshotWriter& out) const;
  // Errors: kData; kInvalid for another horizon. It is then of no use.
  Status restore(SnapshotReader& in);

 private:
  std::string conflict_text_;
  std::string horizon_text_;
  RecordIdReader ids_;
  DedupIndex index_;
  DedupStatistics counts_;
};

}  // namespace wrackline
