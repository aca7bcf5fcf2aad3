"""Variants of the job of bench/tumbling/, and a recount of their answers in plain Python."""
import collections
import datetime
import functools
import json
import shutil

import tumbling.question as tumbling
from harness import Contender, Disagreement, Sample, run

TUMBLE = "TUMBLE(bids, date_time, INTERVAL '10 seconds')"
DELAY = "watermark_delay = '5 s'"
FOR_ALL = "watermark_delay = '20 minutes'"  # longer than any delay: nothing is late
UTC = datetime.timezone.utc


class Variant:
    """The job with another window function, other options or other input. `having` and `options` are SQL."""

    def __init__(self, name, window=TUMBLE, options="", having="", bids="bids.jsonl", threads=1):
        self.name, self.window, self.options, self.having, self.bids, self.threads = name, window, options, having, bids, threads

    def sql(self, delay):
        text = tumbling.JOB.read_text(encoding="utf-8")
        for old, new in ((TUMBLE, self.window), (DELAY, delay), ("'bids.jsonl'", f"'{self.bids}'"),
                         ("per_window AS", f"per_window {self.options} AS" if self.options else "per_window AS"),
                         ("window_end, auction;", f"window_end, auction {self.having};")):
            if old not in text:
                raise Disagreement(f"bench/tumbling/bids.sql no longer has {old}")
            text = text.replace(old, new)
        return text

    def run(self, setting, delay=DELAY):
        """One run from nothing. Returns the document that `run --json` prints, and a Sample."""
        folder = setting.folder
        shutil.rmtree(folder / "state", ignore_errors=True)
        (folder / "totals.jsonl").unlink(missing_ok=True)
        (folder / "variant.sql").write_text(self.sql(delay), encoding="utf-8")
        threads = () if self.threads == 1 else ("--threads", self.threads)
        out, cpu_seconds, wall_seconds = run(setting.wrackline, "run", "variant.sql", "--state", "state", "--json", *threads,
                                             cwd=folder, pinned=self.threads == 1)
        answer = json.loads(out)
        if not answer["balanced"] or answer["balance"][0]["read"] != setting.rows:
            raise Disagreement(f"the balance of {self.name} is wrong: {answer['balance']}")
        return answer, Sample(setting.rows, cpu_seconds, wall_seconds)

    def contender(self, setting, floor=None):
        return Contender(self.name, lambda: self.run(setting)[1], floor)

    def cells(self, setting):
        """What a run publishes that waits for every record, (start in microseconds, auction) -> [bids, total]."""
        self.run(setting, FOR_ALL)
        return {(micros(text), auction): cell for (text, auction), cell in tumbling.published(setting).items()}


@functools.lru_cache(maxsize=100_000)
def micros(text):
    moment = datetime.datetime.fromisoformat(text)
    return (moment.replace(tzinfo=UTC) - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)


def records(path):
    """(event time in microseconds, auction, price) of every line, read without a JSON parser."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split('"', 9)
            yield micros(words[9].split('"', 1)[0]), int(words[2][1:-1]), int(words[6][1:-1])


def hopping_cells(path, size_us, slide_us, at_least=1):
    """A recount by slices of one slide. `at_least`: cells with fewer bids are left out."""
    slices = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    for event_us, auction, price in records(path):
        cell = slices[event_us // slide_us][auction]
        cell[0] += 1
        cell[1] += price
    count, cells = size_us // slide_us, {}
    for first in range(min(slices) - count + 1, max(slices) + 1):
        window = collections.defaultdict(lambda: [0, 0])
        for index in range(first, first + count):
            for auction, (bids, total) in slices[index].items() if index in slices else ():
                cell = window[auction]
                cell[0] += bids
                cell[1] += total
        cells.update({(first * slide_us, auction): cell for auction, cell in window.items() if cell[0] >= at_least})
    return cells


def session_cells(path, gap_us):
    by_auction = collections.defaultdict(list)
    for event_us, auction, price in records(path):
        by_auction[auction].append((event_us, price))
    cells = {}
    for auction, bids in by_auction.items():
        last_us = None
        for event_us, price in sorted(bids):
            if last_us is None or event_us - last_us >= gap_us:
                cell = cells[event_us, auction] = [0, 0]
            cell[0] += 1
            cell[1] += price
            last_us = event_us
    return cells
