// Measuring recorded input: feeds a profile or a budget with the records of files or standard input, in the
// order and with the time rules of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "data/time_text.h"
#include "disorder/report_json.h"
#include "env/clock.h"
#include "runtime/runner.h"
#include "wrackline/delay_profile.h"
#include "wrackline/lateness_budget.h"

namespace wrackline::engine {

struct MeasureInput {
  std::vector<std::string> paths;  // globs; "-" is standard input
  std::string format;              // "" guesses from the names
  std::string event_time;          // column names
  std::optional<std::string> arrival_time;
  std::optional<std::string> partition;  // nullopt: each file is a partition
  std::optional<std::string> key;        // budget: the grouping key, for the cost of state
  std::optional<std::string> producer;   // measure: the column that names the sender
  std::vector<std::string> id;           // columns that identify a record; later copies are left out
  bool drop_repeats = false;             // leave out records whose bytes repeat those of an earlier one
  std::optional<TimeUnit> time_unit;     // set for numeric times
  const TimeZone* time_zone = nullptr;   // for zoneless times
  std::optional<int64_t> time_missing;
  char delimiter = ',';
  bool in_arrival_order = false;
  Duration max_future_skew = seconds(300);
  Duration alignment = seconds(60);  // how far one file may run ahead of another
};

struct MeasureResult {
  ProfileReport profile;
  RejectedCounts rejected;  // records that no figure contains, by reason
  int64_t records = 0;      // read, rejected ones included
  double seconds = 0;
  std::vector<std::string> notices;
};
struct BudgetResult {
  BudgetReport budget;
  RejectedCounts rejected;
  int64_t records = 0;
  std::vector<std::string> notices;
};

using OnProgress = std::function<void(const runtime::Progress&)>;

// Errors: those of the input; kNotFound when no record has the event-time column; kData when there are no
// records.
Result<MeasureResult> measure(const MeasureInput& input, ProfileOptions options,
                              const OnProgress& on_progress = {}, env::Clock& clock = env::system_clock());
Result<BudgetResult> budget(const MeasureInput& input, BudgetOptions options,
                            const OnProgress& on_progress = {}, env::Clock& clock = env::system_clock());

}  // namespace wrackline::engine
