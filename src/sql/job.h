// A job: what a .sql file says, checked and typed. Text goes in here; the engine takes it out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "data/time_text.h"
#include "data/time_zone.h"
#include "data/types.h"
#include "expr/aggregate.h"
#include "expr/expr.h"
#include "ledger/ledger.h"
#include "operators/view_operator.h"
#include "operators/window_plan.h"
#include "wrackline/late_router.h"
#include "wrackline/time.h"

namespace wrackline::sql {

// How an event or arrival time is read from its column.
struct TimeColumn {
  size_t column = 0;               // index in SourceSpec::fields
  std::optional<TimeUnit> unit;    // set for numeric columns
  const TimeZone* zone = nullptr;  // for `timestamp` (zoneless) and `date` columns: how to read them
  std::optional<int64_t> missing;  // numeric value that means "no time" (option time_missing)
};

enum class SourceConnector : uint8_t { kFile, kStdin, kView };
enum class FilesMode : uint8_t { kParallel, kSequence };
enum class InputOrder : uint8_t { kAsRead, kArrivalTime };

// What makes a record of a source unique.
struct DedupSpec {
  std::vector<size_t> columns;      // indices in SourceSpec::fields; together they are the id
  std::optional<Duration> horizon;  // how far behind the watermark ids are known; nullopt: for ever
};

// With kView: the final rows of a view that stands before this one. Fields are the view's columns, as they
// are named there; its columns window_start and window_end are called source_window_start and
// source_window_end, because each view brings its own.
struct ViewSourceSpec {
  size_t view = 0;          // index in Job::views
  size_t window_start = 0;  // column that holds it; used only when time is the start
  size_t window_end = 0;    // column that holds it
  bool time_is_start = false;
};

// Bounds of a delay that follows the measurement.
struct AutomaticDelay {
  Duration min;
  Duration max = seconds(86400);
};

struct SourceSpec {
  std::string name;
  std::vector<Field> fields;  // `needed` is set for what some view, time or partition reads
  SourceConnector connector = SourceConnector::kFile;
  ViewSourceSpec of_view;          // kView
  std::vector<std::string> paths;  // globs, relative to the job file's folder unless absolute
  std::string format;              // "jsonl" | "csv" | "" (guess)
  char delimiter = ',';
  bool header = true;
  std::string null_text;
  FilesMode files = FilesMode::kParallel;
  InputOrder order = InputOrder::kAsRead;
  bool follow = false;  // option follow = 'on', or --follow
  size_t record_bytes_max = size_t{16} << 20;
  const TimeZone* time_zone = nullptr;  // for zoneless text
  TimeColumn event_time;
  std::optional<TimeColumn> arrival_time;
  std::optional<size_t> partition;  // index of the column that names the partition
  std::optional<DedupSpec> dedup;
  Duration watermark_delay;                 // with `automatic`: the one to start with
  std::optional<AutomaticDelay> automatic;  // watermark_delay = 'auto'
  Duration max_future_skew = seconds(300);
  Duration max_future_accept = seconds(86400);
  Duration idle_timeout = seconds(60);  // live sources only
  std::optional<Duration> idle_close;   // live sources only; nullopt: off
  // What the ledger hides of its records. Of a view's rows: what its columns were computed from.
  std::vector<ledger::Hide> ledger_hide;  // per field; empty: nothing
  std::string ledger_key_file;        // relative to the job file's folder; "": the environment holds the key
  std::optional<Duration> max_drift;  // nullopt: bounded input is aligned to the smallest window, live is not
};

using wrackline::LatePolicy;

struct AggregateCall {
  std::string name;  // "count"
  std::shared_ptr<const expr::Aggregate> aggregate;
  expr::ExprPtr argument;                     // null for count(*)
  expr::ExprPtr filter;                       // FILTER (WHERE ...), or null
  std::vector<expr::ExprPtr> sort_keys = {};  // ORDER BY in the call, over the source's fields
  std::vector<expr::SortKey> sort_order = {};
  std::vector<expr::ExprPtr> constants = {};  // the arguments after the first
  bool distinct = false;
};

struct ViewColumn {
  std::string name;
  // Over the row [window_start timestamptz, window_end timestamptz, key 0, key 1, ..., aggregate 0, aggregate
  // 1, ...].
  expr::ExprPtr expression;
  bool identity = false;  // it is window_start, window_end or a grouping key, as it is
};

struct SessionWindowSpec {
  Duration gap;
  std::optional<Duration> max_length;
};

struct ViewSpec {
  std::string name;
  size_t source = 0;            // index in Job::sources
  WindowPlan::Options windows;  // tumbling, hopping or cumulative, unless `session` is set
  std::optional<SessionWindowSpec> session;
  expr::ExprPtr where;                 // boolean over the source's fields, or null
  std::vector<expr::ExprPtr> keys;     // GROUP BY expressions beside the window, over the source's fields
  std::vector<std::string> key_names;  // column name or printed expression, for the ledger's key object
  std::vector<AggregateCall> aggregates;
  std::vector<ViewColumn> columns;  // the SELECT list in order
  expr::ExprPtr having;             // boolean over the same row as ViewColumn, or null
  LatePolicy late = LatePolicy::kCorrect;
  Duration allowed_lateness;
  std::optional<Duration> ledger_horizon;  // nullopt: unlimited
  // Reasons whose records are dropped instead of ledgered: those of the option drop = 'late, future'; with
  // kDrop also kLate and kLateAfterIdle.
  std::map<Reason, bool> drop;
  bool emit_empty = false;
  std::optional<EarlyOptions> early;
  std::optional<Duration> ledger_retention;  // nullopt: entries are kept for ever
  std::optional<int64_t> ledger_entries_max;
  std::optional<int64_t> ledger_bytes_max;
};

enum class SinkConnector : uint8_t { kStdout, kFile, kSqlite, kPostgres };

struct SinkSpec {
  std::string name;
  SinkConnector connector = SinkConnector::kStdout;
  std::string path;             // file or database, relative to the job file's folder unless absolute
  std::string url;              // PostgreSQL; may hold a password: see postgres::shown_url
  std::string table;            // SQLite, PostgreSQL (there also as schema.table); default: the sink's name
  std::string format;           // "jsonl" | "csv" | "" (guess from path; table or jsonl on stdout)
  std::string mode = "upsert";  // upsert | changelog | append
  std::vector<Field> fields;    // empty: takes the view's columns
};

struct InsertSpec {
  size_t sink = 0;
  size_t view = 0;
};

struct Job {
  std::string path;  // as the user wrote it, "-" for standard input
  std::string text;
  std::vector<SourceSpec> sources;
  std::vector<ViewSpec> views;
  std::vector<SinkSpec> sinks;
  std::vector<InsertSpec> inserts;    // a view that no insert names prints to standard output
  std::vector<std::string> warnings;  // worth reading, not wrong
  // What `check` prints: one paragraph per statement with every option, its value and where it came from.
  std::string explanation;
};

// Overrides from the command line: --set source.option=value.
struct JobOptions {
  std::vector<std::pair<std::string, std::string>> set;  // "clicks.path" -> "x.jsonl"
  bool follow = false;
};

// Parses and checks. Errors carry line and column, and the message's detail shows the line with a caret under
// the place:
//   clicks.sql:7:3: unknown option "watermark_dealy" of source "clicks"
//     7 |   watermark_dealy = '30 s'
//       |   ^
//   hint: did you mean "watermark_delay"?
Result<Job> parse_job(std::string_view text, std::string path, const JobOptions& options = {});

}  // namespace wrackline::sql
