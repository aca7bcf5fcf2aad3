// Why a record is where it is: its times, the watermark that judged it, who held and who moved that
// watermark, and its fate in every view.
//
// By replaying the tick log of the run through the time stage and the views, up to the record, with nothing
// published; then by reading the ledger. So it says what the run decided, and needs the input as it was.
// Cost: as long as the run needed up to the record; memory as the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "runtime/tick_log.h"

namespace wrackline::engine {

struct RecordPlace {
  std::string source;     // may be empty when the job has one
  std::string partition;  // its name, or that of the file
  std::string file;       // may be empty; tells records of one partition and offset apart
  int64_t offset = 0;
};

struct Explanation {
  // What last raised G before the record was judged.
  struct Mover {
    enum class Kind : uint8_t { kNothing, kRecord, kIdle, kEnded, kWallClock };
    Kind kind = Kind::kNothing;
    std::string partition;  // kRecord, kIdle, kEnded
    std::string file;       // kRecord, as are the next three
    int64_t offset = 0;
    int64_t line = 0;
    int64_t event_us = 0;
    int64_t tick = 0;  // the tick, or the one before
  };
  struct Window {
    enum class Judgement : uint8_t { kOnTime, kCorrects, kMissed };
    int64_t start_us = 0;
    int64_t end_us = 0;
    Judgement judgement = Judgement::kOnTime;
    int64_t late_by_us = 0;  // watermark - end where it is not on time
  };
  struct View {
    std::string name;
    std::string fate;  // as in the balance: "accepted", "dropped", ...
    std::optional<Reason> reason;
    std::string detail;
    bool corrects = false;
    bool session = false;  // its windows depend on other records; only missed ones are listed
    std::vector<Window> windows;
    std::optional<int64_t> entry;  // number in the ledger
  };

  std::string job;
  int64_t generation = 0;
  std::string source;
  std::string partition;
  std::string file;
  int64_t offset = 0;
  int64_t line = 0;
  std::string payload;
  std::optional<int64_t> event_us;
  std::optional<int64_t> arrival_us;
  bool arrival_is_reading = false;  // it has no arrival time of its own: the clock's when it was read
  int64_t tick = 0;
  int64_t wall_us = 0;
  int64_t delay_us = 0;
  int64_t progress_us = 0;   // G before the record
  int64_t watermark_us = 0;  // W before it: what judged it
  bool moved_progress = false;
  std::optional<std::string> holder;
  int64_t holder_progress_us = 0;
  Mover mover;
  std::vector<View> views;
  std::vector<std::string> notices;
};

// Errors: kNotFound for a place that the log does not have, with what there is; kData when the input is not
// what it was; those of the log, the ledger and the job.
Result<Explanation> explain_record(const std::string& state_directory, const RecordPlace& place);

// The place of a ledger entry of the newest generation. Errors: kNotFound.
Result<RecordPlace> place_of_entry(const std::string& state_directory, int64_t entry);

}  // namespace wrackline::engine
