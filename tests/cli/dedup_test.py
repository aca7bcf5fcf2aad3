"""Dedup end to end: each id counts once, whatever comes twice, late, out of order, in pieces or long after; and what it says."""
import collections
import json
import random
import unittest

from wrackline import CommandTest, job

COLUMNS = {"id": "text", "page": "text", "n": "bigint", "at": "timestamptz", "received": "timestamptz"}
DEDUP = {"arrival_time": "received", "dedup_key": "id"}


def time(second):
    return f"2024-05-01T{12 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def record(name, second, n=1, received=None, page="/p"):
    return {"id": name, "page": page, "n": n, "at": time(second), "received": time(second if received is None else received)}


def lines(records):
    return "".join(json.dumps(one) + "\n" for one in records)


class Dedup(CommandTest):
    def run_records(self, records, *arguments, source=(), view=(), columns=None, **options):
        self.write("clicks.jsonl", records if isinstance(records, str) else lines(records))
        text = job(columns=columns or COLUMNS, source={**DEDUP, **dict(source)}, view=view, select="count(*) AS clicks, sum(n) AS n", **options)
        return self.run_job(text, *arguments)

    def fates(self, document):
        line = document["balance"][0]
        counts = {fate: line[fate] for fate in ("accepted", "duplicate", "filtered") if line[fate]}
        counts.update(line["dropped"])
        counts.update(line["ledgered_by_reason"])
        return counts

    def total(self):
        return sum(row["clicks"] for row in self.final().values())

    def test_a_copy_counts_once(self):
        document = self.run_records([record("a", 0), record("b", 1), record("a", 0, received=5), record("a", 0)])
        self.assertEqual(self.fates(document), {"accepted": 2, "duplicate": 2})
        self.assertEqual(self.total(), 2)
        self.assertEqual(self.ledger(), [])

    def test_another_spelling_is_a_copy(self):
        columns = {**COLUMNS, "price": "numeric", "tags": "jsonb"}
        document = self.run_records(
            '{"id":"a","page":"/p","n":1,"at":"2024-05-01T12:00:00Z","price":1.50,"tags":{"x":1,"y":[2]}}\n'
            '{ "n": 1, "page": "\\u002fp", "id": "a", "at": "2024-05-01T14:00:00+02:00", "price":1.5, "tags": {"y": [2], "x": 1} }\n',
            columns=columns)
        self.assertEqual(self.fates(document), {"accepted": 1, "duplicate": 1})

    def test_other_content_is_a_conflict(self):
        document = self.run_records([record("a", 0), record("a", 0, n=2), record("a", 30), record("a", 0)])
        self.assertEqual(self.fates(document), {"accepted": 1, "conflict": 2, "duplicate": 1})
        self.assertEqual([row["n"] for row in self.final().values()], [1])
        entries = self.ledger()
        self.assertEqual([(entry["reason"], entry["offset"]) for entry in entries], [("conflict", 1), ("conflict", 2)])
        self.assert_says(entries[0]["detail"], "same id", "other content")

    def test_a_column_that_no_view_names_is_content(self):
        document = self.run_records([record("a", 0), {**record("a", 0), "region": "eu"}], columns={**COLUMNS, "region": "text"})
        self.assertEqual(self.fates(document), {"accepted": 1, "conflict": 1})

    def test_null_is_no_id(self):
        document = self.run_records([record(None, 0), record(None, 0), {k: v for k, v in record("a", 0).items() if k != "id"}])
        self.assertEqual(self.fates(document), {"accepted": 3})
        self.assertEqual(document["sources"][0]["dedup"]["without_id"], 3)

    def test_several_columns_are_one_id(self):
        document = self.run_records([record("a", 0, n=1), record("a", 0, n=2), record("b", 0, n=1), record("a", 0, n=1)],
                                    source={"dedup_key": "id, n"})
        self.assertEqual(self.fates(document), {"accepted": 3, "duplicate": 1})

    def test_a_copy_in_another_file(self):
        for name in ("east", "west"):
            self.write(f"{name}.jsonl", lines([record("a", 0), record(name, 1)]))
        document = self.run_records([], path="*st.jsonl")
        self.assertEqual(self.fates(document), {"accepted": 3, "duplicate": 1})

    def test_a_late_record_is_ledgered_once(self):
        late = record("late", 5)
        document = self.run_records([record("a", 0), record("b", 200), late, late, record("a", 0)])
        self.assertEqual(self.fates(document), {"accepted": 2, "late": 1, "duplicate": 2})

    def test_a_correction_counts_once(self):
        late = record("late", 5)
        document = self.run_records([record("a", 0), record("b", 100), late, late], view={"allowed_lateness": "1 h"})
        self.assertEqual(self.fates(document), {"accepted": 3, "duplicate": 1})
        self.assertEqual(self.total(), 3)

    def test_what_never_counted_takes_no_id(self):
        ahead = {**record("a", 0), "at": "2031-05-01T12:00:00Z"}
        document = self.run_records([{**record("a", 0), "at": None}, ahead, record("a", 0), record("a", 0)])
        self.assertEqual(self.fates(document), {"no_event_time": 1, "future": 1, "accepted": 1, "duplicate": 1})

    def test_a_filtered_record_keeps_its_id(self):
        document = self.run_records([record("a", 0, page="/x"), record("a", 0, page="/x")], where="page <> '/x'")
        self.assertEqual(self.fates(document), {"filtered": 1, "duplicate": 1})

    def test_a_copy_of_a_forgotten_id_counts_nowhere(self):
        document = self.run_records([record("a", 0), record("b", 700), record("a", 0), record("c", 90)], source={"dedup_horizon": "10 min"})
        self.assertEqual(self.fates(document), {"accepted": 2, "past_horizon": 1, "late": 1})
        self.assertEqual(document["sources"][0]["dedup"]["past_horizon"], 1)

    def test_views_of_a_source_share_it(self):
        self.write("clicks.jsonl", lines([record("a", 0), record("a", 0)]))
        text = job(columns=COLUMNS, source=DEDUP) + ("CREATE MATERIALIZED VIEW all_pages AS SELECT window_start, count(*) AS clicks "
                                                     "FROM TUMBLE(clicks, at, INTERVAL '1 hour') GROUP BY window_start, window_end;\n")
        text += "CREATE TABLE hours () WITH (connector = 'file', path = 'hours.jsonl');\nINSERT INTO hours SELECT * FROM all_pages;\n"
        document = self.run_job(text)
        self.assertEqual([(line["accepted"], line["duplicate"]) for line in document["balance"]], [(1, 1), (1, 1)])

    def test_batches_do_not_show(self):
        source = random.Random(7)
        records = []
        for i in range(3000):
            if records and source.random() < 0.4:
                copy = dict(source.choice(records[-200:]))
                if source.random() < 0.2:
                    copy["n"] += 1
                records.append(copy)
            else:
                records.append(record(f"id{i}" if source.random() < 0.95 else f"id{i - 50}", max(0, i + source.randrange(-90, 10))))
        view = {"allowed_lateness": "30 s", "ledger_horizon": "1 min"}
        seen = set()
        for rows in (1, 7, 4096):
            document = self.run_records(records, "--tick-rows", str(rows), view=view)
            fates = self.fates(document)
            for fate in ("accepted", "duplicate", "conflict", "past_horizon"):
                self.assertGreater(fates.get(fate, 0), 10, fates)
            totals = sorted((row["window_start"], row["clicks"], row["n"]) for row in self.final().values())
            self.assertEqual(sum(clicks for _, clicks, _ in totals), fates["accepted"])
            entries = sorted((entry["reason"], entry["offset"]) for entry in self.ledger())
            seen.add(json.dumps([fates, totals, entries]))
        self.assertEqual(len(seen), 1)

    def test_each_id_counts_once_against_a_recount(self):
        """With nothing late the totals are those of the first record of each id."""
        source = random.Random(8)
        records = [record(f"id{source.randrange(500)}", source.randrange(3600), n=source.randrange(3)) for _ in range(2000)]
        self.run_records(records, source={"watermark_delay": "2 h"})
        first = {}
        for one in records:
            first.setdefault(one["id"], one)
        wanted = collections.Counter(one["at"][:16] for one in first.values())
        self.assertEqual({row["window_start"][:16]: row["clicks"] for row in self.final().values()}, wanted)

    def test_state_is_bounded(self):
        """Case C76: a hundred ids a second of event time, remembered for a second: about a hundred at any time."""
        columns = {"id": "bigint", "page": "text", "n": "bigint", "at": "bigint"}
        text = "".join(f'{{"id":{i},"page":"/p","n":1,"at":{10 * i}}}\n' for i in range(100_000))
        document = self.run_records(text, columns=columns,
                                    source={"arrival_time": None, "time_unit": "ms", "watermark_delay": "0", "dedup_horizon": "1 s"})
        self.assertEqual(self.fates(document), {"accepted": 100_000})
        dedup = document["sources"][0]["dedup"]
        self.assertLessEqual(dedup["ids_max"], 103)
        self.assertLess(dedup["bytes_max"], 200_000)

    def test_the_report_says_what_it_did(self):
        self.write("clicks.jsonl", lines([record("a", 0), record("a", 0)]))
        self.write("job.sql", job(columns=COLUMNS, source=DEDUP))
        said = self.run_command("run", "job.sql").err
        self.assert_says(said, 'dedup of source "clicks": duplicate 1, conflict 0, past_horizon 0, without an id 0', "ids known: 1 at most")


