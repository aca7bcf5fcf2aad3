"""What the law says must come out, reckoned slowly and plainly: it shares no code with Wrackline and keeps every value it saw.

Written from docs/semantics.md alone; the numbers in brackets are its sections. All times are integers of microseconds.
Records are read in logged order, one by one; `finish_tick` says where a tick ends.
"""
import collections
import datetime
import itertools
import zoneinfo

NEVER, ALWAYS = -(1 << 63), (1 << 63) - 1
DAY, MINUTE = 86_400_000_000, 60_000_000
EPOCH, DAY_0 = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc), datetime.date(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)

Record = collections.namedtuple("Record", "offset partition key time arrival value passes id", defaults=(True, None))
Row = collections.namedtuple("Row", "end start key version answer status")  # status also: retract
Entry = collections.namedtuple("Entry", "offset reason windows")  # windows: (start, end, how late), those that it missed


def answer(values):
    """Of (time, partition, offset, value) in any order [4]."""
    ordered, numbers = sorted(values), [value[3] for value in values]
    return {"n": len(numbers), "total": sum(numbers), "low": min(numbers), "high": max(numbers), "kinds": len(set(numbers)),
            "opening": ordered[0][3], "closing": ordered[-1][3]}


# --- windows [1]: each gives the windows [start, end) of a time

def hopping(slide, size, offset=0):
    def windows(time):
        start = (time - offset) // slide * slide + offset
        while start + size > time:
            yield start, start + size
            start -= slide
    return windows


def tumbling(size, offset=0):
    return hopping(size, size, offset)


def cumulative(step, size):
    def windows(time):
        start = time // size * size
        for end in range(start + step, start + size + 1, step):
            if end > time:
                yield start, end
    return windows


