"""Question: how fast are ten-second totals per auction, from JSON lines to a file of results and a ledger of late records?"""
import collections
import datetime
import json
import pathlib
import shutil

from harness import Contender, Disagreement, Sample, run, simdjson_only

JOB = pathlib.Path(__file__).with_name("bids.sql")
DUCKDB_BATCH = pathlib.Path(__file__).with_name("duckdb_batch.py")
WINDOW_US = 10_000_000
NAME = "tumbling"
COMMAND = "wrackline run bench/tumbling/bids.sql"


def micros(text):
    moment = datetime.datetime.fromisoformat(text) - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return moment // datetime.timedelta(microseconds=1)


def run_job(setting):
    """One run from nothing: no state, no output of an earlier one."""
    folder = setting.folder
    shutil.rmtree(folder / "state", ignore_errors=True)
    (folder / "totals.jsonl").unlink(missing_ok=True)
    shutil.copy(JOB, folder)
    out, cpu_seconds, wall_seconds = run(setting.wrackline, "run", JOB.name, "--state", "state", "--json", cwd=folder)
    answer = json.loads(out)
    if not answer["balanced"] or answer["balance"][0]["read"] != setting.rows:
        raise Disagreement(f"wrackline's balance is wrong: {answer['balance']}")
    return Sample(setting.rows, cpu_seconds, wall_seconds)


def run_duckdb(setting, *cells):
    out, _, _ = run(setting.duckdb, "-B", DUCKDB_BATCH, setting.bids, *cells)
    answer = json.loads(out)
    if answer["rows"] != setting.rows:
        raise Disagreement(f"DuckDB counted {answer['rows']} rows of {setting.rows}")
    return answer


def duckdb_sample(setting):
    answer = run_duckdb(setting)
    return Sample(answer["rows"], answer["cpu_seconds"], answer["wall_seconds"])


def contenders(setting):
    every = [Contender("wrackline", lambda: run_job(setting)), simdjson_only(setting)]
    if setting.duckdb:
        every.append(Contender("duckdb", lambda: duckdb_sample(setting), floor=3.0))
    return every


def published(setting):
    """(window, auction) -> [bids, total], by the last version of each row."""
    with open(setting.folder / "totals.jsonl", encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return {(row["window_start"], row["auction"]): [row["bids"], int(row["total"])] for row in rows}


def add_ledger(cells, setting):
    """Adds what missed its window; returns how many records that were."""
    out, _, _ = run(setting.wrackline, "ledger", "export", "--state", setting.folder / "state")
    late = 0
    for entry in map(json.loads, out.splitlines()):
        record = json.loads(entry["payload"])
        window = entry["windows"][0]["start"]
        cell = cells.setdefault((window, record["auction"]), [0, 0])
        cell[0] += 1
        cell[1] += record["price"]
        late += 1
    return late


def compare(what, ours, theirs):
    """Every cell of the two must be there and equal."""
    wrong = [key for key in sorted(ours.keys() | theirs.keys()) if ours.get(key) != theirs.get(key)]
    if wrong:
        some = "; ".join(f"{key}: {ours.get(key)} and {theirs.get(key)}" for key in wrong[:5])
        raise Disagreement(f"{what} differ in {len(wrong)} cells: {some}")


def duckdb_cells(setting):
    """DuckDB's cells, and its sums of the four fields."""
    path = setting.folder / "duckdb.csv"
    sums = run_duckdb(setting, path)["sums"]
    rows = (map(int, line.split(",")) for line in path.read_text().splitlines())
    return {(start, auction): [bids, total] for start, auction, bids, total in rows}, sums


def per_window(cells):
    windows = collections.defaultdict(lambda: [0, 0])
    for (start, _), (bids, total) in cells.items():
        windows[start][0] += bids
        windows[start][1] += total
    return dict(windows)


def simdjson_sums(setting):
    """Rows, and the sums of auction, bidder, price and date_time; unsigned 64-bit sums wrap."""
    words = run(setting.simdjson_only, setting.bids, 1)[0].split()
    return int(words[1]), [int(word) for word in words[5:9]]


def agree(setting):
    """Compares all answers before anything is timed; returns what agreed, in words."""
    run_job(setting)
    texts = published(setting)
    late = add_ledger(texts, setting)
    starts = {text: micros(text) for text, _ in texts}
    cells = {(starts[text], auction): value for (text, auction), value in texts.items()}
    truth = json.loads(setting.truth.read_text())["windows"]
    compare("wrackline's windows and the truth", per_window(cells),
            {micros(window["start"]): [window["count"], window["sum"]] for window in truth})
    rows, sums = simdjson_sums(setting)
    known = [sum(auction * bids for (_, auction), (bids, _) in cells.items()), None, sum(window["sum"] for window in truth), None]
    if setting.duckdb:
        theirs, known = duckdb_cells(setting)
        compare("wrackline's cells with its ledger and DuckDB's", cells, theirs)
    for ours, right in zip(sums, known):
        if right is not None and ours != right % 2**64:
            raise Disagreement(f"simdjson_only summed {ours}, right is {right % 2**64}")
    if rows != setting.rows:
        raise Disagreement(f"simdjson_only read {rows} rows of {setting.rows}")
    other = "DuckDB's" if setting.duckdb else "the truth's"
    return f"{len(cells):,} cells, with {late:,} late records from the ledger, are {other}; simdjson_only's sums are right"
