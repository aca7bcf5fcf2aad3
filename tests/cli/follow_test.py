"""Files that grow while they are read: appended to, rotated, truncated, appearing late; and what a stop leaves behind."""
import json
import os
import signal
import subprocess
import time
import unittest

import wrackline
from wrackline import CommandTest, job

SECONDS_MAX = 30
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


def clicks(*minutes, page="/p"):
    """One record at the start of each minute of an hour: without a delay each closes the window before it."""
    return "".join(f'{{"user_id":1,"page":"{page}","at":"2024-05-01T12:{minute:02}:00Z"}}\n' for minute in minutes)


class FollowedRun(CommandTest):
    def start(self, source=(), path="clicks.jsonl", arguments=("--follow",), **options):
        self.write("job.sql", job(path=path, source={"watermark_delay": "0 s", **dict(source)}, **options))
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--json", *arguments], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def append(self, text, name="clicks.jsonl"):
        with open(self.folder / name, "a") as file:
            file.write(text)

    def published(self):
        """The starts of the windows that a reader of the sink sees by now, whole lines only."""
        found = []
        for path in self.folder.glob("out.jsonl*"):
            try:
                lines = path.read_text().splitlines(keepends=True)
            except FileNotFoundError:
                continue
            found += [json.loads(line)["window_start"][11:16] for line in lines if line.endswith("\n")]
        return sorted(set(found))

    def wait_for_windows(self, process, *starts):
        deadline = time.monotonic() + SECONDS_MAX
        while not set(starts) <= set(self.published()):
            if process.poll() is not None:
                self.fail(f"the run ended with {process.returncode}: {process.communicate()}")
            self.assertLess(time.monotonic(), deadline, f"windows {starts} were not published, only {self.published()}")
            time.sleep(0.02)

    def stop(self, process, sign=signal.SIGINT):
        """Every stop ends with a balance that adds up, and an exit code that names the signal."""
        process.send_signal(sign)
        out, err = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 128 + sign, err)
        document = json.loads(out)
        self.assertTrue(document["stopped"])
        self.assertTrue(document["balanced"])
        for line in document["balance"]:
            self.assert_adds_up(line)
        return document, err

    def read_by(self, document):
        return document["balance"][0]["read"]


