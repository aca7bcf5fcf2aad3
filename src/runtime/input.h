// The input of one source as a sequence of steps in logged order: this is where the outside world's order
// enters.
//
// A step is a run of records of one split, judged: its times are read and the watermark has moved over it.
// Bounded input of several splits is read from the one that is furthest behind in event time until it is
// `alignment` ahead of the next; so open windows stay few, and the order, and with it every fate, depends on
// the records and not on the size of batches. Live input is taken as it arrives. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "env/clock.h"
#include "operators/record_times.h"
#include "operators/source.h"
#include "operators/time_stage.h"
#include "runtime/arrival_order.h"

namespace wrackline::runtime {

struct InputOptions {
  std::string name;  // of the source
  std::vector<Field> fields;
  TimeStageOptions times;
  bool in_arrival_order = false;  // bounded input: replay by arrival time (runtime/arrival_order.h)
  Duration alignment = seconds(60);
  Duration idle_timeout = seconds(60);  // live input only
  size_t rows_max = 4096;               // most records in a step
};

class Input {
 public:
  enum class StepKind : uint8_t {
    kRecords,  // rows [begin, end) of the batch, and the rejects among them
    kTime,     // no records, but the watermark may have moved: a split ended or a partition fell idle
    kQuiet,    // nothing now (live input, a pipe): ask again after a while
    kEnded,    // bounded input has ended; every later step says the same
  };
  struct Step {
    StepKind kind = StepKind::kEnded;
    const Batch* batch = nullptr;
    const RecordTimes* times = nullptr;
    size_t begin = 0;
    size_t end = 0;
    bool fresh = false;                   // not the batch of the step before
    std::optional<PartitionIndex> ended;  // kTime: the partition that ended, if it was that
  };

  // Borrows the clock, which is read once per batch.
  Input(InputOptions options, std::unique_ptr<Source> source, env::Clock& clock);
  ~Input();

  // Opens every split and registers the partitions that are known before the first record.
  Status open();
  // The batch and times of a step stay valid until the next call.
  Result<Step> next();

  TimeStage& stage() { return stage_; }
  const TimeStage& stage() const { return stage_; }
  const InputOptions& options() const { return options_; }
  bool bounded() const { return bounded_; }
  uint64_t bytes_read() const;
  std::optional<uint64_t> bytes_total() const;
  std::vector<std::string> take_notices();
  // Names of fields in the input that are not declared, for hints.
  std::vector<std::string> fields_seen() const;

 private:
  struct Split;

  void add_splits(std::vector<std::unique_ptr<SplitReader>> readers);
  Split* furthest_behind();
  Split* next_in_turn();
  Status refill(Split& split);
  size_t run_end(Split& split);
  Step consume(Split& split);
  Step end_split(Split& split);
  bool end_merged_splits();
  Result<Step> look_around();
  bool partition_is_split() const { return !options_.times.partition_column.has_value(); }

  InputOptions options_;
  std::unique_ptr<Source> source_;
  env::Clock& clock_;
  TimeStage stage_;
  bool bounded_ = true;
  std::vector<std::unique_ptr<Split>> splits_;
  std::vector<std::string> notices_;
  ArrivalOrderReader* merged_ = nullptr;  // in arrival order: the reader of the only split
  Split* current_ = nullptr;              // bounded input: being read until another is due
  Split* consumed_ = nullptr;             // whose batch the last step was of
  const Batch* last_batch_ = nullptr;
  size_t turn_ = 0;
  int64_t discovered_us_ = 0;
  // The quiet clock runs only while every split is caught up, so that a busy or paused reader never looks
  // idle.
  int64_t quiet_us_ = 0;
  int64_t looked_us_ = 0;
  std::vector<int64_t> spoke_at_quiet_us_;  // per partition
};

}  // namespace wrackline::runtime
