#include "ledger/ledger_schema.h"

#include "base/text.h"
#include "data/batch.h"

namespace wrackline::ledger {
namespace {

// A run may have several attempts: one row of `generation` each. The CHECK of version 1 did not know
// "stopped".
constexpr const char* kGenerationTable = R"sql(
CREATE TABLE generation (
  generation  INTEGER PRIMARY KEY,
  run         INTEGER NOT NULL,
  job         TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('running', 'stopped', 'failed', 'finished')),
  started_us  INTEGER NOT NULL,
  ended_us    INTEGER,
  entries     INTEGER NOT NULL DEFAULT 0,
  last_seq    INTEGER NOT NULL,
  replaced_by INTEGER,
  settled_seq INTEGER NOT NULL DEFAULT 0
);
)sql";

// A stream is one log of records as one view of one run sees it; with it, the natural key of an entry is two
// numbers. The first missed window stands in the entry itself: under tumbling windows there never is another.
constexpr const char* kTables = R"sql(
CREATE TABLE reason (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE stream (
  id          INTEGER PRIMARY KEY,
  run         INTEGER NOT NULL,
  "view"      TEXT NOT NULL,
  source      TEXT NOT NULL,
  file        TEXT NOT NULL,
  partition   TEXT NOT NULL,
  UNIQUE (run, "view", source, file)
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
  payload         BLOB NOT NULL,
  payload_state   INTEGER NOT NULL DEFAULT 0,
  recorded_us     INTEGER,
  audit_id        INTEGER,
  applied_version INTEGER
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

// What was done to entries after they were written, and what is left of those that were removed: `removed`
// keeps their identity, so that a replay of the run does not bring them back.
constexpr const char* kAuditTables = R"sql(
CREATE TABLE audit (
  id         INTEGER PRIMARY KEY,
  action     TEXT NOT NULL,
  run        INTEGER NOT NULL,
  generation INTEGER,
  began_us   INTEGER NOT NULL,
  ended_us   INTEGER NOT NULL,
  who        TEXT NOT NULL,
  because    TEXT NOT NULL,
  chosen     TEXT NOT NULL
);
CREATE TABLE audit_count (
  audit_id      INTEGER NOT NULL,
  "view"        TEXT NOT NULL,
  source        TEXT NOT NULL,
  reason_id     INTEGER NOT NULL,
  entries       INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  PRIMARY KEY (audit_id, "view", source, reason_id)
) WITHOUT ROWID;
CREATE TABLE removed (
  seq       INTEGER PRIMARY KEY,
  stream_id INTEGER NOT NULL,
  "offset"  INTEGER NOT NULL
);
CREATE UNIQUE INDEX removed_identity ON removed (stream_id, "offset");
)sql";

// Version 1 had one attempt a run, no masks, no trail. Its views are made anew.
constexpr const char* kFromVersion1 = R"sql(
DROP VIEW ledger;
DROP VIEW missed_windows;
DROP VIEW entries;
ALTER TABLE generation RENAME TO generation_1;
)sql";
constexpr const char* kFromVersion1Then = R"sql(
INSERT INTO generation SELECT generation, generation, job, status, started_us, ended_us, entries, last_seq,
  replaced_by, 0 FROM generation_1;
