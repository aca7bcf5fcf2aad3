"""Every example runs as its comment says, and its result is a recount."""
import collections
import json
import shutil
import sqlite3

from recount import DAY, ROOT, SETS, batch_counts, micros, replay
from wrackline import CommandTest


class Examples(CommandTest):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "examples", self.folder / "examples", ignore=shutil.ignore_patterns("*.state", "*.db*"))

    def run_example(self, name):
        printed = self.run_command("run", f"examples/{name}.sql", "--json").out
        document = json.loads(printed.splitlines()[-1])  # the rows of a view without a sink come first
        self.assertTrue(document["balanced"])
        for line in document["balance"]:
            self.assert_adds_up(line)
        return document

    def test_each_passes_check(self):
        jobs = sorted((self.folder / "examples").glob("*.sql"))
        self.assertGreater(len(jobs), 3)
        for job in jobs:
            with self.subTest(job=job.name):
                self.run_command("check", job)

    def test_quakes(self):
        balance = self.run_example("quakes")["balance"][0]
        fates, *_ = replay(SETS["usgs"].records(), DAY, DAY, 7 * DAY)
        self.assertEqual(balance["read"], sum(fates.values()))

    def test_police_table_is_a_recount(self):
        self.run_example("police")
        records = [(event, arrival, "", key) for event, arrival, _, key in SETS["police"].records("district")]
        _, counts, ledgered, _ = replay(records, DAY, DAY, 14 * DAY)
        with sqlite3.connect(self.folder / "examples/police.db") as database:
            rows = database.execute("SELECT window_start, district, incidents FROM incidents").fetchall()
        self.assertEqual({(micros(start), str(district)): incidents for start, district, incidents in rows}, counts)
        truth = collections.Counter(counts)
        truth.update((start, key) for start, key, _ in ledgered)
        self.assertEqual(truth, collections.Counter(batch_counts(records, DAY)))

    def test_telematics(self):
        balance = self.run_example("telematics")["balance"][0]
        self.assertEqual((balance["read"], balance["ledgered"]), (3561, 0))

    def test_dengue(self):
        balance = self.run_example("dengue")["balance"][0]
        fates, *_ = replay(SETS["dengue"].records(), 7 * DAY, 14 * DAY, 56 * DAY, offset=4 * DAY)
        self.assertEqual((balance["accepted"], balance["ledgered"]), (fates["on_time"] + fates["corrects"], fates["sealed"]))