class Options(CommandTest):
    def check(self, source, view=(), *arguments):
        self.write("job.sql", job(columns={**COLUMNS, "weight": "double precision", "body": "jsonb"}, source={**DEDUP, **dict(source)}, view=view))
        outcome = self.run_command("check", "job.sql", *arguments)
        return outcome.out, outcome.err

    def refuse(self, source, *fragments):
        text = job(columns={**COLUMNS, "weight": "double precision", "body": "jsonb"}, source={"arrival_time": "received", **dict(source)})
        self.assert_says(self.refuse_job(text), *fragments)

    def test_check_explains_the_horizon(self):
        explained, _ = self.check({}, {"allowed_lateness": "5 min", "ledger_horizon": "1 h"})
        self.assert_says(explained, "dedup_key          id", "dedup_horizon      1 h 1 min", "as long as its views take records", "30 to 43 bytes")

    def test_an_unlimited_ledger_keeps_ids_for_ever(self):
        explained, _ = self.check({})
        self.assert_says(explained, "dedup_horizon      unlimited", "known for ever")

    def test_dropping_the_late_needs_no_horizon_of_the_ledger(self):
        explained, _ = self.check({}, {"late": "drop"})
        self.assert_says(explained, "dedup_horizon      1 min ")

    def test_a_horizon_that_is_too_short_is_said(self):
        _, said = self.check({"dedup_horizon": "1 min"}, {"allowed_lateness": "5 min", "ledger_horizon": "1 h"})
        self.assert_says(said, "warning", "dedup_horizon", "1 h 1 min", "past_horizon")

    def test_ids_for_ever_on_input_without_end_are_said(self):
        _, said = self.check({"follow": "on"})
        self.assert_says(said, "warning", "for ever", "dedup_horizon")

    def test_refusals(self):
        self.refuse({"dedup_key": "idd"}, 'no column "idd"', 'did you mean "id"')
        self.refuse({"dedup_key": "id, recieved"}, 'no column "recieved"', 'did you mean "received"')
        self.refuse({"dedup_key": "id, id"}, "named twice")
        self.refuse({"dedup_key": "received"}, "arrival time", "differs between copies")
        self.refuse({"dedup_key": "weight"}, "double precision")
        self.refuse({"dedup_key": "body"}, "jsonb")
        self.refuse({"dedup_horizon": "1 h"}, "needs dedup_key")
        self.refuse({"dedup_key": "id", "dedup_horizon": "0 s"}, "longer than nothing")
        self.refuse({"dedup_key": "id", "dedup_horizon": "soon"}, "dedup_horizon", "'unlimited'")
        self.refuse({"dedupe_key": "id"}, 'did you mean "dedup_key"')


