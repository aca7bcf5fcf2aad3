"""Beam's trigger transcripts. A watermark says that nothing before it comes, as here; a window's last moment is included there.

Elements are their own values. Compared are each window's values and, where a case states it, the output time.
"""
import peers

NAME = "Beam trigger transcripts"
S = 1_000_000
COMBINED = {"OUTPUT_AT_EARLIEST": "min(v)", "OUTPUT_AT_LATEST": "max(v)"}
OURS = {
    # Count triggers publish early and hold late panes back; here a window is published when it closes, then once a tick.
    "early_late_sessions": [[], [], [("a", 1, 16, (1, 2, 3, 4, 5, 6), "on_time")],
                            [("a", 1, 16, (1, 1, 2, 3, 3, 4, 4, 5, 6), "correction"), ("a", 1, 16, (1, 1, 2, 3, 3, 4, 5, 6), "correction"),
                             ("a", 1, 16, (1, 1, 2, 3, 4, 5, 6), "correction")]],
    "discarding_early_fixed": [[], [], [], [("a", 0, 10, (1, 2, 3, 4, 5, 6), "on_time"), ("a", 10, 20, (14, 18), "on_time")]],
    # The row is Beam's; its output time there is of the first element that was not behind the watermark, here it is of the first.
    "known_late_data_watermark": [[("a", 0, 10, ((2, 3, 7, 8), 2), "on_time")]],
    "known_late_data_no_watermark_hold_possible": [[("a", 0, 10, ((2, 3, 7), 2), "on_time")]],
}


def documents():
    found = peers.load("beam_trigger_transcripts/trigger_transcripts.json")
    return found if isinstance(found, list) else found["transcripts"]


def names():
    return list(peers.numbered(document["name"] for document in documents()))


def outcome(player, name):
    document = dict(zip(names(), documents()))[name]
    function = document.get("window_fn") or document["windowfn"]
    kind, _, size = function.rstrip(")").partition("(")
    if document.get("timestamp_combiner") == "OUTPUT_AT_EARLIEST_TRANSFORMED" or document.get("trigger_fn", "").startswith("AfterCount"):
        return None
    combiner = COMBINED.get(document.get("timestamp_combiner"))
    transcripts = [peers.Transcript(window=f"session {size} s" if kind == "Sessions" else f"{size} s", unit="s", times="s", select=select,
                                    lateness=f"{document.get('allowed_lateness', 1_000_000)} s")
                   for select in ("array_agg(v ORDER BY v)", combiner) if select]
    theirs = []
    for step in document["transcript"]:
        if "expect" in step:
            theirs.append(sorted(expected(row, combiner) for row in step["expect"]))
        for transcript in transcripts:
            for time in step.get("input", []):
                transcript.record("a", time, time)
            if "watermark" in step:
                transcript.watermark(step["watermark"])
            if "expect" in step:
                transcript.cut()
    if len(theirs) == 0 or "expect" not in document["transcript"][-1]:
        theirs.append([])  # nothing more may come
        for transcript in transcripts:
            transcript.cut()
    played = [transcript.play(player, S)[0] for transcript in transcripts]
    found = [[joined(rows) for rows in zip(*steps)] for steps in zip(*played)]
    if "error" in document:  # a transcript that a checker must not take
        return peers.Outcome("rejected", "rejected" if theirs != peers.bare(found) else "taken")
    return peers.Outcome(theirs, peers.bare(found), found)


def expected(row, combiner):
    value = tuple(sorted(row["values"]))
    return "a", row["window"][0], row["window"][1] + 1, (value, row["timestamp"]) if combiner else value


def joined(rows):
    key, start, end, value, status = rows[0]
    return (key, start, end, tuple(value) if len(rows) == 1 else (tuple(value), rows[1][3]), status)
