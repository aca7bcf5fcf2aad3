"""Question: how many bytes of state does a live (key, window) take, for count(*) and sum(bigint) by an 8-byte key?"""
from harness import Size, run

NAME = "state_bytes"
COMMAND = "state_bytes GROUPS WINDOWS"
LIMIT = 64
SHAPES = ((1_000_000, 1), (100_000, 10), (10_000_000, 1), (1_000_000, 10))  # keys, windows


def sizes(setting):
    """A run on few rows leaves out what needs half a gigabyte."""
    every = []
    for keys, windows in SHAPES:
        if keys * windows > max(1_000_000, 2 * setting.rows):
            continue
        out, _, _ = run(setting.build / "bench/state_bytes/state_bytes", keys, windows)
        words = out.split()
        figures = dict(zip(words[::2], map(float, words[1::2])))
        name = f"{keys:,} keys in {windows} window{'s' if windows > 1 else ''}"
        every.append(Size(name, figures["bytes_per_group"], figures["worst"], figures["resident"], LIMIT))
    return every
