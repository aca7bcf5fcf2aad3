"""Question: what does it cost to know the outcome of 60 x 60 pairs of delay and lateness, against one plain run with one pair?"""
import json

import tumbling.question as tumbling
from harness import Contender, Disagreement, Sample, run

NAME = "sweep"
COMMAND = "wrackline sweep bench/tumbling/bids.sql with 60 delays and 60 latenesses"
SPANS = ",".join(f"{second} s" for second in range(60))


def sweep(setting, *arguments):
    return run(setting.wrackline, "sweep", tumbling.JOB.name, "--delay", SPANS, "--lateness", SPANS, "--json", *arguments,
               cwd=setting.folder)


def once(setting):
    out, cpu_seconds, wall_seconds = sweep(setting)
    document = json.loads(out)
    if len(document["candidates"]) != 3600:
        raise Disagreement(f"the sweep has {len(document['candidates'])} candidates")
    return Sample(document["records"], cpu_seconds, wall_seconds)


def contenders(setting):
    return [Contender("wrackline", lambda: once(setting)), Contender("one run", lambda: tumbling.run_job(setting), floor=1 / 3)]


def agree(setting):
    """The candidate that the job itself names must be what a run of it counts."""
    tumbling.run_job(setting)
    out, _, _ = run(setting.wrackline, "run", tumbling.JOB.name, "--state", "none", "--json", cwd=setting.folder)
    answer = json.loads(out)
    balance, view = answer["balance"][0], answer["views"]["per_window"]
    document = json.loads(sweep(setting)[0])
    job = next(candidate for candidate in document["candidates"] if (candidate["delay_us"], candidate["lateness_us"]) == (5_000_000, 0))
    ours = job["accepted"], job["ledgered_records"], job["versions"], job["windows_closed"]
    theirs = balance["accepted"], balance["ledgered"], view["versions"], view["windows_closed"]
    if ours != theirs:
        raise Disagreement(f"accepted, ledgered, versions and windows of the sweep are {ours}, of the run {theirs}")
    return f"{job['accepted']:,} records accepted, {job['ledgered_records']:,} ledgered and {job['versions']:,} versions are those of a run"
