#include "ledger/ledger_schema.h"

#include "base/text.h"
#include "data/batch.h"

namespace wrackline::ledger {
namespace {

// A stream is one log of records as one view of one run sees it; with it, the natural key of an entry is two
// numbers. The first missed window stands in the entry itself: under tumbling windows there never is another.
constexpr const char* kTables = R"sql(
CREATE TABLE generation (
  generation  INTEGER PRIMARY KEY,
  job         TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('running', 'finished', 'failed')),
  started_us  INTEGER NOT NULL,
  ended_us    INTEGER,
  entries     INTEGER NOT NULL DEFAULT 0,
  last_seq    INTEGER NOT NULL,
  replaced_by INTEGER
);
CREATE TABLE reason (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE stream (
  id          INTEGER PRIMARY KEY,
  generation  INTEGER NOT NULL,
  "view"      TEXT NOT NULL,
  source      TEXT NOT NULL,
  file        TEXT NOT NULL,
  partition   TEXT NOT NULL,
  UNIQUE (generation, "view", source, file)
);
CREATE TABLE entry (
  seq             INTEGER PRIMARY KEY,
  stream_id       INTEGER NOT NULL,
  "offset"        INTEGER NOT NULL,
  line            INTEGER NOT NULL,
  tick            INTEGER NOT NULL,
  reason_id       INTEGER NOT NULL,
  watermark_us    INTEGER NOT NULL,
  event_time_us   INTEGER,
  arrival_time_us INTEGER,
  window_count    INTEGER NOT NULL,
  window_start_us INTEGER,
  window_end_us   INTEGER,
  late_by_us      INTEGER,
  state           TEXT NOT NULL DEFAULT 'open',
  partition       TEXT,
  key             TEXT NOT NULL,
  detail          TEXT NOT NULL,
  payload         BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_identity ON entry (stream_id, "offset");
CREATE INDEX entry_window ON entry (window_start_us) WHERE window_start_us IS NOT NULL;
CREATE TABLE more_window (
  seq             INTEGER NOT NULL,
  window_start_us INTEGER NOT NULL,
  window_end_us   INTEGER NOT NULL,
  late_by_us      INTEGER NOT NULL,
  PRIMARY KEY (seq, window_start_us, window_end_us)
) WITHOUT ROWID;
CREATE INDEX more_window_window ON more_window (window_start_us);
)sql";

// RFC 3339 text of a column of microseconds; outside the years 0 to 9999 (infinity too) only the number
// tells.
std::string time_sql(const std::string& column) {
  return format(
      "CASE {0} WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE "
      "strftime('%Y-%m-%dT%H:%M:%S', ({0} - (({0} % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') "
      "|| "
      "CASE {0} % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', (({0} % 1000000) + 1000000) % 1000000) END "
      "END",
      column);
}

std::string views_sql() {
  const std::string entries = format(
      "CREATE VIEW entries AS SELECT e.seq, s.generation, s.\"view\", s.source, ifnull(e.partition, "
      "s.partition) AS "
      "partition, e.\"offset\", e.key, {} AS event_time, {} AS arrival_time, r.name AS reason, {} AS "
      "window_start, {} AS "
      "window_end, e.late_by_us, e.window_count, {} AS watermark, e.tick, e.state, CAST(e.payload AS TEXT) "
      "AS payload, "
      "s.file, e.line, e.detail, e.event_time_us, e.arrival_time_us, e.window_start_us, e.window_end_us, "
      "e.watermark_us "
      "FROM entry e JOIN stream s ON s.id = e.stream_id JOIN reason r ON r.id = e.reason_id;\n",
      time_sql("e.event_time_us"), time_sql("e.arrival_time_us"), time_sql("e.window_start_us"),
      time_sql("e.window_end_us"), time_sql("e.watermark_us"));
  const std::string windows = format(
      "CREATE VIEW missed_windows AS SELECT m.seq, s.generation, s.\"view\", {} AS window_start, {} AS "
      "window_end, "
      "m.late_by_us, m.window_start_us, m.window_end_us FROM ("
      "SELECT seq, window_start_us, window_end_us, late_by_us FROM entry WHERE window_start_us IS NOT NULL "
      "UNION ALL "
      "SELECT seq, window_start_us, window_end_us, late_by_us FROM more_window) m "
      "JOIN entry e ON e.seq = m.seq JOIN stream s ON s.id = e.stream_id;\n",
      time_sql("m.window_start_us"), time_sql("m.window_end_us"));
  return entries + windows +
         "CREATE VIEW ledger AS SELECT * FROM entries WHERE generation = (SELECT max(generation) FROM "
         "generation);\n";
}

std::string reasons_sql() {
  std::string sql;
  for (size_t i = 0; i < kReasonCount; ++i) {
    sql += format("INSERT INTO reason VALUES ({}, '{}');\n", i, to_string(static_cast<Reason>(i)));
  }
  return sql;
}

Result<bool> is_empty(sqlite::Database& database) {
  WRACKLINE_ASSIGN(const int64_t objects, database.query_integer("SELECT count(*) FROM sqlite_schema"));
  return objects == 0;
}

}  // namespace

std::string ledger_path(const std::string& directory) {
  return directory + "/ledger.sqlite";
}

Status check_schema(sqlite::Database& database) {
  WRACKLINE_ASSIGN(const int64_t id, database.query_integer("PRAGMA application_id"));
  WRACKLINE_ASSIGN(const int64_t version, database.query_integer("PRAGMA user_version"));
  if (id != kApplicationId) {
    return fail(ErrorCode::kData, format("database \"{}\" is not a ledger", database.path()),
                "It is a SQLite database, but of another program.",
                "Choose another directory with --state DIR.");
  }
  if (version > kFormatVersion) {
    return fail(ErrorCode::kData,
                format("ledger \"{}\" has format version {}, this program reads up to version {}",
                       database.path(), version, kFormatVersion),
                "A newer wrackline has written it.",
                "Use that version, or another directory with --state DIR.");
  }
  return {};
}

Status make_schema(sqlite::Database& database) {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database));
  WRACKLINE_ASSIGN(const bool empty, is_empty(database));
  if (!empty) return check_schema(database);
  WRACKLINE_TRY(database.exec(kTables + views_sql() + reasons_sql()));
  WRACKLINE_TRY(database.exec(
      format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kFormatVersion)));
  return transaction.commit();
}

}  // namespace wrackline::ledger
