"""A tumbling count of real records through `wrackline run`, compared with a replay and a batch count in Python."""
import collections

from recount import SECOND, SETS, batch_counts, micros, replay
from wrackline import CommandTest, job


def seconds(span_us):
    return f"{span_us // SECOND}.{span_us % SECOND:06} s"


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
        return balance, fates

    def job_for(self, records, size, delay, lateness, key, late):
        day = records.unit == "day"
        kinds = {name: "text" for name in records.columns()}
        kinds[records.event] = kinds[records.arrival] = "date" if day else "bigint"
        source = {"event_time": records.event, "arrival_time": records.arrival, "partition": records.partition,
                  "watermark_delay": seconds(delay), "time_zone": "UTC" if day else None, "time_unit": None if day else records.unit}
        view = {"late": late}
        if late == "correct":
            view["allowed_lateness"] = seconds(lateness)
        return job(path=records.path, columns=kinds, source=source, view=view, select="count(*) AS n", window=seconds(size),
                   keys=(key,) if key else ())

    def published(self, key):
        final = self.final(keys=("window_start", *((key,) if key else ())))
        return {(micros(row["window_start"]), row[key] or "" if key else ""): row["n"] for row in final.values()}

    def missed(self, key):
        """How often the ledger has each (window start, key, late by). A record of the future missed no window by lateness."""
        entries = [entry for entry in self.ledger() if entry["reason"] != "future"]
        return collections.Counter((micros(window["start"]), entry["key"] or "" if key else "", window["late_by_us"])
                                   for entry in entries for window in entry["windows"])
