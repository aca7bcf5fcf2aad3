"""Flink's WindowOperatorTest. Its watermark is ours minus 1 ms, its output's time the last millisecond of the window."""
import peers

NAME = "Flink window operator"
MS = 1000

OURS = {
    # A purging trigger publishes what came since the last time; here a version is the total.
    "testLateness": ([[("key2", 0, 2000, 2, "on_time")], [("key2", 0, 2000, 3, "correction")], []], [6]),
    # What touches a sealed session is in none, so that published sessions do not overlap as Flink's do.
    "testDropDueToLatenessSessionZeroLatenessPurgingTrigger": (
        [[("key2", 1000, 11500, 5, "on_time")], [("key2", 11600, 14600, 1, "on_time")], [], []], [11, 12, 13]),
    "testDropDueToLatenessSessionZeroLateness": (
        [[("key2", 1000, 11500, 5, "on_time")], [("key2", 11600, 14600, 1, "on_time")], [], []], [11, 12]),
    "testDropDueToLatenessSessionWithLateness": (
        [[("key2", 1000, 11500, 5, "on_time")], [("key2", 11600, 14600, 1, "on_time")], [("key2", 11600, 14600, 1, "retract")],
         [("key2", 11600, 17500, 2, "on_time")], []], [11]),
    # A session goes on when it has been published.
    "testDropDueToLatenessSessionWithLatenessPurgingTrigger": (
        [[("key2", 1000, 11500, 5, "on_time")], [("key2", 11600, 14600, 1, "on_time")],
         [("key2", 11600, 14600, 1, "retract"), ("key2", 11600, 17500, 2, "on_time")], []], [11]),
    "testDropDueToLatenessSessionWithHugeLatenessPurgingTrigger": (
        [[("key2", 1000, 11500, 5, "on_time")], [("key2", 11600, 14600, 1, "on_time")],
         [("key2", 1000, 11500, 5, "retract"), ("key2", 1000, 14600, 7, "correction"), ("key2", 11600, 14600, 1, "retract")],
         [("key2", 1000, 14600, 7, "retract"), ("key2", 1000, 17500, 8, "on_time")], []], []),
    # Beyond the last microsecond that there is.
    "testCleanupTimeOverflow": ([[]], [0, 1, 2]),
}


def names():
    return [case["name"] for case in peers.load("flink_window_operator/cases.json")["cases"]]


def window_of(window):
    if window["kind"] == "session":
        return f"session {window['gap_ms']} ms"
    if window["kind"] == "hopping":
        return f"hop {window['advance_ms']} ms {window['size_ms']} ms"
    return f"{window['size_ms']} ms"


def outcome(player, name):
    case = next(case for case in peers.load("flink_window_operator/cases.json")["cases"] if case["name"] == name)
    transcript = peers.Transcript(window=window_of(case["window"]), select="sum(v)", lateness=f"{case['allowed_lateness_ms']} ms")
    theirs, late, size = [[]], [], case["window"].get("size_ms", case["window"].get("gap_ms"))
    for before, entry in zip([None, *case["steps"]], case["steps"]):
        if entry["op"] == "out":
            end = entry["ts"] + 1
            start = entry["window"][0] if "window" in entry else end - size  # a session that is not shown is of one record
            theirs[-1].append((entry["key"], start, end, entry["value"]))
            continue
        if before and before["op"] == "out":
            transcript.cut()
            theirs.append([])
        if entry["op"] == "in":
            if entry.get("late") == "dropped":
                late.append(transcript.records)
            transcript.record(entry["key"], entry["ts"], entry["value"])
        else:
            transcript.watermark(entry["ts"] + 1)
    transcript.cut()
    steps, ledgered = transcript.play(player, MS, case["window"].get("size_ms", 1) // case["window"].get("advance_ms", case["window"].get("size_ms", 1)))
    return peers.Outcome(([sorted(step) for step in theirs], late), (peers.bare(steps), ledgered), (steps, ledgered))
