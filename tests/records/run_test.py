"""A tumbling count of real records through `wrackline run`: fates, results and ledger against a replay in Python, and all of
them together against a batch count that knows nothing of lateness."""
import unittest

from recount import DAY, HOUR, MINUTE, SECOND, SETS, micros, replay
from records_test_case import RecordsTest


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
