"""Question: what does it cost to correct windows for 60 seconds, with a Pareto tail of delays, against never correcting?"""
import tumbling.question as tumbling
from windows.jobs import Variant, hopping_cells, micros

NAME = "lateness"
COMMAND = "wrackline run with allowed_lateness = '60 s'"
LATENESS = Variant("lateness 60 s", options="WITH (allowed_lateness = '60 s')")


def contenders(setting):
    return [LATENESS.contender(setting), Variant("none").contender(setting, floor=1 / 1.5)]


def agree(setting):
    """The last versions, with what came later still and lies in the ledger, must be a recount."""
    answer, _ = LATENESS.run(setting)
    cells = tumbling.published(setting)
    late = tumbling.add_ledger(cells, setting)
    cells = {(micros(text), auction): cell for (text, auction), cell in cells.items()}
    tumbling.compare("cells with the ledger and a recount", cells, hopping_cells(setting.bids, 10_000_000, 10_000_000))
    corrections = answer["views"]["per_window"]["corrections"]
    return f"{len(cells):,} cells, after {corrections:,} corrections and with {late:,} records from the ledger, are those of a recount"
