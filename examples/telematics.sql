-- Two trucks that store what they measure while out of coverage and forward it later: mean speed per truck and minute.
--
-- Each truck is a partition of its own, so that one in a tunnel holds the watermark back instead of being declared late.
CREATE TABLE telemetry (
  arrival_ms bigint,     -- received by the server
  event_ms   bigint,     -- clock of the device
  gps_fix_ms bigint,
  vehicle    text,
  type       text,
  trip       bigint,
  speed      double precision
) WITH (
  connector       = 'file',
  path            = 'data/fleet_telematics/events.csv.gz',
  event_time      = 'event_ms',
  arrival_time    = 'arrival_ms',
  time_unit       = 'ms',
  partition       = 'vehicle',
  watermark_delay = '5 s'
);

CREATE MATERIALIZED VIEW speed_per_minute
WITH (late = 'correct', allowed_lateness = '1 min') AS
SELECT window_start, vehicle, count(*) AS readings, avg(speed) AS speed_mean, max(speed) AS speed_max
FROM TUMBLE(telemetry, event_ms, INTERVAL '1 minute')
WHERE type = 'vehicle-position'
GROUP BY window_start, window_end, vehicle;
