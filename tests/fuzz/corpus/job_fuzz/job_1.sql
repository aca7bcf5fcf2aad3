CREATE MATERIALIZED VIEW v AS SELECT window_start, window_end, count(*) AS n
FROM TUMBLE(clicks, at, INTERVAL '1 minute') GROUP BY window_start, window_end;
CREATE TABLE clicks (user_id bigint, page text, price numeric(10,2), ok boolean, at timestamptz, received timestamptz)
  WITH (connector = 'file', path = 'clicks/*.jsonl', event_time = 'at', arrival_time = 'received', watermark_delay = '30 s');
