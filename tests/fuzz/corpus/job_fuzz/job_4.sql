CREATE MATERIALIZED VIEW v WITH (late = drop) AS SELECT window_start, window_end, page || '!' AS p, count(*) AS n
FROM TUMBLE(clicks, at, '1 h') GROUP BY window_start, window_end, page;
CREATE TABLE out (window_start timestamptz, window_end timestamptz, p text, n bigint) WITH (connector = 'file', path = 'out.csv', mode = append);
INSERT INTO out SELECT * FROM v;
CREATE TABLE clicks (user_id bigint, page text, price numeric(10,2), ok boolean, at timestamptz, received timestamptz)
  WITH (connector = 'file', path = 'clicks/*.jsonl', event_time = 'at', arrival_time = 'received', watermark_delay = '30 s');
