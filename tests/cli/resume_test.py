"""Runs that are cut short and go on: from their newest checkpoint, along their tick log.

What such a run leaves must be, byte for byte, what a run leaves that nothing befell and that followed the same ticks. Where ticks end may
differ from another uninterrupted run (a reader that begins in the middle of a file fills its buffer elsewhere), and with it how many
corrections a window gets; so that other one is compared by its last rows.
"""
import random
import re
import signal
import sqlite3
import subprocess
import time

import wrackline
from wrackline import CommandTest

JOB = """
CREATE TABLE bids (auction bigint, price bigint, date_time timestamptz, arrival timestamptz) WITH (connector = 'file',
  path = 'bids.jsonl', event_time = 'date_time', arrival_time = 'arrival', watermark_delay = '1 s');
CREATE MATERIALIZED VIEW totals WITH (allowed_lateness = '5 s') AS
SELECT window_start, window_end, auction, count(*) AS n, sum(price) AS total
FROM TUMBLE(bids, date_time, INTERVAL '2 seconds') GROUP BY window_start, window_end, auction;
CREATE MATERIALIZED VIEW visits WITH (late = 'ledger') AS
SELECT window_start, window_end, auction, string_agg(price::text, ',' ORDER BY price) AS prices
FROM SESSION(bids, date_time, INTERVAL '1 second') GROUP BY window_start, window_end, auction;
CREATE MATERIALIZED VIEW windows AS
SELECT window_start, sum(n) AS bids, count(*) AS auctions
FROM TUMBLE(totals, window_end, INTERVAL '6 seconds') GROUP BY window_start, window_end;
CREATE TABLE totals_file () WITH (connector = 'file', path = 'totals.jsonl');
CREATE TABLE changes () WITH (connector = 'file', path = 'changes.csv', mode = 'changelog');
CREATE TABLE visits_file () WITH (connector = 'file', path = 'visits.csv');
CREATE TABLE windows_file () WITH (connector = 'file', path = 'windows.jsonl');
CREATE TABLE totals_table () WITH (connector = 'sqlite', path = 'totals.db');
INSERT INTO totals_file SELECT * FROM totals;
INSERT INTO changes SELECT * FROM totals;
INSERT INTO totals_table SELECT * FROM totals;
INSERT INTO visits_file SELECT * FROM visits;
INSERT INTO windows_file SELECT * FROM windows;
"""
FILES = ["totals.jsonl", "changes.csv", "visits.csv", "windows.jsonl"]
ROWS = 60_000


def without_run(name, content):
    """The replay is a run of its own, and starts that were cut short before they had read anything count as runs, too."""
    if isinstance(content, list):
        return [row[:-1] for row in content]
    if isinstance(content, str):
        return re.sub(r'"(generation|run)":\d+', "", content)
    return re.sub(rb",\d+\n" if name.endswith(".csv") else rb'"_generation":\d+', b"", content)


def fates(document, fate):
    return [view[fate] for view in document["balance"]]


