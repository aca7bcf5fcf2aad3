CREATE TABLE clicks (                       -- a source: a table WITH a connector
  user_id  bigint,
  page     text,
  device   text,
  at       timestamptz,
  received timestamptz
) WITH (
  connector       = 'file',
  path            = 'clicks/*.jsonl',
  format          = 'jsonl',
  event_time      = 'at',
  arrival_time    = 'received',
  partition       = 'device',
  files           = 'parallel',
  watermark_delay = '30 s',
  max_future_skew = '5 min',  max_future_accept = '1 day',
  idle_timeout    = '1 min',  idle_close = 'off',
  order_by        = 'arrival_time'
);

CREATE MATERIALIZED VIEW clicks_per_minute
WITH (late = 'correct', allowed_lateness = '2 h', ledger_horizon = 'unlimited') AS
SELECT window_start, window_end, page, count(*) AS clicks, sum(user_id) /* odd */ AS total
FROM TUMBLE(clicks, at, INTERVAL '1 minute')
WHERE page <> '/health'   -- not the probes
  AND device IS NOT NULL
GROUP BY window_start, window_end, page;

CREATE TABLE minutes () WITH (connector = 'sqlite', path = 'minutes.db', table = 'per_minute');
INSERT INTO minutes SELECT * FROM clicks_per_minute;
