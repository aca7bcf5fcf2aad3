"""The pages of docs/findings: their commands, what these print, their pictures, and the figures in their sentences.

A page has ```console blocks, each with commands after "$ " and all that they print; pictures, each announced by a comment
`<!-- picture NAME.svg: FIGURE of COMMAND -->`; and sentences, whose **bold figures** all occur in what the commands print.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/findings"
PICTURE = re.compile(r"<!-- picture ([\w-]+\.svg): ([\w-]+) of (wrackline .*?) -->")
STYLE_OF_FIGURES = re.compile(r"^(:root|--|@media \(prefers|svg text|\.(grid|axis|paper|bar|point|range|quantile-line|split-line|setting-line|curve|badge|hover|row)\b)")


def run(command):
    """What the command prints, seen from the project's root."""
    binary = pathlib.Path(os.environ["WRACKLINE"]).resolve()
    environment = {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"$ {command}\nended with {done.returncode}\n{done.stderr}")
    return done.stdout


def refreshed(text):
    """The page with its blocks as the commands print them now."""
    def block(match):
        lines = match[1].splitlines()
        out, command = [], ""
        for line in lines:
            if line.startswith("$ ") or (command.endswith("\\") and line.startswith("    ")):
                command = (command[:-1] + line.strip()) if command.endswith("\\") else line[2:]
                out.append(line)
                if not command.endswith("\\"):
                    out.append(run(command).rstrip("\n"))
                    command = ""
        return "```console\n" + "\n".join(out) + "\n```\n"
    return re.sub(r"^```console\n(.*?)^```\n", block, text, flags=re.S | re.M)


def printed(text):
    """All that the blocks of a page show."""
    return "\n".join(re.findall(r"^```console\n(.*?)^```\n", text, flags=re.S | re.M))


def figures_in_sentences(text):
    prose = re.sub(r"^```.*?^```\n", "", text, flags=re.S | re.M)
    return re.findall(r"\*\*([^*]+)\*\*", prose)


def picture(figure, command):
    """One figure of the page that --report writes, as a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "out.html"
        run(f"{command} --report {file} > /dev/null 2>&1")
        page = file.read_text()
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1].split("@media print")[0]
    style = "\n".join(line for line in style.splitlines() if STYLE_OF_FIGURES.match(line))
    svg = re.search(rf'<svg class="wide" id="{figure}-wide".*?</svg>\n', page, re.S)
    if not svg:
        raise AssertionError(f"the report of {command} has no figure {figure}")
    svg = re.sub(r'<rect class="(?:hover|step)".*?</rect>\n', "", svg[0], flags=re.S)
    svg = re.sub(r"><title>[^<]*</title></rect>", "/>", svg)
    svg = svg.replace('<svg class="wide"', '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    head = svg.index("</desc>") + len("</desc>")
    return f'{svg[:head]}<style>{style}</style><rect width="100%" height="100%" class="paper"/>{svg[head:]}'


def pages():
    return sorted(path for path in PAGES.glob("*.md") if path.name != "README.md")


def pictures(text):
    """(file name, figure, command) of each picture of a page."""
    return PICTURE.findall(text)


def update():
    for path in pages():
        text = path.read_text()
        path.write_text(refreshed(text))
        for name, figure, command in pictures(text):
            (PAGES / name).write_text(picture(figure, command))
        print(f"{path.relative_to(ROOT)}: written")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(f"usage: {sys.argv[0]} --update")
    update()
