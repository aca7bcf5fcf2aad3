-- Incidents reported to the San Francisco police, per district and day of the incident.
--
-- Officers report within the hour, citizens online within days or weeks. The result lands in an SQLite table, in which a
-- correction replaces the row that it corrects.
CREATE TABLE reports (
  arrival_s    bigint,   -- when it was reported
  event_s      bigint,   -- when it happened, as people remember it: 31 % on the full hour
  incident     bigint,
  district     bigint,
  category     bigint,
  filed_online bigint,
  report_type  text
) WITH (
  connector       = 'file',
  path            = 'data/sf_police_reports/reports.csv.gz',
  event_time      = 'event_s',
  arrival_time    = 'arrival_s',
  time_unit       = 's',
  watermark_delay = '1 day'
);

CREATE MATERIALIZED VIEW incidents_per_day
WITH (late = 'correct', allowed_lateness = '14 days') AS
SELECT window_start, district, count(*) AS incidents, sum(filed_online) AS filed_online
FROM TUMBLE(reports, event_s, INTERVAL '1 day')
GROUP BY window_start, window_end, district;

CREATE TABLE incidents () WITH (connector = 'sqlite', path = 'police.db', table = 'incidents');
INSERT INTO incidents SELECT * FROM incidents_per_day;
