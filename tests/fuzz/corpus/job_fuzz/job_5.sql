CREATE TABLE log () WITH (connector = 'file', path = 'log', format = 'jsonl', mode = 'changelog');
INSERT INTO log SELECT window_start, window_end, page, per_minute.clicks FROM per_minute;
CREATE TABLE clicks (user_id bigint, page text, price numeric(10,2), ok boolean, at timestamptz, received timestamptz)
  WITH (connector = 'file', path = 'clicks/*.jsonl', event_time = 'at', arrival_time = 'received', watermark_delay = '30 s');
