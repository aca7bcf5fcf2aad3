"""`wrackline generate`: the same seed gives the same records, whatever their order; keys are as many as asked for."""
import datetime
import json
import unittest

from wrackline import CommandTest


def times_of(lines, field):
    return [datetime.datetime.fromisoformat(json.loads(line)[field]) for line in lines]


class Generate(CommandTest):
    def lines(self, *arguments, kind="bids", rows=5000):
        return self.run_command("generate", kind, "--rows", rows, "--seed", 7, *arguments).out.splitlines()

    def test_orders_hold_the_same_records(self):
        arrival, event = self.lines(), self.lines("--order", "event")
        self.assertNotEqual(arrival, event)
        self.assertEqual(sorted(arrival), sorted(event))
        times = times_of(event, "date_time")
        self.assertEqual(times, sorted(times))

    def test_arrival_is_the_order_otherwise(self):
        times = times_of(self.lines(), "arrival")
        self.assertEqual(times, sorted(times))

    def test_keys_are_as_many_as_asked_for(self):
        for kind, field, name in (("bids", "auction", int), ("clicks", "user_id", int), ("sensors", "sensor", lambda text: int(text[1:]) + 1)):
            with self.subTest(kind=kind):
                keys = {name(json.loads(line)[field]) for line in self.lines("--keys", 300, kind=kind)}
                self.assertEqual((min(keys), max(keys), len(keys)), (1, 300, 300))

    def test_what_it_cannot_do_it_says(self):
        self.assert_says(self.run_command("generate", "bids", "--keys", "0", code=2).err, "--keys")
        self.assert_says(self.run_command("generate", "bids", "--order", "reverse", code=2).err, "arrival", "event")


if __name__ == "__main__":
    unittest.main()
