// The ledger: every record that is in no result, and why. Durable, ordinary SQL underneath
// (docs/formats/ledger.md).
//
// A run may have several attempts: each start acquires a greater generation, and a run is named by the
// generation of its first attempt. Entries belong to the run. Natural key of an entry: (run, view, source,
// file, offset): adding the same record again, in the same attempt or in a later one that replays it, changes
// nothing.
// Threads: one writer; readers in other processes see committed ticks only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "wrackline/time.h"

namespace wrackline::ledger {

struct MissedWindow {
  int64_t start_us = 0;
  int64_t end_us = 0;
  int64_t late_by_us = 0;  // watermark - end, never negative
};

// What a payload is. Stored: never renumber.
enum class PayloadState : uint8_t {
  kWhole = 0,     // the record's bytes
  kMasked = 1,    // written anew with some values hidden
  kWithheld = 2,  // empty: what the record says could not be told apart, and some of it must be hidden
  kPurged = 3,    // empty since it was purged; so are key and detail
};
std::string_view to_string(PayloadState state);  // whole | masked | withheld | purged

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
  std::string payload;         // the record's bytes, as payload_state says
  std::string state = "open";  // open | applied | waived
  PayloadState payload_state = PayloadState::kWhole;
  std::optional<int64_t> audit;            // the line of the audit trail that changed the entry last
  std::optional<int64_t> applied_version;  // state applied: of the row that a drain published with it

  // For masks, not kept.
  bool rejected = false;           // no row was made of the record
  size_t record_bytes = 0;         // of the record, where the payload is only its beginning
  std::span<const size_t> places;  // Batch::places, valid while the entry is added
};

enum class Hide : uint8_t {
  kNothing,
  kMask,  // the value becomes "***"
  kHash,  // the value becomes its keyed hash: equal values stay equal, and only who has the key can tell
          // which
};

// What is hidden in entries of a view.
struct MaskRule {
  std::string view;
  struct Column {
    std::string name;
    size_t column = 0;  // of the source's declared columns
    Hide hide = Hide::kMask;
  };
  std::vector<Column> columns;
  struct Key {
    std::string name;
    Hide hide = Hide::kNothing;
  };
  std::vector<Key> keys;                                      // every grouping key of the view, in order
  std::vector<std::pair<std::string, std::string>> declared;  // the source's columns and their types
  std::string hash_key;   // of kHash, and of hashes of what is withheld; empty: there are none
  char delimiter = ',';   // CSV
  std::string null_text;  // CSV
};

// How long entries of a view are kept. Whatever goes is counted in the audit trail.
struct Retention {
  std::string view;
  std::optional<Duration> age = std::nullopt;  // since the entry was written
  std::optional<int64_t> entries_max = std::nullopt;
  // Payloads, keys and details, and kEntryBytes for each entry.
  std::optional<int64_t> bytes_max = std::nullopt;
};
inline constexpr int64_t kEntryBytes = 130;

// One line of the audit trail: what was done to entries after they had been written.
struct AuditLine {
  int64_t id = 0;
  // waive | purge_payloads | purge_entries | retention_age | retention_bytes | retention_entries
  std::string action;
  int64_t run = 0;  // that the entries belong to
  int64_t began_us = 0;
  int64_t ended_us = 0;  // lines of retention cover up to a day
  std::string who;
  std::string because;
  std::string chosen;  // which entries, as the command or the job says it
  struct Count {
    std::string view;
    std::string source;
    Reason reason = Reason::kLate;
    int64_t entries = 0;
    int64_t payload_bytes = 0;
  };
  std::vector<Count> counts;
  int64_t entries() const;
};
std::string to_json(const AuditLine& line);  // without a line end

struct RunInfo {
  int64_t run = 0;
  int64_t generation = 0;  // of its newest attempt
  std::string job;         // path
  std::string status;      // running | stopped | failed | finished; of its newest attempt
  int64_t started_us = 0;  // of its newest attempt
  int64_t entries = 0;     // that the run has in the ledger now
  int64_t retired = 0;     // that retention has removed
  int64_t purged = 0;      // that `ledger purge --entries` has removed
};

