"""What the suites of other engines share here: where they are, how a transcript becomes a script, and how the two compare.

A suite is a module with NAME, names() and outcome(player, name): an Outcome, or None where a case cannot be said in a job. OURS
has, by case, what Wrackline does where that differs.
"""
import json
import time
import unittest

import wrackline
from script.case_script import Script
from script.play import World, first_and_final, micros, thread_counts, worlds

SUITES = wrackline.ROOT.parent / "shared/suites"  # not part of the project


def require():
    if not SUITES.exists():
        raise unittest.SkipTest("needs ../shared/suites")


def load(path):
    require()
    return json.loads((SUITES / path).read_text())


def lines(path):
    require()
    return [json.loads(line) for line in (SUITES / path).read_text().splitlines() if line.strip()]


def numbered(names):
    """Names, each once: the second `a` is `a (2)`."""
    seen = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


class Transcript:
    """Records, movements of the watermark and, in between, places where the rows published since the last one are looked at."""

    def __init__(self, **options):
        self.options, self.push, self.cuts, self.records = options, [], [], 0

    def record(self, key, time, value=1):
        self.push.append(f"{key} {time} = {value}")
        self.records += 1

    def watermark(self, time):
        self.push.append(f"watermark {time}")
        self.records += 1

    def cut(self):
        self.cuts.append(self.records)

    def script(self):
        options = [f"{name.rstrip('_')} {value}" for name, value in self.options.items() if value is not None]
        return Script("transcript.case", "\n".join(["# case: 1", "# name: transcript", "# area: peers", *options, "push",
                                                    *(f"  {line}" for line in self.push)]))

    def play(self, player, scale=1, windows=0):
        """The rows published up to each cut, as (key, start, end, value, status) in units of so many
        microseconds, and the offsets of records that
        are in no result, because they missed so many windows."""
        script, before, found = self.script(), 0, []
        for count in self.cuts:
            played = player.run_script(script, "hold", World(1), records=script.records[:count])
            found.append(sorted((key, start // scale, end // scale, value, status) for end, start, key, _, value, status in played.rows[before:]))
            before = len(played.rows)
        ledgered = sorted(entry["offset"] for entry in player.ledger() if not entry["windows"] or len(entry["windows"]) >= windows)
        check_worlds(player, script)
        return found, ledgered


def check_worlds(player, script):
    """That nothing depends on ticks or threads which should not."""
    seen = {}
    for world in (World(1), World(1, thread_counts()[-1]), World(3), World()) if thread_counts() else worlds():
        played = player.run_script(script, "flush", world)
        outcome = first_and_final(played.rows), sorted(played.entries, key=str)
        player.assertEqual(seen.setdefault("all", outcome), outcome, f"{world}\n{played}")
        player.assertEqual(seen.setdefault(world.ticks, played.published), played.published, f"{world}\n{played}")


def text_of(milliseconds):
    """A time as an engine prints it, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds // 1000))


def bare(steps):
    """Rows as engines publish them that neither withdraw nor say whether a row is a correction."""
    return [[row[:4] for row in step if row[4] != "retract"] for step in steps]


class Outcome:
    """What the engine's own test expects, the same of Wrackline's answer, and that answer in full."""

    def __init__(self, theirs, comparable, found=None):
        self.theirs, self.comparable, self.found = theirs, comparable, comparable if found is None else found

    def same(self):
        return self.theirs == self.comparable

    def __str__(self):
        return f"theirs: {self.theirs}\nours:   {self.comparable}\nfull:   {self.found}"
