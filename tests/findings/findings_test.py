"""docs/findings says what the command prints, and shows what it draws."""
import unittest
import xml.etree.ElementTree

import findings
from wrackline import ROOT


class FindingsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.pages = {path: path.read_text() for path in findings.pages()}
        self.assertGreater(len(self.pages), 3)

    def need_data(self):
        if not (ROOT.parent / "shared/data").is_dir():
            self.skipTest("needs the data sets in ../shared/data")

    def test_blocks_show_what_the_commands_print(self):
        self.need_data()
        for path, text in self.pages.items():
            with self.subTest(page=path.name):
                self.assertEqual(text, findings.refreshed(text), "run scripts/findings and read the difference")

    def test_pictures_are_what_the_report_draws(self):
        self.need_data()
        for path, text in self.pages.items():
            for name, figure, command in findings.pictures(text):
                with self.subTest(picture=name):
                    self.assertEqual((findings.PAGES / name).read_text(), findings.picture(figure, command))

    def test_figures_in_sentences_stand_in_the_blocks(self):
        for path, text in self.pages.items():
            shown = findings.printed(text)
            self.assertTrue(findings.figures_in_sentences(text), path.name)
            for figure in findings.figures_in_sentences(text):
                with self.subTest(page=path.name, figure=figure):
                    self.assertIn(" ".join(figure.split()), " ".join(shown.split()))

    def test_pictures_are_small_whole_and_shown(self):
        seen = set()
        for path, text in self.pages.items():
            for name, _, _ in findings.pictures(text):
                seen.add(name)
                self.assertIn(f"]({name})", text, f"{path.name} does not show {name}")
                self.assertLess((findings.PAGES / name).stat().st_size, 60_000)
                xml.etree.ElementTree.parse(findings.PAGES / name)
        self.assertEqual(seen, {path.name for path in findings.PAGES.glob("*.svg")}, "a picture that no page announces")

    def test_the_list_names_every_page(self):
        text = (findings.PAGES / "README.md").read_text()
        for path in self.pages:
            self.assertIn(f"]({path.name})", text)


if __name__ == "__main__":
    unittest.main()
