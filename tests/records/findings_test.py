"""What `wrackline measure` finds in real records: each finding here is known from where the records come from."""
import datetime

from recount import DAY, HOUR, MINUTE, SECOND, SHARED, SETS, RecordSet
from wrackline import CommandTest

TRANSIT = RecordSet("gtfs_rt_community_transit/positions.csv", "event_s", "arrival_s", "s", "vehicle", shared=True)


def day(text):
    return int(datetime.datetime.fromisoformat(text + "T00:00:00+00:00").timestamp()) * SECOND


class Findings(CommandTest):
    def measure(self, records, *arguments, code=0):
        records.require()
        return self.run_command("measure", records.path, "--event-time", records.event, "--arrival-time", records.arrival,
                                "--time-unit", records.unit, *arguments, "--json", code=code).document

    def kinds(self, document):
        return {finding["kind"] for finding in document["findings"]}

    def of_kind(self, document, kind):
        return [finding for finding in document["findings"] if finding["kind"] == kind]

    def test_pge_four_regime_changes(self):
        """Local time published as UTC: the floor moved with daylight saving three times, and with the repair."""
        document = self.measure(SETS["pge"], "--order-by", "arrival")
        changes = document["series"]["changes"]
        expected = [("2024-03-10", -HOUR), ("2024-11-03", HOUR), ("2025-03-09", -HOUR), ("2025-08-21", -7 * HOUR)]
        self.assertEqual(len(changes), len(expected))
        for change, (date, shift) in zip(changes, expected):
            self.assertLessEqual(abs(change["at_us"] - day(date)), DAY, (change, date))
            self.assertLessEqual(abs(change["shift_us"] - shift), 5 * MINUTE, change)
            self.assertTrue(change["floor"])
        self.assertEqual(len(self.of_kind(document, "regime_change")), 4)

    def test_gtfs_clock_bugs(self):
        document = self.measure(SETS["gtfs_bugs"], "--producer", "vehicle")
        self.assertEqual([finding["records"] for finding in self.of_kind(document, "wrong_unit")], [19])
        self.assertEqual(self.of_kind(document, "wrong_unit")[0]["unit"], "ms")
        self.assertIn(HOUR, [abs(finding["value_us"]) for finding in self.of_kind(document, "time_zone")])
        stuck = self.of_kind(document, "stuck_clock")
        self.assertEqual([finding["partition"] for finding in stuck], ["72"])
        self.assertIn("70 days", stuck[0]["text"])
        faults = [producer["fault"] for producer in document["producers"]["list"]]
        self.assertEqual(faults.count("wrong_unit"), 19)
        self.assertGreaterEqual(faults.count("time_zone"), 30)
        self.assertIn("mixed_units", self.kinds(document))

    def test_mail_clocks(self):
        document = self.measure(SETS["mail"], "--producer", "sender_domain_id")
        self.assertEqual([finding["records"] for finding in self.of_kind(document, "lost_century")], [62])
        self.assertGreater(len(self.of_kind(document, "time_zone")), 0)
        producers = document["producers"]["list"]
        self.assertEqual(sum(producer["fault_records"] for producer in producers if producer["fault"] == "lost_century"), 62)
        zones = [producer for producer in producers if producer["fault"] == "time_zone"]
        self.assertGreater(len(zones), 10)
        for producer in zones:
            self.assertIn("probably a time-zone fault", producer["text"])

    def test_usgs_two_modes(self):
        document = self.measure(SETS["usgs"], "--partition", "net")
        self.assertEqual([mode["name"] for mode in document["all"]["modes"]], ["transport", "offline"])
        self.assertLess(document["all"]["modes"][0]["p50_us"], 10 * MINUTE)
        self.assertGreater(document["all"]["modes"][1]["p50_us"], HOUR)
        self.assertEqual(document["series"]["changes"], [])

    def test_telematics_store_and_forward(self):
        document = self.measure(SETS["telematics"], "--partition", "vehicle")
        offline = self.of_kind(document, "offline_mode")
        self.assertEqual(len(offline), 1)
        self.assertGreater(offline[0]["records"], 100)
        self.assertIn("bursts of stored records", offline[0]["text"])
        # In the last hour the delay climbs from seconds to minutes: one change that takes its time, not one at each step.
        change, = document["series"]["changes"]
        self.assertEqual(change["until_us"] - change["at_us"], 2970 * SECOND)
        self.assertIn("kept changing", change["text"])

    def test_community_transit_copies_do_not_distort(self):
        plain = self.measure(TRANSIT, "--partition", "vehicle")
        self.assertIn("repeats", self.kinds(plain))
        first = self.measure(TRANSIT, "--partition", "vehicle", "--id", "vehicle,event_s")
        self.assertEqual(first["records"], 10278)
        self.assertEqual(first["repeats"]["records"], 29235 - 10278)
        self.assertAlmostEqual(first["repeats"]["share"], 0.648, places=3)
        self.assertNotIn("repeats", self.kinds(first))
        # Copies are late by construction: with them the tail is longer.
        self.assertLess(first["all"]["delay_us"]["p99"], plain["all"]["delay_us"]["p99"])
        self.assertLessEqual(first["all"]["delay_us"]["p99"], 50 * SECOND)
        exact = self.measure(TRANSIT, "--drop-repeats")
        self.assertGreater(exact["repeats"]["records"], 6000)

    def test_git_histories(self):
        """Arrival goes back in the order of the file, and a commit dated a year ahead is of the future."""
        if not (SHARED / "git_commits").exists():
            self.skipTest("needs ../shared/data/git_commits")
        names = {"event": "event_s", "arrival": "arrival_s", "unit": "s", "shared": True}
        kafka = self.measure(RecordSet("git_commits/kafka.csv", **names))
        self.assertEqual([finding["records"] > 0 for finding in self.of_kind(kafka, "unsorted_arrival")], [True])
        proton = self.measure(RecordSet("git_commits/proton_clickhouse.csv", **names), "--order-by", "arrival")
        self.assertNotIn("unsorted_arrival", self.kinds(proton))
        self.assertIn("future", self.kinds(proton))
        redpanda = self.measure(RecordSet("git_commits/redpanda.csv", **names), "--order-by", "arrival")
        self.assertAlmostEqual(redpanda["all"]["delay_us"]["p50"] / HOUR, 4.1, places=1)
        # People who work for a while before they commit have no clocks that drift.
        for project in ("arrow", "kafka", "proton_clickhouse", "redpanda"):
            with self.subTest(project=project):
                document = self.measure(RecordSet(f"git_commits/{project}.csv", **names), "--order-by", "arrival", "--producer", "author")
                self.assertNotIn("clock_drift", self.kinds(document))

    def test_quiet_sets_have_no_regime_change(self):
        for name in ("usgs", "fire", "mail"):
            with self.subTest(records=name):
                self.assertEqual(self.measure(SETS[name])["series"]["changes"], [])

    def test_usgs_budgets_per_network_wait_less(self):
        """With 5 % late, a budget for each network waits 263 hours for a record on average, one budget for all 338 hours."""
        records = SETS["usgs"]
        records.require()
        document = self.run_command("budget", records.path, "--event-time", records.event, "--arrival-time", records.arrival,
                                    "--time-unit", records.unit, "--partition", records.partition, "--rule", "nearest-rank",
                                    "--target-late", "5%", "--json").document
        delay = {part["partition"]: part["watermark_delay_us"] for part in document["per_partition"]}
        one = document["watermark_delay_us"]
        read = [(arrival - event, network) for event, arrival, network, _ in records.records()]
        late = sum(waited > delay[network] for waited, network in read) / len(read)
        late_by_one = sum(waited > one for waited, _ in read) / len(read)
        self.assertAlmostEqual(late, 0.05, places=2)
        self.assertAlmostEqual(late_by_one, 0.05, places=2)
        mean = sum(delay[network] for _, network in read) / len(read)
        self.assertEqual((round(mean / HOUR), round(one / HOUR)), (263, 338))
