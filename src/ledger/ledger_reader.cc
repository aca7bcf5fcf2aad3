#include <unistd.h>

#include <memory>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ledger/ledger_schema.h"
#include "ledger/ledger_sqlite.h"

namespace wrackline::ledger {
namespace {

// The columns that read_entry expects, in its order. CROSS JOIN keeps the entries the outer loop: in seq
// order, without a sort of whole entries.
constexpr const char* kEntryColumns =
    "SELECT e.seq, s.\"view\", s.source, ifnull(e.partition, s.partition), s.file, e.\"offset\", e.line, "
    "e.key, "
    "e.event_time_us, e.arrival_time_us, e.reason_id, e.detail, e.watermark_us, e.tick, e.payload, e.state, "
    "e.window_count, e.window_start_us, e.window_end_us, e.late_by_us, e.payload_state, e.audit_id, "
    "e.applied_version FROM entry e CROSS JOIN stream s ON s.id = e.stream_id WHERE s.run = ?1";

std::optional<int64_t> optional_integer(const sqlite::Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

void read_entry(const sqlite::Statement& row, Entry& entry) {
  entry.seq = row.integer(0);
  entry.view = row.text(1);
  entry.source = row.text(2);
  entry.partition = row.text(3);
  entry.file = row.text(4);
  entry.offset = row.integer(5);
  entry.line = row.integer(6);
  entry.key = row.text(7);
  entry.event_time_us = optional_integer(row, 8);
  entry.arrival_time_us = optional_integer(row, 9);
  entry.reason = static_cast<Reason>(row.integer(10));
  entry.detail = row.text(11);
  entry.watermark_us = row.integer(12);
  entry.tick = row.integer(13);
  entry.payload = row.blob(14);
  entry.state = row.text(15);
  entry.payload_state = static_cast<PayloadState>(row.integer(20));
  entry.audit = optional_integer(row, 21);
  entry.applied_version = optional_integer(row, 22);
  entry.windows.clear();
  if (row.integer(16) > 0) entry.windows.push_back({row.integer(17), row.integer(18), row.integer(19)});
}

std::string scan_sql(const Filter& filter) {
  std::string sql = kEntryColumns;
  if (filter.view) sql += " AND s.\"view\" = ?2";
  if (filter.window_start_us) {
    sql +=
        " AND e.seq IN (SELECT seq FROM entry WHERE window_start_us = ?3 UNION "
        "SELECT seq FROM more_window WHERE window_start_us = ?3)";
  }
  if (filter.reason) sql += " AND e.reason_id = ?4";
  if (filter.seq) sql += " AND e.seq = ?5";
  sql += " ORDER BY e.seq";
  if (filter.limit) sql += " LIMIT ?6";
  return sql;
}

void bind_filter(sqlite::Statement& statement, const Filter& filter) {
  if (filter.view) statement.bind_text(2, *filter.view);
  if (filter.window_start_us) statement.bind(3, *filter.window_start_us);
  if (filter.reason) statement.bind(4, static_cast<int64_t>(*filter.reason));
  if (filter.seq) statement.bind(5, *filter.seq);
  if (filter.limit) statement.bind(6, *filter.limit);
}

std::string list_of(sqlite::Database& database) {
  std::string list;
  Result<sqlite::Statement> statement = database.prepare(
      "SELECT generation FROM generation WHERE replaced_by IS NULL ORDER BY generation DESC LIMIT 5");
  if (!statement) return list;
  for (Result<bool> row = statement->step(); row && *row; row = statement->step()) {
    list += format("{}{}", list.empty() ? "" : ", ", statement->integer(0));
  }
  return list;
}

}  // namespace

// A medium that cannot be written cannot hold the write-ahead log's index; without a log nobody is writing
// either, so the file may be read as it is.
Result<sqlite::Database> open_readable_ledger(const std::string& directory) {
  const std::string path = ledger_path(directory);
  sqlite::OpenOptions options{.access = sqlite::Access::kRead};
  options.immutable = access(directory.c_str(), W_OK) != 0 && access((path + "-wal").c_str(), F_OK) != 0;
  WRACKLINE_ASSIGN(sqlite::Database database, sqlite::Database::open(path, options));
  WRACKLINE_ASSIGN(const int64_t version, check_schema(database));
  if (version == 1) WRACKLINE_TRY(show_version_1(database));
  return database;
}

Status check_ledger_is_there(const std::string& directory) {
  if (access(directory.c_str(), F_OK) != 0) {
    return fail(ErrorCode::kNotFound, format("state directory \"{}\" does not exist", directory), {},
                "`wrackline run` makes it: beside the job file and named after it, or where --state says.");
  }
  if (access(ledger_path(directory).c_str(), F_OK) != 0) {
    return fail(ErrorCode::kNotFound, format("no ledger in \"{}\"", directory),
                format("There is no file \"{}\".", ledger_path(directory)),
                "Give --state the directory that `wrackline run` used.");
  }
  return {};
}

Result<int64_t> run_of(sqlite::Database& database, std::optional<int64_t> wanted) {
  WRACKLINE_ASSIGN(const int64_t newest, database.query_integer("SELECT max(generation) FROM generation", 0));
  if (newest == 0)
    return fail(ErrorCode::kNotFound, format("ledger \"{}\" holds no run yet", database.path()));
  const int64_t generation = wanted.value_or(newest);
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database.prepare("SELECT replaced_by, run FROM generation WHERE generation = ?1"));
  statement.bind(1, generation);
  WRACKLINE_ASSIGN(const bool row, statement.step());
  const std::string kept = format("Kept are the generations {}.", list_of(database));
  if (!row) {
    return fail(ErrorCode::kNotFound,
                format("ledger \"{}\" has no generation {}", database.path(), generation), kept);
  }
  if (!statement.is_null(0)) {
    return fail(
        ErrorCode::kNotFound,
        format("entries of generation {} are no longer in ledger \"{}\"", generation, database.path()),
        format("Generation {} judged the same records anew and replaced them. {}", statement.integer(0),
               kept));
  }
  return statement.integer(1);
}

Result<std::unique_ptr<Ledger>> SqliteReader::open(const std::string& directory,
                                                   std::optional<int64_t> generation) {
  WRACKLINE_TRY(check_ledger_is_there(directory));
  WRACKLINE_ASSIGN(sqlite::Database database, open_readable_ledger(directory));
  std::unique_ptr<SqliteReader> reader(new SqliteReader(directory, std::move(database)));
  WRACKLINE_ASSIGN(reader->run_, run_of(reader->database_, generation));
  WRACKLINE_ASSIGN(reader->generation_,
                   reader->database_.query_integer(
                       format("SELECT max(generation) FROM generation WHERE run = {}", reader->run_)));
  const std::string of_run = format("stream_id IN (SELECT id FROM stream WHERE run = {})", reader->run_);
  WRACKLINE_ASSIGN(reader->size_,
                   reader->database_.query_integer("SELECT count(*) FROM entry WHERE " + of_run));
  WRACKLINE_ASSIGN(reader->last_seq_,
                   reader->database_.query_integer(
                       format("SELECT max(last_seq) FROM generation WHERE run = {}", reader->run_)));
  return reader;
}

Status SqliteReader::add(Entry /*entry*/) {
  return fail(ErrorCode::kInvalid, format("ledger \"{}\" is open to read only", ledger_path(directory_)));
}
Status SqliteReader::commit() {
  return {};
}
Status SqliteReader::rewind(int64_t /*seq*/) {
  return fail(ErrorCode::kInvalid, format("ledger \"{}\" is open to read only", ledger_path(directory_)));
}
Status SqliteReader::finish(RunEnd /*end*/) {
  return {};
}

Result<std::vector<MissedWindow>> SqliteReader::more_windows(int64_t seq) {
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare("SELECT window_start_us, window_end_us, late_by_us FROM more_window WHERE seq = ?1"));
  statement.bind(1, seq);
  std::vector<MissedWindow> windows;
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) return windows;
    windows.push_back({statement.integer(0), statement.integer(1), statement.integer(2)});
  }
}

