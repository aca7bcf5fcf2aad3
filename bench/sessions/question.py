"""Question: what do sessions of an auction's bids, less than ten seconds apart, cost against tumbling windows?"""
import tumbling.question as tumbling
from windows.jobs import Variant, session_cells

NAME = "sessions"
COMMAND = "wrackline run, sessions with a gap of ten seconds"
SESSIONS = Variant("sessions", "SESSION(bids, date_time, INTERVAL '10 seconds')")


def contenders(setting):
    return [SESSIONS.contender(setting), Variant("tumbling").contender(setting, floor=1 / 4)]


def agree(setting):
    cells = SESSIONS.cells(setting)
    tumbling.compare("sessions and a recount", cells, session_cells(setting.bids, 10_000_000))
    return f"{len(cells):,} sessions are those of a recount"
