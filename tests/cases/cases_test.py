"""Late-data faults that users of other systems reported, each as a script (*.case, see tests/script) with its right value.

docs/cases.md lists all cases; a test holds it against the scripts.
"""
import collections
import json
import pathlib
import re
import unittest

import wrackline
from script.play import Player
from script.case_script import Script

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = wrackline.ROOT / "docs/cases.md"
SOURCE = wrackline.ROOT.parent / "shared/cases/cases.jsonl"  # where the cases come from; not part of the project
PATHS = sorted(FOLDER.glob("*.case"))


class Cases(Player):
    def play_area(self, area):
        scripts = [script for script in map(Script, PATHS) if script.head["area"] == area]
        self.assertTrue(scripts, f"no script of the area {area!r}")
        for script in scripts:
            with self.subTest(script=script.path.name):
                self.play(script)

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

    def test_joins(self):
        self.play_area("joins")

    def test_sessions(self):
        self.play_area("sessions")

    def test_dedup(self):
        self.play_area("dedup")

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
        linked = {case: set(re.findall(r"\]\(\.\./tests/cases/(\w+\.case)\)", row[2])) for case, row in self.rows.items()}
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
                    self.assertRegex(text, r"\.\./(tests|src)/", "a tested case links to its test")
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
