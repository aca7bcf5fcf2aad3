"""Question: what do two shards of the keys, each with a thread, cost and gain? Look at the wall time."""
from harness import Disagreement
from windows.jobs import Variant

NAME = "threads"
COMMAND = "wrackline run --threads 2, not pinned to a core"
TWO = Variant("2 threads", threads=2)
ONE = Variant("1 thread")


def contenders(setting):
    return [TWO.contender(setting), ONE.contender(setting)]


def agree(setting):
    """Not a byte of the output may depend on threads."""
    outputs = []
    for variant in (ONE, TWO):
        variant.run(setting)
        outputs.append((setting.folder / "totals.jsonl").read_bytes())
    if outputs[0] != outputs[1]:
        raise Disagreement("the output depends on the number of threads")
    return f"{len(outputs[0]):,} bytes of output are the same with 1 and 2 threads"
