// Where published rows go, as the runtime sees it.
//
// A view publishes changes in ticks. write() may be called many times in a tick; commit() makes the tick's
// rows visible together. Rows carry absolute values, so writing a row again (a replay) changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/column.h"
#include "data/snapshot.h"
#include "data/types.h"

namespace wrackline {

enum class RowOp : uint8_t { kInsert, kUpdate, kRetract };
enum class RowStatus : uint8_t { kEarly, kOnTime, kCorrection, kDrain };
std::string_view to_string(RowOp op);          // insert | update | retract
std::string_view to_string(RowStatus status);  // early | on_time | correction | drain

struct OutputColumn {
  std::string name;
  Type type;
  bool identity = false;  // part of the row's identity: the window and the grouping key
};

// Rows that one view publishes, in publication order.
struct ChangeBatch {
  size_t rows = 0;
  std::vector<Column> columns;      // one per OutputColumn
  std::vector<RowOp> ops;           // per row
  std::vector<int64_t> versions;    // per row, from 1 per identity
  std::vector<RowStatus> statuses;  // per row
  int64_t generation = 0;           // of the run (SinkStart::run)
};

enum class SinkMode : uint8_t { kUpsert, kChangelog, kAppend };
std::string_view to_string(SinkMode mode);

struct SinkCapabilities {
  bool takes_updates = false;  // a row may replace an earlier one
  bool takes_retracts = false;
  std::string promise;  // one sentence for `check`: "at least once; readers see whole files only"
};

// Who opens a sink.
struct SinkStart {
  // The first attempt of a run.
  SinkStart(int64_t first) : generation(first), run(first) {}
  SinkStart(int64_t attempt, int64_t of_run) : generation(attempt), run(of_run) {}

  int64_t generation;  // of this attempt: greater than every earlier one's, so it fences them
  int64_t run;         // the generation of the run's first attempt: what rows carry
  bool resumes() const { return generation != run; }
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual SinkCapabilities capabilities() const = 0;
  // Takes over from every earlier attempt. Called once, before the first write. Of a run that is resumed, the
  // rows behind the checkpoint come again, the same as before.
  virtual Status open(const std::vector<OutputColumn>& columns, std::string_view view,
                      const SinkStart& start) = 0;
  // After a commit: where the sink stands, for a checkpoint.
  virtual void save(SnapshotWriter&) const {}
  // Before open(), when the run goes on from a checkpoint. Errors are those of the reader.
  virtual void restore(SnapshotReader&) {}
  virtual Status write(const ChangeBatch& changes) = 0;
  virtual Status commit() = 0;
  // The run ended as it should (true) or was cut short (false): makes what was committed final and releases
  // the sink. What older runs left and this one did not write again is removed when `finished`.
  virtual Status close(bool finished) = 0;
};

}  // namespace wrackline
