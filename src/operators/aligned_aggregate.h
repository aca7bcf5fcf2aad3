// Grouped aggregates over tumbling, hopping and cumulative windows, with corrections and the late path.
//
// How a range of rows is taken:
//   1. The range is cut where the watermark crosses a window's end. Between two cuts no window can close, and
//      a record is late for some window exactly if its time lies before the last edge: so a piece is judged
//      by one comparison a record and aggregated by plain loops, with the same fates as judging record by
//      record (docs/decisions/0005).
//   2. Each row goes into its slice. A late row goes record by record through the windows it is in.
//   3. At a cut, the windows whose end the watermark has reached publish their first version.
//   4. At the end of the tick the corrected groups publish one further version, and sealed windows are freed.
//
// This class decides, in logged order and in one thread; the state by key lies in shards, which work side by
// side. Rows of several shards are put in the order of keys before they leave, so the number of shards is
// invisible.
// Threads: one caller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/parallel.h"
#include "operators/aligned_shard.h"
#include "operators/intake.h"
#include "operators/view_operator.h"
#include "operators/window_plan.h"

namespace wrackline {

class AlignedAggregate : public ViewOperator {
 public:
  AlignedAggregate(ViewOptions options, WindowPlan plan, ChangeConsumer& consumer, int64_t generation);
  ~AlignedAggregate() override;

  void begin_batch(const Batch& batch) override { intake_.begin_batch(batch); }
  Status process(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                 size_t end) override;
  Status advance(int64_t watermark_us) override { return close_until(watermark_us); }
  Status finish_tick(const TickContext& tick) override;

  Status save(SnapshotWriter& out) const override;
  // The number of shards (ViewOptions::threads) may be another than the one that was saved.
  Status restore(SnapshotReader& in) override;

  const Balance& balance() const override { return intake_.balance(); }
  const ViewStatistics& statistics() const override { return statistics_; }
  size_t live_windows() const override { return slices_.size() + retained_.size(); }
  size_t state_bytes() const override;

 private:
  Status restore_shards(SnapshotReader& in, uint64_t saved);
  // Rows of the piece at hand that go to one place.
  struct Bucket {
    Window window;              // the slice, or the closed window
    bool in_no_window = false;  // a slice between hopping windows
    std::vector<uint32_t> rows;
    std::vector<std::vector<uint32_t>> by_shard;  // when there are several
  };

  Status run_piece(const RecordTimes& times, const TickContext& tick, size_t begin, size_t end,
                   int64_t edge_us);
  Status route_late(const RecordTimes& times, const TickContext& tick);
  Status route_late_row(const RecordTimes& times, const TickContext& tick, uint32_t row);
  Status store(const RecordTimes& times, const TickContext& tick);
  Status settle_errors(const RecordTimes& times, const TickContext& tick);
  void split_by_shard();
  Bucket& slice_bucket(int64_t event_us);
  Bucket& window_bucket(const Window& window);

  Status close_until(int64_t watermark_us);
  Status close_window(const Window& window);
  Window first_unclosed() const;
  bool has_slice(const Window& window) const;
  void release_slices(int64_t edge_us);
  Status publish_corrections();
  Status publish_early(const TickContext& tick);
  template <class Act>
  Status publish(Act act);
  // Runs work(i) for every shard: side by side if it is worth waking the workers.
  void for_each_shard(size_t rows, const std::function<void(size_t)>& work);
  Status hand_over(bool changelog);

  ViewOptions options_;
  WindowPlan plan_;
  ChangeConsumer& consumer_;
  int64_t generation_;
  Grouping grouping_;
  Intake intake_;
  std::vector<std::unique_ptr<AlignedShard>> shards_;
  std::unique_ptr<WorkerPool> pool_;  // null with one shard

  // State that a checkpoint holds.
  std::map<int64_t, Window> slices_;    // by start: those that an open window holds and that got a row
  std::map<int64_t, Window> retained_;  // by end: closed windows that may still change
  int64_t watermark_us_ = kMicrosMin;
  int64_t closed_before_us_ = kMicrosMin;  // windows that end at or before it have published
  int64_t early_mark_ = kMicrosMin;        // of the last early publication: time / every
  ViewStatistics statistics_;

  // Scratch.
  std::map<int64_t, Bucket> buckets_;  // of slices, by start
  std::vector<Bucket*> filled_;
  std::map<int64_t, Bucket> revised_;  // of closed windows, by end
  std::vector<Bucket*> revised_filled_;
  std::set<int64_t> corrected_;  // ends of the windows corrected in this tick
  std::vector<uint32_t> late_rows_;
  std::vector<Window> windows_scratch_;
  std::vector<uint32_t> partial_rows_;  // of the piece: accepted_partially already
  state::EncodedKeys encoded_;
  std::vector<uint32_t> shard_of_;
  std::vector<Publication> publications_;
  size_t rows_since_publication_ = 0;
  ChangeBatch merged_;
};

}  // namespace wrackline
