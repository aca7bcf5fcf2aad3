// The ledger: every record that is in no result, and why. Durable, ordinary SQL underneath
// (docs/formats/ledger.md).
//
// Natural key of an entry: (generation, view, source, file, offset): adding the same record again changes
// nothing. Threads: one writer; readers in other processes see committed ticks only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/batch.h"

namespace wrackline::ledger {

struct MissedWindow {
  int64_t start_us = 0;
  int64_t end_us = 0;
  int64_t late_by_us = 0;  // watermark - end, never negative
};

struct Entry {
  int64_t seq = 0;  // given by the ledger, rises
  std::string view;
  std::string source;
  std::string partition;
  std::string file;  // where the record is, with offset and line
  int64_t offset = 0;
  int64_t line = 0;
  std::string key;  // JSON: the grouping value, an object when there are several, "null" when unknown
  std::optional<int64_t> event_time_us;
  std::optional<int64_t> arrival_time_us;
  Reason reason = Reason::kLate;
  std::string detail;  // a fragment for people; may be empty
  std::vector<MissedWindow> windows;
  int64_t watermark_us = 0;  // that judged it
  int64_t tick = 0;
  std::string payload;         // the record's bytes
  std::string state = "open";  // open | applied | waived
};

struct RunInfo {
  int64_t generation = 0;
  std::string job;     // path
  std::string status;  // running | finished | failed
  int64_t started_us = 0;
  int64_t entries = 0;
};

struct Filter {
  std::optional<std::string> view = std::nullopt;
  std::optional<int64_t> window_start_us = std::nullopt;
  std::optional<Reason> reason = std::nullopt;
  std::optional<int64_t> seq = std::nullopt;
  std::optional<int64_t> limit = std::nullopt;
};

class Ledger {
 public:
  // Opens for writing, makes it if absent, takes the state directory's lock and starts a new, greater
  // generation. Errors: kUnavailable when another process holds the directory (names its pid) or it cannot be
  // written; kData when the file is not a ledger or of a newer format.
  static Result<std::unique_ptr<Ledger>> open_for_run(const std::string& directory, const std::string& job);
  // In memory, for --state none: entries are counted and the first few kept for the report.
  static std::unique_ptr<Ledger> transient();
  // Opens to read; the newest generation is shown unless another is asked for. Works while a run is writing.
  static Result<std::unique_ptr<Ledger>> open_to_read(const std::string& directory,
                                                      std::optional<int64_t> generation = std::nullopt);
  virtual ~Ledger() = default;

  virtual int64_t generation() const = 0;
  virtual Status add(Entry entry) = 0;  // buffered until commit
  virtual Status commit() = 0;          // durable when it returns
  virtual int64_t size() const = 0;     // entries of this generation
  // Ends the run. finished: entries of older generations, which this run has judged anew, are removed.
  virtual Status finish(bool finished) = 0;

  // Calls `visit` for each entry in seq order; stops when it returns false.
  virtual Status scan(const Filter& filter, const std::function<bool(const Entry&)>& visit) = 0;
  virtual Result<RunInfo> info() = 0;
  struct Summary {
    std::string view;
    Reason reason;
    int64_t count;
  };
  virtual Result<std::vector<Summary>> summary() = 0;
};

// One entry as the JSON object of `ledger list --json` (INTERFACE keys).
std::string to_json(const Entry& entry);

}  // namespace wrackline::ledger
