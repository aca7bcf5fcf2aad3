"""Opens the pages of --report in a real browser: on a phone, at a desk, in the dark and on paper."""
import csv
import io
import random
import re

from browser import DESK, PHONE, Browser
from wrackline import ROOT, CommandTest, wrackline

DATA = ROOT / "examples/data"
TIMES = ("--event-time", "event_ms", "--arrival-time", "arrival_ms", "--time-unit", "ms")
HOSTILE = ("</title><script>document.title='owned'</script>", "\"><img src='http://127.0.0.1:9/x.png' onerror=\"document.title='owned'\">",
           "<style>body{display:none}</style>", "\u202eright to left", "a" * 200, "&lt;already&gt;", "<svg onload=alert(1)>", "")


class BrowserTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.browser = Browser()
        self.addCleanup(self.browser.close)

    def page(self, command, *arguments):
        self.run_command(command, *arguments, "--report", "out.html")
        return self.folder / "out.html"

    def hostile_page(self, command="measure", *arguments):
        seeded, lines = random.Random(5), io.StringIO()
        writer = csv.writer(lines)
        writer.writerow(["event_ms", "arrival_ms", "device"])
        for i in range(1200):
            event = 1_700_000_000_000 + i * 1000
            writer.writerow([event, event + int(seeded.paretovariate(1.1) * 200) - 250, HOSTILE[i % len(HOSTILE)]])
        self.write("hostile.csv", lines.getvalue())
        return self.page(command, "hostile.csv", *TIMES, "--partition", "device", *arguments)

    def check(self, page, sections, figures_min):
        """Everything that holds for any page, seen in every way that people see it."""
        document, console, addresses = self.browser.open(page)
        self.assertEqual(console, [], "the console is not quiet")
        self.assertEqual([a for a in addresses if not a.startswith(("file:", "data:"))], [], "the page asked a network for something")
        for section in sections:
            self.assertIn(f'<section id="{section}"', document)
        for size, dark in ((PHONE, False), (DESK, False), (PHONE, True), (DESK, True)):
            with self.subTest(size=size, dark=dark):
                self.check_view(page, size, dark, figures_min)
        for size in (PHONE, DESK):
            width, height, colours = self.browser.picture(page, size=size)
            self.assertEqual((width, height), size)
            self.assertGreater(colours, 20, "the picture is all but empty")
        self.check_paper(page)

    def check_view(self, page, size, dark, figures_min):
        seen = self.browser.ask(page, size=size, dark=dark)
        self.assertEqual(seen["width"], size[0])
        self.assertLessEqual(seen["scrollWidth"], seen["width"], f"scrolls sideways: {seen['wide'][:5]}")
        self.assertEqual(seen["wide"], [])
        self.assertEqual(seen["fetching"], [], "elements that could fetch or run something")
        self.assertEqual(seen["faint"], [], "text with too little contrast")
        self.assertEqual(seen["covered"], [], "labels that cover each other")
        self.assertGreaterEqual(len(seen["figures"]), figures_min)
        kind = "narrow" if size == PHONE else "wide"
        self.assertEqual([figure for figure in seen["figures"] if not figure.endswith(kind)], [])
        self.assertGreater(seen["marks"], 0)
        self.assertEqual((seen["unreachable"], seen["unnamed"]), (0, 0))
        self.assertGreaterEqual(seen["fonts"], 11, "letters too small to read")
        red = int(re.findall(r"\d+", seen["background"])[0])
        self.assertTrue(red < 64 if dark else red > 192, f"the ground is {seen['background']}")

    def check_paper(self, page):
        paper = self.browser.print(page)
        self.assertEqual(paper[:5], b"%PDF-")
        pages = len(re.findall(rb"/Type\s*/Page\b", paper))
        self.assertGreater(pages, 0)
        self.assertLess(pages, 20)

    def test_the_browser_sees_what_it_should(self):
        """The canary: a page with every fault is found out."""
        self.write("bad.html", """<!doctype html><title>bad</title><body><section><p style="color:#ddd">faint</p>
            <div style="width:500px">wide</div><img src="http://127.0.0.1:9/x.png"><svg id="a" width="90" height="20">
            <text x="0" y="12">one label</text><text x="4" y="13">another</text></svg></section>
            <script>console.error("loud")</script></body>""")
        page = self.folder / "bad.html"
        _, console, addresses = self.browser.open(page)
        self.assertIn("loud", "".join(console))
        self.assertIn("http://127.0.0.1:9/x.png", addresses)
        seen = self.browser.ask(page, size=PHONE)
        self.assertGreater(seen["scrollWidth"], seen["width"])
        self.assertTrue(seen["wide"] and seen["faint"] and seen["covered"] and seen["fetching"] and seen["unnamed"], seen)

    def test_profile_with_two_modes(self):
        page = self.page("measure", DATA / "usgs_earthquakes/quakes.csv.gz", *TIMES, "--partition", "net")
        self.check(page, ("findings", "delay", "disorder", "partitions"), 5)

    def test_budget_with_both_spans_marked(self):
        page = self.page("budget", DATA / "fleet_telematics/events.csv.gz", *TIMES, "--partition", "vehicle", "--window", "1 min")
        self.check(page, ("findings", "setting", "delay", "disorder", "partitions"), 5)

    def test_hostile_names(self):
        page = self.hostile_page()
        self.check(page, ("findings", "delay", "disorder", "partitions"), 5)
        self.assertNotIn("owned</title>", self.browser.open(page)[0])

    def test_sweep_with_its_staircases(self):
        page = self.folder / "out.html"
        outcome = wrackline("sweep", "quakes.sql", "--report", page, cwd=ROOT / "examples")
        self.assertEqual(outcome.code, 0, f"\n{outcome}")
        self.check(page, ("findings", "setting", "sweep"), 4)
        text = page.read_text()
        for figure in ("sweep-late", "sweep-latency", "sweep-ledgered", "sweep-state"):
            self.assertIn(f'id="{figure}-wide"', text)
        self.assertIn(">knee ", text)

    def test_regime_change_and_clocks_by_producer(self):
        """Ten days in which the path grows from 2 s to 90 s, and a device an hour ahead."""
        seeded, lines = random.Random(9), ["event_ms,arrival_ms,device"]
        for i in range(20_000):
            arrival = 1_700_000_000_000 + i * 43_200
            delay = (2000 if i < 12_000 else 90_000) + int(seeded.expovariate(1 / 500))
            ahead = 3_600_000 if i % 20 == 7 else 0
            lines.append(f"{arrival - delay + ahead},{arrival},device {i % 20}")
        self.write("course.csv", "\n".join(lines) + "\n")
        page = self.page("measure", "course.csv", *TIMES, "--producer", "device")
        self.check(page, ("findings", "delay", "disorder", "series", "producers"), 6)
        text = page.read_text()
        self.assertIn('aria-label="change 1: ', text)
        self.assertIn("device 7", text)

    def test_a_report_that_cannot_be_written(self):
        arguments = ("measure", DATA / "usgs_earthquakes/quakes.csv.gz", *TIMES, "--report", "no/such/folder/out.html")
        self.assert_says(self.run_command(*arguments, code=1).err, "no/such/folder")

    def test_without_arrival_times(self):
        page = self.page("measure", DATA / "usgs_earthquakes/quakes.csv.gz", "--event-time", "event_ms", "--time-unit", "ms")
        self.check(page, ("findings", "disorder"), 2)


if __name__ == "__main__":
    import unittest
    unittest.main()
