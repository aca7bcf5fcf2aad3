"""The PostgreSQL sink end to end: the totals are right and never above the truth, whatever is killed and when."""
import json
import random
import re
import signal
import subprocess
import threading
import time
import unittest

import wrackline
from postgres_server import PostgresServer, binaries
from wrackline import ROOT, CommandTest, job

_server = None


def setUpModule():
    global _server
    if binaries() is None:
        raise unittest.SkipTest("no PostgreSQL server is installed: scripts/setup installs one")
    _server = PostgresServer()


def tearDownModule():
    if _server is not None:
        _server.close()


class Poller:
    """One connection that asks for the total again and again, through a server that may go away."""

    QUERY = "SELECT coalesce(sum(clicks), 0), coalesce(max(_generation), 0), coalesce(max(_version), 0) FROM results;\n"

    def __init__(self):
        self.seen, self._done = [], False
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self):
        while not self._done:
            try:
                self.seen += [tuple(map(int, row)) for row in _server.query(self.QUERY * 20)]
            except RuntimeError:
                time.sleep(0.02)  # no table yet, or no server

    def stop(self):
        self._done = True
        self._thread.join()
        return self.seen


class Postgres(CommandTest):
    def setUp(self):
        super().setUp()
        _server.query("DROP VIEW IF EXISTS results; DROP TABLE IF EXISTS results_rows, _wrackline_sinks")
        self.sink = f"connector = 'postgres', url = '{_server.url}'"

    def click_lines(self, count, second=0, page="/p"):
        at = f"2024-05-01T12:{second // 60:02}:{second % 60:02}Z"
        return f'{{"user_id":1,"page":"{page}","at":"{at}"}}\n' * count

    def two_totals(self, noise=0):
        """100 clicks, later ones that close their window, five that are late; `noise` makes the run last."""
        later = "".join(self.click_lines(1, 180 + i % 60, page="/noise") for i in range(noise))
        self.write("clicks.jsonl", self.click_lines(100) + self.click_lines(1, 180, page="/noise") + later + self.click_lines(5) + later)
        return job(view={"allowed_lateness": "1 h"}, where="page <> '/noise'", sink=self.sink)

    def totals(self):
        return _server.query("SELECT sum(clicks), max(_version) FROM results")

    def test_the_two_totals(self):
        document = self.run_job(self.two_totals())
        self.assertEqual(document["balance"][0]["accepted"], 105)
        self.assertEqual(self.totals(), [["105", "2"]])
        self.run_job(self.two_totals())
        self.assertEqual(_server.query("SELECT clicks, _version, _generation FROM results"), [["105", "2", "2"]])
        self.assertEqual(_server.query('SELECT table_name, "view", generation, status FROM _wrackline_sinks'),
                         [["results", "per_window", "2", "finished"]])

    def start(self, *arguments):
        return subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json", "--tick-rows", "50", *arguments], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_what_was_seen(self, seen):
        self.assertGreater(len(seen), 10, "the poller hardly looked")
        stamps = [(generation, version) for _, generation, version in seen]
        self.assertEqual(stamps, sorted(stamps), "a version went back")
        self.assertLessEqual({total for total, _, _ in seen}, {0, 100, 105})

    def test_two_totals_with_the_run_killed_at_random_moments(self):
        """Killed and run again while a reader polls: 100 or 105, nothing else; then a run that may finish: 105."""
        self.write("job.sql", self.two_totals(noise=4000))
        source, poller, killed = random.Random(5), Poller(), 0
        try:
            began = time.monotonic()
            process = self.start()
            process.communicate()
            whole = time.monotonic() - began
            for _ in range(25):
                process = self.start()
                time.sleep(source.uniform(0, whole))
                process.send_signal(signal.SIGKILL)
                process.communicate()
                killed += process.returncode == -signal.SIGKILL
            process = self.start()
            out, err = process.communicate()
        finally:
            seen = poller.stop()
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertGreater(killed, 5)
        self.assertEqual(self.totals(), [["105", "2"]])
        self.assert_what_was_seen(seen)

    def test_two_totals_with_the_server_killed_and_started_again(self):
        self.write("job.sql", self.two_totals(noise=4000))
        source, poller = random.Random(6), Poller()
        try:
            for _ in range(4):
                process = self.start()
                time.sleep(source.uniform(0, 0.4))
                _server.kill()
                _server.start()
                out, err = process.communicate(timeout=60)
                if process.returncode != 0:  # it was killed before it had begun
                    self.assert_says(err.decode(), "connect", "hint:")
                    continue
                self.assertTrue(json.loads(out)["balanced"])
                self.assertEqual(self.totals(), [["105", "2"]])
            self.run_command("run", "job.sql")
        finally:
            seen = poller.stop()
        self.assertEqual(self.totals(), [["105", "2"]])
        self.assert_what_was_seen(seen)

    def test_an_older_run_is_refused_when_it_opens(self):
        self.write("job.sql", self.two_totals())
        self.run_command("run", "job.sql")
        _server.query("UPDATE _wrackline_sinks SET generation = 9")
        said = self.run_command("run", "job.sql", code=1).err
        self.assert_says(said, 'table "results"', "generation 9", "this run is generation 2", "--state")
        self.assertEqual(self.totals(), [["105", "2"]])

    def test_a_run_that_was_stopped_and_overtaken_is_fenced(self):
        """A real zombie: SIGSTOP in the middle, a newer run finishes, SIGCONT."""
        self.write("job.sql", self.two_totals())
        for _ in range(3):
            self.run_command("run", "job.sql", "--state", "newer.state")
        _server.query("DROP VIEW results; DROP TABLE results_rows, _wrackline_sinks")
        self.write("clicks.jsonl", self.click_lines(100) + self.click_lines(1, 180, page="/noise"))
        zombie = self.start("--follow")
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until and self.published() != [["100"]]:
                time.sleep(0.01)
            zombie.send_signal(signal.SIGSTOP)
            self.assertIsNone(zombie.poll(), "it was over before it could be stopped")
            self.two_totals()  # five more are appended
            self.run_command("run", "job.sql", "--state", "newer.state")
            self.assertEqual(_server.query("SELECT clicks, _generation FROM results"), [["105", "4"]])
        finally:
            zombie.send_signal(signal.SIGCONT)
            _, err = zombie.communicate(timeout=60)
        self.assertEqual(zombie.returncode, 1)
        self.assert_says(err.decode(), "generation 1 is fenced", "newer run has taken over", '"results"')
        self.assertEqual(_server.query("SELECT clicks, _generation FROM results"), [["105", "4"]])
        self.assertEqual(_server.query("SELECT generation, status FROM _wrackline_sinks"), [["4", "finished"]])

    def published(self):
        try:
            return _server.query("SELECT sum(clicks) FROM results")
        except RuntimeError:  # no table yet
            return None

    def test_every_mode(self):
        for mode, view in (("upsert", {"allowed_lateness": "1 h"}), ("changelog", {"allowed_lateness": "1 h"}), ("append", {})):
            with self.subTest(mode):
                self.setUp()
                self.two_totals()
                self.run_job(job(view=view, where="page <> '/noise'", sink=f"{self.sink}, mode = '{mode}'"), "--state", f"{mode}.state")
                self.assertEqual(self.totals(), [["100", "1"]] if mode == "append" else [["105", "2"]])

    def test_what_having_takes_back_is_gone(self):
        self.two_totals()
        text = job(view={"allowed_lateness": "1 h"}, where="page <> '/noise'", sink=self.sink)
        self.run_job(text.replace("GROUP BY window_start, window_end, page", "GROUP BY window_start, window_end, page HAVING count(*) < 103"))
        self.assertEqual(_server.query("SELECT count(*) FROM results"), [["0"]])

    def test_what_is_wrong_is_said(self):
        self.two_totals()
        for sink, fragments in (
                ("connector = 'postgres', url = 'host=/nowhere dbname=d user=u password=secret'", ("cannot connect", '"/nowhere"', '"results"')),
                (f"connector = 'postgres', url = '{_server.url.replace('user=wrackline', 'user=stranger')}'", ("stranger", "createuser")),
                ("connector = 'postgres'", ("has no url", "postgresql://")),
                ("connector = 'postgres', urll = 'postgresql:///x'", ('did you mean "url"',)),
                ("connector = 'postgre', url = 'postgresql:///x'", ("'postgres'",)),
                (f"{self.sink}, table = 'nowhere.minutes'", ('no schema "nowhere"', "CREATE SCHEMA"))):
            said = self.refuse_job(job(sink=sink))
            self.assert_says(said, *fragments)
            self.assertNotIn("secret", said)
        _server.query("CREATE TABLE results_rows (page int)")
        said = self.refuse_job(job(sink=self.sink))
        self.assert_says(said, "other columns", 'column "page" is integer, and the view\'s is text', "DROP TABLE")

    def test_check_explains_and_hides_the_password(self):
        self.two_totals()
        self.write("job.sql", job(sink="connector = 'postgres', url = 'postgresql://ann:geheim@db.example.com/clicks', table = 'reports.minutes'"))
        said = self.run_command("check", "job.sql").out
        self.assert_says(said, "host=db.example.com", "password=***", "reports.minutes", "Exactly once", "progress")
        self.assertNotIn("geheim", said)

    def test_the_example_of_the_documentation(self):
        page = (ROOT / "docs/job-files.md").read_text()
        text = re.search(r"### PostgreSQL\n\n```sql explained\n(.*?)```", page, re.S)[1]
        text = text.replace("postgresql://reports@db.example.com/clicks", _server.url)
        _server.query("DROP VIEW IF EXISTS minutes; DROP TABLE IF EXISTS minutes_rows")
        self.two_totals()
        self.run_job(text)
        self.assertEqual(_server.query("SELECT page, clicks, _version, _status FROM minutes WHERE page = '/p'"), [["/p", "105", "2", "correction"]])


if __name__ == "__main__":
    unittest.main()
