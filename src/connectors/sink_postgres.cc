// A tick is one pipeline: BEGIN, fence, merges, COMMIT. The fence comes first and is what makes the others
// safe to send without waiting for its answer:
//
//   WITH moved AS (UPDATE _wrackline_sinks SET committed_tick = 7 WHERE table_name = 'minutes'
//                  AND generation = 3 AND committed_tick = 6 RETURNING 1)
//   SELECT 1 / count(*) FROM moved
//
// An update of no row is no failure for PostgreSQL, and the merges behind it would run. The division turns it
// into one: everything behind it is skipped. The row stays locked until the end of the transaction, so a
// newer generation that opens waits for it, and a transaction of the same tick that got lost on the way,
// arriving after it was sent again, moves nothing and is dropped whole.
#include "connectors/sink_postgres.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "connectors/sink_postgres_table.h"
#include "postgres/binary_array.h"
#include "postgres/connection.h"

namespace wrackline::connectors {
namespace {

using postgres::Argument;
using postgres::BinaryArray;
using postgres::Row;
using postgres::Step;

constexpr int kVersionMin = 150000;  // the first with UNIQUE NULLS NOT DISTINCT
constexpr std::string_view kDivisionByZero = "22012";
constexpr size_t kChunkRows = 50'000;
constexpr size_t kChunkBytes = size_t{16} << 20;
constexpr size_t kNameBytesMax = 58;  // with _rows behind it, what PostgreSQL keeps of a name
constexpr int kSendsMax = 20;         // of one tick, each over a connection made anew
constexpr auto kFirstWait = std::chrono::milliseconds(50);
constexpr auto kLongestWait = std::chrono::milliseconds(1000);

// Rows as one array a column, in the order of the merge statement's parameters.
class Chunk {
 public:
  explicit Chunk(const std::vector<OutputColumn>& columns)
      : versions_(Type::bigint()), statuses_(Type::text()), marks_(Type::boolean()) {
    for (const OutputColumn& column : columns) columns_.emplace_back(column.type);
  }

  void add(const ChangeBatch& changes, size_t row) {
    const size_t before = columns_.empty() ? 0 : columns_[0].size();
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].append(changes.columns[i], row);
    WRACKLINE_CHECK(columns_.empty() || columns_[0].size() == before + 1, "a row without a first column");
    versions_.append_bigint(changes.versions[row]);
    statuses_.append_text(to_string(changes.statuses[row]));
    marks_.append_boolean(changes.ops[row] == RowOp::kRetract);
  }
  size_t rows() const { return versions_.size(); }
  bool full() {
    if (rows() >= kChunkRows) return true;
    if (rows() % 256 != 0) return false;
    return std::ranges::any_of(columns_, [](BinaryArray& a) { return a.bytes().size() >= kChunkBytes; });
  }
  void clear() {
    for (BinaryArray& column : columns_) column.clear();
    versions_.clear();
    statuses_.clear();
    marks_.clear();
  }
  std::vector<Argument> arguments(std::string_view generation) {
    std::vector<Argument> arguments;
    for (BinaryArray& column : columns_) arguments.push_back({column.bytes(), true});
    for (BinaryArray* column : {&versions_, &statuses_, &marks_})
      arguments.push_back({column->bytes(), true});
    arguments.push_back({generation, false});
    return arguments;
  }

 private:
  std::vector<BinaryArray> columns_;
  BinaryArray versions_, statuses_, marks_;
};

class PostgresSink final : public Sink {
 public:
  explicit PostgresSink(PostgresSinkOptions options) : options_(std::move(options)) {}
  ~PostgresSink() override {
    if (open_) static_cast<void>(close(false).has_value());
  }

  SinkCapabilities capabilities() const override {
    return {.takes_updates = true,
            .takes_retracts = true,
            .promise =
                "Exactly once: a tick is one transaction with its progress, the table holds the newest "
                "version of "
                "each row, and a replay or an older run changes nothing."};
  }

  Status open(const std::vector<OutputColumn>& columns, std::string_view view,
              const SinkStart& start) override;
  Status write(const ChangeBatch& changes) override;
  Status commit() override;
  Status close(bool finished) override;

 private:
  Status take_over();
  Status make_bookkeeping();
  Status check_owner();
  Status prepare();
  Status check_texts(const ChangeBatch& changes) const;
  Status run(bool finish);
  Status send(bool finish);
  Status fenced();
  Status connect_again(Error lost);
  Result<bool> was_committed();
  std::string place() const { return format("table \"{}\" in {}", options_.table, connection_.place()); }

