"""`wrackline sweep` against the engine: a run with any of the candidate pairs counts the same numbers. Real records, and random
streams with several partitions, keys, filters, broken lines and hopping windows."""
import json
import random
import unittest

from recount import DAY, HOUR, MINUTE, SECOND, SETS
from records_test_case import RecordsTest, seconds


class Sweep(RecordsTest):
    def compare(self, text, delays, latenesses, *, pairs=None, run_arguments=(), exact_pairs=True):
        """Sweeps the job, then runs it with candidate pairs and compares what was counted. Returns how many runs agreed."""
        path = self.write("swept.sql", text)
        spans = lambda values: ",".join(seconds(value) for value in values)
        found = self.run_command("sweep", path, "--delay", spans(delays), "--lateness", spans(latenesses), "--json",
                                 *run_arguments).document
        self.assertEqual(len(found["candidates"]), len(delays) * len(latenesses))
        agreed = 0
        for candidate in found["candidates"]:
            pair = candidate["delay_us"], candidate["lateness_us"]
            if pairs is not None and pair not in pairs:
                continue
            with self.subTest(pair=pair):
                job = (text.replace("watermark_delay = '10 s'", f"watermark_delay = '{seconds(pair[0])}'")
                           .replace("allowed_lateness = '20 s'", f"allowed_lateness = '{seconds(pair[1])}'"))
                document = json.loads(self.run_command("run", self.write("run.sql", job), "--state", "none", "--json",
                                                       *run_arguments).out.splitlines()[-1])
                balance = document["balance"][0]
                view = document["views"][balance["view"]]
                aside = sum(found["rejected"].values())
                self.assertEqual(balance["read"], found["records"])
                self.assertEqual(balance["filtered"], found["filtered"])
                self.assertEqual(balance["accepted"], candidate["accepted"])
                self.assertEqual(balance["accepted_partially"], candidate["accepted_partially"])
                self.assertEqual(balance["ledgered"], candidate["ledgered_records"] + aside)
                self.assertEqual(view["versions"], candidate["versions"])
                self.assertEqual(view["corrections"], candidate["corrections"])
                self.assertEqual(view["windows_closed"], candidate["windows_closed"])
                self.assertEqual(candidate["on_time"] + candidate["corrected"] + candidate["ledgered"], found["pairs"])
                agreed += 1
        self.assertGreater(agreed, 0)
        return found, agreed

    def check_records(self, name, size, delays, latenesses, key=None):
        records = SETS[name]
        records.require()
        text = self.job_for(records, size, 10 * SECOND, 20 * SECOND, key, "correct")
        text = text.replace("10.000000 s", "10 s").replace("20.000000 s", "20 s")
        return self.compare(text, delays, latenesses)

    def test_usgs_per_network(self):
        self.check_records("usgs", DAY, (0, HOUR, DAY), (0, DAY, 14 * DAY), key="net")

    def test_fire_calls_per_minute(self):
        self.check_records("fire", MINUTE, (0, MINUTE), (0, 2 * MINUTE, HOUR), key="unit")

    def test_telematics(self):
        self.check_records("telematics", MINUTE, (0, 5 * SECOND), (0, 10 * SECOND))

    def test_dengue_weeks(self):
        self.check_records("dengue", 7 * DAY, (0, 14 * DAY), (0, 28 * DAY))

    def test_gtfs_clock_bugs(self):
        self.check_records("gtfs_bugs", MINUTE, (0, 30 * SECOND), (0, MINUTE), key="vehicle")

    def test_mail(self):
        self.check_records("mail", DAY, (0, HOUR), (0, 30 * DAY), key="corpus")

    def test_pge(self):
        self.check_records("pge", HOUR, (0, 10 * HOUR), (0, 24 * HOUR))

    def random_job(self, seed):
        chance = random.Random(seed)
        lines = {}
        files = chance.choice((1, 3))
        by_column = chance.random() < 0.5
        for file in range(files):
            now, out = 1_700_000_000_000_000 + file * 777_000, []
            for _ in range(chance.randint(150, 500)):
                now += chance.randint(0, 400_000)
                delay = chance.randint(5_000, 300_000) if chance.random() < 0.85 else chance.randint(1_000_000, 40_000_000)
                if chance.random() < 0.01:
                    delay = -chance.randint(1, 200_000_000_000)
                record = {"at": now - delay, "received": now, "page": f"p{chance.randint(0, 4)}", "user_id": chance.randint(0, 3)}
                if chance.random() < 0.01:
                    record["at"] = None
                out.append(json.dumps(record) if chance.random() > 0.01 else "{broken")
            lines[f"in/{file}.jsonl"] = "\n".join(out) + "\n"
        for name, text in lines.items():
            self.write(name, text)
        size = chance.choice((1, 2, 5))
        window = f"TUMBLE(clicks, at, INTERVAL '{size} s')"
        if chance.random() < 0.5:
            window = f"HOP(clicks, at, INTERVAL '{chance.choice((500, 1000))} ms', INTERVAL '{size} s')"
        keys = chance.choice(("", ", page", ", page, user_id"))
        where = chance.choice(("", "WHERE user_id > 0", "WHERE 10 / user_id > 3"))
        order = chance.choice(("", "order_by = 'arrival_time', "))
        partition = "partition = 'user_id', " if by_column else ""
        return f"""CREATE TABLE clicks (user_id bigint, page text, at bigint, received bigint) WITH (
  connector = 'file', path = '{self.folder}/in/*.jsonl', event_time = 'at', arrival_time = 'received', time_unit = 'us',
  {partition}{order}watermark_delay = '10 s');
CREATE MATERIALIZED VIEW v WITH (allowed_lateness = '20 s') AS
SELECT window_start, window_end{keys}, count(*) AS n FROM {window} {where} GROUP BY window_start, window_end{keys};
CREATE TABLE results () WITH (connector = 'file', path = 'out.jsonl');
INSERT INTO results SELECT * FROM v;
"""

    def check_random(self, seeds):
        agreed = 0
        for seed in seeds:
            with self.subTest(seed=seed):
                text = self.random_job(seed)
                rows = random.Random(seed).choice((1, 17, 4096))
                agreed += self.compare(text, (0, 300_000, 5 * SECOND), (0, 2 * SECOND), run_arguments=("--tick-rows", rows))[1]
                for file in (self.folder / "in").iterdir():
                    file.unlink()
        self.assertEqual(agreed, 6 * len(seeds))

    def test_random_streams(self):
        self.check_random(range(1, 13))


if __name__ == "__main__":
    unittest.main()
