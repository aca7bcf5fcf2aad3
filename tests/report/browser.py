"""A real browser without a window, for tests that open pages and look at them. Standard library only."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PHONE, DESK = (360, 800), (1200, 900)

# What a page is asked from inside: it writes its answer into an element of its own.
PROBE = """<script data-probe>
addEventListener("load", () => {
  const visible = e => e.getClientRects().length > 0;
  const width = document.documentElement.clientWidth;
  const inScroll = e => e.closest(".scroll, pre") !== null;
  const wide = [...document.querySelectorAll("body *")].filter(e => visible(e) && !inScroll(e) && !e.closest("svg") &&
      e.getBoundingClientRect().right > width + 0.5).map(e => e.tagName + "." + e.className);
  const channel = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const numbers = s => s.match(/[0-9.]+/g).map(Number);
  const luminance = s => { const [r, g, b] = numbers(s); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (numbers(c).length < 4 || numbers(c)[3] > 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = [];
  for (const e of document.querySelectorAll("p, dt, dd, th, td, li, h1, h2, h3, caption, b, summary, text")) {
    if (!visible(e)) continue;
    const style = getComputedStyle(e), svg = e.tagName === "text";
    if (svg && e.classList.contains("badge-text")) continue;
    const [a, b] = [luminance(svg ? style.fill : style.color), luminance(svg ? ground(document.body) : ground(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.push(e.tagName + "." + e.getAttribute("class") + " " + contrast.toFixed(2));
  }
  // Labels of one figure that cover each other.
  const covered = [];
  for (const svg of document.querySelectorAll("section svg")) {
    if (!visible(svg)) continue;
    const frame = svg.getBoundingClientRect();
    const labels = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    labels.forEach(([a, r], i) => {
      if (r.left < frame.left - 1 || r.right > frame.right + 1) covered.push(svg.id + ": " + a + " is cut off");
      for (const [b, s] of labels.slice(i + 1)) {
        if (r.left + 1 < s.right && s.left + 1 < r.right && r.top + 4 < s.bottom && s.top + 4 < r.bottom)
          covered.push(svg.id + ": " + a + " / " + b);
      }
    });
  }
  const answer = {
    width, scrollWidth: document.documentElement.scrollWidth, wide, faint: [...new Set(faint)], covered,
    fetching: [...document.querySelectorAll("[src],[href],[srcset],[action],[data],[poster],script,link,img,iframe,object,embed,form")]
        .filter(e => e !== document.currentScript && !e.hasAttribute("data-probe")).map(e => e.outerHTML.slice(0, 200)),
    background: getComputedStyle(document.body).backgroundColor,
    figures: [...document.querySelectorAll("section svg[id]")].filter(visible).map(e => e.id),
    marks: document.querySelectorAll(".mark").length,
    unreachable: [...document.querySelectorAll(".mark")].filter(e => e.tabIndex !== 0 || !e.getAttribute("aria-label")).length,
    unnamed: [...document.querySelectorAll("section svg[id]")].filter(e => !e.querySelector("title") || !e.querySelector("desc")).length,
    fonts: [...document.querySelectorAll("svg text")].filter(visible).map(e => e.getBoundingClientRect().height).reduce((a, b) => Math.min(a, b), 99),
  };
  const box = document.createElement("script");
  box.type = "application/json";
  box.id = "answer";
  box.textContent = JSON.stringify(answer).replaceAll("<", "\\\\u003c");
  document.body.append(box);
});
</script>"""


def find():
    """The browser's path. Without one the test cannot do its work, and says what it needs."""
    named = os.environ.get("WRACKLINE_BROWSER")
    for name in (named,) if named else NAMES:
        if path := shutil.which(name):
            return path
    raise unittest.SkipTest("needs a browser: scripts/setup installs chromium-headless-shell (or name one in WRACKLINE_BROWSER)")


class Browser:
    """Opens files in a profile of its own that has no way out to a network."""

    def __init__(self):
        self.path = find()
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.folder = pathlib.Path(self._profile.name)

    def close(self):
        self._profile.cleanup()

    def _run(self, page, *options, size=DESK, dark=False):
        scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
        command = [self.path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                   "--proxy-server=127.0.0.1:9", "--disable-background-networking", f"--user-data-dir={self.folder / 'profile'}",
                   f"--window-size={size[0]},{size[1]}", *scheme, *options, pathlib.Path(page).resolve().as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        if done.returncode != 0:
            raise AssertionError(f"the browser ended with {done.returncode}:\n{done.stderr.decode(errors='replace')[-2000:]}")
        return done

    def open(self, page, **view):
        """(document after loading, lines on the console, addresses asked for)"""
        log = self.folder / "net.json"
        done = self._run(page, "--dump-dom", "--enable-logging=stderr", f"--log-net-log={log}", **view)
        console = [line for line in done.stderr.decode(errors="replace").splitlines() if ":CONSOLE" in line]
        return done.stdout.decode(), console, self._addresses(log)

    @staticmethod
    def _addresses(log):
        text = log.read_text(errors="replace")
        if not text.strip():
            raise AssertionError("the browser wrote no log of its network")
        return sorted(set(re.findall(r'"url":"([^"]+)"', text)))

    def ask(self, page, **view):
        """What PROBE finds out about the page."""
        text = pathlib.Path(page).read_text()
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)  # which forbids the probe's script
        copy = self.folder / "probe.html"
        copy.write_text(text.replace("</body>", PROBE + "</body>"))
        document = self._run(copy, "--dump-dom", **view).stdout.decode()
        answer = re.search(r'<script type="application/json" id="answer">(.*?)</script>', document, re.S)
        if not answer:
            raise AssertionError("the page did not answer")
        return json.loads(answer[1])

    def picture(self, page, **view):
        """(width, height, number of different colours) of a screenshot."""
        file = self.folder / "picture.png"
        self._run(page, f"--screenshot={file}", **view)
        return png_facts(file.read_bytes())

    def print(self, page):
        """The page as PDF."""
        file = self.folder / "page.pdf"
        self._run(page, f"--print-to-pdf={file}", "--no-pdf-header-footer")
        return file.read_bytes()


def png_facts(data):
    """Width, height and colours of a PNG of 8 bits a channel."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    at, packed = 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    raw, stride = zlib.decompress(packed), width * channels
    before, colours = bytearray(stride), set()
    for row in range(height):
        start = row * (stride + 1)
        line = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], line, before, channels)
        if row % 3 == 0:
            colours.update(bytes(line[i:i + 3]) for i in range(0, stride, channels))
        before = line
    return width, height, len(colours)


def unfilter(kind, line, before, step):
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        up = before[i]
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + up) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + up) // 2) & 255
        elif kind == 4:
            corner = before[i - step] if i >= step else 0
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            line[i] = (line[i] + near[2]) & 255
