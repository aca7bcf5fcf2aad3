// The commands: what each takes from the command line, and the function that does it. One file per command.
//
// Every function returns the exit code: 0 done, 1 failed, 2 usage, 3 verdict not clean. Results go to
// standard output, everything else to standard error; with `json`, standard output carries one JSON document
// and nothing else (`run`: the rows of stdout sinks first, then the document as the last line).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wrackline::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNotClean = 3;

struct RunCommand {
  std::string job;
  std::string state;             // "" the default, "none" keeps nothing
  std::vector<std::string> set;  // source.option=value
  bool follow = false;
  std::string replay;  // state directory whose tick log is followed; "" none
  bool resume = false;
  std::string checkpoint_interval = "10 s";
  std::string at_end = "flush";  // flush | hold
  std::string format;            // of rows on standard output
  uint64_t tick_rows = 4096;
  uint64_t threads = 1;
  std::string monitor_interval = "1 min";  // or "off"
  std::string target_late = "1%";
  std::string false_alarm_every = "365 days";
  std::string alarm_command;  // "" none
  std::string metrics;        // path of a file; "" none
  bool json = false;
};
int run(const RunCommand& command);

struct CheckCommand {
  std::string job;
  std::vector<std::string> set;
  bool json = false;
};
int check(const CheckCommand& command);

// What measure and budget share: where the records are and which columns say when.
struct InputArguments {
  std::vector<std::string> paths;
  std::string format;
  std::string event_time;
  std::string arrival_time;
  std::string partition;
  std::string time_unit;
  std::string time_zone;
  std::optional<int64_t> time_missing;
  std::string delimiter = ",";
  std::string order_by = "input";  // input | arrival
  std::string max_future_skew = "5 min";
  std::string id;  // columns with commas between them; "" none
  bool drop_repeats = false;
};

struct MeasureCommand {
  InputArguments input;
  std::string producer;
  std::string out;      // path of a profile to write; "" writes none
  std::string against;  // path of a profile to compare with
  std::string report;   // path of a page to write; "" writes none
  bool json = false;
};
int measure(const MeasureCommand& command);

struct BudgetCommand {
  InputArguments input;
  std::string window;
  std::string slide;
  std::string offset;
  std::string key;
  std::optional<int64_t> keys;
  std::string target_late = "1%";
  std::string tail = "99.9%";
  std::string rule = "exact";
  std::string profile;  // a saved profile instead of input
  std::string emit;     // settings for a system instead of the report
  std::string report;   // path of a page to write; "" writes none
  bool json = false;
};
int budget(const BudgetCommand& command);

struct SweepCommand {
  std::string job;
  std::vector<std::string> set;
  std::string view;
  std::string delay;     // spans with commas between them; "" a ladder
  std::string lateness;  // likewise
  uint64_t tick_rows = 4096;
  std::string report;  // path of a page to write; "" writes none
  bool json = false;
};
int sweep(const SweepCommand& command);

struct LedgerCommand {
  std::string action;  // list | show | export | waive | purge | audit
  std::string state;
  std::string view;
  std::string window;
  std::string reason;
  std::optional<int64_t> seq;
  std::optional<int64_t> limit;
  std::optional<int64_t> generation;
  std::string format = "jsonl";  // export
  std::string because;           // waive, purge
  bool all = false;              // waive, purge: no filter is meant
  bool entries = false;          // purge: the entries, not only what they say
  bool dry_run = false;          // waive, purge
  bool json = false;
};
int ledger(const LedgerCommand& command);

struct ExplainCommand {
  std::string state;
  std::string source;  // "" when the job has one
  std::string partition;
  std::string file;
  std::optional<int64_t> offset;
  std::optional<int64_t> entry;  // of the ledger, instead of the place
  bool json = false;
};
int explain(const ExplainCommand& command);

struct StatusCommand {
  std::string state;
  bool json = false;
};
int status(const StatusCommand& command);

struct GenerateCommand {
  std::string kind;  // bids | clicks | sensors
  uint64_t rows = 100000;
  uint64_t seed = 1;
  std::string late = "pareto";
  uint64_t keys = 0;              // distinct auctions, users or sensors, uniform; 0: as the kind has them
  std::string order = "arrival";  // arrival | event
  std::string truth;              // path of the truth document
};
int generate(const GenerateCommand& command);

}  // namespace wrackline::cli
