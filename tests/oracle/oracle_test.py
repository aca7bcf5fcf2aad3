"""Random streams through `wrackline run`, against the oracle: every row, version and ledger entry, the balance, the watermark.

Each test plays seeded streams for a few seconds. WRACKLINE_ORACLE_SECONDS plays longer, WRACKLINE_ORACLE_SEED one stream only.
What fails is cut down to few records and printed with the job.
"""
import collections
import json
import os
import random
import shutil
import time
import unittest

import oracle
from oracle import Policy, Record, SessionView, WindowView
from script.play import USUAL, World, micros, thread_counts
from wrackline import CommandTest

SECONDS = float(os.environ.get("WRACKLINE_ORACLE_SECONDS", 6))
STREAMS_MIN = 24  # as many are played however slow the machine is
SEED = os.environ.get("WRACKLINE_ORACLE_SEED")
SELECT = """count(*) AS n, sum(v) AS total, min(v) AS low, max(v) AS high, count(DISTINCT v) AS kinds, first(v) AS opening,
  last(v) AS closing"""
ANSWERS = ("n", "total", "low", "high", "kinds", "opening", "closing")
UNIT = 1_000  # records carry milliseconds
HOUR, DAY = 3_600_000, 86_400_000


def span(units):
    return f"{units} ms"


