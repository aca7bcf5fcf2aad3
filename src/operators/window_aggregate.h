// The window operator: grouped aggregates over tumbling windows, with corrections and the late path.
//
// The life of a batch here:
//   1. WHERE, keys and aggregate arguments are evaluated for the whole batch, column by column.
//   2. The batch is cut where the watermark crosses a window edge. Between two cuts no window can close, and
//   a record is
//      late exactly if its time lies before the last edge: so a piece is judged by one comparison a record
//      and aggregated by plain loops, with the same fates as judging record by record (docs/decisions/0005).
//   3. At a cut, the windows whose end the watermark has reached publish their first version.
//   4. At the end of the tick the corrected groups publish one further version, and sealed windows are freed.
//
// Threads: one thread.
// Invariants:
//   1. Every record gets exactly one fate in `balance()`.
//   2. Nothing is published for a window before W >= end, and nothing after W >= end + allowed lateness.
//   3. A group's versions rise by one; rows come out ordered by (window end, key) within a publication.
// Source:  docs/semantics.md sections 4 and 5; slices: Traub et al., "Scotty", EDBT 2019.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "expr/aggregate.h"
#include "expr/expr.h"
#include "ledger/ledger.h"
#include "operators/balance.h"
#include "operators/record_times.h"
#include "operators/sink.h"
#include "state/group_table.h"
#include "state/key_codec.h"
#include "wrackline/late_router.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {

struct WindowAggregateOptions {
  std::string view;
  std::string source;
  TumblingWindows windows{seconds(60)};
  LateRouter router{{}};
  uint32_t drop_reasons = 0;  // bit 1 << Reason: records set aside for it are dropped instead of ledgered

  // Borrowed: the trees must outlive the operator. All are over the source's columns.
  const expr::Expr* where = nullptr;
  std::vector<const expr::Expr*> keys;
  std::vector<std::string> key_names;
  struct Call {
    std::shared_ptr<const expr::Aggregate> aggregate;
    const expr::Expr* argument = nullptr;  // null for count(*)
    const expr::Expr* filter = nullptr;
  };
  std::vector<Call> aggregates;
  // Over [window_start, window_end, key 0, ..., aggregate 0, ...].
  std::vector<const expr::Expr*> outputs;
  bool wants_retractions = false;  // some sink takes a changelog
};

// What one tick hands to the operator beside the batch.
struct TickContext {
  int64_t tick = 0;
  const std::vector<std::string>* partition_names = nullptr;
  ledger::Ledger* ledger = nullptr;
};

struct ViewStatistics {
  int64_t windows_closed = 0;  // windows that published a first version when they closed
  int64_t versions = 0;        // rows published, retractions not counted
  int64_t corrections = 0;
  int64_t retractions = 0;
  int64_t behind_watermark = 0;  // accepted on time although their own time was behind the watermark
};

// Takes what a view publishes.
class ChangeConsumer {
 public:
  virtual ~ChangeConsumer() = default;
  // Upsert form: first versions as inserts, later ones as updates with absolute values.
  virtual Status take(const ChangeBatch& changes) = 0;
  // Changelog form of the same corrections: the old row and version as a retract, then the new row as an
  // insert. First versions come here as they come to take(). Called only when wants_retractions is set.
  virtual Status take_changelog(const ChangeBatch& changes) = 0;
};

class WindowAggregate {
 public:
  WindowAggregate(WindowAggregateOptions options, ChangeConsumer& consumer, int64_t generation);
  ~WindowAggregate();

  // Evaluates the view's expressions for a batch. Call it before processing rows of the batch, and again
  // after another batch was begun in between.
  void begin_batch(const Batch& batch);
  // Judges and aggregates the rows [begin, end) of the batch begun last, and the rejects that stand among
  // them. Requires: `times` is of this batch and judged for these rows; rows are processed once each, in
  // order.
  Status process(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                 size_t end);
  // The watermark moved without a record (idle partitions, the end of the input): closes what it reached.
  Status advance(int64_t watermark_us);
  // Publishes the tick's corrections and frees sealed windows.
  Status finish_tick();

  const Balance& balance() const { return balance_; }
  const ViewStatistics& statistics() const { return statistics_; }
  size_t live_windows() const { return slices_.size(); }
  size_t state_bytes() const;

 private:
  struct Slice;
  struct Projection;

  void count_read(const Batch& batch, const RecordTimes& times, size_t begin, size_t end);
  void select_rows(const RecordTimes& times, size_t begin, size_t end, expr::RowErrors& errors);
  Status set_aside_rejects(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                           size_t begin, size_t end);
  Status set_aside_row(const Batch& batch, const RecordTimes& times, const TickContext& tick, uint32_t row,
                       Reason reason, std::string_view detail);
  Status run_piece(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                   size_t end, int64_t edge_us);
  Status route_late(const Batch& batch, const RecordTimes& times, const TickContext& tick);
  ledger::Entry entry_of(const Batch& batch, const RecordTimes& times, const TickContext& tick, uint32_t row,
                         Reason reason, std::string_view detail) const;
  Status accumulate_touched(const Batch& batch, const RecordTimes& times, const TickContext& tick, bool late);
  void accumulate(Slice& slice, bool late);
  void keep_old_row(Slice& slice, uint32_t group);
  Slice& slice_at(int64_t start_us);
  Status close_until(int64_t watermark_us);
  Status publish_first(Slice& slice);
  Status publish_corrections(Slice& slice);
  Status publish_changelog(Slice& slice, std::span<const uint32_t> order);
  Status project(Slice& slice, std::byte* states, std::span<const uint32_t> state_rows,
                 std::span<const uint32_t> groups, ChangeBatch& changes);
  std::string key_json(size_t row) const;

  WindowAggregateOptions options_;
  ChangeConsumer& consumer_;
  int64_t generation_;
  state::KeyCodec codec_;
  size_t state_bytes_ = 0;
  std::vector<size_t> state_offsets_;

  // State that a checkpoint holds.
  std::map<int64_t, std::unique_ptr<Slice>> slices_;  // by start
  int64_t watermark_us_ = kMicrosMin;
  int64_t closed_before_us_ = kMicrosMin;  // windows that end at or before it have published
  Balance balance_;
  ViewStatistics statistics_;

  // State that lives for a batch or is kept only to save allocations.
  std::vector<std::unique_ptr<Slice>> spare_slices_;
  std::vector<Slice*> touched_;
  std::vector<Slice*> corrected_;  // in this tick
  std::optional<expr::Evaluator> where_;
  std::vector<expr::Evaluator> keys_;
  std::vector<std::optional<expr::Evaluator>> arguments_;
  std::vector<std::optional<expr::Evaluator>> filters_;
  const Column* where_column_ = nullptr;
  std::vector<const Column*> key_columns_;
  std::vector<const Column*> argument_columns_;
  std::vector<const Column*> filter_columns_;
  expr::RowErrors where_errors_;
  expr::RowErrors value_errors_;
  expr::RowErrors row_errors_;     // of the rows being processed, one each
  expr::RowErrors sum_errors_;     // of the aggregates, in the piece being accumulated
  std::vector<uint8_t> selected_;  // per row of the batch: goes on to the windows
  std::vector<uint32_t> late_rows_;
  state::EncodedKeys encoded_;
  std::vector<uint32_t> groups_;
  std::vector<uint32_t> filtered_rows_;
  std::vector<uint32_t> filtered_groups_;
  std::unique_ptr<Projection> projection_;
};

}  // namespace wrackline
