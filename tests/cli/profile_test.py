"""Saved profiles, comparisons, settings for other systems, and input from which little can be said."""
import json
import random

import console_page
from wrackline import ROOT, SANITIZED, CommandTest

SECOND = 1_000_000


def records(count, seed, delay_us=2 * SECOND):
    chance = random.Random(seed)
    lines, now = [], 1_700_000_000_000_000
    for _ in range(count):
        now += chance.randint(0, 200_000)
        at = now - int(chance.expovariate(1 / delay_us))
        lines.append(json.dumps({"at": at, "received": now, "device": f"d{chance.randint(0, 2)}"}))
    return "\n".join(lines) + "\n"


class Profiles(CommandTest):
    COLUMNS = ("--event-time", "at", "--arrival-time", "received", "--time-unit", "us", "--partition", "device")

    def measured(self, name, *arguments, code=0):
        return self.run_command("measure", name, *self.COLUMNS, *arguments, "--json", code=code)

    def setUp(self):
        super().setUp()
        self.write("a.jsonl", records(4000, 1))
        self.write("b.jsonl", records(3000, 2))
        self.write("slow.jsonl", records(4000, 3, delay_us=20 * SECOND))

    def test_saved_profiles_add_up(self):
        first = self.measured("a.jsonl", "--out", "a.json").document
        second = self.measured("b.jsonl", "--out", "b.json").document
        merged = self.run_command("measure", "a.json", "b.json", "--json").document
        self.assertEqual(merged["records"], 7000)
        self.assertEqual(merged["all"]["delay_us"]["max"], max(first["all"]["delay_us"]["max"], second["all"]["delay_us"]["max"]))
        total = lambda document: sum(count for _, _, count in document["all"]["histogram"]["delay"])
        self.assertEqual(total(merged), total(first) + total(second))
        again = self.run_command("measure", "a.json", "b.json", "--out", "both.json", "--json").document
        self.assertEqual(again["all"], self.run_command("measure", "both.json", "--json").document["all"])
        self.assertIn("7,000 records", self.run_command("measure", "both.json").out)

    def test_against_says_whether_it_changed(self):
        self.measured("a.jsonl", "--out", "a.json")
        same = self.measured("b.jsonl", "--against", "a.json").document
        self.assertIn(same["verdict"], ("same", "shifted"))
        changed = self.measured("slow.jsonl", "--against", "a.json", code=3).document
        self.assertEqual(changed["verdict"], "changed")
        self.assertGreater(changed["quantities"][0]["ks"], 0.3)
        p99 = [moved for moved in changed["quantities"][0]["quantiles"] if moved["quantile"] == "p99"][0]
        self.assertGreater(p99["after_us"], 5 * p99["before_us"])
        text = self.run_command("measure", "slow.jsonl", *self.COLUMNS, "--against", "a.json", code=3).out
        self.assertIn("derive the budget again", text)

    def test_budget_of_a_profile_and_settings(self):
        self.measured("a.jsonl", "--out", "a.json")
        saved = self.run_command("budget", "--profile", "a.json", "--json").document
        direct = self.run_command("budget", "a.jsonl", *self.COLUMNS, "--json").document
        self.assertAlmostEqual(saved["watermark_delay_us"] / direct["watermark_delay_us"], 1, delta=0.15)
        self.assertTrue(saved["certificate"]["assumes"]["from_profile"])
        self.assertEqual(direct["certificate"]["records"], 4000)
        self.assertIn(direct["certificate"]["backtest"]["verdict"], ("held", "exceeded"))
        for target, word in (("wrackline", "watermark_delay = '"), ("flink", "forBoundedOutOfOrderness"),
                             ("flink-sql", "WATERMARK FOR"), ("spark", "withWatermark"), ("kafka-streams", "ofSizeAndGrace"),
                             ("beam", "withAllowedLateness")):
            with self.subTest(target=target):
                self.assertIn(word, self.run_command("budget", "a.jsonl", *self.COLUMNS, "--emit", target).out)
        document = self.run_command("budget", "--profile", "a.json", "--emit", "flink", "--json").document
        self.assertEqual(document["watermark_delay_us"], saved["watermark_delay_us"])

    def test_what_is_no_profile_says_so(self):
        self.measured("a.jsonl", "--out", "a.json")
        text = (self.folder / "a.json").read_text()
        self.write("cut.json", text[:-200])
        self.write("other.json", '{"format":"wrackline-profile","version":9,"checksum":"","body":{}}')
        self.assertIn("damaged", self.run_command("measure", "cut.json", code=1).err)
        self.assertIn("version 9", self.run_command("budget", "--profile", "other.json", code=1).err)
        self.assertIn("not a profile", self.measured("a.jsonl", "--against", "b.jsonl", code=1).err)
        self.assertIn("columns", self.run_command("measure", "a.json", "--event-time", "at", code=2).err)
        self.assertIn("--window", self.run_command("budget", "--profile", "a.json", "--window", "1 min", code=2).err)
        self.assertIn("kafka-streams", self.run_command("budget", "a.jsonl", *self.COLUMNS, "--emit", "storm", code=2).err)
        self.assertIn("--event-time is required", self.run_command("measure", "a.jsonl", code=2).err)
        self.assertIn("input is required", self.run_command("budget", code=2).err)


