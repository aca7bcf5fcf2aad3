"""The rules of the house that a machine can see: `file:line: what is wrong, do this instead`."""
import collections
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = (".h", ".cc")
TEST_LIBRARIES = {"gtest", "gmock", "rapidcheck", "benchmark"}

# What the compiler and the operating system bring along; every other <header> belongs to a third-party library.
STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype cxxabi.h deque exception execution expected filesystem format
forward_list fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list
locale map memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex
scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace stdexcept
stop_token streambuf string string_view syncstream system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version
dirent.h dlfcn.h errno.h fcntl.h glob.h immintrin.h inttypes.h limits.h poll.h pthread.h pwd.h sched.h signal.h
stddef.h stdint.h stdio.h stdlib.h string.h strings.h termios.h time.h unistd.h x86intrin.h""".split())

# Headers through which a program touches the outside world: for the rooms at its edge, and for files that have a reason.
OUTSIDE = re.compile(r"^(sys/(?!types)|unistd\.h|fcntl\.h|dirent\.h|glob\.h|poll\.h|termios\.h|signal\.h|csignal|thread$|fstream$)")
OUTSIDE_ROOMS = ("cli", "connectors", "env")
OUTSIDE_FILES = {
    "src/state/table_memory.cc": "asks the kernel for memory in huge pages; it touches nothing but memory",
    "src/base/parallel.cc": "workers compute; they touch nothing but memory",
    "src/data/time_zone.cc": "reads the system's zone database, as std::chrono would",
    "src/ledger/state_lock.cc": "the lock of the state folder is taken where the folder's meaning is known",
    "src/ledger/ledger_reader.cc": "asks whether the state folder may be written",
}

# Hosts that a tracked file may name: of the sources of our data, licences and standards.
HOSTS = {"github.com", "www.apache.org", "apache.org", "earthquake.usgs.gov", "data.sfgov.org", "datasf.org", "example.com",
         "keepachangelog.com", "semver.org", "opendatacommons.org", "spdx.org", "localhost", "www.w3.org", "json-schema.org"}

TIME_WORD = r"(?:timeout|delay|lateness|late_by|skew|horizon|elapsed|deadline|duration|event_time|arrival_time|wall_time)"
UNIT = r"(?:us|ms|ns|s|micros|millis|nanos|seconds|minutes|hours|days)"


def tracked(*suffixes):
    """Files of the project: committed ones and new ones that git does not ignore."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True)
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def floors():
    """Room -> floor, from the one list."""
    lines = (ROOT / "src/FLOORS").read_text().splitlines()
    pairs = [re.match(r"(\d+) ([a-z_]+): ", line) for line in lines if not line.startswith("#")]
    return {match[2]: int(match[1]) for match in pairs}


def lines_of(path):
    return enumerate(path.read_text(errors="replace").splitlines(), start=1)


def includes():
    """(path, line number, room or None for the front door, header, is it quoted)"""
    for path in tracked(*CODE):
        parts = path.relative_to(ROOT).parts
        if parts[0] not in ("src", "include"):
            continue
        for number, line in lines_of(path):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                yield path, number, parts[1] if parts[0] == "src" else None, match[2], match[1] == '"'


def is_test(path):
    return re.search(r"_(test|bench|fuzz)\.(h|cc)$", path.name) is not None


