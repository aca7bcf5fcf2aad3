"""What every command has in common: help with examples, one JSON document, exit codes, quiet pipes, and a job that is stopped."""
import json
import os
import signal
import subprocess
import time
import unittest

import wrackline
from wrackline import CommandTest, job

GOOD = "".join(f'{{"user_id":{n},"page":"/p{n % 2}","at":"2024-05-01T12:{n:02}:00Z"}}\n' for n in range(10))
COMMANDS = ("run", "check", "measure", "budget", "ledger", "generate", "completion")


class Help(CommandTest):
    def test_every_command_has_examples(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                self.assert_says(self.run_command(command, "--help").out, f"wrackline {command}" if command != "completion" else "completion",
                                 "Examples:")

    def test_help_names_every_command(self):
        self.assert_says(self.run_command("--help").out, *COMMANDS)

    def test_completion_is_bash(self):
        script = self.run_command("completion", "bash").out
        asked = "COMP_WORDS=(wrackline run --st); COMP_CWORD=2; _wrackline; echo ${COMPREPLY[@]}"
        answer = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
        self.assertEqual(answer.stdout.strip(), "--state", answer.stderr)

    def test_no_command_is_a_usage_error(self):
        self.run_command(code=2)


class Output(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("clicks.jsonl", GOOD)

    def test_json_is_one_document_and_nothing_else(self):
        self.write("job.sql", job())
        for arguments in (["run", "job.sql"], ["check", "job.sql"], ["ledger", "list", "--state", "job.state"],
                          ["measure", "clicks.jsonl", "--event-time", "at", "--arrival-time", "at"],
                          ["budget", "clicks.jsonl", "--event-time", "at", "--arrival-time", "at"]):
            with self.subTest(arguments=arguments):
                json.loads(self.run_command(*arguments, "--json").out)

    def test_rows_in_a_pipe_are_json_lines(self):
        self.write("job.sql", job(sink=""))
        outcome = self.run_command("run", "job.sql")
        rows = [json.loads(line) for line in outcome.out.splitlines()]
        self.assertEqual(len(rows), 10)
        self.assertEqual({(row["_op"], row["_version"], row["_status"], row["_generation"]) for row in rows}, {("insert", 1, "on_time", 1)})
        self.assert_says(outcome.err, "the balance adds up")

    def test_no_progress_where_there_is_no_terminal(self):
        self.write("clicks.jsonl", '{"user_id":1,"page":"/p","at":"2024-05-01T12:00:00Z"}\n' * 500_000)
        self.write("job.sql", job())
        self.assertNotIn("\r", self.run_command("run", "job.sql").err)

    def test_reader_that_goes_away(self):
        self.write("clicks.jsonl", "".join(f'{{"user_id":1,"page":"/{n}","at":"2024-05-01T12:00:00Z"}}\n' for n in range(100_000)))
        self.write("job.sql", job(sink=""))
        process = subprocess.run(["bash", "-c", f"{wrackline.BINARY} run job.sql | head -n 1"], cwd=self.folder, capture_output=True,
                                 timeout=60)
        self.assertEqual(process.stdout.count(b"\n"), 1)
        self.assertNotIn(b"terminate", process.stderr)

    def test_standard_input_and_output(self):
        self.write("job.sql", job(source={"connector": "stdin", "path": None, "format": "jsonl"}, sink=""))
        outcome = self.run_command("run", "job.sql", stdin=GOOD.encode())
        self.assertEqual(len(outcome.out.splitlines()), 10)

    def test_measure_standard_input(self):
        document = self.run_command("measure", "-", "--format", "jsonl", "--event-time", "at", "--json", stdin=GOOD.encode()).document
        self.assertEqual(document["records"], 10)

    def test_second_run_is_a_new_generation_and_replaces_the_first(self):
        first = self.run_job(job())
        rows = self.rows()
        second = self.run_job(job())
        self.assertEqual((first["generation"], second["generation"]), (1, 2))
        self.assertEqual([{**row, "_generation": 2} for row in rows], self.rows())

    def test_set_overrides_an_option(self):
        self.write("other.jsonl", GOOD * 2)
        self.assertEqual(self.run_job(job(), "--set", "clicks.path=other.jsonl")["balance"][0]["read"], 20)


class Follow(CommandTest):
    """A file that grows is read until the user stops the run, which then ends as any other: with a balance."""

    def start(self):
        self.write("clicks.jsonl", GOOD)
        self.write("job.sql", job())
        process = subprocess.Popen([wrackline.BINARY, "run", "job.sql", "--follow", "--json"], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def published(self):
        """Rows so far. The watermark stays ten seconds behind, so the newest windows are still open."""
        path = self.folder / "out.jsonl"
        return path.read_text().count("\n") if path.exists() else 0

    def stop(self, process):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        document = json.loads(out)
        self.assertTrue(document["balanced"])
        self.assert_adds_up(document["balance"][0])
        return document, err

    def append(self, text):
        with open(self.folder / "clicks.jsonl", "a") as file:
            file.write(text)

    def later(self, *minutes):
        return "".join(f'{{"user_id":1,"page":"/p","at":"2024-05-01T13:{minute:02}:00Z"}}\n' for minute in minutes)

    def test_growing_file(self):
        process = self.start()
        self.wait_for(lambda: self.published() >= 8, "the first records were not published")
        self.append(self.later(0, 1)[:-20])  # half a line: it is a record only once its rest has come
        self.wait_for(lambda: self.published() >= 10, "the appended record was not published")
        self.append(self.later(0, 1)[-20:] + self.later(2))
        self.wait_for(lambda: self.published() >= 11, "the completed record was not published")
        document, _ = self.stop(process)
        self.assertEqual((document["balance"][0]["read"], document["balance"][0]["ledgered"]), (13, 0))

    def test_truncated_file_is_noticed(self):
        process = self.start()
        self.wait_for(lambda: self.published() >= 8, "the first records were not published")
        (self.folder / "clicks.jsonl").write_text(self.later(0, 1))
        self.wait_for(lambda: self.published() >= 10, "records after the truncation were not published")
        document, err = self.stop(process)
        self.assertEqual(document["balance"][0]["read"], 12)
        self.assert_says(err, "truncated")

    def test_rotated_file_is_noticed(self):
        process = self.start()
        self.wait_for(lambda: self.published() >= 8, "the first records were not published")
        os.rename(self.folder / "clicks.jsonl", self.folder / "clicks.1")
        self.write("clicks.jsonl", self.later(0, 1))
        self.wait_for(lambda: self.published() >= 10, "records of the new file were not published")
        document, err = self.stop(process)
        self.assertEqual(document["balance"][0]["read"], 12)
        self.assert_says(err, "clicks.jsonl", "replaced")


if __name__ == "__main__":
    unittest.main()
