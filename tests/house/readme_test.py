"""Runs every command of the fenced ```console blocks in README.md as a terminal would, and compares what it prints.

A line `...` in a block stands for any lines. Measured times and rates are compared as if they were equal.
"""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("WRACKLINE")


def blocks(text):
    """The console blocks, each a list of (command, expected lines)."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.S | re.M):
        commands = []
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif commands[-1][0].endswith("\\"):
                commands[-1] = (commands[-1][0][:-1] + line.strip(), [])
            else:
                commands[-1][1].append(line)
        found.append(commands)
    return found


def in_terminal(command, folder):
    """What the command prints on a terminal 120 columns wide."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PATH": f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}", "TERM": "xterm", "NO_COLOR": "1",
                   "COLUMNS": "120"}
    subprocess.run(["stty", "cols", "120", "rows", "50"], stdin=theirs, check=True)
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                               env=environment)
    os.close(theirs)
    printed = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # how Linux reports the end of a terminal
            break
        if not some:
            break
        printed += some
    os.close(ours)
    text = printed.decode().replace("\r\n", "\n")
    text = re.sub(r"[^\n]*\r", "", text)  # progress lines that were written over
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def normal(lines):
    """Without what differs from run to run: measured times and rates, and blanks at line ends."""
    text = "\n".join(line.rstrip() for line in lines)
    text = re.sub(r"\b\d[\d.,]* (?:ms|s)(?= \()", "# s", text)
    text = re.sub(r"\b\d[\d., ]*[kM]? ?(rows|records)(/s| a second| per second)", r"# \1\2", text)
    return [line for line in text.splitlines() if line.strip()]


def agrees(expected, printed):
    """Whether the lines agree, with "..." standing for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


class Readme(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if not BINARY:
            self.skipTest("needs the wrackline command; ctest sets WRACKLINE")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copytree(ROOT / "examples", self.folder / "examples", ignore=shutil.ignore_patterns("*.state"))

    def test_commands_print_what_the_readme_says(self):
        checked = 0
        for commands in blocks((ROOT / "README.md").read_text()):
            for command, expected in commands:
                code, printed = in_terminal(command, self.folder)
                self.assertEqual(code, 0, f"$ {command}\n{printed}")
                wanted, got = normal(expected), normal(printed.splitlines())
                if not agrees(wanted, got):
                    self.assertEqual("\n".join(wanted), "\n".join(got), f"$ {command}")
                checked += 1
        self.assertGreater(checked, 1, "README.md shows no commands")


if __name__ == "__main__":
    unittest.main()
