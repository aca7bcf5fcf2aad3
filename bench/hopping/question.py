"""Question: what do windows of ten seconds cost, of which there is one every second or every tenth of one, against tumbling ones?"""
import tumbling.question as tumbling
from windows.jobs import Variant, hopping_cells

NAME = "hopping"
COMMAND = "wrackline run, ten seconds every second (size/slide 10)"
SIZE_US = 10_000_000
HOT = 500  # bids in a window: the windows every tenth of a second publish only what has so many, or they would write all day

TEN = Variant("hopping 10", "HOP(bids, date_time, INTERVAL '1 second', INTERVAL '10 seconds')")
HUNDRED = Variant("hopping 100", "HOP(bids, date_time, INTERVAL '0.1 seconds', INTERVAL '10 seconds')", having=f"HAVING count(*) >= {HOT}")
TUMBLING = Variant("tumbling")


def contenders(setting):
    return [TEN.contender(setting), TUMBLING.contender(setting, floor=1 / 4), HUNDRED.contender(setting)]


def agree(setting):
    """Every cell of runs that wait for all records must be that of a recount."""
    said = []
    for variant, slide_us, at_least in ((TEN, 1_000_000, 1), (HUNDRED, 100_000, HOT)):
        cells = variant.cells(setting)
        tumbling.compare(f"{variant.name}'s cells and a recount", cells, hopping_cells(setting.bids, SIZE_US, slide_us, at_least))
        said.append(f"{len(cells):,} cells of {variant.name}")
    return f"{' and '.join(said)} are those of a recount"