def calendar(unit, zone, slide=1, size=1):
    """Days, weeks (from Monday) and months of a zone, counted since 1970: from midnight to midnight there, however long that is."""
    zone = zoneinfo.ZoneInfo(zone)

    def edge(k):
        day = {"day": lambda: DAY_0 + datetime.timedelta(days=k), "week": lambda: DAY_0 + datetime.timedelta(days=7 * k + 4),
               "month": lambda: datetime.date(1970 + k // 12, k % 12 + 1, 1)}[unit]()
        return (datetime.datetime(day.year, day.month, day.day, tzinfo=zone) - EPOCH) // MICROSECOND

    def windows(time):
        day = (EPOCH + datetime.timedelta(microseconds=time)).astimezone(zone).date()
        k = {"day": (day - DAY_0).days, "week": ((day - DAY_0).days - 4) // 7, "month": (day.year - 1970) * 12 + day.month - 1}[unit]
        start = k // slide * slide
        while start + size > k:
            yield edge(start), edge(start + size)
            start -= slide
    return windows


def clock_hours(hours, zone):
    """From each moment at which the zone's clock shows, or skips, a multiple of so many hours, to the next; found minute by minute."""
    zone, span = zoneinfo.ZoneInfo(zone), datetime.timedelta(hours=hours)

    def is_edge(minute):
        before, now = ((EPOCH + datetime.timedelta(minutes=at)).astimezone(zone).replace(tzinfo=None) - EPOCH.replace(tzinfo=None)
                       for at in (minute - 1, minute))
        return now // span > before // span or not now % span

    def windows(time):
        start = next(at for at in itertools.count(time // MINUTE, -1) if is_edge(at))
        yield start * MINUTE, next(at for at in itertools.count(start + 1) if is_edge(at)) * MINUTE
    return windows


# --- time [3]

class Watermark:
    def __init__(self, delay, skew):
        self.delay, self.skew, self.newest, self.progress, self.value = delay, skew, {}, NEVER, NEVER

    def take(self, record):
        self.newest.setdefault(record.partition, NEVER)
        if record.time <= record.arrival + self.skew:
            self.newest[record.partition] = max(self.newest[record.partition], record.time)
        self.progress = max(self.progress, min(self.newest.values()))
        self.value = self.progress - self.delay if self.progress > NEVER else NEVER


# --- views [4, 5]

class Policy:
    def __init__(self, late="correct", lateness=0, horizon=ALWAYS):
        self.late, self.lateness, self.horizon = late, lateness if late == "correct" else 0, horizon

    def sealed(self, end, watermark):
        return watermark >= end + self.lateness


class View:
    """What both kinds of views do: count fates, keep the ledger and the rows."""

    def __init__(self, policy):
        self.policy, self.fates, self.ledger, self.rows = policy, collections.Counter(), [], []
        self.versions, self.shown = collections.Counter(), {}  # by (end, start, key): how many rows, and what readers have
        self.having = lambda found: True

    def publish(self, place, values, status):
        """A row that HAVING leaves out has no version; one that it leaves out from now on is withdrawn."""
        if not self.having(answer(values)):
            self.retract(place)
            return
        self.versions[place] += 1
        self.shown[place] = Row(*place, self.versions[place], answer(values), status)
        self.rows.append(self.shown[place])

    def retract(self, place):
        if place in self.shown:
            self.versions[place] += 1
            self.rows.append(self.shown.pop(place)._replace(version=self.versions[place], status="retract"))

    def refuse(self, record, reason, watermark):
        """A record that no view looks at: of a time that cannot be true yet, or a copy."""
        if reason == "duplicate":
            self.fates["duplicate"] += 1
        else:
            self.set_aside(record, reason, [(start, end, max(0, watermark - end)) for start, end in self.windows(record.time)])

    def set_aside(self, record, reason, missed):
        """A record that is in no result."""
        kept = [window for window in missed if window[2] <= self.policy.horizon or not reason.startswith("late")]
        if missed and not kept:
            reason = "past_horizon"
        if reason == "past_horizon" or self.policy.late == "drop" and reason.startswith("late"):
            self.fates["dropped", reason] += 1
        else:
            self.fates["ledgered"] += 1
            self.ledger.append(Entry(record.offset, reason, tuple(sorted(kept))))


class WindowView(View):
    def __init__(self, windows, policy):
        super().__init__(policy)
        self.windows, self.groups, self.corrected, self.closed = windows, {}, set(), NEVER

    def read(self, record, watermark):
        places = [(end, start, record.key) for start, end in self.windows(record.time)]
        missed = [(start, end, watermark - end) for end, start, _ in places if self.policy.sealed(end, watermark)]
        for place in places:
            if not self.policy.sealed(place[0], watermark):
                self.groups.setdefault(place, []).append((record.time, record.partition, record.offset, record.value))
                if watermark >= place[0]:
                    self.corrected.add(place)
        if len(missed) == len(places):
            self.set_aside(record, "late", missed)
            return
        self.fates["accepted_partially" if missed else "accepted"] += 1
        kept = tuple(sorted(window for window in missed if window[2] <= self.policy.horizon))
        if kept and self.policy.late != "drop":
            self.ledger.append(Entry(record.offset, "late", kept))

    def advance(self, watermark):
        for place in sorted(self.groups):
            if self.closed < place[0] <= watermark:
                self.publish(place, self.groups[place], "on_time")
        self.closed = max(self.closed, watermark)

    def finish_tick(self):
        for place in sorted(self.corrected):
            self.publish(place, self.groups[place], "correction")
        self.corrected.clear()


class Session:
    def __init__(self, key, values, ends, published):
        self.key, self.values, self.ends, self.published, self.changed = key, values, ends, published, True
        self.first, self.last = min(values)[0], max(values)[0]

    def place(self):
        return self.ends(self.last), self.first, self.key

    def touches(self, time):
        return time < self.ends(self.last) and self.first < self.ends(time)


class SessionView(View):
    """Sessions merge first and are judged then. Who reaches the ghost, a key's newest sealed session, is late for that.

    While a key has no live session its past is forgotten: what was late alone by then lengthens no later session either.
    """

    def __init__(self, gap, policy, longest=None):
        super().__init__(policy)
        self.ends = lambda last: min(last + gap, (last // longest + 1) * longest) if longest else last + gap
        self.forgotten = collections.defaultdict(lambda: NEVER)  # key -> before which it is
        self.gap, self.sessions, self.watermark = gap, [], NEVER
        self.windows = lambda time: [(time, self.ends(time))]

    def read(self, record, watermark):
        own = [session for session in self.sessions if session.key == record.key]
        sealed = [session for session in own if self.policy.sealed(session.place()[0], watermark)]
        near = [session for session in own if session not in sealed and session.touches(record.time)]
        if len(sealed) == len(own):
            self.forgotten[record.key] = max(self.forgotten[record.key], watermark - self.policy.lateness - self.gap)
        ghost = next((session for session in sorted(sealed, key=Session.place)[-1:] if session.place()[0] > self.forgotten[record.key]), None)
        value = (record.time, record.partition, record.offset, record.value)
        merged = Session(record.key, [value] + [value for session in near for value in session.values], self.ends,
                         [place for session in near for place in session.published])
        if ghost and ghost.touches(record.time):
            self.set_aside(record, "late_session", [(ghost.first, ghost.place()[0], watermark - ghost.place()[0])])
        elif self.policy.sealed(merged.place()[0], watermark) or record.time < self.forgotten[record.key]:
            self.set_aside(record, "late", [(record.time, self.ends(record.time), max(0, watermark - self.ends(record.time)))])
        else:
            self.fates["accepted"] += 1
            self.sessions = [session for session in self.sessions if session not in near] + [merged]

    def withdraw(self, session):
        """What the session, or a part of it, was published as while it was another one."""
        for place in session.published:
            if place != session.place():
                self.retract(place)
        session.published = [place for place in session.published if place == session.place()]

    def replace(self, session, status):
        self.withdraw(session)
        self.publish(session.place(), session.values, status)
        session.published, session.changed = [session.place()], False

    def advance(self, watermark):
        for session in sorted(self.sessions, key=Session.place):
            if self.watermark < session.place()[0] <= watermark:
                self.replace(session, "on_time")
        self.watermark = max(self.watermark, watermark)

    def finish_tick(self):
        for session in sorted(self.sessions, key=Session.place):
            if session.changed and session.place()[0] <= self.watermark:
                self.replace(session, "correction")
            elif session.changed:
                self.withdraw(session)


# --- before any view: ids [5]

class Dedup:
    """Ids and what came with them, for as long as the horizon says; records carry an id with one time only here."""

    def __init__(self, horizon=ALWAYS):
        self.horizon, self.known = horizon, {}

    def judge(self, record, watermark):
        """None: the record goes on. What makes it a copy is every column but the arrival time."""
        if record.id is None:
            return None
        if NEVER < watermark and record.time < watermark - self.horizon:
            return "past_horizon"
        content = record._replace(offset=0, arrival=0)
        if record.id not in self.known:
            self.known[record.id] = content
            return None
        return "duplicate" if self.known[record.id] == content else "conflict"


# --- a run

def run(records, view, delay=0, skew=300_000_000, accept=DAY, tick_rows=1, flush=True, dedup=None):
    """Plays the records through the view. Returns the watermark, and for each record how many rows had been published when it
    had been read; the rest is in the view."""
    time, published = Watermark(delay, skew), []
    for count, record in enumerate(records, start=1):
        unfit = "future" if record.time > record.arrival + accept else dedup.judge(record, time.value) if dedup else None
        if unfit:
            view.refuse(record, unfit, time.value)
        elif not record.passes:
            view.fates["filtered"] += 1
        else:
            view.read(record, time.value)
        time.take(record)
        view.advance(time.value)
        if count % tick_rows == 0:
            view.finish_tick()
        published.append(len(view.rows))
    if flush:
        view.advance(ALWAYS)
    view.finish_tick()
    return time.value, published
