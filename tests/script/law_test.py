"""Scripts that state the law, section by section of docs/semantics.md; the cases of other systems' users are in tests/cases."""
import pathlib
import re

from script.play import Player
from script.case_script import Script

PATHS = sorted(pathlib.Path(__file__).resolve().parent.glob("*.case"))


class Law(Player):
    def play_area(self, area):
        scripts = [script for script in map(Script, PATHS) if script.head["area"] == area]
        self.assertTrue(scripts, f"no script of the area {area!r}")
        for script in scripts:
            with self.subTest(script=script.path.name):
                self.play(script)

    def test_tumbling(self):
        self.play_area("tumbling")

    def test_hopping(self):
        self.play_area("hopping")

    def test_cumulative(self):
        self.play_area("cumulative")

    def test_sessions(self):
        self.play_area("sessions")

    def test_cascades(self):
        self.play_area("cascades")

    def test_early(self):
        self.play_area("early")

    def test_idle(self):
        self.play_area("idle")

    def test_having(self):
        self.play_area("having")

    def test_policies(self):
        self.play_area("policies")

    def test_partitions(self):
        self.play_area("partitions")

    def test_every_script_is_played(self):
        played = set(re.findall(r'play_area\("([^"]+)"\)', pathlib.Path(__file__).read_text()))
        self.assertEqual({Script(path).head["area"] for path in PATHS}, played)
