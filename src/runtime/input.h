// The input of one source as a sequence of steps in logged order: this is where the outside world's order
// enters.
//
// A step is a run of records of one split, judged: its times are read and the watermark has moved over it.
// Bounded input of several splits is read from the one that is furthest behind in event time until it is
// `alignment` ahead of the next; so open windows stay few, and the order, and with it every fate, depends on
// the records and not on the size of batches. Live input is taken as it arrives, from each split in turn.
//
// Partitions of live input (docs/semantics.md section 3):
//   silence   the time between two looks that both found the end of a split, with no record in between. Time
//             in which a split is paused, or was not asked, is no silence; so a busy or suspended reader
//             never makes a partition idle. The values of a partition column are silent together: while every
//             split is at its end.
//   idle      silent for idle_timeout. Judged at looks, at least every 20 ms.
//   paused    a split more than max_drift ahead of the slowest one that is neither idle nor ended is not read
//             on. It is not idle, however long that lasts.
//   carried   when all are idle, G follows wall time at the distance idle_close, in steps of a second.
//
// With a log, every step is written down (runtime/tick_log.h). With a replay, the steps are those of a log
// and nothing is chosen, no clock asked: the same records are judged alike whatever the batches and the hour.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/snapshot.h"
#include "env/clock.h"
#include "operators/record_times.h"
#include "operators/source.h"
#include "operators/time_stage.h"
#include "runtime/arrival_order.h"
#include "runtime/tick_log.h"

namespace wrackline::runtime {

struct InputOptions {
  std::string name;  // of the source
  std::vector<Field> fields;
  TimeStageOptions times;
  bool in_arrival_order = false;  // bounded input: replay by arrival time (runtime/arrival_order.h)
  Duration alignment = seconds(60);
  Duration idle_timeout = seconds(60);  // live input only, as are the next two
  std::optional<Duration> max_drift;    // nullopt: nothing is paused
  std::optional<Duration> idle_close;   // nullopt: wall time does not close windows
  size_t rows_max = 4096;               // most records in a step
  uint32_t log_source = 0;              // index of the source in the tick log
  TickLogWriter* log = nullptr;         // borrowed; takes every step
  TickLogReader* replay = nullptr;      // borrowed; says every step
  // The replay is of the run's own log: it is not written again, and where it ends without an end of input
  // the input chooses again, and goes on in `log`.
  bool goes_on_after_replay = false;
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
    WallTime read_at;                     // the tick's clock reading
    bool more = false;  // replay: the tick goes on in the next step, which has no number of its own
  };

  // Borrows the clock, which is read once per tick; a replay does not read it.
  Input(InputOptions options, std::unique_ptr<Source> source, env::Clock& clock);
  ~Input();

  // Opens every split and registers the partitions that are known before the first record.
  Status open();
  // Everything that the next steps depend on, between two of them (not while Step::more is set). Time that
  // goes by until restore() is not silence.
  Status save(SnapshotWriter& out) const;
  // Instead of open(), with the same options: every split is opened where it stood, and the next step is the
  // one that would have come next. With a replay, that is the step of the entry at which it stands; the
  // entries before it were written by the input that was saved. Splits that appeared since are taken on when
  // the source is live.
  // Errors: kData for damage; those of Source::restore for files that are not what they were; kInvalid for
  // options that do not fit. The input is then of no use.
  Status restore(SnapshotReader& from);
  // The batch and times of a step stay valid until the next call.
  // Errors: those of the source and of the log. Replay: kNotFound and kData, with file and offset, when the
  // input is not what the log was written from.
  Result<Step> next();
  // The input has ended for good: W moves to plus infinity.
  Status flush();

  // Most records in a step from here on.
  void set_rows_max(size_t rows_max) { options_.rows_max = rows_max; }

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

