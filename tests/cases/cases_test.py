"""Late-data faults that users of other systems reported, each as a script (*.case, format in case_script.py) with its right value.

Every script runs with ticks of one record, of three, and of the usual size: fates, first versions and final values must be the
same, only the number of corrections may differ. docs/cases.md lists all cases; a test holds it against the scripts.
"""
import collections
import json
import os
import pathlib
import re
import sqlite3
import unittest

import wrackline
from case_script import Script
from wrackline import CommandTest

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = wrackline.ROOT / "docs/cases.md"
SOURCE = wrackline.ROOT.parent / "shared/cases/cases.jsonl"  # where the cases come from; not part of the project
PATHS = sorted(FOLDER.glob("*.case"))
USUAL = None  # the tick size that a user gets
TIME = re.compile(r"([-+]?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z")


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
    """What batching must not change: the first version of windows that closed with something in them, and the last of all."""
    firsts = {identity(row): row[4] for row in rows if row[3] == 1 and row[5] == "on_time"}
    finals = {identity(row): row[4] for row in sorted(rows, key=lambda row: row[3])}
    return firsts, finals


class Played:
    """What came of one run."""

    def __init__(self, rows, lines, entries, document, err):
        self.rows, self.lines, self.entries, self.document, self.err = rows, lines, entries, document, err

    def __str__(self):
        return "\n".join(map(str, [*self.lines, *self.entries, json.dumps(self.document), self.err]))


class Cases(CommandTest):
    def play_area(self, area):
        scripts = [script for script in map(Script, PATHS) if script.head["area"] == area]
        self.assertTrue(scripts, f"no script of the area {area!r}")
        for script in scripts:
            for zone in script.host_zones:
                with self.subTest(script=script.path.name, host_zone=zone):
                    self.play(script, zone)

    def play(self, script, zone):
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
        end = "flush" if script.end else "hold"
        for rows_max in script.ticks or (1, 3, USUAL):
            played = self.run_script(script, end, rows_max, zone)
            context = f"\nat most {rows_max} records in a tick, at the end {end}\n{played}"
            if rows_max == 1:
                self.assertEqual(sorted(played.rows), sorted(script.rows), context)
            self.assertEqual(first_and_final(played.rows), first_and_final(script.rows), context)
            self.assert_versions_rise(played.rows, context)
            self.assertEqual(sorted(played.entries, key=str), sorted(script.entries, key=str), context)
            self.check_counters(script, played, context)
            self.check_every_total(script, played, context)
            self.assert_says(played.err, *(line for _, line in script.lines.get("warns", [])))
            if script.watermark is not None:
                held = self.run_script(script, "hold", rows_max, zone)
                self.assert_watermark(held, script.watermark, script, context)
                self.assertLessEqual(set(held.rows), set(played.rows), f"held input published what flushed input did not\n{held}{context}")
        if script.watermarks is not None:
            self.check_watermarks(script, zone)
        if "changelog" in script.lines:
            played = self.run_script(script, end, 1, zone, sink_mode="changelog")
            lines = [f"{row['_op']} {row['k']} {row['value']}" for row in played.lines]
            self.assertEqual(lines, [line for _, line in script.lines["changelog"]], f"\n{played}")

    def run_script(self, script, at_end, rows_max, zone, records=None, sink_mode="upsert"):
        for old in [*self.folder.glob("p*.jsonl"), *self.folder.glob("rows.jsonl*"), *self.folder.glob("job.state/*")]:
            old.unlink()
        for name, content in script.files(records).items():
            path = self.write(name, content)
            if path.stem in script.mtimes:
                os.utime(path, (script.mtimes[path.stem],) * 2)
        self.write("job.sql", script.job(sink_mode))
        ticks = [] if rows_max is USUAL else ["--tick-rows", rows_max]
        prefix = ["env", f"TZ={zone}"] if zone else []
        outcome = self.run_command("run", "job.sql", "--json", "--at-end", at_end, *ticks, prefix=prefix)
        document = outcome.document
        self.assertTrue(document["balanced"], f"\n{outcome}")
        for line in document["balance"]:
            self.assert_adds_up(line)
            for counts in line["by_partition"].values():
                self.assert_adds_up(counts)
        lines = self.rows("rows.jsonl")
        rows = [(micros(row["window_end"]), micros(row["window_start"]), row["k"], row["_version"], row["value"], row["_status"])
                for row in lines]
        return Played(rows, lines, self.read_ledger(), document, outcome.err)

    def read_ledger(self):
        """As a user with SQLite sees it, held against what the command lists."""
        entries = []
        for entry in self.ledger():
            windows = tuple((micros(w["start"]), micros(w["end"]), w["late_by_us"]) for w in entry["windows"])
            entries.append((entry["partition"].removesuffix(".jsonl"), entry["key"], micros(entry["event_time"]), entry["reason"], windows))
        database = sqlite3.connect(self.folder / "job.state/ledger.sqlite")
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
        versions = collections.defaultdict(list)
        for row in rows:
            versions[identity(row)].append(row[3])
        for row, found in versions.items():
            self.assertEqual(found, list(range(1, len(found) + 1)), f"versions of {row}{context}")

    def check_counters(self, script, played, context):
        line, view = played.document["balance"][0], played.document["views"]["result"]
        for name, wanted in script.balance.items():
            self.assertEqual({**view, **line}[name], wanted, f"{name}{context}")

    def check_every_total(self, script, played, context):
        """Published and ledgered add up to the truth, for every key and window."""
        select, window = script.options.get("select", "count(*)"), script.options.get("window", "10 s")
        unit = re.fullmatch(r"(\d+) (us|ms|s|days)", window)
        if select not in ("count(*)", "sum(v)") or not unit or {"offset", "where"} & set(script.options) or not script.end:
            return
        if any(record.key is None for record in script.records) or any(entry[3] != "late" for entry in script.entries):
            return
        size = int(unit[1]) * {"us": 1, "ms": 1000, "s": 1_000_000, "days": 86_400_000_000}[unit[2]]
        scale = {"s": 1_000_000, "ms": 1000, "us": 1}.get(script.options.get("unit", "ms"))
        if scale is None:
            return
        truth = collections.Counter()
        for record in script.records:
            start = record.time * scale // size * size
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
            played = self.run_script(script, "hold", 1, zone, script.records[:count])
            self.assert_watermark(played, wanted, script, f"\nafter record {count}")

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

    def test_late_routing(self):
        self.play_area("late routing")

    def test_corrections(self):
        self.play_area("corrections")

    def test_partitions(self):
        self.play_area("idle partitions")

    def test_watermark(self):
        self.play_area("watermark")

    def test_delay_measurement(self):
        self.play_area("delay measurement")

    def test_window_assignment(self):
        self.play_area("window assignment")

    def test_batching(self):
        self.play_area("recovery")

    def test_timestamps(self):
        self.play_area("timestamps")

    def test_time_zones(self):
        self.play_area("time zones")

    def test_file_sources(self):
        self.play_area("file sources")