class Stream:
    """A random stream and the job over it. Everything comes from the seed."""

    def __init__(self, kind, seed):
        self.kind, self.seed, self.random = kind, seed, random.Random(f"{kind} {seed}")
        choose = self.random.choice
        self.scale = choose((1, 7, 60, 1000))
        self.delay = self.scale * choose((0, 0, 1, 5, 20))
        self.late = choose(("correct", "correct", "correct", "ledger", "drop"))
        self.lateness = self.scale * choose((0, 1, 4, 13, 50))
        self.horizon = None if self.late == "drop" else choose((None, None, self.scale * choose((0, 3, 30)) + (self.lateness if self.late == "correct" else 0)))
        self.skew, self.accept = choose(((300_000, DAY), (2 * self.scale, 9 * self.scale)))
        self.tick_rows = choose((1, 1, 2, 3, 7))
        self.flush = self.random.random() < 0.7
        self.id_horizon, self.longest = None, None
        self.having = choose((None, None, None, 2))
        self.set_windows()
        self.records = self.draw_records()

    def set_windows(self):
        choose, scale = self.random.choice, self.scale
        if self.kind == "tumbling":
            size, offset = scale * choose((1, 3, 10, 24)), scale * choose((0, 0, 1, -5, 100))
            self.function = f"TUMBLE(records, t, INTERVAL '{span(size)}'" + (f", INTERVAL '{span(offset)}')" if offset else ")")
            self.windows = oracle.tumbling(size * UNIT, offset * UNIT)
        elif self.kind == "hopping":
            slide, offset = scale * choose((1, 2, 3, 5)), scale * choose((0, 0, 1, -7))
            size = slide * choose((1, 2, 3, 10)) + choose((0, 0, scale))
            self.function = f"HOP(records, t, INTERVAL '{span(slide)}', INTERVAL '{span(size)}'" + (
                f", INTERVAL '{span(offset)}')" if offset else ")")
            self.windows = oracle.hopping(slide * UNIT, size * UNIT, offset * UNIT)
        elif self.kind == "cumulative":
            step = scale * choose((1, 2, 5))
            size = step * choose((1, 2, 5, 8))
            self.function = f"CUMULATE(records, t, INTERVAL '{span(step)}', INTERVAL '{span(size)}')"
            self.windows = oracle.cumulative(step * UNIT, size * UNIT)
        elif self.kind == "zone":
            unit, zone = choose(("day", "day", "week", "month", "hour")), choose(ZONES)
            self.scale, self.delay, self.lateness = HOUR, HOUR * choose((0, 5, 40)), HOUR * choose((0, 30, 200))
            self.horizon, self.skew, self.accept = None, 300_000, DAY
            slide, size = choose(((1, 1), (1, 1), (1, 3), (2, 3), (3, 3)))
            if unit == "hour":
                slide = size = choose((1, 6))
            self.windows = oracle.clock_hours(size, zone) if unit == "hour" else oracle.calendar(unit, zone, slide, size)
            self.function = f"HOP(records, t, INTERVAL '{slide} {unit}', " if slide < size else "TUMBLE(records, t, "
            self.function += f"INTERVAL '{size} {unit}', '{zone}')"
        elif self.kind == "dedup":
            self.function, self.windows = f"TUMBLE(records, t, INTERVAL '{span(10 * scale)}')", oracle.tumbling(10 * scale * UNIT)
            self.id_horizon = choose((None, scale * choose((1, 5, 30))))
        elif self.kind == "session":
            self.gap = scale * choose((1, 2, 5, 12))
            self.longest = choose((None, None, self.gap * choose((1, 3)) + scale))
            self.function = f"SESSION(records, t, INTERVAL '{span(self.gap)}')"

    def draw_records(self):
        """Times are mostly multiples of what windows, delays and gaps are multiples of, so that edges are hit all the time."""
        draw, grain = self.random, self.random.choice((self.scale, self.scale, self.scale, 1))
        partitions, keys = draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2, 4))
        now = draw.choice((0, 0, -40 * grain, 1_700_000_000_000, -86_400_000 * 200)) // grain * grain
        if self.kind == "zone":
            now = draw.choice(AROUND) + draw.randrange(-9, 9) * HOUR
        behind = draw.choice((1, 3, 10, 40))
        ahead_of = [draw.choice((0, 0, grain * 7)) for _ in range(partitions)]
        records = []
        for offset in range(draw.randrange(1, 90)):
            now += grain * draw.choice((0, 0, 1, 1, 2, 3, 8))
            partition = min(draw.randrange(partitions), len({record.partition for record in records}))  # named as they first speak
            event = now + ahead_of[partition] - grain * draw.choice((0, 0, draw.randrange(behind + 1)))
            ahead = draw.choice((0, 0, 0, 0, -DAY, self.skew, self.skew + 1, self.accept, self.accept + 1))
            records.append(Record(offset, f"p{partition}", f"k{draw.randrange(keys)}", event * UNIT, (event - ahead) * UNIT,
                                  draw.randrange(-9, 100), draw.random() < 0.95))
        return self.with_copies(records) if self.kind == "dedup" else records

    def with_copies(self, records):
        """Every record gets an id; some come again later, as they were or with another value, and some have none."""
        draw, originals = self.random, list(records)
        for record in originals:
            for _ in range(draw.choice((0, 0, 1, 2))):
                value = record.value + draw.choice((0, 0, 0, 1))
                records.insert(draw.randrange(records.index(record) + 1, len(records) + 1), record._replace(value=value))
        ids = {record[:5]: f"id{i}" if draw.random() < 0.9 else None for i, record in enumerate(originals)}
        return [record._replace(offset=i, id=ids[record[:5]]) for i, record in enumerate(records)]

    def view(self):
        policy = Policy(self.late, self.lateness * UNIT, oracle.ALWAYS if self.horizon is None else self.horizon * UNIT)
        view = SessionView(self.gap * UNIT, policy, self.longest and self.longest * UNIT) if self.kind == "session" else WindowView(self.windows, policy)
        if self.having:
            view.having = lambda found: found["kinds"] % self.having == 1
        return view

    def expected(self, records, tick_rows=None):
        view = self.view()
        dedup = oracle.Dedup(self.ids_kept() * UNIT) if self.kind == "dedup" else None
        watermark, published = oracle.run(records, view, self.delay * UNIT, self.skew * UNIT, self.accept * UNIT,
                                          tick_rows or self.tick_rows, self.flush, dedup)
        return view, watermark, published

    def ids_kept(self):
        """How long: as the source says, or else as long as its view takes records."""
        if self.id_horizon is not None:
            return self.id_horizon
        if self.late == "drop":
            return 10 * self.scale
        return oracle.ALWAYS if self.horizon is None else 10 * self.scale + self.horizon

    def job(self, mode="upsert", over=""):
        """`over`: a view over the view, called sums, whose rows are published."""
        options = {"late": self.late, "allowed_lateness": span(self.lateness) if self.late == "correct" else None,
                   "ledger_horizon": None if self.horizon is None else span(self.horizon)}
        options["max_session_length"] = span(self.longest) if self.longest else None
        view = ", ".join(f"{name} = '{value}'" for name, value in options.items() if value is not None)
        ids = ", dedup_key = 'id'" * (self.kind == "dedup")
        ids += f", dedup_horizon = '{span(self.id_horizon)}'" if self.id_horizon else ""
        return f"""CREATE TABLE records (k text, p text, t bigint, arr bigint, v bigint, passes boolean, id text) WITH (
  connector = 'file', path = 'records.jsonl', event_time = 't', arrival_time = 'arr', time_unit = 'ms', partition = 'p',
  watermark_delay = '{span(self.delay)}', max_future_skew = '{span(self.skew)}', max_future_accept = '{span(self.accept)}'{ids});
CREATE MATERIALIZED VIEW result WITH ({view}) AS
SELECT window_start, window_end, k, {SELECT}
FROM {self.function}
WHERE passes
GROUP BY window_start, window_end, k{f" HAVING count(DISTINCT v) % {self.having} = 1" if self.having else ""};
{over}CREATE TABLE published () WITH (connector = 'file', path = 'rows.jsonl', mode = '{mode}');
INSERT INTO published SELECT * FROM {"sums" if over else "result"};
"""


ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata", "UTC")
AROUND = (1_711_846_800_000, 1_729_990_800_000, 1_710_054_000_000, 1_541_300_400_000, 0, -1_000_000_000_000)  # changes of clocks


