"""Times Wrackline against others on one seeded stream of bids, after checking that all give the same answer.

Each question has a folder here; README.md has the method. Exit: 0 done, 1 the answers differ, 2 usage, 3 a floor is missed.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True  # the folders of the questions stay clean

import disorder.question
import harness
import hopping.question
import keys.question
import lateness.question
import measure.question
import sessions.question
import state_bytes.question
import sweep.question
import threads.question
import tumbling.question

ROOT = pathlib.Path(__file__).resolve().parents[1]
QUESTIONS = {question.NAME: question for question in (
    tumbling.question, hopping.question, sessions.question, lateness.question, disorder.question, keys.question, threads.question,
    measure.question, sweep.question, state_bytes.question)}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", metavar="question", help=f"{' or '.join(QUESTIONS)} (default: all)")
    parser.add_argument("--rows", type=int, default=5_000_000, help="records of input (default: 5000000)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same input (default: 1)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each contender runs (default: 5)")
    parser.add_argument("--json", action="store_true", help="one JSON object per question on standard output, and nothing else")
    parser.add_argument("--no-floors", action="store_true", help="a missed floor is no failure")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="folder of the built programs")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/bench", help="folder for input and output")
    parser.add_argument("--duckdb", type=pathlib.Path, help="a Python that has duckdb; without it that contender is skipped")
    arguments = parser.parse_args()
    unknown = set(arguments.questions) - set(QUESTIONS)
    if unknown or arguments.rows < 1 or arguments.rounds < 1:
        parser.error(f"no such question: {min(unknown)}" if unknown else "--rows and --rounds start at 1")
    return arguments


def prepare(arguments):
    """Makes the input, which then is in the page cache."""
    setting = harness.Setting(arguments.build.absolute(), arguments.folder.absolute(), arguments.rows, arguments.seed,
                              arguments.duckdb.absolute() if arguments.duckdb else None)
    for program in (setting.wrackline, setting.simdjson_only):
        if not program.exists():
            sys.exit(f"bench: {program} is not built; run scripts/bench, or cmake --build {arguments.build}")
    setting.folder.mkdir(parents=True, exist_ok=True)
    with open(setting.bids, "wb") as bids:
        harness.run(setting.wrackline, "generate", "bids", "--rows", setting.rows, "--seed", setting.seed, "--truth",
                    setting.truth, stdout=bids)
    return setting


def cpu_model():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"


def print_heading(setting, rounds, core):
    where = "not pinned to a core" if core is None else f"pinned to core {core}"
    print(f"machine  {cpu_model()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {where}")
    print(f"input    {setting.rows:,} bids, {setting.bids.stat().st_size / 1e6:,.0f} MB: "
          f"wrackline generate bids --rows {setting.rows} --seed {setting.seed}")
    print(f"rounds   {rounds}, contenders by turns; the best round of each counts, by processor time")


def print_table(question, agreed, results):
    print(f"\n{question.NAME}: {question.COMMAND}\nagreed: {agreed}")
    print(f"{'contender':<16}{'rows/s':>14}{'rows/s (wall)':>16}{'ratio':>8}{'floor':>8}")
    for result in results:
        wall = "" if result.rows_per_wall_second is None else f"{result.rows_per_wall_second:,.0f}"
        floor = "" if result.floor is None else f"{result.floor:.2f}"
        print(f"{result.name:<16}{result.rows_per_cpu_second:>14,.0f}{wall:>16}{result.ratio:>8.2f}{floor:>8}"
              f"{'  missed' if result.missed else ''}".rstrip(), flush=True)


def time_question(question, setting, arguments):
    """Times one question and prints it; returns what floors it misses, in words."""
    agreed = question.agree(setting)
    results = harness.contest(question.contenders(setting), arguments.rounds)
    if arguments.json:
        print(json.dumps(document(question, arguments.rounds, results)), flush=True)
    else:
        print_table(question, agreed, results)
    return [f"{question.NAME}: {result.ratio:.2f} of {result.name}, the floor is {result.floor:.2f}" for result in results if result.missed]


def weigh_question(question, setting, arguments):
    """The same for a question of bytes, which has no rounds."""
    sizes = question.sizes(setting)
    if arguments.json:
        print(json.dumps({"question": question.NAME, "sizes": [dataclasses.asdict(size) for size in sizes]}), flush=True)
    else:
        print(f"\n{question.NAME}: {question.COMMAND}\n{'bytes for each':<28}{'at the end':>12}{'worst':>8}{'resident':>10}{'limit':>8}")
        for size in sizes:
            print(f"{size.name:<28}{size.bytes:>12.1f}{size.worst:>8.1f}{size.resident:>10.1f}{size.limit:>8.0f}"
                  f"{'  missed' if size.missed else ''}", flush=True)
    return [f"{question.NAME}: {size.bytes:.1f} bytes, {size.name}, the limit is {size.limit}" for size in sizes if size.missed]


def document(question, rounds, results):
    return {"question": question.NAME, "rounds": rounds,
            "contenders": [{"name": result.name, "rows_per_second": round(result.rows_per_cpu_second), "ratio": round(result.ratio, 3)}
                           for result in results]}


def main():
    arguments = parse_arguments()
    core = harness.pin()
    setting = prepare(arguments)
    if not arguments.duckdb:
        print("bench: contender duckdb is skipped: no Python with duckdb is given", file=sys.stderr)
    if not arguments.json:
        print_heading(setting, arguments.rounds, core)
    missed = []
    for name in arguments.questions or QUESTIONS:
        question = QUESTIONS[name]
        missed += (weigh_question if hasattr(question, "sizes") else time_question)(question, setting, arguments)
    if missed:
        print("\n".join(f"bench: floor missed: {line}" for line in missed), file=sys.stderr)
    return 3 if missed and not arguments.no_floors else 0


try:
    sys.exit(main())
except harness.Disagreement as problem:
    sys.exit(f"bench: the answers differ, so nothing is timed: {problem}")
