"""Quix Streams' table-driven tests: sliding windows that end at each event, and interval joins. Neither is a window of ours."""
import peers

class Suite:
    OURS = {}

    def __init__(self, name, file):
        self.NAME, self.file = name, f"quix_windows_joins/{file}.json"

    def names(self):
        cases = peers.load(self.file)["cases"]
        return list(peers.numbered(case.get("id") or f"case {number}" for number, case in enumerate(cases, start=1)))

    def outcome(self, player, name):
        return None


sliding, interval_join = Suite("Quix sliding windows", "sliding"), Suite("Quix interval joins", "interval_join")
