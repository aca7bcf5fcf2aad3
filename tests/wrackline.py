"""Runs the wrackline command for tests, and writes small jobs for it. Imported by tests/cli and tests/records."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("WRACKLINE", ROOT / "build/release/src/cli/wrackline"))
NOBODY = 65534
SANITIZED = "asan" in str(BINARY) or "tsan" in str(BINARY)


class Outcome:
    """How one run of the command ended."""

    def __init__(self, arguments, code, out, err, memory_kb):
        self.arguments, self.code, self.out, self.err, self.memory_kb = arguments, code, out, err, memory_kb

    @property
    def document(self):
        return json.loads(self.out)

    def __str__(self):
        return f"$ wrackline {' '.join(map(str, self.arguments))}\nexit {self.code}\n--- out\n{self.out[-4000:]}\n--- err\n{self.err[-4000:]}"


def wrackline(*arguments, cwd=None, stdin=b"", user=None, seconds_max=120, file_bytes_max=None, prefix=()):
    """Runs the command to its end. `user`: as that user id. `file_bytes_max`: no file may grow beyond it."""

    def restrict():
        if file_bytes_max is not None:
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)

    # The executable may stand in a folder that another user cannot enter, so that user gets a copy.
    binary = BINARY if user is None else copy_for_everyone()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([*prefix, binary, *map(str, arguments)], cwd=cwd, stdin=subprocess.PIPE, stdout=out, stderr=err,
                                   preexec_fn=restrict)
        try:
            process.communicate(stdin, timeout=seconds_max)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"wrackline {' '.join(map(str, arguments))} still ran after {seconds_max} s") from None
        memory_kb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        out.seek(0)
        err.seek(0)
        return Outcome(arguments, process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"), memory_kb)


_copy = None


def copy_for_everyone():
    global _copy
    if _copy is None:
        _copy = tempfile.TemporaryDirectory()
        os.chmod(_copy.name, 0o755)
        shutil.copy(BINARY, _copy.name)
        os.chmod(pathlib.Path(_copy.name) / BINARY.name, 0o755)
    return pathlib.Path(_copy.name) / BINARY.name


CLICKS = {"user_id": "bigint", "page": "text", "at": "timestamptz"}


def job(path="clicks.jsonl", columns=None, source=(), view=(), select="count(*) AS clicks", where="", window="1 minute", keys=("page",),
        sink="connector = 'file', path = 'out.jsonl'"):
    """The text of a job with one tumbling view. `source` and `view` add options or, by name, replace them."""
    columns = columns or CLICKS
    options = {"connector": "file", "path": path, "event_time": "at", "watermark_delay": "10 s", **dict(source)}
    written = ",\n  ".join(f"{name} = '{value}'" for name, value in options.items() if value is not None)
    view_options = ", ".join(f"{name} = '{value}'" for name, value in dict(view).items())
    selected = "".join(f"{key}, " for key in keys)
    grouped = "".join(f", {key}" for key in keys)
    text = f"""CREATE TABLE clicks (
  {", ".join(f"{name} {kind}" for name, kind in columns.items())}
) WITH (
  {written}
);
CREATE MATERIALIZED VIEW per_window {f"WITH ({view_options}) " if view_options else ""}AS
SELECT window_start, window_end, {selected}{select}
FROM TUMBLE(clicks, {options["event_time"]}, INTERVAL '{window}')
{f"WHERE {where}" if where else ""}
GROUP BY window_start, window_end{grouped};
"""
    if sink:
        text += f"CREATE TABLE results () WITH ({sink});\nINSERT INTO results SELECT * FROM per_window;\n"
    return text


class CommandTest(unittest.TestCase):
    """A test with a folder of its own in which the command runs."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.chmod(self.folder, 0o777)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_command(self, *arguments, code=0, **options):
        """Runs in the folder, and fails the test unless the command ends with `code`."""
        outcome = wrackline(*arguments, cwd=self.folder, **options)
        self.assertEqual(outcome.code, code, f"\n{outcome}")
        for sign_of_a_bug in ("terminate called", "Sanitizer", "CHECK failed", "Traceback"):
            self.assertNotIn(sign_of_a_bug, outcome.err, f"\n{outcome}")
        return outcome

    def run_job(self, text, *arguments, code=0, **options):
        """Runs the job with --json; returns its document. Every run that ends as it should must balance."""
        self.write("job.sql", text)
        outcome = self.run_command("run", "job.sql", "--json", *arguments, code=code, **options)
        document = outcome.document
        self.assertTrue(document["balanced"], f"\n{outcome}")
        for line in document["balance"]:
            self.assert_adds_up(line)
        return document

    def refuse_job(self, text, *arguments, code=1, **options):
        """Runs a job that must not work; returns what it says."""
        self.write("job.sql", text)
        return self.run_command("run", "job.sql", *arguments, code=code, **options).err

    def assert_adds_up(self, line):
        fates = sum(line[fate] for fate in ("accepted", "accepted_partially", "ledgered", "duplicate", "filtered", "held"))
        self.assertEqual(line["read"], fates + sum(line["dropped"].values()), line)

    def assert_says(self, text, *fragments):
        for fragment in fragments:
            self.assertIn(fragment.lower(), text.lower(), f"\nthe message lacks {fragment!r}:\n{text}")

    def rows(self, name="out.jsonl"):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def final(self, name="out.jsonl", keys=("window_start", "page")):
        """The last version of each row of an upsert sink's file."""
        last = {}
        for row in self.rows(name):
            identity = tuple(row[key] for key in keys)
            if row["_op"] == "retract":
                last.pop(identity, None)
            else:
                last[identity] = row
        return last

    def ledger(self, state="job.state", *arguments):
        return self.run_command("ledger", "list", "--state", state, "--json", *arguments).document
