"""Feldera's streaming tests. LATENESS is our watermark delay; its views are published as they change, ours when a window closes."""
import re

import peers

NAME = "Feldera lateness"
MS = 1000
HOUR = 3_600_000
DAY = 24 * HOUR
# How the views that are windows are said here: options of the transcript, and from a row of the input to (key, time, value).
WINDOWS = {
    "issue2822": dict(window="1 days", delay="1 hours", select="sum(v)"),
    "testEmitFinal": dict(window="1 s", delay="2 s", unit="s", times="s"),
    "tumblingTestLimits": dict(window="30 min", offset="12 min", delay="1 hours"),
    "tumblingTest": dict(window="1 days", delay="1 hours", select="avg(v)"),
    "watermarkTest": dict(window="1 days", delay="1 hours", select="avg(v)", lateness="10000 days"),
    "latenessTest": dict(window="1 days", delay="1 hours", select="avg(v)"),
    "sessionGc": dict(window="session 10 min", delay="1 hours"),
    "sessionGcLateMerge": dict(window="session 10 min", delay="1 hours"),
}
D30 = 1_703_894_400_000  # 2023-12-30
D2020 = 1_577_836_800_000
OURS = {
    "tumblingTestLimits": [[], [], [], []],
    "tumblingTest": [[], [], [], [], [], [("a", D30, D30 + DAY, 13.333333333333334, "on_time")]],
    # The same rows; a late record's correction is published even where it leaves the average as it was.
    "watermarkTest": [[], [("a", D30 - DAY, D30, 10, "correction")], [], [("a", D30 - DAY, D30, 10, "correction")], [],
                      [("a", D30, D30 + DAY, 13.333333333333334, "on_time")]],
    "latenessTest": [[], [], [], [], []],
    "sessionGc": [[], [], [("a", D2020 + 10 * HOUR, D2020 + 10 * HOUR + 1_320_000, 3, "on_time"),
                           ("b", D2020 + 10 * HOUR, D2020 + 10 * HOUR + 600_000, 1, "on_time")], [], []],
    "sessionGcLateMerge": [[], [], []],
}


def cases():
    listed = peers.load("feldera_streaming/cases.json")["cases"]
    return dict(zip(peers.numbered(case["name"] for case in listed), listed))


def names():
    return list(cases())


def outcome(player, name):
    if name not in WINDOWS:
        return None
    options = {"unit": "ms", "times": "ms", **WINDOWS[name]}
    transcript, theirs = peers.Transcript(**options), []
    for step in cases()[name]["steps"]:
        for row in re.findall(r"\(([^()]*)\)", step["in"]):
            transcript.record(*record_of(row))
        transcript.cut()
        theirs.append([tuple(cell.strip() for cell in line.split("|")) for line in step["expect_delta"].splitlines()[2:]])
    found, _ = transcript.play(player, 1_000_000 if options["unit"] == "s" else MS)
    return peers.Outcome(theirs, [[shown(name, row) for row in rows] for rows in peers.bare(found)], found)


def record_of(text):
    cells = [cell.strip().strip("'") for cell in text.split(",")]
    key, value, time = "a", 1, None
    for cell in cells:
        if re.match(r"\d{4}-", cell):
            time = peers.micros(cell.replace(" ", "T") + "Z") // MS
        elif cell.isalpha():
            key = cell
        else:
            value = float(cell) if "." in cell else int(cell)
    return key, value if time is None else time, value


def shown(name, row):
    """A row as Feldera's test writes it."""
    key, start, _, value = row
    if name == "testEmitFinal":
        return str(start), str(value), "1"
    day = peers.text_of(start).replace("T", " ").removesuffix("Z")
    return (day, str(value), "1") if name == "issue2822" else (key, day, str(value), "1")