class Follow(FollowedRun):
    def test_growing_file(self):
        self.write("clicks.jsonl", clicks(0, 1))
        process = self.start()
        self.wait_for_windows(process, "12:00")
        self.append(clicks(2, 3))
        self.wait_for_windows(process, "12:01", "12:02")
        document, _ = self.stop(process)
        self.assertEqual(self.read_by(document), 4)
        self.assertEqual(self.published(), ["12:00", "12:01", "12:02"])

    def test_stop_is_not_an_end(self):
        self.write("clicks.jsonl", clicks(0, 1))
        process = self.start()
        self.wait_for_windows(process, "12:00")
        self.stop(process)
        self.assertEqual(self.published(), ["12:00"], "a stopped run published a window that was still open")

    def test_terminate_ends_with_a_balance(self):
        self.write("clicks.jsonl", clicks(0, 1))
        process = self.start()
        self.wait_for_windows(process, "12:00")
        self.assertEqual(self.read_by(self.stop(process, signal.SIGTERM)[0]), 2)

    def test_balance_for_people_after_a_stop(self):
        self.write("clicks.jsonl", clicks(0, 1))
        self.write("job.sql", job(source={"watermark_delay": "0 s"}))
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--follow"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.wait_for_windows(process, "12:00")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, INTERRUPTED, err)
        self.assert_says(err, "balance of view", "the balance adds up", "stopped before the end")

    def test_half_a_line_waits_for_its_rest(self):
        half = clicks(2)
        self.write("clicks.jsonl", clicks(0, 1) + half[:30])
        process = self.start()
        self.wait_for_windows(process, "12:00")
        self.append(half[30:] + clicks(3))
        self.wait_for_windows(process, "12:01", "12:02")
        document, _ = self.stop(process)
        self.assertEqual((self.read_by(document), document["balance"][0]["ledgered"]), (4, 0))

    def test_half_a_line_at_the_stop_is_not_yet_a_record(self):
        self.write("clicks.jsonl", clicks(0, 1) + clicks(2)[:30])
        process = self.start()
        self.wait_for_windows(process, "12:00")
        document, _ = self.stop(process)
        self.assertEqual((self.read_by(document), document["balance"][0]["ledgered"]), (2, 0))

    def test_rotated_file(self):
        self.write("clicks.jsonl", clicks(0, 1))
        process = self.start()
        self.wait_for_windows(process, "12:00")
        os.rename(self.folder / "clicks.jsonl", self.folder / "clicks.1")
        self.append(clicks(2), "clicks.1")  # a writer that still holds the old file
        self.write("clicks.jsonl", clicks(3, 4))
        self.wait_for_windows(process, "12:01", "12:02", "12:03")
        document, err = self.stop(process)
        self.assertEqual((self.read_by(document), document["balance"][0]["ledgered"]), (5, 0))
        self.assert_says(err, "clicks.jsonl", "replaced")

    def test_truncated_file(self):
        self.write("clicks.jsonl", clicks(0, 1, 2, 3))
        process = self.start()
        self.wait_for_windows(process, "12:02")
        self.write("clicks.jsonl", clicks(4, 5))
        self.wait_for_windows(process, "12:03", "12:04")
        document, err = self.stop(process)
        self.assertEqual((self.read_by(document), document["balance"][0]["ledgered"]), (6, 0))
        self.assert_says(err, "clicks.jsonl", "truncated")

    def test_file_that_is_emptied_and_filled_later(self):
        self.write("clicks.jsonl", clicks(0, 1))
        process = self.start()
        self.wait_for_windows(process, "12:00")
        os.truncate(self.folder / "clicks.jsonl", 0)
        time.sleep(1)  # any number of looks at the empty file
        self.append(clicks(2, 3))
        self.wait_for_windows(process, "12:01", "12:02")
        self.assertEqual(self.read_by(self.stop(process)[0]), 4)

    def test_deleted_file_comes_back(self):
        self.write("clicks.jsonl", clicks(0, 1))
        process = self.start()
        self.wait_for_windows(process, "12:00")
        os.unlink(self.folder / "clicks.jsonl")
        time.sleep(1)
        self.write("clicks.jsonl", clicks(2, 3))
        self.wait_for_windows(process, "12:01", "12:02")
        self.assertEqual(self.read_by(self.stop(process)[0]), 4)

    def test_new_file_that_matches(self):
        self.write("logs/a.jsonl", clicks(0, 1))
        process = self.start(path="logs/*.jsonl", source={"idle_timeout": "1 s"})
        self.wait_for_windows(process, "12:00")
        self.write("logs/other.txt", clicks(9))
        self.write("logs/b.jsonl", clicks(2, 3))
        self.wait_for_windows(process, "12:01", "12:02")  # a is silent, and idle after a second
        document, err = self.stop(process)
        self.assertEqual((self.read_by(document), document["balance"][0]["ledgered"]), (4, 0))
        self.assertEqual(set(document["balance"][0]["by_partition"]), {"logs/a.jsonl", "logs/b.jsonl"})
        self.assert_says(err, "b.jsonl")

    def test_pattern_without_a_match_waits(self):
        (self.folder / "logs").mkdir()
        process = self.start(path="logs/*.jsonl")
        time.sleep(0.5)
        self.assertIsNone(process.poll(), "a followed pattern without a match ended the run")
        self.write("logs/a.jsonl", clicks(0, 1))
        self.wait_for_windows(process, "12:00")
        self.assertEqual(self.read_by(self.stop(process)[0]), 2)

    def test_stop_before_any_record(self):
        self.write("clicks.jsonl", "")
        process = self.start()
        deadline = time.monotonic() + SECONDS_MAX
        while not list(self.folder.glob("out.jsonl*")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        time.sleep(0.5)  # the signal handler is set once the sinks stand
        document, _ = self.stop(process)
        self.assertEqual((self.read_by(document), document["watermark"]), (0, "-infinity"))

    def test_a_partition_that_falls_silent_holds_only_for_its_timeout(self):
        self.write("logs/a.jsonl", clicks(0, 1))
        self.write("logs/b.jsonl", clicks(0))
        process = self.start(path="logs/*.jsonl", source={"idle_timeout": "1 s"})
        for minute in range(2, 50):  # a goes on; b says nothing more
            self.append(clicks(minute), "logs/a.jsonl")
            if "12:00" in self.published():
                break
            time.sleep(0.25)
        self.wait_for_windows(process, "12:00")
        document, _ = self.stop(process)
        self.assertEqual(document["balance"][0]["ledgered"], 0)


class Pipe(FollowedRun):
    """Standard input is read to its end, however slowly it comes."""

    STDIN = {"connector": "stdin", "path": None, "format": "jsonl"}

    def test_rows_appear_while_the_pipe_is_open(self):
        process = self.start(source=self.STDIN, arguments=())
        process.stdin.write(clicks(0, 1))
        process.stdin.flush()
        self.wait_for_windows(process, "12:00")
        process.stdin.write(clicks(2))
        out, err = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(self.read_by(json.loads(out)), 3)
        self.assertEqual(self.published(), ["12:00", "12:01", "12:02"])

    def test_interrupted_pipe(self):
        process = self.start(source=self.STDIN, arguments=())
        process.stdin.write(clicks(0, 1))
        process.stdin.flush()
        self.wait_for_windows(process, "12:00")
        self.assertEqual(self.read_by(self.stop(process)[0]), 2)

    def test_empty_pipe(self):
        document = self.run_job(job(source=self.STDIN))
        self.assertEqual(self.read_by(document), 0)


if __name__ == "__main__":
    unittest.main()