Status SqliteReader::scan(const Filter& filter, const std::function<bool(const Entry&)>& visit) {
  WRACKLINE_ASSIGN(sqlite::Statement statement, database_.prepare(scan_sql(filter)));
  statement.bind(1, run_);
  bind_filter(statement, filter);
  Entry entry;
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) return {};
    read_entry(statement, entry);
    if (statement.integer(16) > 1) {
      WRACKLINE_ASSIGN(const std::vector<MissedWindow> more, more_windows(entry.seq));
      entry.windows.insert(entry.windows.end(), more.begin(), more.end());
    }
    if (!visit(entry)) return {};
  }
}

Result<RunInfo> SqliteReader::info() {
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database_.prepare("SELECT job, status, started_us FROM generation WHERE generation = ?1"));
  statement.bind(1, generation_);
  WRACKLINE_ASSIGN(const bool row, statement.step());
  if (!row)
    return fail(ErrorCode::kData,
                format("ledger \"{}\" lost generation {}", ledger_path(directory_), generation_));
  RunInfo info;
  info.run = run_;
  info.generation = generation_;
  info.job = statement.text(0);
  info.status = statement.text(1);
  info.started_us = statement.integer(2);
  info.entries = size_;
  WRACKLINE_TRY(statement.run());
  const auto removed = [&](std::string_view actions) {
    return database_.query_integer(format(
        "SELECT sum(c.entries) FROM audit a JOIN audit_count c ON c.audit_id = a.id WHERE a.run = {} AND "
        "a.action {}",
        run_, actions));
  };
  WRACKLINE_ASSIGN(info.retired, removed("LIKE 'retention%'"));
  WRACKLINE_ASSIGN(info.purged, removed("= 'purge_entries'"));
  // A killed run could not write down its end; its lock tells.
  if (info.status == "running" && !StateLock::is_held(directory_)) info.status = "failed";
  return info;
}

Result<std::vector<Ledger::Summary>> SqliteReader::summary() {
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare(
          "SELECT s.\"view\", e.reason_id, sum(e.n), sum(e.waived), sum(e.applied) FROM (SELECT "
          "stream_id, reason_id, count(*) AS n, sum(state = 'waived') AS waived, sum(state = "
          "'applied') AS applied FROM entry NOT INDEXED GROUP BY 1, 2) e JOIN stream s ON s.id = e.stream_id "
          "WHERE s.run = ?1 GROUP BY 1, 2 ORDER BY 1, 2"));
  statement.bind(1, run_);
  std::vector<Summary> rows;
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) return rows;
    rows.push_back({std::string(statement.text(0)), static_cast<Reason>(statement.integer(1)),
                    statement.integer(2), statement.integer(3), statement.integer(4)});
  }
}

}  // namespace wrackline::ledger