  PostgresSinkOptions options_;
  std::vector<OutputColumn> columns_;
  PostgresTable table_;
  std::string view_;
  int64_t generation_ = 0;  // of the attempt
  int64_t run_ = 0;
  int64_t tick_ = 0;  // the last one that is committed
  postgres::Connection connection_;
  std::vector<Chunk> chunks_;
  size_t filled_ = 0;  // chunks that hold rows; the others keep their memory
  bool open_ = false;
  bool failed_ = false;
  bool older_removed_ = false;
};

Status PostgresSink::open(const std::vector<OutputColumn>& columns, std::string_view view,
                          const SinkStart& start) {
  WRACKLINE_CHECK(!open_, "open twice");
  columns_ = columns;
  table_ = PostgresTable(options_.table, columns);
  view_ = view;
  generation_ = start.generation;
  run_ = start.run;
  if (!table_.has_identity() && options_.mode != SinkMode::kAppend) {
    return fail(
        ErrorCode::kInvalid,
        format("rows of view \"{}\" have no identity that table \"{}\" could keep them apart by", view,
               options_.table),
        "Upsert and changelog replace a row by its window and grouping key; the view selects none of them.",
        "Select window_start and the grouping columns as they are, or use mode = 'append'.");
  }
  if (!table_.has_identity() && start.resumes()) {
    return fail(
        ErrorCode::kUnsupported,
        format("rows of view \"{}\" have no identity, so a run that is resumed would add them again", view),
        "What was written after the last checkpoint comes again and is told apart by its identity.",
        "Select window_start and the grouping columns as they are, or begin a new run without "
        "--resume.");
  }
  Result<postgres::Connection> connected = postgres::Connection::open(options_.url);
  if (!connected) {
    Error error = std::move(connected).error();
    error.message += format(", for table \"{}\"", options_.table);
    return fail(std::move(error));
  }
  connection_ = std::move(*connected);
  if (connection_.server_version() < kVersionMin) {
    return fail(ErrorCode::kUnsupported,
                format("{} is PostgreSQL {}, and the sink needs 15 or newer", connection_.place(),
                       connection_.server_version() / 10000),
                "Keys with NULL are told apart by UNIQUE NULLS NOT DISTINCT, which came with 15.",
                "Write to a newer server, or to connector = 'sqlite'.");
  }
  WRACKLINE_TRY(table_.find_schema(connection_));
  WRACKLINE_TRY(take_over());
  WRACKLINE_TRY(prepare());
  open_ = true;
  return {};
}

// Requires: an open transaction. CREATE ... IF NOT EXISTS wants the right to create also where nothing is to
// be created.
Status PostgresSink::make_bookkeeping() {
  WRACKLINE_ASSIGN(const std::vector<Row> found, connection_.query("SELECT to_regclass($1) IS NOT NULL",
                                                                   std::vector{table_.bookkeeping()}));
  if (found[0][0] == "t") return {};
  return connection_.exec(
      format("CREATE TABLE {} (table_name text PRIMARY KEY, \"view\" text NOT NULL, generation bigint NOT "
             "NULL, committed_tick bigint NOT NULL, status text NOT NULL, opened_at timestamptz NOT NULL, "
             "committed_at timestamptz)",
             table_.bookkeeping()));
}

Status PostgresSink::take_over() {
  // Two runs that open for the first time would otherwise make the same tables at the same time.
  WRACKLINE_TRY(connection_.exec("BEGIN; SELECT pg_advisory_xact_lock(hashtext('_wrackline_sinks'))"));
  WRACKLINE_TRY(make_bookkeeping());
  Status checked = check_owner();
  if (checked) checked = table_.make_or_check(connection_);
  if (!checked) {
    static_cast<void>(connection_.exec("ROLLBACK").has_value());
    return checked;
  }
  WRACKLINE_TRY(connection_.query(
      format(
          "INSERT INTO {} VALUES ($1, $2, $3::bigint, 0, 'running', now(), NULL) ON CONFLICT (table_name) "
          "DO UPDATE SET \"view\" = excluded.\"view\", generation = excluded.generation, committed_tick = 0, "
          "status = 'running', opened_at = now(), committed_at = NULL",
          table_.bookkeeping()),
      std::vector{table_.name(), view_, std::to_string(generation_)}));
  return connection_.exec("COMMIT");
}

// Waits for a transaction of another writer that is under way. A record whose table was dropped says nothing
// any more.
Status PostgresSink::check_owner() {
  WRACKLINE_ASSIGN(
      const std::vector<Row> rows,
      connection_.query(format("SELECT \"view\", generation FROM {} WHERE table_name = $1 FOR UPDATE",
                               table_.bookkeeping()),
                        std::vector{table_.name()}));
  WRACKLINE_ASSIGN(const bool exists, table_.exists(connection_));
  if (rows.empty() || !exists) return {};
  const std::string owner = rows[0][0].value_or("");
  const int64_t generation = std::stoll(rows[0][1].value_or("0"));
  if (owner != view_) {
    return fail(
        ErrorCode::kInvalid, format("{} belongs to view \"{}\", not to \"{}\"", place(), owner, view_),
        "One view writes one table: rows of two would replace each other.",
        "Give the sink another table with table = '...', or drop this one if its rows are not needed.");
  }
  if (generation >= generation_) {
    return fail(
        ErrorCode::kUnavailable,
        format("{} was last opened by generation {}, this run is generation {}", place(), generation,
               generation_),
        "Each start of a job with the same state directory has a greater generation; a run that is "
        "not newer may not overwrite.",
        format("Use the --state directory of the run that wrote the table (a run with --state none is "
               "always generation 1), or begin anew with DROP TABLE {}_rows CASCADE.",
               table_.name()));
  }
  return {};
}

Status PostgresSink::prepare() {
  WRACKLINE_TRY(connection_.prepare("merge", table_.merge_sql()));
  WRACKLINE_TRY(connection_.prepare("remove_older", table_.remove_older_sql()));
  return connection_.prepare(
      "fence",
      format(
          "WITH moved AS (UPDATE {} SET committed_tick = $3::bigint, committed_at = now(), status = $4 WHERE "
          "table_name = $1 AND generation = $2::bigint AND committed_tick = $3::bigint - 1 RETURNING 1) "
          "SELECT 1 / count(*) FROM moved",
          table_.bookkeeping()));
}

Status PostgresSink::check_texts(const ChangeBatch& changes) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (changes.columns[i].type().kind != TypeKind::kText) continue;
    const auto values = changes.columns[i].values<std::string_view>();
    for (size_t row = 0; row < changes.rows; ++row) {
      if (changes.columns[i].is_null(row) || values[row].find('\0') == std::string_view::npos) continue;
      return fail(
          ErrorCode::kData,
          format("column \"{}\" of view \"{}\" has a text with a NUL byte, for {}", columns_[i].name, view_,
                 place()),
          format("The text is \"{}\". PostgreSQL's type text cannot hold it.", printable(values[row])),
          "Take the character out in the view, or filter such records with WHERE.");
    }
  }
  return {};
}

