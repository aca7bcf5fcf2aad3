// A view as the source of other views: its final rows are their records.
//
// A row is final when its window is sealed: it cannot be corrected any more, so what is computed from it need
// not be either. Until then the latest row of each identity waits here. Rows leave in the order of (window
// end, identity), which is a function of the upstream view's results alone, so nothing about a derived source
// has to be logged.
// Time: the event time of a row is the last microsecond of its window, window_end - 1 us, so that windows
// nest: ten minutes that end at 11:00 belong to the hour before 11:00; or its window_start. The watermark
// follows the upstream view's: no later final row can have an earlier time. Threads: one. Cost:    a copy of
// each row; as many rows wait as the upstream view keeps revisable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/snapshot.h"
#include "data/value.h"
#include "operators/sink.h"
#include "operators/time_stage.h"

namespace wrackline::runtime {

struct DerivedPlan {
  std::string view;  // upstream
  std::vector<OutputColumn> columns;
  size_t window_end = 0;    // column that holds it
  size_t window_start = 0;  // column that holds it, when time is the start
  bool time_is_start = false;
  Duration allowed_lateness;  // of the upstream view
  // When time is the start: the least start of a window that ends after an edge.
  std::function<int64_t(int64_t edge_us)> first_start_after;
};

class DerivedSource {
 public:
  explicit DerivedSource(DerivedPlan plan);

  const DerivedPlan& plan() const { return plan_; }
  TimeStage& stage() { return stage_; }
  const TimeStage& stage() const { return stage_; }

  // What the upstream view publishes, in upsert form.
  void take(const ChangeBatch& changes);
  // Makes a batch of the rows that are final at the upstream view's watermark, judged; false if there are
  // none. The batch lives until the next call.
  bool collect(int64_t watermark_us, WallTime wall);
  const Batch& batch() const { return batch_; }
  const RecordTimes& times() const { return times_; }
  // No row that is yet to come has a time before what the watermark says: the source's watermark follows.
  void follow(int64_t watermark_us);

  // The rows that wait, by window end, and the stage. Many rows of one end are a piece.
  void save(SnapshotWriter& out) const;
  // Requires: a new source of the same plan. Errors: kData; kInvalid for another plan. It is then of no use.
  Status restore(SnapshotReader& in);

 private:
  struct Row {
    std::vector<Value> values;
    std::string json;
  };
  struct End {
    std::map<std::string, Row> rows;  // by identity
    uint64_t changed_at = 0;          // changes_ after its last change
  };
  void identify(const ChangeBatch& changes, size_t row, std::string& identity) const;
  void save_rows(const End& end, SnapshotWriter& out) const;
  void restore_rows(SnapshotReader& in, int64_t end_us, End& end) const;
  bool has_times_of(const Row& row, int64_t end_us) const;

  DerivedPlan plan_;
  TimeStage stage_;
  std::map<int64_t, End> waiting_;  // by window end
  uint64_t changes_ = 0;            // of waiting rows since the first
  Batch batch_;
  RecordTimes times_;
  std::vector<std::string> raw_;
  int64_t offset_ = 0;
};

}  // namespace wrackline::runtime
