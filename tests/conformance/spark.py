"""Spark's EventTimeWatermarkSuite. Its watermark moves at the end of a batch, ours with every record; it takes the least of two
inputs' watermarks, each with a delay of its own, where here partitions share one delay: times are shifted by the difference.
"""
import peers

NAME = "Spark watermark"
S = 1_000_000
OURS = {
    # Update mode shows open windows; here they are shown when they close.
    "update mode": [[], [("a", 10, 15, 5, "on_time")], [], []],
    "update mode - session": [[], [], [], [("1", 10, 16, 21002, "on_time"), ("1", 17, 22, 17001, "on_time")], [],
                              [("2", 25, 30, 25001, "on_time")]],
    # 27 is behind the watermark and its session is open; 25 joins what closes at 32, which 30 does not reach.
    "update mode - session - keys overlapped with sessions": [[], [], [], [("0", 10, 17, 22002, "on_time"), ("1", 11, 22, 41003, "on_time")],
                                                              [], [], []],
    "update mode - session - no key": [[], [], [], [("a", 10, 16, 21002, "on_time"), ("a", 17, 22, 17001, "on_time")], [],
                                       [("a", 25, 30, 25001, "on_time")]],
    # A partition that is known by a column joins when it first speaks; after the restart Spark knows its newest time no more.
    "watermark with 2 streams (min policy)": [1, 1, 1, 3, 11, 21, 31, 34, 90, 105, 120, 120, 120, 130, 185, 190, 190],
}


def cases():
    return {case["name"]: case for case in peers.load("spark_watermark/cases.json")["cases"]}


def names():
    return list(cases())


def outcome(player, name):
    case = cases()[name]
    if "reject" in case:
        return peers.Outcome(["refused"] * len(case["reject"]), [refused(player, delay) for delay in case["reject"]])
    if "delays_s" in case:
        return two_streams(player, case) if case.get("policy", "min") == "min" else None
    return None if case["mode"] == "complete" else windows(player, case)


def windows(player, case):
    window = case["window"]
    text = "1 us" if window is None else f"session {window['gap_s']} s" if window["kind"] == "session" else f"{window['size_s']} s"
    counted = case["agg"] == "count"
    transcript = peers.Transcript(window=text, delay=f"{case['delay_s']} s", unit="s", times="s",
                                  select="count(*)" if counted else "sum(v) * 1000 + count(*)")
    theirs, all_rows = [], []
    for step in case["steps"]:
        if step["op"] == "add":
            for time in step["ts_s"]:
                transcript.record({"ts/10": time // 10, "ts mod 2": time % 2}.get(case.get("key"), "a"), time, time)
            transcript.cut()
        elif step["op"] == "stop":
            all_rows = [] if step.get("clear_sink") else all_rows
        elif step["op"].startswith("expect"):
            rows = sorted(row_of(row, case) for row in step["rows"])
            theirs.append([row for row in rows if row not in all_rows] if step["op"] == "expect_all" else rows)
            all_rows += theirs[-1]
    found, _ = transcript.play(player, 1 if window is None else S)
    if window is None:  # a window of one microsecond is its timestamp
        found = [[(key, start // S, start // S, value, status) for key, start, _, value, status in rows] for rows in found]
    return peers.Outcome(theirs, peers.bare(found), found)


def row_of(row, case):
    if case["agg"] == "count":
        start = row[0]
        return "a", start, start + case["window"]["size_s"] if case["window"] else start, row[1]
    key, start, end, count, total = row if len(row) == 5 else ["a", *row]
    return str(key), start, end, total * 1000 + count


def two_streams(player, case):
    delays = case["delays_s"]
    longest = max(delays.values())
    readings, theirs = [], []
    for step in case.get("steps", case.get("readings", [])):
        if step.get("restart"):
            continue  # where time stands after a restart is the matter of checkpoints
        for stream in ("first", "second"):
            readings += [(stream, time + longest - delays[stream]) for time in step[stream]]
        theirs.append((len(readings), step["watermark_ms"] // 1000 if "watermark_ms" in step else step["watermark_s"]))
    lines = [f"  {'p0' if stream == 'first' else 'p1'} a {time}" for stream, time in readings]
    found = []
    for count, _ in theirs:
        script = peers.Script("two.case", "\n".join(["# case: 3", "# name: two streams", "# area: peers", f"delay {longest} s", "unit s",
                                                    "partition column", "window 1000 s", "push", *lines[:count]]))
        played = player.run_script(script, "hold", peers.World(1))
        found.append(peers.micros(played.document["watermark"]) // S)
    return peers.Outcome([watermark for _, watermark in theirs], found)


def refused(player, delay):
    player.write("p0.jsonl", "")
    script = peers.Script("refused.case", f"# case: 1\n# name: refused\n# area: peers\ndelay {delay}\npush\n  a 1")
    said = player.refuse_job(script.job())
    return "refused" if "watermark_delay" in said else said
