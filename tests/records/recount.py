"""What the records say, counted slowly and plainly in Python, with none of Wrackline's code: the other side of each test.

All times are integers of microseconds. A record is (event, arrival, partition, key), in the order in which it is read.
"""
import csv
import datetime
import gzip
import math
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/data"
COMMITTED = ROOT / "examples/data"
UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
SKEW = 5 * MINUTE
ACCEPT = DAY
EPOCH = datetime.date(1970, 1, 1)
NEVER = -(1 << 63)


class RecordSet:
    """A file of real records and the names of its columns. `unit` "day" means ISO dates."""

    def __init__(self, file, event, arrival, unit, partition=None, shared=False):
        self.path = (SHARED if shared else COMMITTED) / file
        self.event, self.arrival, self.unit, self.partition, self.shared = event, arrival, unit, partition, shared

    def require(self):
        if not self.path.exists():
            if self.shared:
                raise unittest.SkipTest(f"needs ../shared/data/{self.path.relative_to(SHARED)}")
            raise AssertionError(f"{self.path.relative_to(ROOT)} is not there")

    def columns(self):
        with self._open() as file:
            return next(csv.reader(file))

    def _open(self):
        return gzip.open(self.path, "rt", newline="") if self.path.suffix == ".gz" else open(self.path, newline="")

    def _time(self, text):
        if self.unit == "day":
            return (datetime.date.fromisoformat(text) - EPOCH).days * DAY
        return int(text) * UNITS[self.unit]

    def records(self, key=None):
        with self._open() as file:
            for row in csv.DictReader(file):
                yield (self._time(row[self.event]), self._time(row[self.arrival]),
                       row[self.partition] if self.partition else "", row[key] if key else "")


SETS = {
    "usgs": RecordSet("usgs_earthquakes/quakes.csv.gz", "event_ms", "arrival_ms", "ms", "net"),
    "police": RecordSet("sf_police_reports/reports.csv.gz", "event_s", "arrival_s", "s", "district"),
    "fire": RecordSet("sf_fire_calls/calls.csv.gz", "received_s", "dispatch_s", "s", "call_type"),
    "telematics": RecordSet("fleet_telematics/events.csv.gz", "event_ms", "arrival_ms", "ms", "vehicle"),
    "dengue": RecordSet("dengue_reporting/cases.csv.gz", "onset", "reported", "day"),
    "mpox": RecordSet("mpox_reporting/cases.csv.gz", "diagnosed", "reported", "day"),
    "mobile": RecordSet("mobile_events/events.csv", "event_ms", "arrival_ms", "ms", "user"),
    "gtfs_bugs": RecordSet("gtfs_rt_clock_bugs/positions.csv", "event_raw", "arrival_s", "s", "vehicle", shared=True),
    "mail": RecordSet("mail_clock_skew/mails.csv", "event_s", "arrival_s", "s", "corpus", shared=True),
    "pge": RecordSet("pge_outages/first_seen.csv", "event_s", "arrival_s", "s", shared=True),
}


# --- measure

def quantiles(values):
    """Nearest rank: the smallest value with at least p percent of the values at or below it."""
    values = sorted(values)
    rank = lambda permille: max(1, math.ceil(permille * len(values) / 1000))
    picked = {"p50": 500, "p95": 950, "p99": 990, "p99.9": 999}
    return {"min": values[0], **{name: values[rank(permille) - 1] for name, permille in picked.items()}, "max": values[-1]}


def profile(records):
    """Delay and disorder of records in the order in which they were read. Disorder: the running maximum of admissible event
    times, this record included, minus the event time."""
    delays, disorders, newest = [], [], None
    behind = future = 0
    for event, arrival, *_ in records:
        delays.append(arrival - event)
        if event <= arrival + SKEW:
            newest = event if newest is None else max(newest, event)
        else:
            future += 1
        if newest is not None:
            disorders.append(newest - event)
            behind += newest > event
    negative = [delay for delay in delays if delay < 0]
    return {"records": len(delays), "delay_us": quantiles(delays), "disorder_us": quantiles(disorders) if disorders else None,
            "behind": behind, "negative": len(negative), "most_us": -min(negative, default=0), "future": future}


def profiles(records):
    """Partition -> profile, and the profile of all records in the order of the file."""
    records = list(records)
    by_partition = {}
    for record in records:
        by_partition.setdefault(record[2], []).append(record)
    return {name: profile(part) for name, part in by_partition.items()}, profile(records)


# --- run

def batch_counts(records, size, offset=0):
    """(window start, key) -> how many records: the truth that a stream must add up to."""
    counts = {}
    for event, _, _, key in records:
        place = ((event - offset) // size * size + offset, key)
        counts[place] = counts.get(place, 0) + 1
    return counts


def replay(records, size, delay, lateness, offset=0):
    """Judges record by record. Returns counts by fate, the final count of each window and key, what the ledger holds as
    (window start, key, late by), and the watermark after the last record."""
    fates = dict.fromkeys(("on_time", "corrects", "sealed", "future"), 0)
    counts, ledgered, newest, progress = {}, [], {}, NEVER
    for event, arrival, partition, key in records:
        watermark = progress - delay if progress > NEVER else NEVER
        start = (event - offset) // size * size + offset
        end = start + size
        if event > arrival + ACCEPT:
            fates["future"] += 1
        elif watermark < end + lateness:
            fates["on_time" if watermark < end else "corrects"] += 1
            counts[start, key] = counts.get((start, key), 0) + 1
        else:
            fates["sealed"] += 1
            ledgered.append((start, key, watermark - end))
        newest.setdefault(partition, NEVER)
        if event <= arrival + SKEW:
            newest[partition] = max(newest[partition], event)
        progress = max(progress, min(newest.values()))
    return fates, counts, ledgered, progress - delay if progress > NEVER else NEVER


def micros(text):
    """Microseconds of what Wrackline prints for a time."""
    if isinstance(text, int):
        return text
    if text.endswith("infinity"):
        return NEVER if text.startswith("-") else -NEVER - 1
    match = re.fullmatch(r"([+-]?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", text)
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    cycles = (year - 2000) // 400  # Python's calendar ends at year 9999; the Gregorian one repeats after 400 years
    days = (datetime.date(year - 400 * cycles, month, day) - EPOCH).days + cycles * 146_097
    return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + int((match[7] or "").ljust(6, "0"))