// What a state directory held when it was opened for a run.
struct LastRun {
  int64_t run = 0;
  int64_t generation = 0;  // of its last attempt
  std::string status;      // stopped | failed (killed is failed) | finished
  std::string job;         // path
  int64_t entries = 0;
  int64_t last_seq = 0;
};

enum class RunChoice : uint8_t {
  kNew,               // a new run, whatever the last one came to
  kResumeUnfinished,  // the last run goes on if it has not finished; else a new one
};
enum class RunEnd : uint8_t { kFinished, kStopped, kFailed };

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
  // generation. A ledger of an older format is brought up to this one. Errors: kUnavailable when another
  // process holds the directory (names its pid) or it cannot be written; kData when the file is not a ledger
  // or of a newer format.
  static Result<std::unique_ptr<Ledger>> open_for_run(const std::string& directory, const std::string& job,
                                                      RunChoice choice = RunChoice::kNew);
  // In memory, for --state none: entries are counted and the first few kept for the report.
  static std::unique_ptr<Ledger> transient();
  // Opens to read; the newest run is shown unless that of another generation is asked for. Works while a run
  // is writing.
  static Result<std::unique_ptr<Ledger>> open_to_read(const std::string& directory,
                                                      std::optional<int64_t> generation = std::nullopt);
  virtual ~Ledger() = default;

  virtual int64_t generation() const = 0;                 // of this attempt
  virtual int64_t run() const = 0;                        // the generation of its first attempt
  bool resumed() const { return run() != generation(); }  // the last run had not finished and is continued
  // Of a ledger opened for a run: the run that was last before this attempt, the one that goes on if
  // resumed().
  virtual std::optional<LastRun> last_run() const { return std::nullopt; }

  virtual Status add(Entry entry) = 0;  // buffered until commit
  virtual Status commit() = 0;          // durable when it returns
  virtual int64_t size() const = 0;     // entries of this run, those of its earlier attempts too
  virtual int64_t last_seq()
      const = 0;  // of the newest entry; those of this run are greater than the others'
  // The attempt goes on from a state in which last_seq() was `seq`. Entries behind it stay: the replay meets
  // them again. Requires: before the first add.
  // Errors: kData when the ledger does not reach as far, so it is not of the state's run.
  virtual Status rewind(int64_t seq) = 0;
  // No later attempt will rewind to before `seq`: what is kept for that may go. Cost: with the next commit.
  virtual void settle(int64_t /*seq*/) {}
  // How long entries are kept from now on; applied at commits, in bounded steps, oldest entries first.
  // Removed entries stay removed when a replay meets them again. `wall_us` reads the clock that ages are
  // counted by; null: the system's. Cost: reads the ledger once.
  virtual Status set_retention(std::vector<Retention> /*rules*/, std::function<int64_t()> /*wall_us*/ = {}) {
    return {};
  }
  // What is hidden from now on, before anything reaches the disk. Records that no row was made of are kept
  // without their bytes.
  virtual void set_masks(std::vector<MaskRule> /*rules*/) {}
  // Ends the attempt. kFinished: entries of older runs, whose records this run has judged anew, are removed.
  virtual Status finish(RunEnd end) = 0;

  // Calls `visit` for each entry in seq order; stops when it returns false.
  virtual Status scan(const Filter& filter, const std::function<bool(const Entry&)>& visit) = 0;
  virtual Result<RunInfo> info() = 0;
  struct Summary {
    std::string view;
    Reason reason;
    int64_t count;  // in any state
    int64_t waived = 0;
    int64_t applied = 0;
  };
  virtual Result<std::vector<Summary>> summary() = 0;
  // Calls `visit` for each line of the audit trail, of all runs, oldest first; stops when it returns false.
  virtual Status audit(const std::function<bool(const AuditLine&)>& /*visit*/) { return {}; }
};

// One entry as the JSON object of `ledger list --json` (INTERFACE keys).
std::string to_json(const Entry& entry);

}  // namespace wrackline::ledger
