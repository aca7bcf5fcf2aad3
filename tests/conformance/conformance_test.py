"""Other engines' own tests, played here. docs/conformance.md has a line for every case, and what it says is held against the runs.

The suites are read from ../shared and are not part of the project; without them these tests are skipped.
"""
import collections
import pathlib
import re
import unittest

import wrackline
from script.play import Player

import arroyo
import beam_transcripts
import feldera
import flink
import spark
from assignments import beam_yaml, calcite
from quix import interval_join, sliding

TABLE = wrackline.ROOT / "docs/conformance.md"
SUITES = (beam_transcripts, flink, spark, calcite, beam_yaml, feldera, arroyo, sliding, interval_join)
VERDICTS = ("same", "different", "not expressible")


def table():
    """Suite -> case -> (verdict, why)."""
    found, suite = collections.defaultdict(dict), None
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            suite = line[3:].strip()
        row = re.fullmatch(r"\| `([^`]+)` \| ([^|]+) \| (.*) \|", line)
        if row and row[1] in found[suite]:
            raise AssertionError(f"{suite}: {row[1]} stands in the table twice")
        if row:
            found[suite][row[1]] = row[2], row[3]
    return found


class Conformance(Player):
    def play_suite(self, suite):
        lines = table()[suite.NAME]
        for name in suite.names():
            verdict = lines[name][0]
            with self.subTest(case=name, verdict=verdict):
                outcome = suite.outcome(self, name)
                if verdict == "not expressible":
                    self.assertIsNone(outcome, "the case can be said by now")
                elif verdict == "same":
                    self.assertTrue(outcome.same(), f"\n{outcome}")
                else:
                    self.assertFalse(outcome.same(), f"the same by now\n{outcome}")
                    self.assertEqual(outcome.found, suite.OURS[name])

    def test_beam_transcripts(self):
        self.play_suite(beam_transcripts)

    def test_flink(self):
        self.play_suite(flink)

    def test_spark(self):
        self.play_suite(spark)

    def test_calcite(self):
        self.play_suite(calcite)

    def test_beam_yaml(self):
        self.play_suite(beam_yaml)

    def test_feldera(self):
        self.play_suite(feldera)

    def test_arroyo(self):
        self.play_suite(arroyo)

    def test_quix_sliding(self):
        self.play_suite(sliding)

    def test_quix_joins(self):
        self.play_suite(interval_join)


class Table(unittest.TestCase):
    def test_no_case_is_left_out(self):
        lines = table()
        for suite in SUITES:
            with self.subTest(suite=suite.NAME):
                self.assertEqual(sorted(lines[suite.NAME]), sorted(suite.names()))

    def test_every_line_says_why(self):
        for suite, lines in table().items():
            for name, (verdict, why) in lines.items():
                with self.subTest(suite=suite, case=name):
                    self.assertIn(verdict, VERDICTS)
                    if verdict == "different":
                        self.assertRegex(why, r"[Ss]ection \d", "a different answer names the section of the semantics")
                    if verdict == "not expressible":
                        self.assertTrue(why.strip())

    def test_what_is_ours_is_only_stated_where_it_differs(self):
        lines = table()
        for suite in SUITES:
            for name, (verdict, _) in lines[suite.NAME].items():
                self.assertEqual(name in suite.OURS, verdict == "different", f"{suite.NAME}: {name}")

    def test_every_suite_is_played(self):
        if not (wrackline.ROOT.parent / "shared/suites").exists():
            self.skipTest("needs ../shared/suites")
        played = re.findall(r"play_suite\((\w+)\)", pathlib.Path(__file__).read_text())
        self.assertEqual({globals()[name].NAME for name in played if name != "self"}, {suite.NAME for suite in SUITES})


if __name__ == "__main__":
    unittest.main()
