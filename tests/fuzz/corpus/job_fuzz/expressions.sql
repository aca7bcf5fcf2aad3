CREATE TABLE clicks (user_id bigint, page text, price numeric(10,2), ok boolean, at timestamptz, received timestamptz)
  WITH (connector = 'file', path = 'clicks/*.jsonl', event_time = 'at', arrival_time = 'received', watermark_delay = '30 s');
CREATE MATERIALIZED VIEW v AS SELECT window_start AS a, window_end, CASE page WHEN 'x' THEN 1 ELSE 2 END AS c,
 count(*) FILTER (WHERE price BETWEEN SYMMETRIC 1.5 AND 2e3 OR page LIKE 'a%' AND NOT ok) AS n, max(coalesce(user_id, -1)) + 1 AS m,
 nullif(sum(price)::numeric(20,4), 0.0), min(at AT TIME ZONE 'UTC') IS NOT NULL AS t, greatest(1, 2)
FROM TUMBLE(clicks, at, INTERVAL '4' SECOND, '1 s'::interval) AS w WHERE w.ok IS NOT FALSE AND page IN ('a', E'b\n', $$c$$) AND page IS DISTINCT FROM NULL
GROUP BY a, 2, CASE page WHEN 'x' THEN 1 ELSE 2 END;
