-- The question for `wrackline run`: bids and their sum per auction and ten seconds of event time.
CREATE TABLE bids (
  auction   bigint,
  price     bigint,
  date_time timestamptz,
  arrival   timestamptz
) WITH (
  connector = 'file', path = 'bids.jsonl', event_time = 'date_time', arrival_time = 'arrival', watermark_delay = '5 s'
);

CREATE MATERIALIZED VIEW per_window AS
SELECT window_start, auction, count(*) AS bids, sum(price) AS total
FROM TUMBLE(bids, date_time, INTERVAL '10 seconds')
GROUP BY window_start, window_end, auction;

CREATE TABLE totals () WITH (connector = 'file', path = 'totals.jsonl');
INSERT INTO totals SELECT * FROM per_window;
