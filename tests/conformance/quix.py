"""Quix Streams' table-driven tests.

A sliding window of Quix ends at an event and includes both ends: [t - d, t] is one of our hops of a millisecond, [t - d, t + 1). It
expires when the newest time less the grace is past its end, so the grace is our delay. Its windows before zero are clipped.
"""
import peers

MS = 1000


class Sliding:
    NAME = "Quix sliding windows"
    OURS = {}

    def cases(self):
        return {case["id"]: case for case in peers.load("quix_windows_joins/sliding.json")["cases"]}

    def names(self):
        return list(self.cases())

    def outcome(self, player, name):
        case = self.cases()[name]
        duration, messages = case["duration_ms"], case["messages"]
        transcript = peers.Transcript(window=f"hop 1 ms {duration + 1} ms", delay=f"{case['grace_ms']} ms", select="array_agg(v)")
        for message in messages:
            transcript.record("a", message["timestamp"], ord(message["value"]))
            transcript.cut()
        theirs = [sorted((window["start"], window["end"], tuple(sorted(window["value"]))) for window in message["expired"]) for message in messages]
        late = [i for i, message in enumerate(messages) if not message["updated"] and not message["expired"] and name.startswith("late")]
        steps, ledgered = transcript.play(player, MS, duration + 1)
        found = []
        for count, rows in enumerate(steps, start=1):
            events = {message["timestamp"] for message in messages[:count]}
            found.append(sorted((max(0, start), end - 1, tuple(sorted(map(chr, value)))) for _, start, end, value, _ in rows if end - 1 in events))
        return peers.Outcome((theirs, late), (found, ledgered))


class Joins:
    NAME = "Quix interval joins"
    OURS = {}

    def names(self):
        cases = peers.load("quix_windows_joins/interval_join.json")["cases"]
        return [f"case {number}" for number in range(1, len(cases) + 1)]

    def outcome(self, player, name):
        return None


sliding, interval_join = Sliding(), Joins()
