"""Cases about a process that is killed and started again: the real command, a followed file, SIGKILL. See docs/cases.md."""
import json
import signal
import subprocess
import time

import wrackline
from measured_test import job, record
from wrackline import CommandTest

SECONDS_MAX = 30


class Recovery(CommandTest):
    def start(self):
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--follow", "--resume", "--checkpoint-interval", "5 ms"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def wait_for(self, what, condition, process):
        deadline = time.monotonic() + SECONDS_MAX
        while not condition():
            if process.poll() is not None:
                self.fail(f"it ended before {what}: {process.communicate()[1]}")
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.005)

    def newest_checkpoint(self):
        return max((path.name for path in self.folder.glob("job.state/checkpoints/*.checkpoint")), default="")

    def records_read(self):
        outcome = wrackline.wrackline("status", "--state", "job.state", "--json", cwd=self.folder)
        return outcome.document["sources"][0]["records"] if outcome.code == 0 and outcome.document["sources"] else 0

    def append(self, lines):
        with open(self.folder / "records.jsonl", "a") as file:
            file.write("".join(lines))

    def play(self, windows, before, after, source=(), behind_checkpoint=()):
        """Reads `before`; takes a checkpoint; reads `behind_checkpoint`; is killed; reads `after`. Returns its rows and ledger."""
        self.write("job.sql", job(windows, source=source))
        self.write("records.jsonl", "".join(before))
        process = self.start()
        self.wait_for("reading", lambda: self.records_read() == len(before), process)
        seen = self.newest_checkpoint()
        # The one that is being written may have begun before: the one after it has not.
        for _ in range(2):
            self.wait_for("a checkpoint", lambda: self.newest_checkpoint() > seen, process)
            seen = self.newest_checkpoint()
        if behind_checkpoint:
            self.append(behind_checkpoint)
            self.wait_for("reading on", lambda: self.records_read() == len(before) + len(behind_checkpoint), process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.append(after)
        process = self.start()
        total = len(before) + len(behind_checkpoint) + len(after)
        self.wait_for("the rest", lambda: self.records_read() == total, process)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        ledger = [json.loads(line) for line in self.run_command("ledger", "export", "--state", "job.state").out.splitlines()]
        return [(row["k"], row["window_start"][-9:-1], row["_version"], row["value"]) for row in self.rows("rows.jsonl")], ledger

    def test_c077_a_late_record_is_filed_once(self):
        """It was ledgered behind the checkpoint, and is met again."""
        rows, ledger = self.play("TUMBLE(records, t, INTERVAL '10 s')", [record(1000), record(20_000)], [record(25_000)],
                                 behind_checkpoint=[record(2000)])
        self.assertEqual(rows, [("a", "00:00:00", 1, 1)])
        self.assertEqual([(entry["offset"], entry["reason"]) for entry in ledger], [(2, "late")])

    def test_c078_time_is_saved(self):
        """After a restart an old record opens no fresh window: it is late, as it would have been."""
        rows, ledger = self.play("TUMBLE(records, t, INTERVAL '10 s')", [record(1000), record(12_000)], [record(4000), record(25_000)])
        self.assertEqual(rows, [("a", "00:00:00", 1, 1), ("a", "00:00:10", 1, 1)])
        self.assertEqual([(entry["offset"], entry["reason"]) for entry in ledger], [(2, "late")])

    def test_c079_nothing_is_published_again(self):
        """The first step of time after a restore publishes no overlapping window that was out already."""
        rows, ledger = self.play("HOP(records, t, INTERVAL '1 s', INTERVAL '2 s')",
                                 [record(500), record(1500), record(2000, "z")], [record(2500, "z"), record(3000, "z")])
        self.assertEqual([row[1:] for row in rows if row[0] == "a"],
                         [("23:59:59", 1, 1), ("00:00:00", 1, 2), ("00:00:01", 1, 1)])
        self.assertEqual(ledger, [])

    def test_c080_time_does_not_run_ahead_of_rows_that_are_read_again(self):
        times = range(0, 50_000, 5000)
        records = [record(time_ms) for time_ms in times]
        rows, ledger = self.play("TUMBLE(records, t, INTERVAL '10 s')", records[:4], records[7:], source={"watermark_delay": "5 s"},
                                 behind_checkpoint=records[4:7])
        self.assertEqual(rows, [("a", f"00:00:{second:02}", 1, 2) for second in (0, 10, 20, 30)])
        self.assertEqual(ledger, [])
