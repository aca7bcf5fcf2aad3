"""Runs contenders by turns and keeps the least time of each."""
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time


CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


class Disagreement(Exception):
    """Two contenders gave different answers: there is nothing to time."""


@dataclasses.dataclass
class Sample:
    """One run: processor time is user and system time of all threads. None: wall time is not known."""

    rows: int
    cpu_seconds: float
    wall_seconds: float | None = None


@dataclasses.dataclass
class Contender:
    """`once` runs it and returns a Sample. `floor`: what Wrackline's rows per second, divided by this one's, must reach."""

    name: str
    once: object
    floor: float | None = None


@dataclasses.dataclass
class Result:
    name: str
    floor: float | None
    rows_per_cpu_second: float
    rows_per_wall_second: float | None
    ratio: float = 1.0

    @property
    def missed(self):
        return self.floor is not None and self.ratio < self.floor


@dataclasses.dataclass
class Size:
    """Bytes for each live (key, window): at the end, the worst on the way, and by the kernel's count of memory."""

    name: str
    bytes: float
    worst: float
    resident: float
    limit: float

    @property
    def missed(self):
        return self.bytes > self.limit


@dataclasses.dataclass
class Setting:
    """Where programs and input are. `duckdb`: a Python that has DuckDB, or None."""

    build: pathlib.Path
    folder: pathlib.Path
    rows: int
    seed: int
    duckdb: pathlib.Path | None

    @property
    def wrackline(self):
        return self.build / "src/cli/wrackline"

    @property
    def simdjson_only(self):
        return self.build / "bench/parse_jsonl/simdjson_only"

    @property
    def bids(self):
        return self.folder / "bids.jsonl"

    @property
    def truth(self):
        return self.folder / "truth.json"


def unpin():
    """For a program of several threads: the cores that this process had before pin()."""
    if CORES:
        os.sched_setaffinity(0, CORES)


def run(*command, cwd=None, stdout=subprocess.PIPE, pinned=True):
    """Runs a program to its end. Returns what it printed, with its processor and wall seconds. What it says on standard error is shown
    only when it fails: a file takes it, so that a full pipe cannot stop the program."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen([str(part) for part in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=said,
                                   text=True, preexec_fn=None if pinned else unpin)
        out = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"bench: exit {process.returncode} of: {' '.join(map(str, command))}\n{out[-2000:]}{said.read()[-2000:]}")
    return out, usage.ru_utime + usage.ru_stime, time.perf_counter() - begun


def simdjson_only(setting):
    """Contender of several questions: parses four fields of each line, in memory, the better of two passes."""

    def once():
        out, _, _ = run(setting.simdjson_only, setting.bids, 2)
        words = out.split()
        return Sample(int(words[1]), float(words[3]))

    return Contender("simdjson_only", once, floor=0.5)


def pin():
    """Keeps this process and its children on one core, where the system allows it; returns its number or None."""
    try:
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
        return core
    except (AttributeError, OSError):
        return None


def contest(contenders, rounds):
    """Interleaved, so that what else the machine does meets all of them. The first contender is Wrackline."""
    samples = [[] for _ in contenders]
    for _ in range(rounds):
        for contender, its in zip(contenders, samples):
            its.append(contender.once())
    results = [Result(contender.name, contender.floor,
                      max(sample.rows / sample.cpu_seconds for sample in its),
                      max((sample.rows / sample.wall_seconds for sample in its if sample.wall_seconds), default=None))
               for contender, its in zip(contenders, samples)]
    for result in results:
        result.ratio = results[0].rows_per_cpu_second / result.rows_per_cpu_second
    return results
