"""Killed and resumed: the totals are right in every sink, and no reader ever sees one above the truth."""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

import wrackline
from postgres_server import PostgresServer, binaries
from wrackline import CommandTest, job

KILLS = int(os.environ.get("WRACKLINE_KILLS", 8))  # for each sink
NOISE = 10000


class Poller:
    """Asks `look` for what a reader sees, again and again."""

    def __init__(self, look):
        self.seen, self._look, self._done = [], look, False
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self):
        while not self._done:
            seen = self._look()
            if seen is not None:
                self.seen.append(seen)
            time.sleep(0.002)

    def stop(self):
        self._done = True
        self._thread.join()
        return self.seen


class Recovery(CommandTest):
    def clicks(self, count, second=0, page="/p"):
        return f'{{"user_id":1,"page":"{page}","at":"2024-05-01T12:{second // 60:02}:{second % 60:02}Z"}}\n' * count

    def two_totals(self, sink):
        """100 clicks, later ones that close their window, five that are late; the noise makes the run last."""
        noise = "".join(self.clicks(1, 180 + i % 60, page="/noise") for i in range(NOISE))
        self.write("clicks.jsonl", self.clicks(100) + noise + self.clicks(5) + noise)
        self.write("job.sql", job(view={"allowed_lateness": "1 h"}, where="page <> '/noise'", sink=sink))

    def start(self, *arguments):
        return subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json", "--tick-rows", "50", "--resume", "--checkpoint-interval", "5 ms", *arguments], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def kill_and_resume(self, look, seed, check, clear=lambda: None):
        """Kills a run at random moments until it comes through; then check(what the reader saw, the standard outputs)."""
        source, killed = random.Random(seed), 0
        began = time.monotonic()
        self.run_command("run", "job.sql", "--json", "--tick-rows", "50")
        whole = time.monotonic() - began
        while killed < KILLS:
            self.clear()
            clear()
            poller, outs, finished = Poller(look), [], False
            try:
                while not finished:
                    process = self.start()
                    if len(outs) < 6:
                        time.sleep(source.uniform(0, whole))
                        process.send_signal(signal.SIGKILL)
                    out, err = process.communicate(timeout=60)
                    self.assertIn(process.returncode, (0, -signal.SIGKILL), err.decode())
                    outs.append(out.decode())
                    finished = process.returncode == 0
                    killed += not finished
            finally:
                seen = poller.stop()
            check(seen, outs)

    def clear(self):
        shutil.rmtree(self.folder / "job.state")
        for left in self.folder.glob("out.*"):
            left.unlink()

    def total(self, text):
        """Of whole lines: a reader may see the beginning of the last one."""
        clicks = {}
        for line in text.splitlines(keepends=True):
            if line.endswith("\n") and line.startswith("{") and '"_op"' in line:
                row = json.loads(line)
                clicks[row["window_start"], row["page"]] = 0 if row["_op"] == "retract" else row["clicks"]
        return sum(clicks.values())

    def file_total(self):
        try:
            return self.total((self.folder / "out.jsonl").read_text())
        except FileNotFoundError:
            return None

    def assert_never_back(self, seen):
        """Of what a reader of a table saw: (generation, total, version)."""
        # A run that was killed when it had just finished is followed by a new one, of a greater generation.
        self.assertEqual(seen, sorted(seen), "a total or a version went back within a run")
        self.assertLessEqual({total for _, total, _ in seen}, {0, 100, 105})
        self.assertEqual(seen[-1][1:], (105, 2))

    def test_a_whole_file(self):
        self.two_totals("connector = 'file', path = 'out.jsonl'")

        def check(seen, _):
            self.assertLessEqual(set(seen), {105}, "readers see finished runs only")
            self.assertEqual([(row["clicks"], row["_version"]) for row in self.rows()], [(100, 1), (105, 2)])

        self.kill_and_resume(self.file_total, 1, check)

    def test_a_live_file(self):
        """A run that follows its input never finishes: it is killed again and again, and goes on."""
        self.two_totals("connector = 'file', path = 'out.jsonl'")
        source, poller = random.Random(2), Poller(self.file_total)
        try:
            for attempt in range(KILLS + 1):
                process = self.start("--follow")
                if attempt < KILLS:
                    time.sleep(source.uniform(0, 0.4))
                else:
                    until = time.monotonic() + 30
                    while self.file_total() != 105 and process.poll() is None and time.monotonic() < until:
                        time.sleep(0.02)
                process.send_signal(signal.SIGKILL)
                _, err = process.communicate()
                self.assertEqual(process.returncode, -signal.SIGKILL, err.decode())
        finally:
            seen = poller.stop()
        self.assertLessEqual(set(seen), {0, 100, 105})
        self.assertEqual([(row["clicks"], row["_version"]) for row in self.rows()], [(100, 1), (105, 2)])

    def test_standard_output(self):
        """At least once: every attempt prints a beginning of the same rows."""
        self.two_totals("connector = 'stdout'")

        def check(_, outs):
            for out in outs:
                self.assertIn(self.total(out), {0, 100, 105})
            self.assertEqual(self.total("".join(outs)), 105)

        self.kill_and_resume(lambda: None, 3, check)

    def sqlite_rows(self):
        if not (self.folder / "out.db").exists():
            return None
        try:
            database = sqlite3.connect(f"file:{self.folder / 'out.db'}?mode=ro", uri=True, timeout=0)
            try:
                return tuple(database.execute("SELECT coalesce(max(_generation), 0), coalesce(sum(clicks), 0), coalesce(max(_version), 0) FROM results").fetchone())
            finally:
                database.close()
        except sqlite3.OperationalError:  # no table yet, or it is locked
            return None

    def test_a_table_of_sqlite(self):
        self.two_totals("connector = 'sqlite', path = 'out.db'")

        def check(seen, _):
            self.assert_never_back(seen + [self.sqlite_rows()])

        self.kill_and_resume(self.sqlite_rows, 4, check)

    def test_a_table_of_postgresql(self):
        if binaries() is None:
            self.skipTest("no PostgreSQL server is installed: scripts/setup installs one")
        server = PostgresServer()
        self.addCleanup(server.close)
        clear = "DROP VIEW IF EXISTS results; DROP TABLE IF EXISTS results_rows, _wrackline_sinks"
        total = "SELECT coalesce(max(_generation), 0), coalesce(sum(clicks), 0), coalesce(max(_version), 0) FROM results"

        def look():
            try:
                return tuple(map(int, server.query(total)[0]))
            except RuntimeError:  # no table yet
                return None

        def check(seen, _):
            self.assert_never_back(seen + [look()])

        self.two_totals(f"connector = 'postgres', url = '{server.url}'")
        self.kill_and_resume(look, 5, check, clear=lambda: server.query(clear))


if __name__ == "__main__":
    unittest.main()