DROP TABLE generation_1;
ALTER TABLE stream RENAME COLUMN generation TO run;
ALTER TABLE entry ADD COLUMN payload_state INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entry ADD COLUMN recorded_us INTEGER;
ALTER TABLE entry ADD COLUMN audit_id INTEGER;
ALTER TABLE entry ADD COLUMN applied_version INTEGER;
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
      "CREATE VIEW entries AS SELECT e.seq, s.run, s.run AS generation, s.\"view\", s.source, "
      "ifnull(e.partition, "
      "s.partition) AS "
      "partition, e.\"offset\", e.key, {} AS event_time, {} AS arrival_time, r.name AS reason, {} AS "
      "window_start, {} AS "
      "window_end, e.late_by_us, e.window_count, {} AS watermark, e.tick, e.state, CAST(e.payload AS TEXT) "
      "AS payload, "
      "s.file, e.line, e.detail, e.event_time_us, e.arrival_time_us, e.window_start_us, e.window_end_us, "
      "e.watermark_us, CASE e.payload_state WHEN 0 THEN 'whole' WHEN 1 THEN 'masked' WHEN 2 THEN 'withheld' "
      "ELSE 'purged' END AS payload_state, {} AS recorded, e.audit_id, e.applied_version "
      "FROM entry e JOIN stream s ON s.id = e.stream_id JOIN reason r ON r.id = e.reason_id;\n",
      time_sql("e.event_time_us"), time_sql("e.arrival_time_us"), time_sql("e.window_start_us"),
      time_sql("e.window_end_us"), time_sql("e.watermark_us"), time_sql("e.recorded_us"));
  const std::string windows = format(
      "CREATE VIEW missed_windows AS SELECT m.seq, s.run, s.run AS generation, s.\"view\", {} AS "
      "window_start, {} AS "
      "window_end, "
      "m.late_by_us, m.window_start_us, m.window_end_us FROM ("
      "SELECT seq, window_start_us, window_end_us, late_by_us FROM entry WHERE window_start_us IS NOT NULL "
      "UNION ALL "
      "SELECT seq, window_start_us, window_end_us, late_by_us FROM more_window) m "
      "JOIN entry e ON e.seq = m.seq JOIN stream s ON s.id = e.stream_id;\n",
      time_sql("m.window_start_us"), time_sql("m.window_end_us"));
  const std::string trail = format(
      "CREATE VIEW audit_trail AS SELECT a.id, a.action, a.run, {} AS began, {} AS ended, a.who, a.because, "
      "a.chosen, c.\"view\", c.source, r.name AS reason, c.entries, c.payload_bytes "
      "FROM audit a LEFT JOIN audit_count c ON c.audit_id = a.id LEFT JOIN reason r ON r.id = c.reason_id;\n",
      time_sql("a.began_us"), time_sql("a.ended_us"));
  return entries + windows + trail +
         "CREATE VIEW ledger AS SELECT * FROM entries WHERE run = (SELECT max(run) FROM generation);\n";
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

Result<int64_t> check_schema(sqlite::Database& database) {
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
  return version;
}

Status make_schema(sqlite::Database& database) {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database));
  WRACKLINE_ASSIGN(const bool empty, is_empty(database));
  if (empty) {
    WRACKLINE_TRY(
        database.exec(std::string(kGenerationTable) + kTables + kAuditTables + views_sql() + reasons_sql()));
  } else {
    WRACKLINE_ASSIGN(const int64_t version, check_schema(database));
    if (version == kFormatVersion) return {};
    WRACKLINE_TRY(database.exec(std::string(kFromVersion1) + kGenerationTable + kFromVersion1Then +
                                kAuditTables + views_sql()));
  }
  WRACKLINE_TRY(database.exec(
      format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kFormatVersion)));
  return transaction.commit();
}

// A name is looked up in the connection's own space first.
Status show_version_1(sqlite::Database& database) {
  return database.exec(R"sql(
CREATE TEMP VIEW generation AS SELECT *, generation AS run, 0 AS settled_seq FROM main.generation;
CREATE TEMP VIEW stream AS SELECT *, generation AS run FROM main.stream;
CREATE TEMP VIEW entry AS SELECT *, 0 AS payload_state, NULL AS recorded_us, NULL AS audit_id,
  NULL AS applied_version FROM main.entry;
CREATE TEMP VIEW audit AS SELECT 0 AS id, '' AS action, 0 AS run, 0 AS generation, 0 AS began_us, 0 AS ended_us,
  '' AS who, '' AS because, '' AS chosen WHERE 0;
CREATE TEMP VIEW audit_count AS SELECT 0 AS audit_id, '' AS "view", '' AS source, 0 AS reason_id, 0 AS entries,
  0 AS payload_bytes WHERE 0;
)sql");
}

}  // namespace wrackline::ledger
