"""Suites that say to which windows a record belongs, and nothing of time: Calcite's stream.iq and Beam's YAML windowing."""
import peers

MS = 1000
DAY_MS = 1_423_958_400_000  # 2015-02-15


def flushed(player, records, unit="ms", scale=MS, **options):
    """The rows (key, start, end, value) of records (key, time, value), nothing being late."""
    transcript = peers.Transcript(delay="10000 days", unit=unit, times=unit, **options)
    for key, time, value in records:
        transcript.record(key, time, value)
    played = player.run_script(transcript.script(), "flush", peers.World(1))
    return sorted((key, start // scale, end // scale, value) for end, start, key, _, value, _ in played.rows)


class Calcite:
    NAME = "Calcite stream.iq"
    OURS = {}

    def cases(self):
        return {f"{case['fn']} {' '.join(f'{name} {case[name]}' for name in ('slide', 'size', 'gap', 'offset', 'key') if name in case)}": case
                for case in peers.load("calcite_stream_iq/cases.json")["cases"]}

    def names(self):
        return list(self.cases())

    def outcome(self, player, name):
        case = self.cases()[name]
        ahead = 500 if "ts" in case else 0  # ROWTIME + 0.5 s
        orders = [(order[1], clock(order[0]) + ahead, order[2]) for order in peers.load("calcite_stream_iq/cases.json")["orders"]]
        theirs = sorted((number, clock(start), clock(end)) for number, start, end in case["expect"])
        if case["fn"] == "SESSION":
            rows = flushed(player, [(product if case["key"] else "all", time, 1) for _, time, product in orders],
                           window=f"session {milliseconds(case['gap'])} ms")
            found = [(number, start, end) for number, time, product in orders for key, start, end, _ in rows
                     if key == (product if case["key"] else "all") and start <= time < end]
        else:
            window = " ".join(f"{milliseconds(case[name])} ms" for name in ("slide", "size") if name in case)
            rows = flushed(player, [(number, time, 1) for number, time, _ in orders], window=("hop " if "slide" in case else "") + window,
                           offset=f"{milliseconds(case['offset'])} ms" if "offset" in case else None)
            found = [(int(key), start, end) for key, start, end, _ in rows]
        return peers.Outcome(theirs, sorted(found))


def clock(text):
    hours, minutes, seconds = text.split(":")
    return DAY_MS + (int(hours) * 60 + int(minutes)) * 60_000 + round(float(seconds) * 1000)


def milliseconds(text):
    """Of "10 minutes", and of "20:10.525 minutes", which are minutes and seconds."""
    number, unit = text.split()
    minutes, _, seconds = number.partition(":")
    return int(minutes) * {"minute": 60_000, "hour": 3_600_000}[unit.rstrip("s")] + round(float(seconds or 0) * 1000)


class BeamYaml:
    NAME = "Beam YAML windowing"
    OURS = {}

    def names(self):
        return [case["name"] for case in peers.load("beam_yaml_windowing/cases.json")["cases"]]

    def outcome(self, player, name):
        suite = peers.load("beam_yaml_windowing/cases.json")
        case = next(case for case in suite["cases"] if case["name"] == name)
        window = case["window"]
        if window["kind"] == "global":
            return None
        text = {"tumbling": "{size_s} s", "hopping": "hop {advance_s} s {size_s} s", "session": "session {gap_s} s"}[window["kind"]]
        rows = flushed(player, [(key, time, time) for key, time in suite["input"]], "s", 1_000_000, window=text.format(**window),
                       select="sum(v)", offset=f"{window['offset_s']} s" if "offset_s" in window else None)
        theirs = sorted(map(tuple, case["expect"])), sorted(map(tuple, case["windows"])) if "windows" in case else None
        found = sorted((key, value) for key, _, _, value in rows), sorted((start, end) for _, start, end, _ in rows) if theirs[1] else None
        return peers.Outcome(theirs, found)


calcite, beam_yaml = Calcite(), BeamYaml()