def written(records):
    return "".join(json.dumps({"k": record.key, "p": record.partition, "t": record.time // UNIT, "arr": record.arrival // UNIT,
                               "v": record.value, "passes": record.passes, "id": record.id}) + "\n" for record in records)


class Found:
    """What one run of the command did, in the oracle's terms."""

    def __init__(self, rows, entries, document):
        self.rows, self.entries, self.document = rows, entries, document
        line = document["balance"][0]
        self.fates = collections.Counter({name: line[name] for name in ("accepted", "accepted_partially", "ledgered", "duplicate", "filtered")})
        self.fates.update({("dropped", reason): count for reason, count in line["dropped"].items()})

    def final(self):
        final = {}
        for row in self.rows:
            final.pop(row[:3], None)
            if row.status != "retract":
                final[row[:3]] = row.answer
        return final


class OracleTest(CommandTest):
    def play(self, stream, records, world, flush, mode="upsert", over=""):
        shutil.rmtree(self.folder / "job.state", ignore_errors=True)
        self.write("records.jsonl", written(records))
        self.write("job.sql", stream.job(mode, over))
        arguments = [] if world.ticks is USUAL else ["--tick-rows", world.ticks]
        arguments += [] if world.threads is USUAL else ["--threads", world.threads]
        document = self.run_command("run", "job.sql", "--json", "--at-end", "flush" if flush else "hold", *arguments).document
        rows = [oracle.Row(micros(row["window_end"]), micros(row["window_start"]), row["k"], row["_version"],
                           {name: row[name] for name in ANSWERS if name in row}, "retract" if row["_op"] == "retract" else row["_status"])
                for row in self.rows("rows.jsonl")]
        entries = [oracle.Entry(entry["offset"], entry["reason"],
                                tuple(sorted((micros(w["start"]), micros(w["end"]), w["late_by_us"]) for w in entry["windows"])))
                   for entry in self.ledger()]
        return Found(rows, entries, document)

    def check(self, stream, records):
        """Raises AssertionError when the command and the oracle differ."""
        found = self.play(stream, records, World(stream.tick_rows), stream.flush)
        view, watermark, published = stream.expected(records)
        self.check_rows(found.rows, view.rows)
        self.assertEqual(sorted(found.entries), sorted(view.ledger))
        self.assertEqual(+found.fates, +view.fates)
        self.assertTrue(found.document["balanced"])
        self.assertEqual(micros(found.document["watermark"]), "-infinity" if watermark == oracle.NEVER else watermark)
        if stream.flush:
            self.check_recount(stream, records, found)
        if stream.seed % 5 == 0:
            self.check_other_worlds(stream, records, found)
        if stream.seed % 2 == 0:
            self.check_nothing_early(stream, records)

    def check_rows(self, found, wanted):
        """All rows, and for each window and key in the order of their versions."""
        self.assertEqual(sorted(found, key=str), sorted(wanted, key=str))
        by_place = lambda rows: sorted(rows, key=lambda row: row[:3])  # stable: the order of versions stays
        self.assertEqual(by_place(found), by_place(wanted), "versions in another order")

    def check_recount(self, stream, records, found):
        """Published and ledgered together are the batch recount; a record that is in no result by choice is left out."""
        if stream.late == "drop" or any(reason == "past_horizon" for _, reason in (f for f in found.fates if isinstance(f, tuple))):
            return
        if stream.horizon is not None or stream.kind in ("session", "dedup") or stream.having:
            return
        future = {entry.offset for entry in found.entries if entry.reason == "future"}  # before any view asked WHERE
        truth = collections.Counter((end, start, record.key) for record in records if record.passes or record.offset in future
                                    for start, end in stream.windows(record.time))
        counted = collections.Counter({place: answer["n"] for place, answer in found.final().items()})
        for entry in found.entries:
            counted.update((end, start, records[entry.offset].key) for start, end, _ in entry.windows)
        self.assertEqual(counted, truth, "published and ledgered are not the recount")

    def check_other_worlds(self, stream, records, found):
        self.play(stream, records, World(stream.tick_rows), stream.flush)
        published = (self.folder / "rows.jsonl").read_bytes()
        for threads in thread_counts():
            self.play(stream, records, World(stream.tick_rows, threads), stream.flush)
            self.assertEqual((self.folder / "rows.jsonl").read_bytes(), published, f"{threads} threads show in the output")
        self.check_replay(stream, published)
        self.check_changelog(stream, records, found)
        usual = self.play(stream, records, World(), stream.flush)
        self.assertEqual(usual.final(), found.final(), "ticks show in the final values")
        self.assertEqual(sorted(usual.entries), sorted(found.entries), "ticks show in the ledger")
        self.assertEqual(usual.fates, found.fates, "ticks show in the balance")
        self.assertEqual(firsts(usual.rows), firsts(found.rows), "ticks show in first versions")

    def check_replay(self, stream, published):
        """The tick log of the run before makes the same bytes again, on any number of threads."""
        shutil.rmtree(self.folder / "again.state", ignore_errors=True)
        self.run_command("run", "job.sql", "--json", "--at-end", "flush" if stream.flush else "hold", "--replay", "job.state", "--state",
                         "again.state", "--threads", 3)
        self.assertEqual((self.folder / "rows.jsonl").read_bytes(), published, "the replay published something else")

    def check_changelog(self, stream, records, found):
        """Followed by a reader who takes out exactly the rows that are retracted, a changelog leads to the same end."""
        rows = {}
        for row in self.play(stream, records, World(stream.tick_rows), stream.flush, mode="changelog").rows:
            if row.status == "retract":
                self.assertEqual(rows.pop(row[:3], None), row.answer, f"retracted, but not what readers have: {row}")
            else:
                self.assertNotIn(row[:3], rows, f"inserted twice: {row}")
                rows[row[:3]] = row.answer
        self.assertEqual(rows, found.final(), "the changelog leads elsewhere")

    def check_cascade(self, stream, records):
        """A view over the view: it takes each window once, when it is sealed, and none of them is late for it."""
        size, column = 20 * stream.scale, "window_end" if stream.kind == "session" else "window_start"
        over = f"""CREATE MATERIALIZED VIEW sums AS SELECT window_start, window_end, k, sum(n) AS n
FROM TUMBLE(result, {column}, INTERVAL '{span(size)}') GROUP BY window_start, window_end, k;
"""
        found = self.play(stream, records, World(stream.tick_rows), True, over=over)
        stream.flush, wanted = True, collections.Counter()
        view, _, _ = stream.expected(records)
        for (end, start, key), row in view.shown.items():
            for outer_start, outer_end in oracle.tumbling(size * UNIT)(end - 1 if column == "window_end" else start):  # its last moment
                wanted[outer_end, outer_start, key] += row.answer["n"]
        self.assertEqual({row[:3]: row.answer["n"] for row in found.rows}, wanted)
        self.assertEqual({(row.version, row.status) for row in found.rows} - {(1, "on_time")}, set(), "a sealed window is never corrected")
        balance = found.document["balance"][1]
        self.assertEqual((balance["read"], balance["accepted"]), (len(view.shown), len(view.shown)), "a result of the view is late")

    def check_nothing_early(self, stream, records):
        """Of input that is held after some records, exactly what the oracle has published by then."""
        count = random.Random(stream.seed).randrange(1, len(records) + 1)
        held = self.play(stream, records[:count], World(1), False)
        view, watermark, published = stream.expected(records, tick_rows=1)
        wanted = view.rows[:published[count - 1]]
        self.assertEqual(sorted(held.rows, key=str), sorted(wanted, key=str), f"after {count} records, at {watermark}")
        for row in held.rows:
            self.assertLessEqual(row.end, micros(held.document["watermark"]), "published before its time")

    def play_streams(self, *kinds, check=None):
        """Streams of some kinds until the time is over."""
        check = check or self.check
        end, seeds = time.monotonic() + SECONDS, [int(SEED)] if SEED else range(1_000_000)
        for seed in seeds:
            if time.monotonic() > end and seed >= STREAMS_MIN:
                break
            stream = Stream(kinds[seed % len(kinds)], seed)
            try:
                check(stream, stream.records)
            except AssertionError as error:
                self.fail(self.cut_down(stream, check, error))

    def cut_down(self, stream, check, error):
        """The failure with as few records as still fail in some way."""
        records, offset = list(stream.records), 0
        while offset < len(records) and len(records) > 1:
            fewer = [record._replace(offset=i) for i, record in enumerate(records[:offset] + records[offset + 1:])]
            try:
                check(stream, fewer)
                offset += 1
            except AssertionError as smaller:
                records, error = fewer, smaller
        return (f"{stream.kind}, seed {stream.seed}, {stream.tick_rows} records a tick, {'flush' if stream.flush else 'hold'}:\n"
                f"{error}\n{stream.job()}\n{written(records)}")

    def test_tumbling(self):
        self.play_streams("tumbling")

    def test_hopping(self):
        self.play_streams("hopping")

    def test_cumulative(self):
        self.play_streams("cumulative")

    def test_zone(self):
        self.play_streams("zone")

    def test_session(self):
        self.play_streams("session")

    def test_cascade(self):
        self.play_streams("tumbling", "hopping", "cumulative", "session", check=self.check_cascade)

    def test_dedup(self):
        self.play_streams("dedup")


def firsts(rows):
    return {row[:3]: row.answer for row in rows if row.version == 1 and row.status == "on_time"}


if __name__ == "__main__":
    unittest.main()