Status PostgresSink::write(const ChangeBatch& changes) {
  WRACKLINE_CHECK(open_, "write to a sink that is not open");
  WRACKLINE_CHECK(changes.columns.size() == columns_.size() && changes.generation == run_,
                  format("{} columns, generation {}", changes.columns.size(), changes.generation));
  if (Status checked = check_texts(changes); !checked) {
    failed_ = true;
    return checked;
  }
  for (size_t row = 0; row < changes.rows; ++row) {
    WRACKLINE_CHECK(changes.ops[row] != RowOp::kRetract || table_.has_identity(),
                    "a retract for rows without identity");
    if (filled_ == 0 || chunks_[filled_ - 1].full()) {
      if (++filled_ > chunks_.size()) chunks_.emplace_back(columns_);
    }
    chunks_[filled_ - 1].add(changes, row);
  }
  return {};
}

Status PostgresSink::commit() {
  WRACKLINE_CHECK(open_, "commit of a sink that is not open");
  if (filled_ == 0) return {};
  WRACKLINE_TRY(run(false));
  for (size_t i = 0; i < filled_; ++i) chunks_[i].clear();
  filled_ = 0;
  return {};
}

// Until the tick is committed, or it is known that it cannot be.
Status PostgresSink::run(bool finish) {
  Status sent = send(finish);
  for (int sends = 1; !sent && connection_.lost() && sends < kSendsMax; ++sends) {
    if (Status connected = connect_again(std::move(sent).error()); !connected) {
      failed_ = true;
      return connected;
    }
    Result<bool> committed = was_committed();
    if (committed) {
      sent = *committed ? Status() : send(finish);
    } else {
      sent = fail(std::move(committed).error());
    }
  }
  if (!sent) {
    failed_ = true;
    return sent;
  }
  ++tick_;
  older_removed_ = true;
  return {};
}

