"""Runs the console blocks of a page of documentation: what they print is what the page says."""
import os
import re
import subprocess

import wrackline

SECONDS_MAX = 60


def examples(text):
    """(command, expected lines) of the console blocks; a here-document belongs to its command."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.S | re.M):
        command, expected, document = None, [], False
        for line in block.splitlines():
            if document:
                command += "\n" + line
                document = line != "END"
            elif command is not None and command.endswith("\\") and not expected:
                command = command[:-1] + line.strip()
            elif line.startswith("$ "):
                if command is not None:
                    yield command, expected
                command, expected = line[2:], []
                document = "<<'END'" in command
            else:
                expected.append(line)
        yield command, expected


def agrees(expected, printed):
    """Whether the lines agree; a line "..." stands for any lines, "..." within a line for any words."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in expected)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed)) is not None


def check(test, page, **environment):
    """Every command of the page, one after another in the folder of the test (a CommandTest); returns how many."""
    environment = {**os.environ, "PATH": f"{wrackline.BINARY.resolve().parent}:{os.environ['PATH']}", "COLUMNS": "100", **environment}
    checked = 0
    for command, expected in examples(page.read_text()):
        done = subprocess.run(["bash", "-c", command], cwd=test.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX)
        if not agrees(expected, done.stdout.splitlines()):
            test.assertEqual("\n".join(expected), done.stdout, f"$ {command}")
        checked += 1
    return checked
