-- Strong earthquakes of 30 days, per seismic network and day, as the world learnt of them.
--
-- The catalogue is in the order in which its entries were last revised, so what a network reviewed for days arrives late:
-- most of it corrects a day that was already published, and what is more than a week behind goes to the ledger.
CREATE TABLE quakes (
  event_ms   bigint,     -- when the ground shook
  arrival_ms bigint,     -- when this entry of the catalogue took its final form
  id         text,
  net        text,       -- seismic network
  mag        double precision,
  depth_km   double precision,
  type       text,       -- earthquake | quarry blast | explosion
  status     text        -- automatic | reviewed
) WITH (
  connector       = 'file',
  path            = 'data/usgs_earthquakes/quakes.csv.gz',
  event_time      = 'event_ms',
  arrival_time    = 'arrival_ms',
  time_unit       = 'ms',
  watermark_delay = '1 day'
);

CREATE MATERIALIZED VIEW strong_quakes_per_day
WITH (late = 'correct', allowed_lateness = '7 days') AS
SELECT window_start, net, count(*) AS quakes, max(mag) AS strongest
FROM TUMBLE(quakes, event_ms, INTERVAL '1 day')
WHERE type = 'earthquake' AND mag >= 4.5
GROUP BY window_start, window_end, net;
