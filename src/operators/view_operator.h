// What a view does with the records of its source: the interface that every kind of window fills in, and the
// options that all of them share.
//
// The life of a batch: begin_batch() evaluates the view's expressions column by column; process() judges a
// range of rows record by record in logged order and closes what the watermark passes on the way;
// finish_tick() publishes the tick's corrections and frees what is sealed.
// Threads: one thread calls; an operator may use workers inside a call (ViewOptions::threads).
// Invariants:
//   1. Every record gets exactly one fate in `balance()`.
//   2. Nothing is published for a window before W >= end (early versions aside), nothing after W >= end +
//      allowed lateness.
//   3. A group's versions rise by one; rows come out ordered by (window end, key) within a publication.
//   4. Fates, first versions and final values do not depend on how rows are cut into batches, nor on threads.
// Source:  docs/semantics.md sections 4 and 5.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "data/snapshot.h"
#include "expr/aggregate.h"
#include "expr/expr.h"
#include "ledger/ledger.h"
#include "operators/balance.h"
#include "operators/record_times.h"
#include "operators/sink.h"
#include "wrackline/late_router.h"
#include "wrackline/window_tumbling.h"

namespace wrackline {

// When rows of open windows are published, marked `early`.
struct EarlyOptions {
  Duration every;          // more than nothing
  bool wall_time = false;  // by the logged wall clock of ticks; else by the watermark
};

struct ViewOptions {
  std::string view;
  std::string source;
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
    std::vector<const expr::Expr*> sort_keys = {};  // of ORDER BY in the call
  };
  std::vector<Call> aggregates;
  // Over [window_start, window_end, key 0, ..., aggregate 0, ...].
  std::vector<const expr::Expr*> outputs;
  const expr::Expr* having = nullptr;  // boolean; rows for which it is not true are not published
  std::optional<EarlyOptions> early;
  bool emit_empty = false;         // a view without keys publishes windows without records, too
  bool wants_retractions = false;  // some sink takes a changelog
  size_t threads = 1;              // shards by key
};

// What one tick hands to the operator beside the batch.
struct TickContext {
  int64_t tick = 0;
  const std::vector<std::string>* partition_names = nullptr;
  ledger::Ledger* ledger = nullptr;
  int64_t wall_us = kMicrosMin;  // the tick's reading of the wall clock
};

struct ViewStatistics {
  int64_t windows_closed = 0;  // windows that published a first version when they closed
  int64_t versions = 0;        // rows published, retractions not counted
  int64_t corrections = 0;
  int64_t retractions = 0;
  int64_t early = 0;             // of the versions: provisional ones
  int64_t behind_watermark = 0;  // accepted on time although their own time was behind the watermark
  int64_t pairs_missed = 0;  // (record, window) pairs of accepted_partially records that were not accepted

  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in);
};

// Takes what a view publishes.
class ChangeConsumer {
 public:
  virtual ~ChangeConsumer() = default;
  // Upsert form: first versions as inserts, later ones as updates with absolute values, withdrawn rows as
  // retracts that carry the next version.
  virtual Status take(const ChangeBatch& changes) = 0;
  // Changelog form of the same: the old row and version as a retract, then the new row as an insert. First
  // versions come here as they come to take(). Called only when wants_retractions is set.
  virtual Status take_changelog(const ChangeBatch& changes) = 0;
};

class ViewOperator {
 public:
  virtual ~ViewOperator() = default;

  // Evaluates the view's expressions for a batch. Call it before processing rows of the batch, and again
  // after another batch was begun in between.
  virtual void begin_batch(const Batch& batch) = 0;
  // Judges and aggregates the rows [begin, end) of the batch begun last, and the rejects that stand among
  // them. Requires: `times` is of this batch and judged for these rows; rows are processed once each, in
  // order.
  virtual Status process(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                         size_t end) = 0;
  // The watermark moved without a record (idle partitions, the end of the input): closes what it reached.
  virtual Status advance(int64_t watermark_us) = 0;
  // Publishes the tick's corrections and early versions, and frees sealed windows.
  virtual Status finish_tick(const TickContext& tick) = 0;

  // Everything that the next records depend on, between two ticks. An operator of the same options that is
  // restored from it goes on as this one would. Errors: kUnsupported where windows of the kind cannot be
  // saved.
  virtual Status save(SnapshotWriter&) const { return cannot_be_saved(); }
  // Requires: a new operator. Errors: kData for a damaged snapshot, kInvalid for one of another job; the
  // operator is then of no use.
  virtual Status restore(SnapshotReader&) { return cannot_be_saved(); }

  virtual const Balance& balance() const = 0;
  virtual const ViewStatistics& statistics() const = 0;
  virtual size_t live_windows() const = 0;
  virtual size_t state_bytes() const = 0;

 private:
  static Status cannot_be_saved() {
    return fail(ErrorCode::kUnsupported, "the state of this kind of windows cannot be saved",
                "Snapshots hold tumbling, hopping and cumulative windows.",
                "Read the input again from the beginning.");
  }
};

}  // namespace wrackline
