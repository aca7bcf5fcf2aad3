"""The tick log from outside: docs/explain.md does what it says, records are explained, runs are replayed."""
import json
import os
import signal
import subprocess
import time
import unittest

import console_page
import wrackline
from wrackline import CommandTest, job

PAGE = wrackline.ROOT / "docs/explain.md"
SECONDS_MAX = 60


class Page(CommandTest):
    def test_commands_print_what_the_page_says(self):
        self.assertGreater(console_page.check(self, PAGE), 8)


def record(second, page="/p", arrival=None, user=1):
    arrival = second if arrival is None else arrival
    return json.dumps({"user_id": user, "page": page, "at": f"2024-05-01T12:{second // 60:02}:{second % 60:02}Z",
                       "received": f"2024-05-01T12:{arrival // 60:02}:{arrival % 60:02}Z"}) + "\n"


COLUMNS = {"user_id": "bigint", "page": "text", "at": "timestamptz", "received": "timestamptz"}


class Explain(CommandTest):
    def run_job(self, lines, source=(), view=(), name="clicks.jsonl", **options):
        self.write(name, "".join(lines))
        self.write("job.sql", job(columns=COLUMNS, source={"watermark_delay": "0 s", "arrival_time": "received", **dict(source)}, view=view,
                                  window="10 seconds", **options))
        return self.run_command("run", "job.sql")

    def explain(self, offset, partition="clicks.jsonl", **options):
        return self.run_command("explain", "--state", "job.state", "--partition", partition, "--offset", offset, "--json", **options).document

    def test_every_fate(self):
        self.run_job([record(1), record(2, page="/health"), record(12), record(3), "no json\n", record(25), record(4), record(59, arrival=0)],
                     view={"allowed_lateness": "10 s", "drop": "late"}, where="page <> '/health'", source={"max_future_skew": "10 s"})
        fates = {}
        for offset in range(8):
            made = self.explain(offset)
            view = made["views"][0]
            fates[offset] = (view["fate"], view["reason"], view["corrects"], [window["judgement"] for window in view["windows"]])
            self.assertEqual(made["offset"], offset)
            self.assertEqual(made["line"], offset + 1)
        self.assertEqual(fates, {
            0: ("accepted", None, False, ["on_time"]),
            1: ("filtered", None, False, []),
            2: ("accepted", None, False, ["on_time"]),
            3: ("accepted", None, True, ["corrects"]),
            4: ("ledgered", "unparseable", False, []),
            5: ("accepted", None, False, ["on_time"]),
            6: ("dropped", "late", False, ["missed"]),
            7: ("accepted", None, False, ["on_time"]),
        })
        late = self.explain(6)
        self.assertEqual(late["watermark"], "2024-05-01T12:00:25Z")
        self.assertEqual(late["views"][0]["windows"][0]["late_by_us"], 15_000_000)
        self.assertEqual((late["moved_by"]["kind"], late["moved_by"]["offset"]), ("record", 5))
        self.assertEqual(late["held_by"]["partition"], "clicks.jsonl")
        self.assertFalse(late["moves"])
        self.assertTrue(self.explain(5)["moves"])
        ahead = self.explain(7)
        self.assertFalse(ahead["moves"])  # too far ahead of its arrival

    def test_every_entry_of_the_ledger_is_explained_as_it_was_judged(self):
        seconds = [i * 7 % 100 + i // 3 for i in range(200)]
        for name, pick in (("a.jsonl", 0), ("b.jsonl", 1)):
            self.write(name, "".join(record(s, page=f"/{s % 5}", user=s) for s in seconds[pick::2]))
        self.run_job([], source={"path": "[ab].jsonl"}, name="unused")
        entries = self.run_command("ledger", "list", "--state", "job.state", "--json").document
        self.assertGreater(len(entries), 20)
        for entry in entries[::5]:
            made = self.run_command("explain", "--state", "job.state", "--entry", entry["seq"], "--json").document
            self.assertEqual(made["watermark"], entry["watermark"])
            self.assertEqual(made["tick"], entry["tick"])
            self.assertEqual(made["event_time"], entry["event_time"])
            self.assertEqual(made["views"][0]["entry"], entry["seq"])
            self.assertEqual(made["views"][0]["reason"], entry["reason"])

    def test_what_is_not_there_is_named(self):
        self.run_job([record(1)])
        for arguments, words in (
                (("--partition", "clicks.json", "--offset", 0), ['no partition "clicks.json"', 'Did you mean "clicks.jsonl"?']),
                (("--partition", "clicks.jsonl", "--offset", 1), ["no record at offset 1", "offsets 0 to 0"]),
                (("--source", "click", "--partition", "clicks.jsonl", "--offset", 0), ['no source "click"', 'Did you mean "clicks"?']),
                (("--entry", 5), ["no entry 5"])):
            outcome = self.run_command("explain", "--state", "job.state", *arguments, code=1)
            for word in words:
                self.assertIn(word, outcome.err)
        outcome = self.run_command("explain", "--state", "job.state", "--offset", 1, code=2)
        self.assertIn("--partition and --offset", outcome.err)
        outcome = self.run_command("explain", "--state", "nowhere", "--partition", "x", "--offset", 1, code=1)
        self.assertIn("no tick log", outcome.err)

    def test_status(self):
        self.run_job([record(1), record(12), record(3)])
        status = self.run_command("status", "--state", "job.state", "--json").document
        self.assertEqual((status["generation"], status["status"], status["ticks"]), (1, "finished", 1))
        source = status["sources"][0]
        self.assertEqual((source["records"], source["watermark"], source["flushed"]), (3, "2024-05-01T12:00:12Z", True))
        self.assertEqual(status["ledger"]["by_reason"], [{"view": "per_window", "reason": "late", "count": 1}])
        self.assertIn("finished", self.run_command("status", "--state", "job.state").out)

    def test_damage_is_told(self):
        self.run_job([record(1), record(12)] * 50)
        log = next((self.folder / "job.state/ticks").iterdir())
        whole = log.read_bytes()
        log.write_bytes(whole[:-3])
        outcome = self.run_command("status", "--state", "job.state")
        self.assertIn("ends with half an entry", outcome.err)
        log.write_bytes(whole[:-40] + b"\0" + whole[-39:])
        outcome = self.run_command("status", "--state", "job.state", code=1)
        self.assertIn(f'tick log "job.state/ticks/{log.name}" is damaged at byte', outcome.err)


class Replay(CommandTest):
    """A run and its replays write the same rows, ledger, balance and tick log."""

    def ledger(self, state):
        return self.run_command("ledger", "export", "--state", state).out

    def balance(self, outcome):
        return outcome.document["balance"], outcome.document["views"]

    def check_replay(self, first, *arguments):
        rows, ledger = (self.folder / "out.jsonl").read_bytes(), self.ledger("job.state")
        again = self.run_command("run", "job.sql", "--replay", "job.state", "--state", "again.state", "--json", *arguments)
        self.assertEqual((self.folder / "out.jsonl").read_bytes(), rows, arguments)
        self.assertEqual(self.ledger("again.state"), ledger, arguments)
        self.assertEqual(self.balance(again), self.balance(first), arguments)
        logs = [sorted((self.folder / state / "ticks").iterdir())[-1].read_bytes() for state in ("job.state", "again.state")]
        self.assertEqual(*logs)
        subprocess.run(["rm", "-r", self.folder / "again.state"], check=True)

    def test_files_side_by_side(self):
        for file in range(3):
            self.write(f"c{file}.jsonl", "".join(record(i * 7 % 90 + i // 4 + file * 20, page=f"/{i % 7}") for i in range(700)))
        self.write("job.sql", job(path="c*.jsonl", columns=COLUMNS, window="10 seconds", source={"watermark_delay": "2 s"},
                                  view={"allowed_lateness": "20 s"}))
        first = self.run_command("run", "job.sql", "--json", "--tick-rows", 50)
        self.assertGreater(first.document["balance"][0]["corrected"], 10)
        for arguments in ((), ("--tick-rows", 1), ("--tick-rows", 5000), ("--threads", 3), ("--threads", 2, "--tick-rows", 7)):
            self.check_replay(first, *arguments)

    def test_views_over_views_and_several_sources(self):
        for name in ("x", "y"):
            self.write(f"{name}.jsonl", "".join(record(i * 7 % 90 + i // 4, page=f"/{i % 3}") for i in range(400)))
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        options = "event_time = 'at', watermark_delay = '2 s', connector = 'file'"
        self.write("job.sql", f"""
            CREATE TABLE x ({columns}) WITH ({options}, path = 'x.jsonl');
            CREATE MATERIALIZED VIEW tens AS SELECT window_start, window_end, page, count(*) AS n
            FROM TUMBLE(x, at, INTERVAL '10 seconds') GROUP BY window_start, window_end, page;
            CREATE MATERIALIZED VIEW minutes AS SELECT window_start, window_end, sum(n) AS n
            FROM TUMBLE(tens, window_end, INTERVAL '1 minute') GROUP BY window_start, window_end;
            CREATE TABLE y ({columns}) WITH ({options}, path = 'y.jsonl');
            CREATE MATERIALIZED VIEW fives AS SELECT window_start, window_end, page, count(*) AS n
            FROM TUMBLE(y, at, INTERVAL '5 seconds') GROUP BY window_start, window_end, page;
            CREATE TABLE out () WITH (connector = 'file', path = 'out.jsonl');
            INSERT INTO out SELECT * FROM minutes;
            CREATE TABLE other () WITH (connector = 'file', path = 'other.jsonl');
            INSERT INTO other SELECT * FROM fives;""")
        first = self.run_command("run", "job.sql", "--json", "--tick-rows", 30)
        for arguments in ((), ("--tick-rows", 1), ("--threads", 2)):
            self.check_replay(first, *arguments)
        made = self.run_command("explain", "--state", "job.state", "--source", "y", "--partition", "y.jsonl", "--offset", 399, "--json").document
        self.assertEqual([view["view"] for view in made["views"]], ["fives"])

    def test_live_input_against_a_clock(self):
        """Idle partitions, a file that appears, wall time that closes windows: all of it from the log, after the fact."""
        self.write("a.jsonl", record(0) + record(30))
        self.write("b.jsonl", record(0, page="/b"))
        clock = self.folder / "clock"
        wall, monotonic = 1714564800_000000, 1_000000
        environment = {**os.environ, "WRACKLINE_TEST_CLOCK": str(clock)}

        def set_clock():
            neighbour = self.folder / "clock.new"
            neighbour.write_text(f"{wall} {monotonic}\n")
            os.replace(neighbour, clock)

        set_clock()
        self.write("job.sql", job(path="?.jsonl", columns=COLUMNS, window="10 seconds",
                                  source={"watermark_delay": "0 s", "idle_timeout": "60 s", "idle_close": "30 s", "follow": "on"}))
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json"], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())

        def status():
            outcome = wrackline.wrackline("status", "--state", "job.state", "--json", cwd=self.folder)
            return outcome.document["sources"][0] if outcome.code == 0 else {"records": 0}

        def wait_until(condition, step_s=0):
            nonlocal wall, monotonic
            deadline = time.monotonic() + SECONDS_MAX
            while not condition(status()):
                self.assertIsNone(process.poll(), "the run ended")
                self.assertLess(time.monotonic(), deadline, status())
                wall, monotonic = wall + step_s * 1_000000, monotonic + step_s * 1_000000
                set_clock()
                time.sleep(0.05)

        wait_until(lambda s: s["records"] == 3)
        self.assertEqual(status()["held_by"], "b.jsonl")
        wait_until(lambda s: s["idle"] == 2, step_s=61)
        self.write("c.jsonl", record(5, page="/c") + record(50, page="/c"))
        wait_until(lambda s: s["records"] == 5, step_s=1)
        with open(self.folder / "a.jsonl", "a") as file:
            file.write(record(20))
        wait_until(lambda s: s["records"] == 6)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        document = json.loads(out)
        self.assertEqual(document["balance"][0]["ledgered_by_reason"].get("late_after_idle"), 1, document)
        first = wrackline.Outcome(("run",), 0, out, err, 0)
        for arguments in ((), ("--tick-rows", 1)):
            self.check_replay(first, *arguments)
        made = self.run_command("explain", "--state", "job.state", "--partition", "a.jsonl", "--offset", 2, "--json").document
        self.assertEqual(made["views"][0]["reason"], "late_after_idle")
        # When the new file's first record came, everybody else was idle: the wall clock had the last word.
        made = self.run_command("explain", "--state", "job.state", "--partition", "c.jsonl", "--offset", 0, "--json").document
        self.assertEqual(made["moved_by"]["kind"], "wall_clock")
        self.assertEqual(made["views"][0]["reason"], "late")

    def test_what_a_killed_run_has_published_is_in_its_log(self):
        """The log is durable before anything that depends on it: a replay publishes all that a reader has seen, byte for byte."""
        self.write("job.sql", job(columns=COLUMNS, window="10 seconds", source={"watermark_delay": "1 s", "follow": "on"},
                                  view={"allowed_lateness": "20 s"}))
        for milliseconds in (30, 90, 150, 400):
            subprocess.run(["rm", "-rf", *self.folder.glob("out.jsonl*"), *self.folder.glob("*.state")], check=True)
            self.write("clicks.jsonl", record(0))
            process = subprocess.Popen([wrackline.BINARY, "run", "job.sql"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(lambda process=process: process.poll() is None and process.kill())
            deadline, second = time.monotonic() + SECONDS_MAX, 0
            stop_at = None
            while stop_at is None or time.monotonic() < stop_at:
                second += 1
                with open(self.folder / "clicks.jsonl", "a") as file:
                    file.write(record(second % 3000, page=f"/{second % 4}") + record(max(0, second % 3000 - 15), page="/late"))
                time.sleep(0.002)
                if stop_at is None and self.published():
                    stop_at = time.monotonic() + milliseconds / 1000
                self.assertLess(time.monotonic(), deadline)
            process.send_signal(signal.SIGKILL)
            process.wait()
            seen = self.published()
            subprocess.run(["rm", "-rf", *self.folder.glob("out.jsonl*")], check=True)
            self.run_command("run", "job.sql", "--replay", "job.state", "--state", "again.state")
            replayed = self.published()
            self.assertEqual(seen - replayed, set())
            self.assertGreater(len(seen), 0)

    def test_killed_again_and_again_and_resumed(self):
        """Each start follows the log of the one before: what a reader has seen comes again with the same versions, and the totals are
        the truth."""
        self.write("job.sql", job(columns=COLUMNS, window="10 seconds", source={"watermark_delay": "1 s", "follow": "on"},
                                  view={"allowed_lateness": "20 s"}))
        self.write("clicks.jsonl", "")
        written, second, seen = [], 0, {}

        def start():
            process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--resume", "--json"], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(lambda: process.poll() is None and process.kill())
            return process

        def append():
            nonlocal second
            second += 1
            lines = [record(second, page=f"/{second % 4}"), record(max(0, second - 15), page="/late")]
            written.extend(lines)
            with open(self.folder / "clicks.jsonl", "a") as file:
                file.write("".join(lines))

        def versions():
            found = {}
            for line in self.published():
                row = json.loads(line)
                found[row["window_start"], row["page"], row["_version"]] = row["clicks"]
            return found

        for round_ in range(8):
            process = start()
            # Some are killed before they have repeated the log of the one before.
            stop_at = time.monotonic() + (0.15 + round_ * 0.05 if round_ % 3 == 0 else 0.02 + round_ * 0.004)
            while time.monotonic() < stop_at:
                append()
                time.sleep(0.004)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            seen.update(versions())
        process = start()
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            time.sleep(0.05)
            outcome = wrackline.wrackline("status", "--state", "job.state", "--json", cwd=self.folder)
            if outcome.code == 0 and outcome.document["status"] == "running" and outcome.document["sources"][0]["records"] == len(written):
                break
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline, f"{outcome}")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS_MAX)
        document = json.loads(out)
        self.assertEqual(document["balance"][0]["read"], len(written), err)
        self.assertTrue(document["balanced"])
        final = versions()
        self.assertGreater(len(seen), 10)
        self.assertEqual({row: clicks for row, clicks in seen.items() if final.get(row) != clicks}, {})

    def published(self):
        """Whole lines of the sink."""
        lines = set()
        for path in self.folder.glob("out.jsonl*"):
            try:
                lines |= {line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")}
            except FileNotFoundError:
                pass
        return lines

    def test_a_run_that_replays_its_own_directory(self):
        self.write("clicks.jsonl", record(1) + record(12) + record(3))
        self.write("job.sql", job(columns=COLUMNS, window="10 seconds", source={"watermark_delay": "0 s"}))
        first = self.run_command("run", "job.sql", "--json")
        again = self.run_command("run", "job.sql", "--replay", "job.state", "--json")
        self.assertEqual(self.balance(first), self.balance(again))
        self.assertEqual(again.document["generation"], 2)

    def test_another_job_is_noticed(self):
        self.write("clicks.jsonl", record(1) + record(12) + record(3))
        self.write("job.sql", job(columns=COLUMNS, window="10 seconds", source={"watermark_delay": "0 s"}))
        self.run_command("run", "job.sql")
        self.write("job.sql", job(columns=COLUMNS, window="5 seconds", source={"watermark_delay": "0 s"}))
        outcome = self.run_command("run", "job.sql", "--replay", "job.state", "--state", "again.state")
        self.assertIn("the job is not the one that wrote the tick log", outcome.err)


if __name__ == "__main__":
    unittest.main()
