"""Reads scripts, *.case, and turns one into a job and its input.

A script says what happens, and what must come of it; play.py plays it in many worlds. tests/cases holds those of the table in
docs/cases.md, tests/script those that state the law.

    # case: C01                      or a section of docs/semantics.md
    # name: a record for a closed window goes to the ledger
    # area: late routing
    delay 0 ms                       options, one a line; those that are left out keep Wrackline's default
    push                             records in the order in which they arrive
      a 1000                         key and event time, here in milliseconds; the value is 1
      p1 a 5000 = 7 @ 60000          partition p1 (default p0), value 7, arrival time 60000
      3 x a 0 +100 @ 0 +50           three records, each 100 later than the one before and arriving 50 later
      line {"k":"a","t":null}        a line as it is; an object gets its arrival time
      watermark 20000                moves the watermark there, exactly; then records move nothing themselves
      > a [0, 10000) 1 2             a row that the steps since the last such line must publish, and
      >                              no row at all
      unread p1 a 2000               written while nobody waits until it is read
      clock 6000                     so much time goes by, on a clock that the test sets; then the files are followed, and what
                                     follows is written to them while they are read
      end                            end of input: open windows are published; without it they are held
    expect                           rows: key, window, version, value; others than on time say so
      a [0, 10000) 1 2
      a [0, 10000) 2 3 correction
      a [0, 10000) 3 3 retract
    ledger                           entries: partition, key, event time, reason, then window and lateness
      p0 a 4000 late [0, 10000) by 2000
    balance read 4, accepted 3       counters of the view
    watermark 12000                  at the end of an input that is held

Windows: 10 s, hop 5 s 10 s (slide and size), cumulate 2 s 10 s (step and size), session 10 s (gap).
Options: then WINDOW and then_select EXPRESSION (a view over the view, whose rows are looked at), window, offset, zone, delay, lateness, late, select, where, having, keys none (then a row's key is -), unit (of times in records: s, ms, us, ns), times (unit of
times in expectations: ms or us), column NAME TYPE, files NAME... (there, and empty, from the start), source NAME = VALUE, view NAME = VALUE, partition column, order read,
ticks N..., host_zone NAME..., mtime FILE SECONDS. Further sections: watermarks (after each record), changelog (lines of a
changelog sink), refused (what the refusal says), explains (what `check` says), warns (what the run says), and
measure ARGS / budget ARGS (values of their JSON documents).
"""
import json
import pathlib
import re

SECTIONS = ("push", "expect", "ledger", "changelog", "refused", "explains", "warns", "measure", "budget")
SETTINGS = ("window", "offset", "zone", "delay", "lateness", "late", "select", "where", "having", "keys", "then", "then_select", "unit", "times", "order", "partition")
PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
KINDS = {"hop": 2, "cumulate": 2, "session": 1}  # and how many spans they take
AHEAD_S = 100  # with a watermark that is moved, records claim to have arrived so long before they happened, and so move nothing
ARRIVAL_S = 4_000_000_000  # later than every event time of the cases, so that no guard against the future sees them

NUMBER = r"[-+]?\d+"
RECORD = re.compile(rf"(?:(?P<count>\d+) x )?(?:(?P<partition>p\d+) )?(?P<key>\S+) (?P<time>{NUMBER})(?: \+(?P<step>\d+))?"
                    rf"(?: = (?P<value>\S+))?(?: @ (?P<arrival>{NUMBER})(?: \+(?P<arrival_step>\d+))?)?")
LINE = re.compile(r"(?:(?P<partition>p\d+) )?line (?P<text>.*)")
ROW = re.compile(rf"(?P<key>\S+) \[(?P<start>{NUMBER}), (?P<end>{NUMBER})\) (?P<version>\d+) (?P<value>\S+)"
                 r"(?: (?P<status>correction|retract|early|drain))?")
SPAN = re.compile(r"-?\d+(?:\.\d+)? [a-z]+")
ENTRY = re.compile(rf"(?P<partition>\S+) (?P<key>\S+) (?P<time>{NUMBER}|-) (?P<reason>[a-z_]+)(?P<windows>.*)")
MISSED = re.compile(rf"\[({NUMBER}), ({NUMBER})\) by (\d+)")


class Record:
    """One line of the input. `time` and `value` are None where the line was written as it is."""

    def __init__(self, partition, text, key=None, time=None, value=None, arrival=None, moves=False, unread=False):
        self.partition, self.text, self.key, self.time, self.value, self.arrival = partition, text, key, time, value, arrival
        self.moves = moves  # only moves the watermark
        self.unread = unread  # nobody waits until it is read


def matched(pattern, line, where):
    found = pattern.fullmatch(line)
    if not found:
        raise ValueError(f"{where}: cannot read {line!r}")
    return found


