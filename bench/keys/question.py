"""Question: how fast are ten-second totals of a million keys, each as likely as the other, against DuckDB's in-memory table?

Two readings. "columns": records and table lie in memory, and only the question is timed; this is the one with the floor. "run": from JSON
lines, which DuckDB reads into its table first, and `wrackline run` also writes its rows to a file.
"""
import json
import pathlib

from harness import Contender, Disagreement, Sample, run
from windows.jobs import Variant

NAME = "keys"
COMMAND = "column_windows, a million keys (generate --keys 1000000); then wrackline run"
KEYS = 1_000_000
DUCKDB_TABLE = pathlib.Path(__file__).with_name("duckdb_table.py")
RUN = Variant("wrackline run", bids="keys.jsonl")


def columns(setting, *cells):
    out, _, _ = run(setting.build / "bench/keys/column_windows", setting.folder / "keys.jsonl", 10, 1, *cells)
    words = out.split()
    return Sample(int(words[1]), float(words[5]))


def duckdb(setting, timed, *cells):
    answer = json.loads(run(setting.duckdb, "-B", DUCKDB_TABLE, setting.folder / "keys.jsonl", timed, *cells)[0])
    if answer["rows"] != setting.rows:
        raise Disagreement(f"DuckDB counted {answer['rows']} rows of {setting.rows}")
    return Sample(answer["rows"], answer["cpu_seconds"], answer["wall_seconds"])


def contenders(setting):
    every = [Contender("columns", lambda: columns(setting))]
    if setting.duckdb:
        every.append(Contender("duckdb table", lambda: duckdb(setting, "table"), floor=4.0))
    every.append(RUN.contender(setting))
    if setting.duckdb:
        every.append(Contender("duckdb load", lambda: duckdb(setting, "load")))
    return every


def read_cells(path):
    """(start, auction) -> (bids, total), by the last line of each."""
    cells = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            start, auction, bids, total = line.rstrip().split(",")
            cells[start, auction] = bids, total
    return cells


def agree(setting):
    """Every cell of the columns' last versions must be DuckDB's; what `run` publishes, with its ledger, must have as many records."""
    with open(setting.folder / "keys.jsonl", "wb") as lines:
        run(setting.wrackline, "generate", "bids", "--rows", setting.rows, "--seed", setting.seed, "--keys", KEYS, stdout=lines)
    if columns(setting, setting.folder / "columns.csv").rows != setting.rows:
        raise Disagreement("column_windows did not read every row")
    RUN.run(setting)
    cells = read_cells(setting.folder / "columns.csv")
    if sum(int(bids) for bids, _ in cells.values()) != setting.rows:
        raise Disagreement("the columns' cells do not count every row")
    if not setting.duckdb:
        return f"{len(cells):,} cells count every row"
    duckdb(setting, "table", setting.folder / "duckdb_keys.csv")
    if cells != read_cells(setting.folder / "duckdb_keys.csv"):
        raise Disagreement("the columns' cells are not DuckDB's")
    return f"{len(cells):,} cells of {len({auction for _, auction in cells}):,} keys are DuckDB's"