def anchors(path):
    """The names by which a heading of a Markdown file can be linked to."""
    titles = re.findall(r"^#+ +(.+?) *$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


class House(unittest.TestCase):
    def setUp(self):
        if not (ROOT / ".git").exists():
            self.skipTest("the list of files comes from git, and this is not a checkout")

    def report(self, findings):
        if findings:
            self.fail("\n" + "\n".join(findings))

    def at(self, path, number, text):
        return f"{path.relative_to(ROOT)}:{number}: {text}"

    def test_every_room_has_a_floor(self):
        folders = {path.parent.name for path in (ROOT / "src").glob("*/CMakeLists.txt")}
        self.assertEqual(folders, set(floors()), "src/FLOORS and the folders of src/ name different rooms")

    def test_the_map_shows_every_room_on_its_floor(self):
        rows = re.findall(r"^\| (\d+) \| (.+) \|$", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
        shown = {room: int(floor) for floor, rooms in rows for room in re.findall(r"\[(\w+)\]", rooms)}
        self.assertEqual(shown, floors(), "the table of floors in ARCHITECTURE.md differs from src/FLOORS")

    def test_a_room_only_looks_down(self):
        floor, findings, seen = floors(), [], 0
        for path, number, room, header, quoted in includes():
            other = header.split("/")[0]
            if not quoted:
                continue
            seen += 1
            if other == "wrackline":
                continue
            if room is None:
                findings.append(self.at(path, number, f'a public header includes "{header}"; it may include only the '
                                                      "standard library and other public headers"))
            elif other not in floor:
                findings.append(self.at(path, number, f'"{header}" does not start with a room of src/FLOORS; write the '
                                                      "path from src/"))
            elif other != room and floor[other] >= floor[room]:
                findings.append(self.at(path, number, f"{room} (floor {floor[room]}) includes {other} (floor {floor[other]}); "
                                                      "move what is needed to a lower room or add an interface there"))
        self.assertGreater(seen, 20, "the check saw almost no includes")
        self.report(findings)

    def test_a_library_is_included_from_one_room(self):
        used, findings = collections.defaultdict(dict), []
        for path, number, room, header, quoted in includes():
            library = header.split("/")[0].removesuffix(".h")
            if quoted or header in STANDARD or header.startswith(("sys/", "wrackline/", "bits/", "linux/")):
                continue
            if library in TEST_LIBRARIES:
                if not is_test(path):
                    findings.append(self.at(path, number, f"<{header}> is for tests only"))
                continue
            used[library].setdefault(room or "include/wrackline", (path, number, header))
        for library, rooms in used.items():
            for room, (path, number, header) in list(rooms.items())[1:]:
                findings.append(self.at(path, number, f"<{header}> of {library} is included from {room}, but its room is "
                                                      f"{next(iter(rooms))}; use what that room offers"))
        self.assertTrue(used, "the check saw no library at all")
        self.report(findings)

    def test_only_some_rooms_touch_the_outside_world(self):
        findings = [self.at(path, number, f"<{header}> is for {', '.join(OUTSIDE_ROOMS)}; take an interface of env, or add the file "
                                          "with its reason to OUTSIDE_FILES in tests/house/house_test.py")
                    for path, number, room, header, quoted in includes()
                    if not quoted and OUTSIDE.match(header) and room not in OUTSIDE_ROOMS and not is_test(path)
                    and str(path.relative_to(ROOT)) not in OUTSIDE_FILES]
        findings += [f"{name}: is named in OUTSIDE_FILES but is not there" for name in OUTSIDE_FILES if not (ROOT / name).exists()]
        self.report(findings)

    def test_every_room_has_a_readme(self):
        findings = []
        for room in floors():
            path = ROOT / "src" / room / "README.md"
            if not path.is_file():
                findings.append(f"src/{room}: no README.md; say in half a page its duty, what it does not do, three files to "
                                "read first, its invariants")
                continue
            text = path.read_text()
            if len(text.splitlines()) > 60:
                findings.append(self.at(path, 61, "longer than a page; move detail into headers or docs/"))
            for wanted in ("does not", "Read first", "Invariants"):
                if wanted not in text:
                    findings.append(self.at(path, 1, f'says nothing under "{wanted}"'))
        self.report(findings)

    def test_links_lead_somewhere(self):
        findings, seen = [], 0
        for path in tracked(".md"):
            fenced = False
            for number, line in lines_of(path):
                fenced ^= line.lstrip().startswith("```")
                for target in [] if fenced else re.findall(r"\]\(([^)\s]+)\)", line):
                    if re.match(r"[a-z]+:", target):
                        continue
                    seen += 1
                    file, _, anchor = target.partition("#")
                    goal = (path.parent / file) if file else path
                    if not goal.exists():
                        findings.append(self.at(path, number, f'link to "{target}", which is not there'))
                    elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                        findings.append(self.at(path, number, f'link to "{target}": {file or path.name} has no such heading'))
        self.assertGreater(seen, 0, "the check saw no links")
        self.report(findings)

    def test_paths_named_in_docs_exist(self):
        findings = []
        for path in tracked(".md"):
            for number, line in lines_of(path):
                for named in re.findall(r"`((?:src|include|docs|scripts|tests|examples|bench|cmake)/[\w./-]*)`", line):
                    if not (ROOT / named).exists() and not named.startswith("build/"):
                        findings.append(self.at(path, number, f'names "{named}", which is not there'))
        self.report(findings)

    def test_integer_times_carry_their_unit(self):
        declared = re.compile(rf"\b(?:int64_t|uint64_t|int32_t|uint32_t|int|size_t|long) (\w*{TIME_WORD})_?(?=\s*(?:=|;|,|\)|{{))")
        findings = []
        for path in tracked(*CODE):
            if is_test(path) or path.name.startswith("test_"):
                continue
            for number, line in lines_of(path):
                for name in declared.findall(line.split("//")[0]):
                    if not re.search(rf"_{UNIT}(_|$)", name):
                        findings.append(self.at(path, number, f'the integer "{name}" is a time without a unit; add one '
                                                              f'("{name}_us") or use Duration or EventTime'))
        self.report(findings)

    def test_no_trace_of_one_machine(self):
        folder = re.compile(r"(?<![\w.$}\])])/(?:work|root|home/\w+|Users/\w+)/\w")
        url = re.compile(r"\b(?:https?|ftp|git)://(?:[\w.-]+@)?([\w.-]+)")
        findings = []
        for path in tracked():
            if path.suffix in (".gz", ".zst") or "corpus" in path.parts or path.name == "LICENSE":
                continue
            for number, line in lines_of(path):
                if folder.search(line):
                    findings.append(self.at(path, number, "names a folder of one machine; use a path relative to the project"))
                for host in url.findall(line):
                    if host not in HOSTS and not re.match(r"^[\d.]+$", host):
                        findings.append(self.at(path, number, f'names the host "{host}"; leave it out, or add it to HOSTS in '
                                                              "tests/house/house_test.py if readers need it"))
        self.report(findings)

    def test_scripts_say_what_they_do(self):
        findings = []
        for path in sorted((ROOT / "scripts").iterdir()) + [ROOT / ".ci/run"]:
            if path.is_dir() or path.suffix == ".py" or path.name == "lib.sh":
                continue
            lines = path.read_text().splitlines()
            if not lines[0].startswith("#!") or not lines[1].startswith("# "):
                findings.append(self.at(path, 2, "the line after #! says what the script does"))
            if len(lines) > 40:
                findings.append(self.at(path, 41, "longer than 40 lines; move parts to scripts/lib.sh or a program"))
            if not path.stat().st_mode & 0o100:
                findings.append(self.at(path, 1, "is not executable"))
        self.report(findings)


if __name__ == "__main__":
    unittest.main()
