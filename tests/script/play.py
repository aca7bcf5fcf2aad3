"""Plays scripts (case_script.py) against the real command, each in many worlds.

A world is a number of records in a tick and a number of threads. Fates, first versions and final values must be the same in
all; how many corrections are published depends on ticks; on threads nothing may depend, down to the bytes of the output.
"""
import collections
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import wrackline
from wrackline import CommandTest

USUAL = None  # the tick size, or the number of threads, that a user gets
TICKS = (1, 3, USUAL)
COUNTED_BY_TICKS = ("versions", "corrections", "retractions")
SECONDS_MAX = 30
NOTICED_S = 0.03  # a run on a set clock looks at its files and at the clock every 2 ms
STARTED_US = 4_000_000_000_000_000  # later than every event time of the scripts
TIME = re.compile(r"([-+]?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z")
World = collections.namedtuple("World", "ticks threads", defaults=(USUAL, USUAL))


@functools.cache
def thread_counts():
    """Numbers of threads to try beside the usual one."""
    return (2, 4) if "--threads" in wrackline.wrackline("run", "--help").out else ()


def worlds(ticks=TICKS):
    """Every tick size in the usual number of threads, and the first and the last in others."""
    others = thread_counts()
    return [World(rows) for rows in ticks] + [World(rows, threads) for rows, threads in zip((ticks[0], ticks[-1]), others)]


def micros(text):
    """Microseconds since 1970 of a time as Wrackline writes it: every year, exactly."""
    if text is None or text.endswith("infinity"):
        return text
    found = TIME.fullmatch(text)
    if not found:
        raise ValueError(f"not a time: {text}")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    shifted, moved = (year - 1, month + 9) if month <= 2 else (year, month - 3)  # a year that starts in March
    days = 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + (153 * moved + 2) // 5 + day - 719469
    return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + int((found[7] or "0").ljust(6, "0"))


def identity(row):
    return row[:3]


def first_and_final(rows):
    """What batching must not change: the first version of windows that closed with something in them, and the last of all.

    Rows are (end, start, key, version, value, status), in the order in which they were published.
    """
    firsts = {identity(row): row[4] for row in rows if row[3] == 1 and row[5] == "on_time"}
    finals = {}
    for row in rows:
        if row[5] == "retract":
            finals.pop(identity(row), None)
        else:
            finals[identity(row)] = row[4]
    return firsts, finals


class Played:
    """What came of one run."""

    def __init__(self, rows, lines, entries, document, err, published):
        self.rows, self.lines, self.entries, self.document, self.err = rows, lines, entries, document, err
        self.published = published  # the bytes

    def __str__(self):
        return "\n".join(map(str, [*self.lines, *self.entries, json.dumps(self.document), self.err]))


