"""bench/run.py on a small stream, without DuckDB: the contenders agree, and its output has the shape that is promised."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTENDERS = {
    "tumbling": ["wrackline", "simdjson_only"], "hopping": ["hopping 10", "tumbling", "hopping 100"],
    "sessions": ["sessions", "tumbling"], "lateness": ["lateness 60 s", "none"], "disorder": ["disordered", "sorted"],
    "keys": ["columns", "wrackline run"], "threads": ["2 threads", "1 thread"], "measure": ["wrackline", "simdjson_only"],
    "sweep": ["wrackline", "one run"]}
BUILD = pathlib.Path(os.environ.get("WRACKLINE_BUILD", ROOT / "build/release"))


class BenchTest(unittest.TestCase):
    def setUp(self):
        if not (BUILD / "bench/parse_jsonl/simdjson_only").exists():
            self.skipTest("the benchmark programs are not built (WRACKLINE_BENCH is off)")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def bench(self, *arguments):
        return subprocess.run([sys.executable, ROOT / "bench/run.py", "--build", BUILD, "--folder", self.folder, "--rows", "20000",
                               "--rounds", "1", *arguments], capture_output=True, text=True)

    def test_json_is_one_object_per_question(self):
        outcome = self.bench("--json", "--no-floors")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        documents = [json.loads(line) for line in outcome.stdout.splitlines()]
        self.assertEqual({document["question"]: [contender["name"] for contender in document["contenders"]]
                          for document in documents if "contenders" in document}, CONTENDERS)
        for document in documents[:-1]:
            self.assertEqual(set(document), {"question", "rounds", "contenders"})
            self.assertEqual(document["rounds"], 1)
            ours, *others = document["contenders"]
            self.assertEqual(set(ours), {"name", "rows_per_second", "ratio"})
            self.assertEqual(ours["ratio"], 1)
            for other in others:
                self.assertAlmostEqual(other["ratio"], ours["rows_per_second"] / other["rows_per_second"], places=2)
        self.assertEqual(documents[-1]["question"], "state_bytes")
        for size in documents[-1]["sizes"]:
            self.assertLessEqual(size["bytes"], size["limit"], size)
        self.assertIn("contender duckdb is skipped", outcome.stderr)

    def test_table_says_what_was_run(self):
        outcome = self.bench("--no-floors", "--seed", "7", "measure")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        for wanted in ("generate bids --rows 20000 --seed 7", "wrackline measure", "a recount of 20,000 records", "simdjson_only"):
            self.assertIn(wanted, outcome.stdout)

    def test_a_wrong_answer_is_not_timed(self):
        """A contender that counts other rows than those of the input."""
        liar = pathlib.Path(self.folder) / "build"
        (liar / "src/cli").mkdir(parents=True)
        (liar / "bench/parse_jsonl").mkdir(parents=True)
        os.symlink(BUILD / "src/cli/wrackline", liar / "src/cli/wrackline")
        program = liar / "bench/parse_jsonl/simdjson_only"
        program.write_text("#!/bin/sh\necho rows 19999 seconds 0.001 checksum 1 2 3 4\n")
        program.chmod(0o755)
        outcome = self.bench("--json", "--build", str(liar), "tumbling")
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(outcome.stdout, "")
        self.assertIn("the answers differ", outcome.stderr)

    def test_an_unknown_question_is_refused(self):
        outcome = self.bench("sliding")
        self.assertEqual(outcome.returncode, 2)
        self.assertIn("no such question: sliding", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
