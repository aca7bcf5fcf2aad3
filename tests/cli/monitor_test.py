"""A running job watches its own watermark delay: alarms, figures, and a delay that follows what is measured."""
import http.server
import json
import random
import shutil
import threading
import unittest

import console_page
from wrackline import ROOT, CommandTest, job

COLUMNS = {"page": "text", "at": "bigint", "received": "bigint"}
SOURCE = {"arrival_time": "received", "time_unit": "ms", "watermark_delay": "2 s"}
MINUTE = 60_000


def stream(minutes, late_share, spread=None, seed=1):
    """100 records a second; a share of them, by minute, is 20 s behind the others. Or all are up to `spread` ms late."""
    pick = random.Random(seed)
    lines = []
    for minute in range(minutes):
        for i in range(6000):
            received = minute * MINUTE + i * 10
            delay = pick.randrange(spread(minute)) if spread else 20_000 if pick.random() < late_share(minute) else 50
            lines.append(json.dumps({"page": "/", "at": 1_714_564_800_000 + received - delay, "received": 1_714_564_800_000 + received}))
    return "\n".join(lines) + "\n"


class Listener(http.server.HTTPServer):
    """Takes what is posted to it, on a port of its own."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.posts.append((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.posts = []


class Page(CommandTest):
    def test_commands_print_what_the_page_says(self):
        """Among them the webhook: the alarm arrives where it is posted to."""
        if not shutil.which("curl"):
            self.skipTest("needs curl")
        with Listener() as listener:
            thread = threading.Thread(target=listener.serve_forever)
            thread.start()
            try:
                address = f"http://127.0.0.1:{listener.server_port}/hook"
                checked = console_page.check(self, ROOT / "docs/monitoring.md", HOOK=address, no_proxy="*")
            finally:
                listener.shutdown()
                thread.join()
        self.assertGreater(checked, 8)
        (path, kind, body), = listener.posts
        self.assertEqual((path, kind), ("/hook", "application/json"))
        self.assertEqual(json.loads(body)["kind"], "late")
        self.assertEqual(body.decode(), (self.folder / "alarms.jsonl").read_text())


class Monitor(CommandTest):
    def run_stream(self, minutes, late_share, *arguments, delay="2 s", spread=None, **source):
        self.write("clicks.jsonl", stream(minutes, late_share, spread))
        text = job(columns=COLUMNS, source={**SOURCE, "watermark_delay": delay, **source}, view={"allowed_lateness": "1 min"}, window="1 second")
        self.write("job.sql", text)
        return self.run_command("run", "job.sql", "--json", *arguments)

    def test_a_delay_that_holds_raises_no_alarm(self):
        outcome = self.run_stream(8, lambda minute: 0.002)
        monitor, = outcome.document["monitor"]
        self.assertEqual(monitor["alarms"], 0, outcome)
        self.assertGreaterEqual(monitor["intervals"], 7)
        self.assertNotIn("alarm", outcome.err)

    def test_a_delay_that_no_longer_holds_raises_one(self):
        outcome = self.run_stream(8, lambda minute: 0.002 if minute < 4 else 0.05, "--alarm-command", "cat >> alarms.jsonl")
        monitor, = outcome.document["monitor"]
        self.assertEqual(monitor["alarms"], 1, outcome)
        self.assert_says(outcome.err, "alarm", "clicks", "watermark_delay 2 s no longer holds")
        alarm = json.loads((self.folder / "alarms.jsonl").read_text().splitlines()[0])
        self.assertEqual((alarm["kind"], alarm["source"], alarm["watermark_delay_us"]), ("late", "clicks", 2_000_000))
        self.assertGreater(alarm["evidence"], alarm["threshold"])
        self.assertGreater(alarm["measured_us"], 2_000_000)

    def test_figures_for_prometheus(self):
        self.run_stream(3, lambda minute: 0.002, "--metrics", "run.prom")
        figures = (self.folder / "run.prom").read_text()
        for line in figures.splitlines():
            self.assertTrue(line.startswith("#") or len(line.rsplit(" ", 1)) == 2, line)
        self.assertIn("wrackline_", figures)
        self.assertIn('source="clicks"', figures)

    def test_off_watches_nothing(self):
        outcome = self.run_stream(2, lambda minute: 0.5, "--monitor-interval", "off")
        self.assertNotIn("alarm", outcome.err)
        self.assertIsNone(self.run_command("status", "--state", "job.state", "--json").document["monitor"])

    def test_status_shows_how_complete_windows_are(self):
        self.run_stream(3, None, spread=lambda minute: 3_000)
        monitor = self.run_command("status", "--state", "job.state", "--json").document["monitor"]
        source, = monitor["sources"]
        shares = [window["share"] for window in source["completeness"]]
        # Delays are even over three seconds: of the newest second a sixth has come, then a half, five sixths, all.
        for share, expected in zip(shares, (1 / 6, 1 / 2, 5 / 6, 1, 1)):
            self.assertAlmostEqual(share, expected, delta=0.02)
        self.assertLess(monitor["age_us"], 60_000_000)
        text = self.run_command("status", "--state", "job.state").out
        self.assertRegex(text, r"arrived +1[567]\.. % of 2024-05-01T12:02:59Z to 2024-05-01T12:03:00Z\n +(49|50)\.. % of")
        self.assertRegex(text, "measured +(just now|[0-9]+ s ago)")

    def test_status_goes_without_damaged_figures(self):
        self.run_stream(2, None, spread=lambda minute: 3_000)
        file = self.folder / "job.state/monitor"
        file.write_bytes(file.read_bytes()[:-9] + b"damage!!!")
        outcome = self.run_command("status", "--state", "job.state")
        self.assert_says(outcome.err, "no figures of the monitor", "checksum")
        self.assertIn("records    12,000", outcome.out)

    def test_the_delay_is_automatic_unless_it_is_written_down(self):
        self.write("clicks.jsonl", stream(5, None, spread=lambda minute: 1_000 if minute < 2 else 50_000))
        self.write("job.sql", job(columns=COLUMNS, source={**SOURCE, "watermark_delay": None}, window="1 second"))
        self.assertRegex(self.run_command("check", "job.sql").out, r"watermark_delay +auto +\(default\)")
        monitor, = self.run_command("run", "job.sql", "--json").document["monitor"]
        self.assertTrue(monitor["auto"])
        self.assertGreater(monitor["watermark_delay_us"], 40_000_000)
        outcome = self.run_command("run", "job.sql", "--monitor-interval", "off", code=2)
        self.assert_says(outcome.err, "--monitor-interval off contradicts", "the default")

    def test_an_automatic_delay_goes_up_at_once_and_a_replay_takes_it_from_the_log(self):
        spread = lambda minute: 1_000 if minute < 3 else 8_000
        self.run_stream(8, None, "--state", "first", delay="auto", watermark_delay_start="2 s", spread=spread)
        first = (self.folder / "out.jsonl").read_bytes()
        outcome = self.run_command("run", "job.sql", "--json", "--replay", "first", "--state", "again", "--tick-rows", "7", "--monitor-interval", "5 min")
        monitor, = outcome.document["monitor"]
        self.assertGreater(monitor["watermark_delay_us"], 6_000_000)
        self.assertEqual(first.replace(b'"_generation":1', b""), (self.folder / "out.jsonl").read_bytes().replace(b'"_generation":1', b""))

    def test_an_automatic_delay_does_not_wait_for_an_offline_mode(self):
        outcome = self.run_stream(8, lambda minute: 0.002 if minute < 3 else 0.05, delay="auto", watermark_delay_start="2 s")
        self.assertLess(outcome.document["monitor"][0]["watermark_delay_us"], 20_000_000)

    def test_wrong_options_say_what_is_right(self):
        self.write("clicks.jsonl", "")
        self.write("job.sql", job(columns=COLUMNS, source=SOURCE))
        for option, value, said in (("--target-late", "0", "target-late"), ("--monitor-interval", "soon", "monitor-interval"),
                                    ("--false-alarm-every", "-1 h", "false-alarm-every")):
            with self.subTest(option=option):
                outcome = self.run_command("run", "job.sql", option, value, code=2)
                self.assert_says(outcome.err, said)


if __name__ == "__main__":
    unittest.main()
