// Retention: removes the oldest entries of a view when they are too old, too many or too large, and counts
// them in the audit trail.
//
// Entries leave in the order of their numbers, so one cursor per view tells where the oldest is; looking
// costs nothing while neither limit nor age is reached. Threads: the writer's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "ledger/audit_trail.h"
#include "ledger/ledger.h"
#include "sqlite/database.h"

namespace wrackline::ledger {

class Retainer {
 public:
  struct View {
    Retention rule;
    int64_t entries = 0;
    int64_t bytes = 0;
    int64_t added = 0;              // entries since the last step
    int64_t cursor = 0;             // no entry of the view has a number up to this one
    std::optional<int64_t> due_us;  // when its oldest entry is too old; nullopt: look
  };
  // Of the run whose entries may be met again by a replay.
  struct Replayable {
    int64_t run = 0;
    int64_t after_seq = 0;
  };
  struct Removed {
    int64_t entries = 0;      // of all runs
    int64_t of_run = 0;       // of Replayable::run
    bool remembered = false;  // some identity was kept for a replay
  };

  // Counts what is there. Errors: of the database.
  Status start(sqlite::Database& database, std::vector<Retention> rules);
  View* find(const std::string& view);
  bool empty() const { return views_.empty(); }
  bool idle(int64_t now_us) const;  // nothing is over a limit or due
  // Removes at most kStepEntries entries of each view, or twice as many as came since the last step: a view
  // that is over its limit comes back to it, however fast it fills. Requires: a transaction.
  Result<Removed> step(sqlite::Database& database, int64_t now_us, Replayable replayable);

  static constexpr int64_t kStepEntries = 2000;

 private:
  enum class Cause : uint8_t { kAge, kBytes, kEntries };
  using Line = std::tuple<std::string, int64_t, Cause>;  // view, run, cause
  Status step_view(sqlite::Database& database, View& view, int64_t now_us, Replayable replayable,
                   Removed& removed);
  Status tell(sqlite::Database& database, const View& view, int64_t run, Cause cause, int64_t now_us,
              const AuditCounts& counts);

  std::map<std::string, View> views_;
  std::map<Line, std::pair<int64_t, int64_t>> lines_;  // to their day and number in the trail
};

}  // namespace wrackline::ledger