class Page(CommandTest):
    def test_commands_print_what_the_page_says(self):
        self.assertGreater(console_page.check(self, ROOT / "docs/measuring.md"), 9)


class LittleToSay(CommandTest):
    def measure(self, lines, *arguments):
        self.write("in.jsonl", "\n".join(json.dumps(line) for line in lines) + "\n")
        return self.run_command("measure", "in.jsonl", "--event-time", "at", "--time-unit", "us", *arguments, "--json").document

    def kinds(self, document):
        return {finding["kind"] for finding in document["findings"]}

    def test_no_arrival_column(self):
        document = self.measure([{"at": at * SECOND} for at in (5, 1, 9, 3, 12)])
        self.assertIn("no_arrival", self.kinds(document))
        self.assertIsNone(document["all"]["delay_us"])
        self.assertEqual(document["all"]["disorder_us"]["max"], 6 * SECOND)
        self.assertEqual(document["series"], {"width_us": 0, "intervals": [], "changes": []})

    def test_one_record(self):
        document = self.measure([{"at": 1, "received": 3}], "--arrival-time", "received")
        self.assertEqual(document["all"]["verdict"], {"p99": "insufficient", "p99.9": "insufficient"})
        self.assertEqual(document["all"]["confidence"]["p99"][1], None)
        self.assertEqual(document["all"]["delay_us"]["p50"], 2)

    def test_all_equal_times(self):
        document = self.measure([{"at": 7, "received": 7}] * 50, "--arrival-time", "received")
        self.assertIn("constant_times", self.kinds(document))
        self.assertEqual(document["all"]["disorder_us"]["max"], 0)

    def test_one_arrival_time_for_all(self):
        document = self.measure([{"at": at * SECOND, "received": 10**12} for at in range(50)], "--arrival-time", "received")
        self.assertIn("constant_times", self.kinds(document))

    def test_everything_negative(self):
        document = self.measure([{"at": -at * SECOND, "received": -(at + 60) * SECOND} for at in range(40)],
                                "--arrival-time", "received")
        self.assertEqual(document["all"]["negative"]["share"], 1)
        self.assertEqual(document["all"]["clock_ahead_us"], 60 * SECOND)
        self.assertIn("unsorted_arrival", self.kinds(document))

    def test_unsorted_arrival(self):
        lines = [{"at": at * SECOND, "received": (at ^ 1) * SECOND + 5 * SECOND} for at in range(200)]
        document = self.measure(lines, "--arrival-time", "received")
        back, = [finding for finding in document["findings"] if finding["kind"] == "unsorted_arrival"]
        self.assertEqual(back["records"], 100)
        self.assertEqual(document["all"]["delay_us"]["max"], 6 * SECOND)

    def test_mixed_units(self):
        now = 1_700_000_000_000_000
        lines = [{"at": now + at * SECOND if at % 4 else (now + at * SECOND) // 1000, "received": now + at * SECOND} for at in range(200)]
        document = self.measure(lines, "--arrival-time", "received")
        self.assertTrue({"wrong_unit", "mixed_units"} <= self.kinds(document))

    def test_too_few_for_a_budget(self):
        self.write("in.jsonl", "\n".join(json.dumps({"at": at, "received": at}) for at in range(20)) + "\n")
        document = self.run_command("budget", "in.jsonl", "--event-time", "at", "--arrival-time", "received", "--time-unit", "us",
                                    "--json").document
        self.assertEqual(document["verdict"]["watermark_delay"], "insufficient")
        self.assertEqual(document["certificate"]["backtest"]["verdict"], "insufficient")

    def test_ten_thousand_partitions_fit(self):
        chance = random.Random(5)
        lines, now = [], 1_700_000_000_000_000
        for i in range(300_000):
            now += 1000
            lines.append(f'{{"at":{now - chance.randint(0, 90_000_000)},"received":{now},"device":"d{i % 10_000}"}}')
        self.write("in.jsonl", "\n".join(lines) + "\n")
        outcome = self.run_command("measure", "in.jsonl", "--event-time", "at", "--arrival-time", "received", "--time-unit", "us",
                                   "--partition", "device", "--json")
        self.assertEqual(len(outcome.document["partitions"]), 10_000)
        if not SANITIZED:
            self.assertLess(outcome.memory_kb, 1_000_000)