class Resume(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("job.sql", JOB)
        self.write("bids.jsonl", self.run_command("generate", "bids", "--rows", ROWS, "--seed", 5).out)

    def results(self, state="job.state"):
        """Everything that a reader has afterwards."""
        found = {name: (self.folder / name).read_bytes() for name in FILES}
        database = sqlite3.connect(self.folder / "totals.db")
        found["table"] = database.execute("SELECT * FROM totals_table ORDER BY 1, 3").fetchall()
        database.close()
        found["ledger"] = self.run_command("ledger", "export", "--state", state).out
        return found

    def last_rows(self):
        """By view and identity: what a reader holds in the end, without its version."""
        rows = {}
        for line in (self.folder / "totals.jsonl").read_text().splitlines():
            row = wrackline.json.loads(line)
            rows[row["window_start"], row["auction"]] = row["n"], row["total"]
        return rows, (self.folder / "windows.jsonl").read_bytes()

    def check_against_replay(self, hint):
        """The results, and that a replay gives them again."""
        found, last = self.results(), self.last_rows()
        subprocess.run(["rm", "-rf", *(self.folder / name for name in [*FILES, "totals.db"])], check=True)
        self.run_command("run", "job.sql", "--replay", "job.state", "--state", "again.state")
        for name, content in self.results("again.state").items():
            self.assertEqual(without_run(name, found[name]), without_run(name, content), f"{name}, {hint}")
        return last

    def clear(self):
        subprocess.run(["rm", "-rf", *(self.folder / name for name in [*FILES, "totals.db", "job.state", "again.state"]),
                        *self.folder.glob("*.partial"), *self.folder.glob("totals.db-*")], check=True)

    def start(self, *options):
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--resume", "--json", *(options or ["--tick-rows", "200"])], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def cut_short_until_done(self, send, seed, *options):
        """Starts the job until it comes to its end; returns how often it was cut short and its balance, if it could print it."""
        moments = random.Random(seed)
        cuts = 0
        while True:
            process = self.start("--tick-rows", "200", "--checkpoint-interval", "10 ms", *options)
            # Each start is given more time, so that it comes to an end on a slow machine, too.
            try:
                process.wait(moments.random() * 0.03 * (1 + cuts))
            except subprocess.TimeoutExpired:
                process.send_signal(send)
            out, err = process.communicate(timeout=60)
            if process.returncode == 0:
                return cuts, out
            self.assertIn(process.returncode, (-send, 128 + send), err)
            cuts += 1
            if self.is_finished():
                return cuts, None  # it was at its end when it was cut short: another start would be another run

    def is_finished(self):
        status = wrackline.wrackline("status", "--state", "job.state", "--json", cwd=self.folder)
        return status.code == 0 and status.document["status"] == "finished"

    def kill_after_checkpoints(self, count):
        """On a busy machine a run can be at its end before the child that saves its state got the processor: then again."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            process = self.start("--checkpoint-interval", "5 ms", "--tick-rows", "5")
            while process.poll() is None and len(list(self.folder.glob("job.state/checkpoints/*.checkpoint"))) < count:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if len(list(self.folder.glob("job.state/checkpoints/*.checkpoint"))) >= count and not self.is_finished():
                return
            self.clear()
        self.fail("every run came to its end before it had a checkpoint")

    def test_killed_at_any_moment(self):
        whole = self.run_command("run", "job.sql", "--tick-rows", "200", "--json")
        expected = self.last_rows()
        cut = 0
        for seed in range(4):
            self.clear()
            cuts, balance = self.cut_short_until_done(signal.SIGKILL, seed)
            cut += cuts
            self.assertEqual(self.check_against_replay(f"seed {seed}, cut short {cuts} times"), expected)
            for fate in ("read", "accepted", "ledgered", "dropped") if balance else ():
                self.assertEqual(fates(wrackline.json.loads(balance), fate), fates(whole.document, fate))
        self.assertGreater(cut, 5)

    def test_stopped_and_gone_on(self):
        """A stopped run saves its state before it leaves."""
        self.run_command("run", "job.sql", "--tick-rows", "200")
        expected = self.last_rows()
        self.clear()
        cuts, _ = self.cut_short_until_done(signal.SIGTERM, 7)
        self.assertGreater(cuts, 0)
        self.assertEqual(self.check_against_replay(f"stopped {cuts} times"), expected)

    def test_another_job_is_refused_and_named(self):
        self.kill_after_checkpoints(1)
        self.write("job.sql", "-- a remark\n" + JOB.replace("INTERVAL '2 seconds'", "INTERVAL '3 seconds'"))
        refused = self.run_command("run", "job.sql", "--resume", code=1)
        self.assertIn("the job is not the one whose run is to go on", refused.err)
        self.assertIn("view \"totals\"", refused.err)
        self.write("job.sql", "-- a remark\n" + JOB)
        self.run_command("run", "job.sql", "--resume")

    def test_state_without_its_ledger_is_no_state_of_a_new_run(self):
        """The ledger counts runs, so without it numbers come again; what stands there under them is another run's."""
        self.run_command("run", "job.sql", "--tick-rows", "200")
        expected = self.last_rows()
        for options in [], ["--resume"]:
            self.clear()
            self.kill_after_checkpoints(2)
            for path in self.folder.glob("job.state/ledger.sqlite*"):
                path.unlink()
            (self.folder / "totals.db").unlink()  # it knows the generation, and refuses the same again
            self.run_command("run", "job.sql", "--checkpoint-interval", "5 ms", *options)
            self.assertEqual(self.last_rows(), expected)

    def test_a_tick_log_that_is_gone_is_named(self):
        self.kill_after_checkpoints(1)
        (self.folder / "job.state/ticks").rename(self.folder / "ticks")
        refused = self.run_command("run", "job.sql", "--resume", code=1)
        self.assertIn("no tick log", refused.err)
        self.assertIn("begin a new run without --resume", refused.err)
        (self.folder / "ticks").rename(self.folder / "job.state/ticks")
        self.run_command("run", "job.sql", "--resume")

    def test_a_damaged_checkpoint_is_passed_over(self):
        self.run_command("run", "job.sql", "--tick-rows", "200")
        expected = self.last_rows()
        self.clear()
        self.kill_after_checkpoints(2)
        newest = max(self.folder.glob("job.state/checkpoints/*.checkpoint"))
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 4
        newest.write_bytes(content)
        resumed = self.run_command("run", "job.sql", "--resume", "--tick-rows", "200")
        self.assertIn(f"checkpoint {newest.stem} is passed over", resumed.err)
        self.assertEqual(self.check_against_replay(newest.name), expected)