Status PostgresSink::send(bool finish) {
  const std::string generation = std::to_string(generation_);
  const std::string run = std::to_string(run_);
  const std::string tick = std::to_string(tick_ + 1);
  const std::vector<Argument> fence = {
      {table_.name(), false}, {generation, false}, {tick, false}, {finish ? "finished" : "running", false}};
  const std::vector<Argument> older = {{run, false}};
  std::vector<std::vector<Argument>> merges;
  for (size_t i = 0; i < filled_; ++i) merges.push_back(chunks_[i].arguments(run));
  std::vector<Step> steps = {{.prepared = {}, .sql = "BEGIN"},
                             {.prepared = "fence", .sql = {}, .arguments = fence}};
  // Without identity nothing is replaced: the older rows have to go when the first new ones come.
  if (finish || (!table_.has_identity() && !older_removed_))
    steps.push_back({.prepared = "remove_older", .sql = {}, .arguments = older});
  for (const std::vector<Argument>& merge : merges)
    steps.push_back({.prepared = "merge", .sql = {}, .arguments = merge});
  steps.push_back({.prepared = {}, .sql = "COMMIT"});
  Status done = connection_.pipeline(steps);
  if (done || connection_.sqlstate() != kDivisionByZero) return done;
  // The tick before is not there. Unless it is because this very tick came through after all, when its first
  // transaction arrived after was_committed() had looked, a newer run is.
  WRACKLINE_ASSIGN(const bool committed, was_committed());
  return committed ? Status() : fenced();
}

Status PostgresSink::fenced() {
  return fail(ErrorCode::kUnavailable,
              format("generation {} is fenced: a newer run has taken over {}", generation_, place()),
              "Nothing of this tick was written.", "Stop this run: the newer one computes the same rows.");
}

Status PostgresSink::connect_again(Error lost) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(options_.reconnect_seconds_max);
  auto wait = kFirstWait;
  for (;;) {
    Result<postgres::Connection> made = postgres::Connection::open(options_.url);
    if (made) {
      connection_ = std::move(*made);
      Status prepared = prepare();
      if (prepared || !connection_.lost()) return prepared;
    } else if (made.error().code == ErrorCode::kInvalid) {
      return fail(std::move(made).error());
    }
    if (std::chrono::steady_clock::now() + wait > until) {
      lost.message += format(" while writing table \"{}\"", options_.table);
      lost.detail += format(" It could not be made again for {} s: {}", options_.reconnect_seconds_max,
                            made ? "the server went away again" : made.error().detail);
      return fail(std::move(lost));
    }
    std::this_thread::sleep_for(wait);
    wait = std::min(2 * wait, kLongestWait);
  }
}

// Did the tick that was sent without an answer take effect? The lock waits for its end if it is still under
// way.
Result<bool> PostgresSink::was_committed() {
  WRACKLINE_ASSIGN(const std::vector<Row> rows,
                   connection_.query(format("SELECT generation, committed_tick FROM {} WHERE table_name = $1 "
                                            "FOR UPDATE",
                                            table_.bookkeeping()),
                                     std::vector{table_.name()}));
  if (rows.empty() || std::stoll(rows[0][0].value_or("0")) != generation_) {
    WRACKLINE_TRY(fenced());
  }
  const int64_t tick = std::stoll(rows[0][1].value_or("0"));
  if (tick == tick_ || tick == tick_ + 1) return tick == tick_ + 1;
  return fail(
      ErrorCode::kUnavailable,
      format("{} is at tick {}, and this run had committed tick {}", place(), tick, tick_),
      "The server has lost commits that it had confirmed: it was restored from a backup, failed over to "
      "a standby that lagged, or runs with fsync = off.",
      "Start the run again: it writes every row anew.");
}

Status PostgresSink::close(bool finished) {
  if (!open_) return {};
  Status status;
  if (finished && !failed_) {
    status = commit();
    if (status) status = run(true);
  } else if (!connection_.lost()) {
    // Only for people who look: whether it succeeds changes nothing.
    static_cast<void>(
        connection_
            .query(format("UPDATE {} SET status = 'failed' WHERE table_name = $1 AND generation = $2::bigint",
                          table_.bookkeeping()),
                   std::vector{table_.name(), std::to_string(generation_)})
            .has_value());
  }
  open_ = false;
  connection_ = postgres::Connection();
  return status;
}

}  // namespace

Result<std::unique_ptr<Sink>> make_postgres_sink(const PostgresSinkOptions& options) {
  if (options.url.empty())
    return fail(ErrorCode::kInvalid, "PostgreSQL sink without a URL", {}, "Set url = 'postgresql://...'.");
  WRACKLINE_TRY(postgres::shown_url(options.url));
  if (options.table.empty())
    return fail(ErrorCode::kInvalid, "PostgreSQL sink without a table", {}, "Set table = '...'.");
  const size_t dot = options.table.find('.');
  const std::string name = dot == options.table.npos ? options.table : options.table.substr(dot + 1);
  if (name.empty() || dot == 0 || name.starts_with("pg_") || name.starts_with("_wrackline_") ||
      name.size() > kNameBytesMax || options.table.find('\0') != options.table.npos) {
    return fail(ErrorCode::kInvalid,
                format("table name \"{}\" is empty, reserved or too long", printable(options.table)), {},
                "Choose a name of at most 58 bytes that does not begin with pg_ or _wrackline_.");
  }
  return std::make_unique<PostgresSink>(options);
}

}  // namespace wrackline::connectors