class Table(unittest.TestCase):
    """docs/cases.md names every case, and every script has its row."""

    def setUp(self):
        self.rows = {}
        for row in re.findall(r"^\| (C\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|$", TABLE.read_text(), re.M):
            self.assertNotIn(row[0], self.rows, "a case stands in the table twice")
            self.rows[row[0]] = row[1:]

    def test_every_script_is_in_its_row(self):
        linked = {case: set(re.findall(r"\]\(\.\./tests/cases/([\w.]+)\)", row[2])) for case, row in self.rows.items()}
        scripts = collections.defaultdict(set)
        areas = set()
        for script in map(Script, PATHS):
            self.assertTrue(script.path.name.startswith(f"c{int(script.head['case'][1:]):03}_"), f"{script.path.name}: {script.head['case']}")
            self.assertEqual(script.head["area"], self.rows[script.head["case"]][0], script.path.name)
            scripts[script.head["case"]].add(script.path.name)
            areas.add(script.head["area"])
        self.assertEqual({case: names for case, names in linked.items() if names}, scripts)
        played = set(re.findall(r'play_area\("([^"]+)"\)', pathlib.Path(__file__).read_text()))
        self.assertEqual(areas, played, "areas of the scripts and areas that the tests play differ")

    def test_every_row_says_what_became_of_the_case(self):
        for case, (area, state, text) in self.rows.items():
            with self.subTest(case=case, area=area):
                self.assertIn(state, ("tested", "not yet", "different"))
                if state == "tested":
                    self.assertIn("../tests/", text, "a tested case links to its test")
                if state == "different":
                    self.assertRegex(text, r"section \d", "a different answer names the section of the semantics")
        self.assertEqual(len(self.rows), 97)

    def test_every_case_of_the_source_is_in_the_table(self):
        if not SOURCE.exists():
            self.skipTest("the list of cases is not beside the project")
        cases = {case["id"]: case["area"] for case in map(json.loads, SOURCE.read_text().splitlines())}
        self.assertEqual({case: row[0] for case, row in self.rows.items()}, cases)


if __name__ == "__main__":
    unittest.main()
