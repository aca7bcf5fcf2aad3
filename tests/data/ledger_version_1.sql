-- A ledger of format version 1, as the last program that wrote it made the tables: a finished run and a failed one.
PRAGMA application_id = 1467116396;
PRAGMA user_version = 1;
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
CREATE VIEW entries AS SELECT e.seq, s.generation, s."view", s.source, ifnull(e.partition, s.partition) AS partition, e."offset", e.key, CASE e.event_time_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (e.event_time_us - ((e.event_time_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE e.event_time_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((e.event_time_us % 1000000) + 1000000) % 1000000) END END AS event_time, CASE e.arrival_time_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (e.arrival_time_us - ((e.arrival_time_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE e.arrival_time_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((e.arrival_time_us % 1000000) + 1000000) % 1000000) END END AS arrival_time, r.name AS reason, CASE e.window_start_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (e.window_start_us - ((e.window_start_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE e.window_start_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((e.window_start_us % 1000000) + 1000000) % 1000000) END END AS window_start, CASE e.window_end_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (e.window_end_us - ((e.window_end_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE e.window_end_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((e.window_end_us % 1000000) + 1000000) % 1000000) END END AS window_end, e.late_by_us, e.window_count, CASE e.watermark_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (e.watermark_us - ((e.watermark_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE e.watermark_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((e.watermark_us % 1000000) + 1000000) % 1000000) END END AS watermark, e.tick, e.state, CAST(e.payload AS TEXT) AS payload, s.file, e.line, e.detail, e.event_time_us, e.arrival_time_us, e.window_start_us, e.window_end_us, e.watermark_us FROM entry e JOIN stream s ON s.id = e.stream_id JOIN reason r ON r.id = e.reason_id;
CREATE VIEW missed_windows AS SELECT m.seq, s.generation, s."view", CASE m.window_start_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (m.window_start_us - ((m.window_start_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE m.window_start_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((m.window_start_us % 1000000) + 1000000) % 1000000) END END AS window_start, CASE m.window_end_us WHEN -9223372036854775808 THEN '-infinity' WHEN 9223372036854775807 THEN 'infinity' ELSE strftime('%Y-%m-%dT%H:%M:%S', (m.window_end_us - ((m.window_end_us % 1000000) + 1000000) % 1000000) / 1000000, 'unixepoch') || CASE m.window_end_us % 1000000 WHEN 0 THEN 'Z' ELSE printf('.%06dZ', ((m.window_end_us % 1000000) + 1000000) % 1000000) END END AS window_end, m.late_by_us, m.window_start_us, m.window_end_us FROM (SELECT seq, window_start_us, window_end_us, late_by_us FROM entry WHERE window_start_us IS NOT NULL UNION ALL SELECT seq, window_start_us, window_end_us, late_by_us FROM more_window) m JOIN entry e ON e.seq = m.seq JOIN stream s ON s.id = e.stream_id;
CREATE VIEW ledger AS SELECT * FROM entries WHERE generation = (SELECT max(generation) FROM generation);
INSERT INTO reason VALUES (0, 'late');
INSERT INTO reason VALUES (1, 'late_after_idle');
INSERT INTO reason VALUES (2, 'late_session');
INSERT INTO reason VALUES (3, 'late_join');
INSERT INTO reason VALUES (4, 'future');
INSERT INTO reason VALUES (5, 'past_horizon');
INSERT INTO reason VALUES (6, 'unparseable');
INSERT INTO reason VALUES (7, 'no_event_time');
INSERT INTO reason VALUES (8, 'out_of_range');
INSERT INTO reason VALUES (9, 'oversize');
INSERT INTO reason VALUES (10, 'conflict');
INSERT INTO generation VALUES (1, 'job.sql', 'finished', 1714564800000000, 1714564800000001, 1, 1, NULL);
INSERT INTO generation VALUES (2, 'job.sql', 'failed', 1714564800000002, 1714564800000003, 2, 3, NULL);
INSERT INTO stream VALUES (1, 1, 'clicks_per_minute', 'clicks', 'clicks/a.jsonl', 'phone');
INSERT INTO stream VALUES (2, 2, 'clicks_per_minute', 'clicks', 'clicks/a.jsonl', 'phone');
INSERT INTO entry VALUES (1, 1, 1, 2, 3, 0, 1714564800000009, 1714564800000000, NULL, 1, 1714564800000000, 1714564800000006, 30, 'open', NULL, '"/home"', '', CAST('one' AS BLOB));
INSERT INTO entry VALUES (2, 2, 2, 3, 3, 0, 1714564800000009, 1714564800000000, NULL, 1, 1714564800000000, 1714564800000006, 30, 'open', NULL, '"/home"', '', CAST('two' AS BLOB));
INSERT INTO entry VALUES (3, 2, 3, 4, 4, 1, 1714564800000009, 1714564800000000, NULL, 2, 1714564800000000, 1714564800000006, 30, 'open', 'tablet', '"/home"', '', CAST('three' AS BLOB));
INSERT INTO more_window VALUES (3, 1714564800000003, 1714564800000009, 10);
