"""`wrackline budget` on real records: its prediction is what the engine and a replay in Python count with that pair, and the
plain nearest-rank rule is the published recipe."""
import unittest

from recount import DAY, HOUR, MINUTE, SETS, replay
from records_test_case import RecordsTest, seconds


class Budget(RecordsTest):
    def budget(self, records, *arguments):
        records.require()
        command = ["budget", records.path, "--event-time", records.event, "--arrival-time", records.arrival]
        command += ["--time-zone", "UTC"] if records.unit == "day" else ["--time-unit", records.unit]
        command += ["--partition", records.partition] if records.partition else []
        return self.run_command(*command, *arguments, "--json").document

    def check_prediction(self, name, window):
        records = SETS[name]
        budget = self.budget(records, "--window", seconds(window))
        delay, lateness = budget["watermark_delay_us"], budget["allowed_lateness_us"]
        self.assertGreaterEqual(lateness, 0)
        fates, *_ = replay(records.records(), window, delay, lateness)
        counts = budget["counts"]
        self.assertEqual(counts["refused_future"], fates["future"])
        self.assertEqual([counts[fate] for fate in ("on_time", "corrected", "ledgered")],
                         [fates["on_time"], fates["corrects"], fates["sealed"] + fates["future"]])
        for fate in ("on_time", "corrected", "ledgered"):
            self.assertAlmostEqual(budget["predicted"][fate], counts[fate] / counts["pairs"], places=9)
        document = self.run_job(self.job_for(records, window, delay, lateness, None, "correct"))
        balance = document["balance"][0]
        self.assertEqual(balance["accepted"], counts["on_time"] + counts["corrected"])
        self.assertEqual(balance["ledgered"], counts["ledgered"])

    def check_nearest_rank(self, name):
        """Sorted delays; the element at index floor(p / 100 * n), clamped; lateness max(p99.9 - p99, 0)."""
        records = SETS[name]
        budget = self.budget(records, "--rule", "nearest-rank")
        delays = sorted(arrival - event for event, arrival, *_ in records.records())
        at = lambda permille: delays[min(permille * len(delays) // 1000, len(delays) - 1)]
        self.assertEqual(budget["watermark_delay_us"], max(at(990), 0))
        self.assertEqual(budget["allowed_lateness_us"], max(at(999) - at(990), 0))

    def test_usgs_prediction(self):
        self.check_prediction("usgs", DAY)

    def test_police_prediction(self):
        self.check_prediction("police", DAY)

    def test_fire_prediction(self):
        self.check_prediction("fire", MINUTE)

    def test_telematics_prediction(self):
        self.check_prediction("telematics", MINUTE)

    def test_dengue_prediction(self):
        self.check_prediction("dengue", 7 * DAY)

    def test_mpox_prediction(self):
        self.check_prediction("mpox", DAY)

    def test_pge_prediction(self):
        self.check_prediction("pge", HOUR)

    def test_mail_prediction(self):
        self.check_prediction("mail", DAY)

    def test_gtfs_prediction(self):
        self.check_prediction("gtfs_bugs", MINUTE)

    def test_nearest_rank_of_usgs(self):
        self.check_nearest_rank("usgs")

    def test_nearest_rank_of_police(self):
        self.check_nearest_rank("police")

    def test_nearest_rank_of_telematics(self):
        self.check_nearest_rank("telematics")

    def test_nearest_rank_of_dengue(self):
        self.check_nearest_rank("dengue")

    def test_nearest_rank_of_pge(self):
        self.check_nearest_rank("pge")


if __name__ == "__main__":
    unittest.main()
