"""Question: what does disorder cost, against the same records in the order of their event times?"""
import tumbling.question as tumbling
from harness import run
from windows.jobs import Variant

NAME = "disorder"
COMMAND = "wrackline run on records in order of arrival, and sorted (generate --order event)"
DISORDERED = Variant("disordered")
SORTED = Variant("sorted", bids="sorted.jsonl")


def write_sorted(setting):
    with open(setting.folder / "sorted.jsonl", "wb") as lines:
        run(setting.wrackline, "generate", "bids", "--rows", setting.rows, "--seed", setting.seed, "--order", "event", stdout=lines)


def contenders(setting):
    return [DISORDERED.contender(setting), SORTED.contender(setting, floor=1 / 1.3)]


def agree(setting):
    write_sorted(setting)
    answer, _ = SORTED.run(setting)
    if answer["balance"][0]["ledgered"]:
        raise tumbling.Disagreement(f"{answer['balance'][0]['ledgered']} sorted records are late")
    cells = SORTED.cells(setting)
    tumbling.compare("sorted and disordered records' cells", DISORDERED.cells(setting), cells)
    return f"{len(cells):,} cells are the same in both orders; none of the sorted records is late"
