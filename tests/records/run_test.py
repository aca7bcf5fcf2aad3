"""A tumbling count of real records through `wrackline run`: fates, results and ledger against a replay in Python, and all of
them together against a batch count that knows nothing of lateness."""
import collections
import unittest

from recount import SETS, batch_counts, micros, replay
from wrackline import CommandTest, job

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND


class RecordsTest(CommandTest):
    def check(self, name, size, delay, lateness, key=None, late="correct"):
        records = SETS[name]
        records.require()
        text = self.job_for(records, size, delay, lateness, key, late)
        document = self.run_job(text)
        balance = document["balance"][0]
        read = list(records.records(key))
        fates, counts, ledgered, _ = replay(read, size, delay, lateness if late == "correct" else 0)
        dropped = fates["sealed"] if late == "drop" else 0
        self.assertEqual(balance["read"], len(read))
        self.assertEqual(balance["accepted"], fates["on_time"] + fates["corrects"])
        self.assertEqual(balance["dropped"].get("late", 0), dropped)
        self.assertEqual(balance["ledgered"], fates["future"] + fates["sealed"] - dropped)
        self.assertEqual(self.published(key), counts)
        missed = self.missed(key)
        self.assertEqual(missed, collections.Counter([] if dropped else ledgered))
        if not dropped and not fates["future"]:
            together = collections.Counter(counts)
            for (start, value, _), times in missed.items():
                together[start, value] += times
            self.assertEqual(together, collections.Counter(batch_counts(read, size)))
        return balance

    def job_for(self, records, size, delay, lateness, key, late):
        day = records.unit == "day"
        kinds = {name: "text" for name in records.columns()}
        kinds[records.event] = kinds[records.arrival] = "date" if day else "bigint"
        source = {"event_time": records.event, "arrival_time": records.arrival, "partition": records.partition,
                  "watermark_delay": f"{delay // SECOND} s", "time_zone": "UTC" if day else None, "time_unit": None if day else records.unit}
        view = {"late": late}
        if late == "correct":
            view["allowed_lateness"] = f"{lateness // SECOND} s"
        return job(path=records.path, columns=kinds, source=source, view=view, select="count(*) AS n", window=f"{size // SECOND} s",
                   keys=(key,) if key else ())

    def published(self, key):
        final = self.final(keys=("window_start", *((key,) if key else ())))
        return {(micros(row["window_start"]), row[key] or "" if key else ""): row["n"] for row in final.values()}

    def missed(self, key):
        """How often the ledger has each (window start, key, late by). A record of the future missed no window by lateness."""
        entries = [entry for entry in self.ledger() if entry["reason"] != "future"]
        return collections.Counter((micros(window["start"]), entry["key"] or "" if key else "", window["late_by_us"])
                                   for entry in entries for window in entry["windows"])


class Run(RecordsTest):
    def test_usgs_per_network_and_day(self):
        self.check("usgs", DAY, 0, 7 * DAY, key="net")

    def test_usgs_six_hours_without_lateness(self):
        self.check("usgs", 6 * HOUR, 600 * SECOND, 0)

    def test_usgs_ledger_policy(self):
        self.check("usgs", DAY, DAY, 0, key="net", late="ledger")

    def test_usgs_drop_policy(self):
        self.check("usgs", DAY, DAY, 0, key="net", late="drop")

    def test_police_per_day(self):
        self.check("police", DAY, HOUR, 14 * DAY, key="category")

    def test_fire_calls_per_minute(self):
        self.check("fire", MINUTE, 0, 120 * SECOND, key="unit")

    def test_telematics_per_minute(self):
        self.check("telematics", MINUTE, 5 * SECOND, 10 * SECOND, key="type")

    def test_dengue_per_week(self):
        self.check("dengue", 7 * DAY, 7 * DAY, 28 * DAY)

    def test_mpox_per_day(self):
        self.check("mpox", DAY, 2 * DAY, 7 * DAY)

    def test_gtfs_clock_bugs_per_minute(self):
        self.check("gtfs_bugs", MINUTE, 30 * SECOND, 60 * SECOND, key="vehicle")

    def test_mail_per_day(self):
        self.check("mail", DAY, HOUR, 30 * DAY, key="corpus")

    def test_pge_per_hour(self):
        self.check("pge", HOUR, 10 * HOUR, 24 * HOUR)


class Batches(RecordsTest):
    """How input is cut into batches cannot be seen: not in the balance, the final values, the ledger or the watermark."""

    def check_batches(self, name, size, delay, lateness, key):
        records = SETS[name]
        records.require()
        text = self.job_for(records, size, delay, lateness, key, "correct")
        seen = {}
        for rows in (1, 7, 1000, 1 << 20):
            document = self.run_job(text, "--tick-rows", rows, "--at-end", "hold", "--state", f"state-{rows}")
            entries = [{name: value for name, value in entry.items() if name != "tick"} for entry in self.ledger(f"state-{rows}")]
            published = sorted(((*identity, row["n"]) for identity, row in self.final(keys=("window_start", key)).items()), key=repr)
            seen[rows] = (document["balance"], document["watermark"], published, sorted(entries, key=lambda entry: entry["offset"]))
        for rows, outcome in seen.items():
            for ours, theirs in zip(seen[1], outcome):
                self.assertEqual(ours, theirs, f"batches of {rows} differ from batches of one")

    def test_partitions_by_column(self):
        self.check_batches("usgs", 6 * HOUR, 600 * SECOND, DAY, "net")

    def test_one_partition(self):
        self.check_batches("dengue", 7 * DAY, 7 * DAY, 28 * DAY, "onset")

    def test_absurd_clocks(self):
        self.check_batches("gtfs_bugs", MINUTE, 30 * SECOND, 60 * SECOND, "vehicle")


class AbsurdClocks(RecordsTest):
    """No absurd clock moves the watermark: held at the end, it stands where the healthy clocks left it."""

    def watermark(self, name, delay=MINUTE):
        records = SETS[name]
        records.require()
        records_read = list(records.records())
        text = self.job_for(records, HOUR, delay, 0, None, "correct")
        document = self.run_job(text, "--at-end", "hold")
        _, _, _, expected = replay(records_read, HOUR, delay, 0)
        self.assertEqual(micros(document["watermark"]), expected)
        newest_arrival = max(arrival for _, arrival, *_ in records_read)
        self.assertLessEqual(micros(document["watermark"]), newest_arrival + 300 * SECOND - delay)
        return micros(document["watermark"])

    def test_gtfs_year_55000(self):
        self.watermark("gtfs_bugs")

    def test_mail_year_102(self):
        self.watermark("mail")


if __name__ == "__main__":
    unittest.main()