class TimeUnit(CommandTest):
    """Times in another unit than the declared one stand as read, and are told."""

    COLUMNS = {"page": "text", "at": "bigint", "received": "bigint"}
    SOURCE = {"arrival_time": "received", "time_unit": "s", "watermark_delay": "1 min"}

    def run_times(self, *times, **options):
        received = 1_679_310_800
        self.write("clicks.jsonl", "".join(f'{{"page":"/p","at":{at},"received":{received + i}}}\n' for i, at in enumerate(times)))
        return self.run_job(job(columns=self.COLUMNS, source=self.SOURCE, **options))

    def test_milliseconds_in_a_field_of_seconds(self):
        document = self.run_times(1_679_310_767, 1_679_310_768_000, 1_679_310_769, 1_679_310_770_123)
        line = document["balance"][0]
        self.assertEqual((line["accepted"], line["ledgered_by_reason"]), (2, {"future": 2}))
        finding, = document["sources"][0]["findings"]
        self.assertEqual((finding["kind"], finding["unit"], finding["records"]), ("wrong_unit", "ms", 2))
        said = self.run_command("run", "job.sql").err
        self.assert_says(said, "2 records are stamped in milliseconds but read as seconds", "stand as read", "is time_unit right")

    def test_right_units_say_nothing(self):
        document = self.run_times(1_679_310_767, 1_679_310_768, 0, -5)
        self.assertEqual(document["sources"][0]["findings"], [])


if __name__ == "__main__":
    unittest.main()