class Script:
    """What stands in one file, or in `text` under the name `path`."""

    def __init__(self, path, text=None):
        self.path = pathlib.Path(path)
        self.head, self.options, self.lines = {}, {}, {}
        self.columns = {"k": "text", "p": "text", "t": "bigint", "arr": "bigint", "v": "bigint"}
        self.source, self.view, self.balance, self.mtimes = {}, {}, {}, {}
        self.files_from_start, self.steps = [], []  # a step is a record, or microseconds that go by
        self.ticks, self.host_zones, self.watermark, self.watermarks, self.commands = None, [None], None, None, []
        section = None
        for number, line in enumerate((self.path.read_text() if text is None else text).splitlines(), start=1):
            where = f"{self.path.name}:{number}"
            if line.startswith("# ") and section is None and ": " in line:
                name, _, value = line[2:].partition(": ")
                self.head[name] = value
            elif not line.strip() or line.startswith("#"):
                continue
            elif line.startswith("  "):
                if section is None:
                    raise ValueError(f"{where}: an indented line belongs to a section: {', '.join(SECTIONS)}")
                section.append((where, line.strip()))
            else:
                section = self.read_option(line.strip(), where)
        for needed in ("case", "name", "area"):
            if not self.head.get(needed):
                raise ValueError(f"{self.path.name}: has no line '# {needed}: ...'")
        self.end, self.checks = False, []  # a check is (how many records came before it, rows)
        self.moved = any(line.startswith("watermark ") for _, line in self.lines.get("push", []))
        if self.moved:
            self.columns["moves"] = "boolean"
        self.records = []
        for record in self.read_records():
            self.records.append(record)
            self.steps.append(record)
        self.rows = [self.read_row(line, where) for where, line in self.lines.get("expect", [])]
        self.entries = [self.read_entry(line, where) for where, line in self.lines.get("ledger", [])]

    def read_option(self, line, where):
        """Takes one option; returns the list that the indented lines after it go to, if it opens a section."""
        name, _, text = line.partition(" ")
        if name in ("measure", "budget"):
            self.commands.append((name, text.split(), []))
            return self.commands[-1][2]
        if name in SECTIONS:
            return self.lines.setdefault(name, [])
        if name in SETTINGS:
            self.options[name] = text
        elif name == "column":
            column, _, kind = text.partition(" ")
            self.columns[column] = kind
        elif name in ("source", "view"):
            option, _, value = text.partition(" = ")
            getattr(self, name)[option] = value
        elif name == "balance":
            self.balance = {counter: int(count) for counter, count in (pair.split() for pair in text.split(", "))}
        elif name == "ticks":
            self.ticks = [int(rows) for rows in text.split()]
        elif name == "files":
            self.files_from_start = text.split()
        elif name == "host_zone":
            self.host_zones = text.split()
        elif name == "mtime":
            file, seconds = text.split()
            self.mtimes[file] = int(seconds)
        elif name == "watermark":
            self.watermark = text
        elif name == "watermarks":
            self.watermarks = text.split()
        else:
            raise ValueError(f"{where}: no such option: {name}")
        return None

    def in_us(self, number):
        """A time of the expectations, in microseconds."""
        return None if number == "-" else int(number) * (1_000_000 // PER_SECOND[self.options.get("times", "ms")])

    def read_records(self):
        per_second, written = PER_SECOND[self.options.get("unit", "ms")], 0
        for where, line in self.lines.get("push", []):
            if line.startswith(">"):
                if not self.checks or self.checks[-1][0] != (written, self.end):
                    self.checks.append(((written, self.end), []))
                if line[1:].strip():
                    self.checks[-1][1].append(self.read_row(line[1:].strip(), where))
                continue
            if self.end:
                raise ValueError(f"{where}: nothing comes after the end")
            if line == "end":
                self.end = True
                continue
            if line.startswith("clock "):
                self.steps.append(int(line.split()[1]) * (1_000_000 // per_second))
                continue
            if line.startswith("watermark "):
                time = int(line.split()[1])
                written += 1
                yield Record("p0", f'{{"p":"p0","t":{time},"arr":{time},"moves":true}}', time=time, arrival=time, moves=True)
                continue
            raw = LINE.fullmatch(line)
            if raw:
                text, arrival = raw["text"], ARRIVAL_S * per_second + written
                if text.startswith("{") and text.endswith("}"):
                    text = f'{text[:-1]},"arr":{arrival}}}'
                written += 1
                yield Record(raw["partition"] or "p0", text)
                continue
            found = matched(RECORD, line.removeprefix("unread "), where)
            for i in range(int(found["count"] or 1)):
                time = int(found["time"]) + i * int(found["step"] or 0)
                arrival = time - AHEAD_S * per_second if self.moved else ARRIVAL_S * per_second + written
                if found["arrival"]:
                    arrival = int(found["arrival"]) + i * int(found["arrival_step"] or 0)
                partition, value = found["partition"] or "p0", found["value"] or "1"
                text = f'{{"k":{json.dumps(found["key"])},"p":"{partition}","t":{time},"arr":{arrival},"v":{value}}}'
                written += 1
                yield Record(partition, text, found["key"], time, float(value) if "." in value else int(value), arrival,
                             unread=line.startswith("unread "))

    def read_row(self, line, where):
        found = matched(ROW, line, where)
        return (self.in_us(found["end"]), self.in_us(found["start"]), found["key"], int(found["version"]), json.loads(found["value"]),
                found["status"] or "on_time")

    def read_entry(self, line, where):
        found = matched(ENTRY, line, where)
        windows = tuple((self.in_us(start), self.in_us(end), self.in_us(by)) for start, end, by in MISSED.findall(found["windows"]))
        if MISSED.sub("", found["windows"]).strip():
            raise ValueError(f"{where}: cannot read the windows of {line!r}")
        return (found["partition"], None if found["key"] == "-" else found["key"], self.in_us(found["time"]), found["reason"], windows)

    def live(self):
        """Whether time goes by while it is played."""
        return any(isinstance(step, int) for step in self.steps)

    def by_column(self):
        return self.options.get("partition") == "column"

    def files(self, records=None):
        """The content of each input file, by its name."""
        contents = {f"{name}.jsonl": "" for name in self.files_from_start}
        for record in self.records if records is None else records:
            file = "p0" if self.by_column() else record.partition
            contents[f"{file}.jsonl"] = contents.get(f"{file}.jsonl", "") + record.text + "\n"
        return contents

    def window(self, option="window", source="records", time="t"):
        """The window function of a view."""
        text = self.options.get(option, "10 s")
        kind, _, rest = text.partition(" ")
        if kind not in KINDS:
            kind, rest = "tumble", text
        spans = SPAN.findall(rest) if KINDS.get(kind) == 2 else [rest]
        arguments = [f"INTERVAL '{span}'" for span in spans]
        arguments += [f"INTERVAL '{self.options[name]}'" for name in ("offset",) if name in self.options and option == "window"]
        arguments += [f"'{self.options[name]}'" for name in ("zone",) if name in self.options and option == "window"]
        return f"{kind.upper()}({source}, {time}, {', '.join(arguments)})"

    def job(self, sink_mode="upsert"):
        source = {"connector": "file", "path": "p*.jsonl", "event_time": "t", "arrival_time": "arr", "time_unit": self.options.get("unit", "ms"),
                  "watermark_delay": self.options.get("delay", "0 ms")}
        if self.by_column():
            source["partition"] = "p"
        if len(self.files()) > 1 and not self.live() and self.options.get("order") != "read":
            source["order_by"] = "arrival_time"  # then the logged order is the written order
        if self.moved:
            source.update({"max_future_skew": "1 s", "max_future_accept": "1000 s"})
        source.update(self.source)
        view = {}
        if "late" in self.options:
            view["late"] = self.options["late"]
        if "lateness" in self.options:
            view["allowed_lateness"] = self.options["lateness"]
        view.update(self.view)
        with_view = f" WITH ({written(view)})" if view else ""
        conditions = [self.options[name] for name in ("where",) if name in self.options] + ["moves IS NULL"] * self.moved
        where = f"WHERE {' AND '.join(f'({condition})' for condition in conditions)}\n" if conditions else ""
        key = "" if self.options.get("keys") == "none" else ", k"
        outer = "" if "then" not in self.options else f"""CREATE MATERIALIZED VIEW result_of_results AS
SELECT window_start, window_end, k, {self.options["then_select"]} AS value
FROM {self.window("then", "result", "window_start")}
GROUP BY window_start, window_end, k;
"""
        having = f" HAVING {self.options['having']}" if "having" in self.options else ""
        return f"""CREATE TABLE records ({", ".join(f"{name} {kind}" for name, kind in self.columns.items())}) WITH ({written(source)});
CREATE MATERIALIZED VIEW result{with_view} AS
SELECT window_start, window_end{key}, {self.options.get("select", "count(*)")} AS value
FROM {self.window()}
{where}GROUP BY window_start, window_end{key}{having};
{outer}CREATE TABLE published () WITH (connector = 'file', path = 'rows.jsonl', mode = '{sink_mode}');
INSERT INTO published SELECT * FROM {"result_of_results" if outer else "result"};
"""


def written(options):
    return ", ".join(f"{name} = '{value}'" for name, value in options.items())
