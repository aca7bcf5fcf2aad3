"""Cases about what something costs, or about a run that is stopped: what a script cannot say. See docs/cases.md."""
import json
import resource
import signal
import subprocess
import time
import unittest

import wrackline
from wrackline import CommandTest


def job(window, source=(), keys=("k",), view=""):
    options = {"connector": "file", "path": "records.jsonl", "event_time": "t", "arrival_time": "arr", "time_unit": "ms",
               "watermark_delay": "0 s", **dict(source)}
    with_source = ", ".join(f"{name} = '{value}'" for name, value in options.items())
    return f"""CREATE TABLE records (k text, p text, id text, t bigint, arr bigint) WITH ({with_source});
CREATE MATERIALIZED VIEW result {view} AS
SELECT window_start, window_end, {"".join(f"{key}, " for key in keys)}count(*) AS value
FROM {window} GROUP BY window_start, window_end{"".join(f", {key}" for key in keys)};
CREATE TABLE published () WITH (connector = 'file', path = 'rows.jsonl');
INSERT INTO published SELECT * FROM result;
"""


def record(time_ms, key="a", partition="p0", identity=None, arrival_ms=None):
    return json.dumps({"k": key, "p": partition, "id": identity, "t": time_ms, "arr": time_ms if arrival_ms is None else arrival_ms}) + "\n"


class Measured(CommandTest):
    def test_c037_a_stop_is_not_an_end(self):
        """A stopped run publishes nothing of an open window; the next one publishes it whole, once."""
        self.write("records.jsonl", record(1000))
        self.write("job.sql", job("TUMBLE(records, t, INTERVAL '10 s')"))
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json", "--follow"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 30
        while not (self.folder / "job.state").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertTrue(json.loads(out)["stopped"], err)
        self.assertEqual([path.read_text() for path in self.folder.glob("rows.jsonl*") if path.read_text()], [])
        with open(self.folder / "records.jsonl", "a") as file:
            file.write(record(2000) + record(10_000))
        self.run_command("run", "job.sql", "--json", "--at-end", "hold")
        self.assertEqual([(row["value"], row["_version"]) for row in self.rows("rows.jsonl")], [(2, 1)])

    def test_c039_who_holds_time_back(self):
        """Of four partitions one is silent from the start: the status names it, and tells how far the others are."""
        for name, times in (("p0", [50_000]), ("p1", [9000]), ("p2", [40_000]), ("p3", [])):
            self.write(f"{name}.jsonl", "".join(map(record, times)))
        self.write("job.sql", job("TUMBLE(records, t, INTERVAL '10 s')", {"path": "p*.jsonl", "follow": "on"}))
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        deadline, status = time.monotonic() + 30, {}
        while status.get("sources", [{}])[0].get("records") != 3 and time.monotonic() < deadline:
            time.sleep(0.05)
            outcome = wrackline.wrackline("status", "--state", "job.state", "--json", cwd=self.folder)
            status = outcome.document if outcome.code == 0 else {}
        source = status["sources"][0]
        self.assertEqual((source["watermark"], source["partitions"]), ("-infinity", 4), status)
        self.assertIn("p3.jsonl", str(source["held_by"]), status)

    def test_c052_many_overlapping_windows(self):
        """A day that slides by a second: 86,400 windows a record, and what is kept grows with seconds, not with windows."""
        self.write("records.jsonl", "".join(record(second * 1000) for second in range(1000)))
        self.write("job.sql", job("HOP(records, t, INTERVAL '1 second', INTERVAL '1 day')"))
        started = time.monotonic()
        outcome = self.run_command("run", "job.sql", "--json", "--at-end", "hold")
        self.assertLess(time.monotonic() - started, 10)
        self.assertEqual([row["value"] for row in self.rows("rows.jsonl")], list(range(1, 1000)))
        self.assertEqual(outcome.document["balance"][0]["accepted"], 1000)
        if not wrackline.SANITIZED:
            self.assertLess(outcome.memory_kb, 200_000)

    def test_c076_known_ids_are_bounded(self):
        """100,000 ids, 10 ms apart, kept for a second: what is known stays near a hundred."""
        self.write("records.jsonl", "".join(record(i * 10, identity=f"id{i}") for i in range(100_000)))
        self.write("job.sql", job("TUMBLE(records, t, INTERVAL '1 hour')", {"dedup_key": "id", "dedup_horizon": "1 s"}))
        document = self.run_command("run", "job.sql", "--json").document
        self.assertEqual(document["balance"][0]["accepted"], 100_000)
        self.assertLess(document["sources"][0]["dedup"]["ids_max"], 110)

    def test_c077_a_late_record_that_is_read_again_is_in_the_ledger_once(self):
        self.write("records.jsonl", record(1000) + record(20_000) + record(2000))
        self.write("job.sql", job("TUMBLE(records, t, INTERVAL '10 s')"))
        for at_end in ("hold", "flush"):
            self.run_command("run", "job.sql", "--json", "--at-end", at_end)
        self.assertEqual([(entry["partition"], entry["offset"], entry["reason"], entry["windows"][0]["late_by_us"]) for entry in self.ledger()],
                         [("records.jsonl", 2, "late", 10_000_000)])
        self.assertEqual([(row["value"], row["_version"]) for row in self.rows("rows.jsonl")], [(1, 1), (1, 1)])

    def test_c108_a_past_window_end_wakes_nobody(self):
        """Event time an hour behind: a followed run sleeps between two looks, though every session's end is past on the clock."""
        now = int(time.time() * 1000)
        self.write("records.jsonl", "".join(record(now - 3_600_000 + i * 100, arrival_ms=now + i * 100) for i in range(100)))
        self.write("job.sql", job("SESSION(records, t, INTERVAL '60 s')"))
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json", "--follow"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
        out, err = process.communicate(timeout=30)
        document = json.loads(out)
        self.assertEqual((document["balance"][0]["accepted"], document["balance"][0]["ledgered"]), (100, 0), err)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before, 1000)

    def test_c109_many_partitions(self):
        """A record costs at most three times as much with 500 partitions as with one."""
        if wrackline.SANITIZED:
            self.skipTest("instrumented code says nothing about speed")
        self.write("job.sql", job("TUMBLE(records, t, INTERVAL '10 s')", {"partition": "p"}))
        seconds = {}
        for partitions in (1, 500):
            self.write("records.jsonl", "".join(record(i, partition=f"p{i % partitions}") for i in range(100_000)))
            runs = [self.run_command("run", "job.sql", "--json").document for _ in range(3)]
            self.assertEqual([(run["balance"][0]["accepted"], run["balance"][0]["ledgered"]) for run in runs], [(100_000, 0)] * 3)
            seconds[partitions] = min(run["seconds"] for run in runs)
        self.assertLess(seconds[500], 3 * seconds[1], seconds)


if __name__ == "__main__":
    unittest.main()
