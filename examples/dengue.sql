-- Dengue cases in Puerto Rico, 1990 to 2010, per week of onset: what a health office knew, and when.
--
-- Both clocks are calendar days (week starts), so many records share one instant and delays are whole weeks.
CREATE TABLE cases (
  reported date,
  onset    date
) WITH (
  connector       = 'file',
  path            = 'data/dengue_reporting/cases.csv.gz',
  event_time      = 'onset',
  arrival_time    = 'reported',
  time_zone       = 'UTC',
  watermark_delay = '14 days'
);

CREATE MATERIALIZED VIEW cases_per_week
WITH (late = 'correct', allowed_lateness = '56 days') AS
SELECT window_start, count(*) AS cases
FROM TUMBLE(cases, onset, INTERVAL '7 days', INTERVAL '4 days')  -- weeks start on Monday; the epoch was a Thursday
GROUP BY window_start, window_end;
