CREATE TABLE t (ts bigint, arrived timestamp, spare text, n numeric(8,2)) WITH (
  connector = stdin, format = csv, delimiter = ';', header = off, null = 'NA',
  event_time = ts, time_unit = ms, time_missing = 0, arrival_time = arrived, time_zone = 'Europe/Vienna',
  watermark_delay = '1 h 30 min', max_record_bytes = '1 MiB'
);
CREATE MATERIALIZED VIEW v WITH (late = ledger, ledger_horizon = '7 days', drop = 'future, oversize') AS
SELECT window_start, sum(n) FROM TUMBLE(t, ts, INTERVAL '1 day', INTERVAL '-2 h') GROUP BY 1, window_end;