  Status open_merged(std::vector<std::unique_ptr<SplitReader>> readers, WallTime read_at);
  void add_split(std::unique_ptr<SplitReader> reader);
  void add_splits(std::vector<std::unique_ptr<SplitReader>> readers);
  Result<Step> choose();
  Split* furthest_behind();
  Split* next_in_turn();
  Status refill(Split& split, size_t rows, WallTime read_at);
  std::unexpected<Error> lost_records(const Split& split) const;
  void tell_of_units();
  Status refill(Split& split);
  size_t run_end(Split& split);
  Step consume(Split& split);
  Step consume(Split& split, size_t end);
  Step end_split(Split& split);
  bool end_merged_splits();
  bool partition_is_split() const { return !options_.times.partition_column.has_value(); }

  // Saving (input_state.cc).
  void save_split(const Split& split, SnapshotWriter& out) const;
  void save_time(SnapshotWriter& out) const;
  void save_logged(SnapshotWriter& out) const;
  Status restore_merged(SnapshotReader& from);
  Status restore_split(SnapshotReader& from);
  Status restore_time(SnapshotReader& from);
  void restore_logged(SnapshotReader& from);
  Status take_appeared();
  std::pair<uint64_t, uint64_t> taken_and_left(const Split& split) const;
  void go_on_at(int64_t now_us);

  // Live input (input_live.cc).
  bool is_silent(const Split& split) const;
  int64_t slowest_us(const Split* except) const;
  void pause_and_resume();
  void note_records(Split& split, const Step& step);
  void note_end(Split& split) const;
  Result<Step> look();
  Status discover();
  bool find_idle();
  bool carry_on(WallTime wall);

  // Log and replay (input_log.cc).
  Status record(const Step& step, TickKind kind);
  Status open_replay(std::vector<std::unique_ptr<SplitReader>> readers);
  Result<Step> next_replayed();
  Result<Step> begin_tick(const TickEntry& entry);
  Result<Step> continue_tick();
  Result<Step> go_on_after_replay();
  Status find_ended_splits();
  Status take_splits(const TickEntry& entry);
  Status apply(const TickEntry& entry);
  Status record_followed();
  Status check_tick() const;
  std::unexpected<Error> differs(std::string what, const std::string& file, int64_t offset) const;

  InputOptions options_;
  std::unique_ptr<Source> source_;
  env::Clock& clock_;
  TimeStage stage_;
  bool bounded_ = true;
  std::vector<std::unique_ptr<Split>> splits_;
  std::vector<std::string> notices_;
  bool units_told_ = false;
  ArrivalOrderReader* merged_ = nullptr;  // in arrival order: the reader of the only split
  Split* current_ = nullptr;              // bounded input: being read until another is due
  Split* consumed_ = nullptr;             // whose batch the last step was of
  const Batch* last_batch_ = nullptr;
  size_t turn_ = 0;

  // Live input. Times are of the monotonic clock.
  int64_t now_us_ = 0;  // of the call to next() at hand
  int64_t looked_us_ = 0;
  int64_t discovered_us_ = 0;
  bool read_since_look_ = true;
  // The values of a partition column: a clock that runs while every split is at its end.
  int64_t quiet_us_ = 0;
  std::optional<int64_t> quiet_since_us_;
  std::vector<int64_t> spoke_at_quiet_us_;  // per partition
  bool clock_begins_ = false;               // restored or replayed: the moments above are as if now were 0
  WallTime merged_at_;                      // in arrival order: stands in for a missing arrival time

  // Log and replay.
  TickEntry entry_;  // being written, or being followed
  std::vector<TickEvent> events_;
  std::optional<int64_t> carried_to_us_;
  std::vector<bool> silent_;  // per partition: whether it was known before it spoke
  size_t logged_splits_ = 0;
  size_t logged_partitions_ = 0;
  std::optional<int64_t> logged_delay_us_;
  bool end_logged_ = false;
  std::vector<std::unique_ptr<SplitReader>> waiting_;  // replay: found, but not yet in the log
  uint64_t records_left_ = 0;                          // replay: of the tick at hand
  TickEntry seen_;                                     // replay: what the tick at hand came to
};

}  // namespace wrackline::runtime
