"""`wrackline measure` against a recount in Python, to the microsecond, on every set of real records."""
import unittest

from recount import SETS, profiles
from wrackline import CommandTest


class Measure(CommandTest):
    def check(self, name):
        records = SETS[name]
        records.require()
        arguments = ["--event-time", records.event, "--arrival-time", records.arrival]
        arguments += ["--time-zone", "UTC"] if records.unit == "day" else ["--time-unit", records.unit]
        arguments += ["--partition", records.partition] if records.partition else []
        measured = self.run_command("measure", records.path, *arguments, "--json").document
        partitions, everything = profiles(records.records())
        self.assertEqual(measured["records"], everything["records"])
        self.assertEqual(sum(measured["rejected"].values()), 0)
        self.compare(measured["all"], everything)
        found = {part["partition"]: part for part in measured["partitions"]}
        if records.partition:
            self.assertEqual(set(found), set(partitions))
            for partition, expected in partitions.items():
                with self.subTest(partition=partition):
                    self.compare(found[partition], expected)
        else:
            self.assertEqual(len(found), 1)
            self.compare(*found.values(), everything)

    def compare(self, measured, expected):
        total = expected["records"]
        self.assertEqual(measured["records"], total)
        self.assertEqual(measured["delay_us"], expected["delay_us"])
        self.assertEqual(measured["disorder_us"], expected["disorder_us"])
        for count in ("behind", "negative"):
            self.assertEqual(measured[count]["count"], expected[count], count)
            self.assertAlmostEqual(measured[count]["share"], expected[count] / total, places=9, msg=count)
        self.assertEqual(measured["negative"]["most_us"], expected["most_us"])
        self.assertEqual(measured["future"]["count"], expected["future"])
        for quantile, (low, high) in measured["confidence"].items():
            if expected["disorder_us"] is None:
                self.assertEqual((low, high), (None, None))
                continue
            true = expected["disorder_us"][quantile]
            self.assertTrue(low is None or low <= true, (quantile, low, true))
            self.assertTrue(high is None or true <= high, (quantile, true, high))

    def test_usgs_earthquakes(self):
        self.check("usgs")

    def test_police_reports(self):
        self.check("police")

    def test_fire_calls(self):
        self.check("fire")

    def test_fleet_telematics(self):
        self.check("telematics")

    def test_dengue_cases(self):
        self.check("dengue")

    def test_mpox_cases(self):
        self.check("mpox")

    def test_mobile_events(self):
        self.check("mobile")

    def test_gtfs_clock_bugs(self):
        self.check("gtfs_bugs")

    def test_mail_clock_skew(self):
        self.check("mail")

    def test_pge_outages(self):
        self.check("pge")


if __name__ == "__main__":
    unittest.main()