class LiveRun:
    """A run that follows its files, on a clock that the test sets."""

    def __init__(self, test, script):
        self.test, self.script, self.now = test, script, 0
        self.size = collections.Counter()
        test.clear()
        for name, content in script.files([]).items():
            test.write(name, content)
        test.write("job.sql", script.job())
        self.set_clock()
        environment = {**os.environ, "WRACKLINE_TEST_CLOCK": str(test.folder / "clock")}
        self.process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json", "--follow"], cwd=test.folder, env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def set_clock(self):
        self.test.write("clock.new", f"{STARTED_US + self.now} {self.now}\n")
        os.replace(self.test.folder / "clock.new", self.test.folder / "clock")

    def take(self, step):
        """A record is written to its file and read; or time goes by, and is noticed."""
        if isinstance(step, int):
            self.now += step
            self.set_clock()
        else:
            for name, content in self.script.files([step]).items():
                if content:
                    with open(self.test.folder / name, "a") as file:
                        file.write(content)
                    self.size[name] += len(content.encode())
                    if not step.unread:
                        self.wait(lambda name=name: self.read_so_far(name) >= self.size[name], f"{name} was not read")
        if isinstance(step, int) or not step.unread:
            time.sleep(NOTICED_S)

    def read_so_far(self, name):
        """How far into a file the run is, as the system sees it."""
        wanted = os.path.realpath(self.test.folder / name)
        for descriptor in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                if os.readlink(descriptor) == wanted:
                    text = pathlib.Path(f"/proc/{self.process.pid}/fdinfo/{descriptor.name}").read_text()
                    return int(text.split()[1])
            except FileNotFoundError:
                continue  # closed meanwhile
        return -1

    def wait(self, condition, what):
        deadline = time.monotonic() + SECONDS_MAX
        while not condition():
            if self.process.poll() is not None:
                self.test.fail(f"the run ended with {self.process.returncode}: {self.process.communicate()}")
            self.test.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.005)

    def wait_for(self, count):
        """Until so many rows are published; then a moment in which no further one may come."""
        self.wait(lambda: self.published() >= count, f"{count} rows were not published, only {self.published()}")
        time.sleep(10 * NOTICED_S)

    def published(self):
        return sum(path.read_text().count("\n") for path in self.test.folder.glob("rows.jsonl*") if path.exists())

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=SECONDS_MAX)
        self.test.assertEqual(self.process.returncode, 128 + signal.SIGINT, err)
        return json.loads(out), err


