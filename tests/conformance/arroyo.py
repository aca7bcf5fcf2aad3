"""Arroyo's golden queries: the windowed ones, and those that are windowed if all time is one window."""
import collections
import json
import re
import shutil

import peers

NAME = "Arroyo golden queries"
CARS = "cars", "driver_id bigint, event_type text, location text"
IMPULSE = "impulse", "counter bigint, subtask_index bigint"
ALL_TIME = "INTERVAL '36500 days'"
OURS = {}
# Query -> input, and the views; the last one is the answer.
QUERIES = {
    "hourly_by_event_type": (CARS, ["""SELECT event_type, window_start AS hour, count(*) AS count
        FROM TUMBLE(cars, "timestamp", INTERVAL '1 hour') GROUP BY window_start, window_end, event_type"""]),
    "month_loose_watermark": (CARS, ["""SELECT window_start AS month, count(*) AS count
        FROM TUMBLE(cars, "timestamp", INTERVAL '30 days') GROUP BY window_start, window_end"""]),
    "tight_watermark": (CARS, ["""SELECT window_end AS "timestamp", count(*) AS count
        FROM TUMBLE(cars, "timestamp", INTERVAL '1 hour') GROUP BY window_start, window_end"""]),
    "sliding_window_end": (IMPULSE, ["""SELECT window_start AS start, window_end AS "end", count(*) AS count, min(counter) AS min, max(counter) AS max
        FROM HOP(impulse, "timestamp", INTERVAL '2 seconds', INTERVAL '10 seconds') GROUP BY window_start, window_end"""]),
    "session_window": (IMPULSE, ["""SELECT window_start AS start, window_end AS "end",
          CASE WHEN counter % 10 = 0 THEN 0 ELSE counter END AS user_id, count(*) AS rows
        FROM SESSION(impulse, "timestamp", INTERVAL '20 seconds') GROUP BY window_start, window_end, user_id"""]),
    "global_session_window": (IMPULSE, ["""SELECT window_start AS start, window_end AS "end", count(*) AS rows
        FROM SESSION(impulse, "timestamp", INTERVAL '20 seconds') GROUP BY window_start, window_end"""]),
    "most_active_driver_last_hour": (CARS, ["""SELECT window_start AS start, window_end AS "end", driver_id, count(*) AS count
        FROM HOP(cars, "timestamp", INTERVAL '1 minute', INTERVAL '1 hour') GROUP BY window_start, window_end, driver_id"""]),
    "most_active_driver_last_hour_unaligned": (CARS, ["""SELECT window_start AS start, window_end AS "end", driver_id, count(*) AS count
        FROM HOP(cars, "timestamp", INTERVAL '40 minutes', INTERVAL '1 hour') GROUP BY window_start, window_end, driver_id"""]),
    "aggregates": (IMPULSE, [f"""SELECT min(counter) AS min, max(counter) AS max, sum(counter) AS sum, count(*) AS count, avg(counter) AS avg
        FROM TUMBLE(impulse, "timestamp", {ALL_TIME}) GROUP BY window_start, window_end"""]),
    "grouped_aggregates": (IMPULSE, [f"""SELECT counter % 5 AS counter_mod, min(counter) AS min, max(counter) AS max, sum(counter) AS sum,
          count(*) AS count, avg(counter) AS avg
        FROM TUMBLE(impulse, "timestamp", {ALL_TIME}) GROUP BY window_start, window_end, counter_mod"""]),
    "filter_updating_aggregates": (IMPULSE, [f"""SELECT count(DISTINCT subtask_index) AS subtasks
        FROM TUMBLE(impulse, "timestamp", {ALL_TIME}) GROUP BY window_start, window_end HAVING count(DISTINCT subtask_index) >= 1"""]),
    "active_drivers": (CARS, [f"""SELECT window_start, window_end, driver_id, count(*) AS times
        FROM TUMBLE(cars, "timestamp", {ALL_TIME}) GROUP BY window_start, window_end, driver_id HAVING count(*) > 85""",
                              f"""SELECT count(*) AS drivers FROM TUMBLE(view1, window_start, {ALL_TIME}) GROUP BY window_start, window_end"""]),
    "reinvoke_window_function": (CARS, ["""SELECT window_start, window_end, driver_id, count(*) AS pickups
        FROM TUMBLE(cars, "timestamp", INTERVAL '1 hour') WHERE event_type = 'pickup'
        GROUP BY window_start, window_end, driver_id HAVING count(*) > 2""",
                                        """SELECT window_start AS start, window_end AS "end", count(DISTINCT driver_id) AS drivers
        FROM TUMBLE(view1, window_start, INTERVAL '1 hour') GROUP BY window_start, window_end"""]),
}
RANKED = ("most_active_driver_last_hour", "most_active_driver_last_hour_unaligned")  # ROW_NUMBER is reckoned below, from our rows


def names():
    peers.require()
    return sorted(path.stem for path in (peers.SUITES / "arroyo_golden/queries").glob("*.sql"))


def outcome(player, name):
    if name not in QUERIES:
        return None
    (source, columns), views = QUERIES[name]
    theirs = [line.get("after", line) for line in peers.lines(f"arroyo_golden/golden_outputs/{name}.json")]
    shutil.copy(peers.SUITES / f"arroyo_golden/inputs/{source}.json", player.folder / f"{source}.jsonl")
    job = [f"""CREATE TABLE {source} ("timestamp" timestamptz, {columns}) WITH (connector = 'file', path = '{source}.jsonl',
      event_time = 'timestamp', watermark_delay = '1 minute');"""]
    job += [f"CREATE MATERIALIZED VIEW view{i} AS {text};" for i, text in enumerate(views, start=1)]
    job.append(f"CREATE TABLE answer () WITH (connector = 'file', path = 'answer.jsonl'); INSERT INTO answer SELECT * FROM view{len(views)};")
    player.run_job("\n".join(job))
    found = [{column: value for column, value in row.items() if not column.startswith("_")} for row in player.rows("answer.jsonl")]
    if name in RANKED:
        found = ranked(found)
    return peers.Outcome(counted(theirs), counted(found))


def ranked(rows):
    windows = collections.defaultdict(list)
    for row in rows:
        windows[row["start"]].append(row)
    return [{**max(rows, key=lambda row: (row["count"], row["driver_id"])), "row_number": 1} for rows in windows.values()]


def counted(rows):
    """Rows as a multiset, with times written alike and numbers as numbers."""
    alike = lambda value: re.sub(r"(\.\d*?)0+$", r"\1", re.sub(r"(Z|\+00:00)$", "", value)).removesuffix(".") if isinstance(value, str) else value
    return collections.Counter(json.dumps({name: alike(value) for name, value in row.items()}, sort_keys=True).replace(".0,", ",") for row in rows)
