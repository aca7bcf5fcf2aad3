"""Question: how fast is the profile of delay and disorder of a file of JSON lines?"""
import collections
import dataclasses
import datetime
import json

from harness import Contender, Disagreement, Sample, run, simdjson_only

NAME = "measure"
COMMAND = "wrackline measure bids.jsonl --event-time date_time --arrival-time arrival"


def measure(setting):
    return run(setting.wrackline, "measure", setting.bids, "--event-time", "date_time", "--arrival-time", "arrival", "--json")


def once(setting):
    out, cpu_seconds, wall_seconds = measure(setting)
    return Sample(json.loads(out)["records"], cpu_seconds, wall_seconds)


def contenders(setting):
    return [Contender("wrackline", lambda: once(setting)), dataclasses.replace(simdjson_only(setting), floor=0.7)]


def delays_us(path):
    """Delay -> number of records, recounted in plain Python."""
    counts = collections.Counter()
    one = datetime.timedelta(microseconds=1)
    moment = datetime.datetime.fromisoformat
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event, arrival = line.split('"date_time":"')[1][:-3].split('","arrival":"')
            counts[0 if event == arrival else (moment(arrival) - moment(event)) // one] += 1
    return counts


def nearest_rank(counts, permille):
    """The smallest value with at least so many thousandths of all at or below it."""
    rank = max(1, -(-sum(counts.values()) * permille // 1000))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value


def agree(setting):
    """Compares the quantiles of delay with the recount; returns what agreed, in words."""
    ours = json.loads(measure(setting)[0])
    counts = delays_us(setting.bids)
    if ours["records"] != sum(counts.values()):
        raise Disagreement(f"wrackline measured {ours['records']} records of {sum(counts.values())}")
    for name, permille in (("p50", 500), ("p95", 950), ("p99", 990), ("p99.9", 999)):
        right = nearest_rank(counts, permille)
        if ours["all"]["delay_us"][name] != right:
            raise Disagreement(f"{name} of delay is {right} us, wrackline says {ours['all']['delay_us'][name]}")
    return f"p50, p95, p99 and p99.9 of delay are those of a recount of {ours['records']:,} records"