class Player(CommandTest):
    def play(self, script):
        if script.live():
            self.play_live(script)
            return
        for zone in script.host_zones:
            with self.subTest(host_zone=zone):
                self.play_on_host(script, zone)

    def play_on_host(self, script, zone):
        for command, arguments, checks in script.commands:
            self.check_measurement(script, command, arguments, checks)
        if "refused" in script.lines:
            said = self.refuse_job(script.job())
            self.assert_says(said, *(line for _, line in script.lines["refused"]))
        if "explains" in script.lines:
            self.write("job.sql", script.job())
            self.assert_says(self.run_command("check", "job.sql").out, *(line for _, line in script.lines["explains"]))
        if "expect" not in script.lines:
            self.assertTrue(script.commands or "refused" in script.lines, "the script expects nothing")
            return
        self.play_everywhere(script, zone)
        if script.watermarks is not None:
            self.check_watermarks(script, zone)
        if script.checks:
            self.check_steps(script, zone)
        if "changelog" in script.lines:
            played = self.run_script(script, "flush" if script.end else "hold", World(1), zone, sink_mode="changelog")
            lines = [f"{row['_op']} {row['k']} {row['value']}" for row in played.lines]
            self.assertEqual(lines, [line for _, line in script.lines["changelog"]], f"\n{played}")

    def play_everywhere(self, script, zone):
        end = "flush" if script.end else "hold"
        published = {}
        tried = worlds(script.ticks or TICKS)
        for world in tried:
            played = self.run_script(script, end, world, zone)
            context = f"\n{world}, at the end {end}\n{played}"
            if world.ticks == 1:
                self.assertEqual(sorted(played.rows), sorted(script.rows), context)
            self.assertEqual(first_and_final(played.rows), first_and_final(script.rows), context)
            self.assert_versions_rise(played.rows, context)
            self.assertEqual(sorted(played.entries, key=str), sorted(script.entries, key=str), context)
            self.check_counters(script, played, world, context)
            self.check_every_total(script, played, context)
            self.assert_says(played.err, *(line for _, line in script.lines.get("warns", [])))
            if world == tried[-1]:
                self.check_replay(played, "--at-end", end)
            if script.watermark is not None:
                held = self.run_script(script, "hold", world, zone)
                self.assert_watermark(held, script.watermark, script, context)
                self.assertLessEqual(set(held.rows), set(played.rows), f"held input published what flushed input did not\n{held}{context}")
            self.assertEqual(published.setdefault(world.ticks, played.published), played.published, f"threads show in the output{context}")

    def check_replay(self, played, *arguments):
        """The tick log of the run before makes the same output and the same ledger again."""
        entries = self.read_ledger()
        shutil.rmtree(self.folder / "again.state", ignore_errors=True)
        self.run_command("run", "job.sql", "--json", *arguments, "--replay", "job.state", "--state", "again.state")
        self.assertEqual((self.folder / "rows.jsonl").read_bytes(), played.published, f"the replay published something else\n{played}")
        self.assertEqual(self.read_ledger("again.state"), entries, f"the replay ledgered something else\n{played}")

    def clear(self):
        for old in [*self.folder.glob("p*.jsonl"), *self.folder.glob("rows.jsonl*")]:
            old.unlink()
        shutil.rmtree(self.folder / "job.state", ignore_errors=True)

    def run_script(self, script, at_end, world, zone=None, records=None, sink_mode="upsert"):
        self.clear()
        for name, content in script.files(records).items():
            path = self.write(name, content)
            if path.stem in script.mtimes:
                os.utime(path, (script.mtimes[path.stem],) * 2)
        self.write("job.sql", script.job(sink_mode))
        arguments = [] if world.ticks is USUAL else ["--tick-rows", world.ticks]
        arguments += [] if world.threads is USUAL else ["--threads", world.threads]
        prefix = ["env", f"TZ={zone}"] if zone else []
        outcome = self.run_command("run", "job.sql", "--json", "--at-end", at_end, *arguments, prefix=prefix)
        document = outcome.document
        self.assertTrue(document["balanced"], f"\n{outcome}")
        for line in document["balance"]:
            self.assert_adds_up(line)
            for counts in line["by_partition"].values():
                self.assert_adds_up(counts)
        rows, lines = self.published_rows()
        return Played(rows, lines, self.read_ledger(), document, outcome.err, (self.folder / "rows.jsonl").read_bytes())

    def read_ledger(self, state="job.state"):
        """As a user with SQLite sees it, held against what the command lists."""
        entries = []
        for entry in self.ledger(state):
            windows = tuple((micros(w["start"]), micros(w["end"]), w["late_by_us"]) for w in entry["windows"])
            entries.append((entry["partition"].removesuffix(".jsonl"), entry["key"], micros(entry["event_time"]), entry["reason"], windows))
        database = sqlite3.connect(self.folder / state / "ledger.sqlite")
        try:
            times = [time for (time,) in database.execute("SELECT event_time_us FROM entry ORDER BY seq")]
        finally:
            database.close()
        self.assertEqual([entry[2] for entry in entries], times, "`ledger list` and the ledger's table differ")
        return entries

    def assert_watermark(self, played, wanted, script, context=""):
        wanted = wanted if wanted.endswith("infinity") else script.in_us(wanted)
        self.assertEqual(micros(played.document["watermark"]), wanted, f"\n{played}{context}")

    def assert_versions_rise(self, rows, context):
        """By one for each row; a withdrawal is a version, too."""
        last = collections.Counter()
        for row in rows:
            last[identity(row)] += 1
            self.assertEqual(row[3], last[identity(row)], f"the version of {row}{context}")

    def check_counters(self, script, played, world, context):
        line, view = played.document["balance"][0], played.document["views"]["result"]
        moves = sum(record.moves for record in script.records)
        dropped = {f"dropped_{reason}": count for reason, count in line["dropped"].items()}
        found = {**view, **line, **dropped, "read": line["read"] - moves, "filtered": line["filtered"] - moves}
        for name, wanted in script.balance.items():
            if name in COUNTED_BY_TICKS and world.ticks != 1:
                continue
            self.assertEqual(found[name], wanted, f"{name}{context}")

    def check_every_total(self, script, played, context):
        """Published and ledgered add up to the truth, for every key and window."""
        select, window = script.options.get("select", "count(*)"), script.options.get("window", "10 s")
        unit = re.fullmatch(r"(\d+) (us|ms|s|days)", window)
        if select not in ("count(*)", "sum(v)") or not unit or {"offset", "where", "having", "keys", "then"} & set(script.options) or not script.end:
            return
        if any(record.key is None and not record.moves for record in script.records) or any(entry[3] != "late" for entry in script.entries):
            return
        size = int(unit[1]) * {"us": 1, "ms": 1000, "s": 1_000_000, "days": 86_400_000_000}[unit[2]]
        scale = {"s": 1_000_000, "ms": 1000, "us": 1}.get(script.options.get("unit", "ms"))
        if scale is None or script.balance.get("duplicate") or played.document["balance"][0]["dropped"]:
            return
        truth = collections.Counter()
        for record in script.records:
            start = record.time * scale // size * size
            if not record.moves:
                truth[start + size, start, record.key] += 1 if select == "count(*)" else record.value
        found = collections.Counter(first_and_final(played.rows)[1])
        for entry in self.ledger():
            for missed in entry["windows"]:
                value = 1 if select == "count(*)" else json.loads(entry["payload"])["v"]
                found[micros(missed["end"]), micros(missed["start"]), entry["key"]] += value
        self.assertEqual(found, truth, f"published and ledgered do not add up to the records{context}")

    def check_watermarks(self, script, zone):
        """The watermark after each record: of an input that ends there and is held."""
        self.assertEqual(len(script.files()), 1, "the end of a file would release the others; use a partition column")
        for count, wanted in enumerate(script.watermarks, start=1):
            played = self.run_script(script, "hold", World(1), zone, script.records[:count])
            self.assert_watermark(played, wanted, script, f"\nafter record {count}")

    def check_steps(self, script, zone):
        """What the steps up to each check publish, and that nothing published is taken back by what follows."""
        before = []
        for (count, end), wanted in script.checks:
            played = self.run_script(script, "flush" if end else "hold", World(1), zone, script.records[:count])
            self.assertEqual(played.rows[:len(before)], before, f"more input changed what was published\n{played}")
            self.assertEqual(sorted(played.rows[len(before):]), sorted(wanted), f"\nafter record {count}\n{played}")
            before = played.rows

    def play_live(self, script):
        """Files are followed, and grow while the clock goes on as the script says. Nothing may happen that it does not say."""
        live = LiveRun(self, script)
        for step in script.steps:
            live.take(step)
        live.wait_for(len(script.rows))
        document, err = live.stop()
        rows, lines = self.published_rows()
        played = Played(rows, lines, self.read_ledger(), document, err, (self.folder / "rows.jsonl").read_bytes())
        self.assertTrue(document["balanced"], f"\n{played}")
        self.assertEqual(sorted(rows), sorted(script.rows), f"\n{played}")
        self.assertEqual(sorted(played.entries, key=str), sorted(script.entries, key=str), f"\n{played}")
        self.check_counters(script, played, World(), f"\n{played}")
        if script.watermark is not None:
            self.assert_watermark(played, script.watermark, script)
        self.check_replay(played)

    def published_rows(self):
        lines = self.rows("rows.jsonl")
        return [(micros(row["window_end"]), micros(row["window_start"]), row.get("k", "-"), row["_version"], row["value"],
                 "retract" if row["_op"] == "retract" else row["_status"]) for row in lines], lines

    def check_measurement(self, script, command, arguments, checks):
        files = script.files()
        for name, content in files.items():
            self.write(name, content)
        outcome = self.run_command(command, *files, "--event-time", "t", "--arrival-time", "arr", "--time-unit",
                                   script.options.get("unit", "ms"), "--json", *arguments)
        document = outcome.document
        for partition in document.get("partitions", []):
            document[partition["partition"].removesuffix(".jsonl")] = partition
        for where, line in checks:
            path, _, wanted = line.partition(" = ")
            if path == "says":
                self.assert_says(json.dumps(document["findings"], ensure_ascii=False), wanted)
                continue
            value = document
            for name in path.split("/"):
                self.assertIn(name, value, f"{where}: {path}\n{outcome}")
                value = value[name]
            self.assertEqual(value, json.loads(wanted), f"{where}: {path}\n{outcome}")
