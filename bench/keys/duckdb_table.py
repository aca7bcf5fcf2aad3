"""Contender: DuckDB answers from its own in-memory table, or loads it first, on one thread.

Usage: duckdb_table.py FILE table|load [CELLS]
Prints {"rows", "cpu_seconds", "wall_seconds"}: of the query alone (table), or of reading the file into the table and the query (load).
With CELLS: also writes the result there as CSV.
"""
import json
import sys
import time

import duckdb

LOAD = """
CREATE TABLE bids AS SELECT * FROM read_json(?, format = 'newline_delimited',
columns = {auction: 'BIGINT', price: 'BIGINT', date_time: 'TIMESTAMP'})"""

QUERY = """
CREATE TEMP TABLE cells AS
SELECT time_bucket(INTERVAL '10 seconds', date_time) AS window_start, auction, count(*) AS bids, sum(price) AS total
FROM bids GROUP BY ALL"""


def main(file, timed, cells=None):
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    if timed == "table":
        connection.execute(LOAD, [file])
    wall, cpu = time.perf_counter(), time.process_time()
    if timed == "load":
        connection.execute(LOAD, [file])
    connection.execute(QUERY)
    answer = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
    answer["rows"] = int(connection.execute("SELECT sum(bids) FROM cells").fetchone()[0])
    if cells:
        connection.execute(f"COPY (SELECT epoch_us(window_start), auction, bids, total FROM cells) TO '{cells}' (HEADER false)")
    print(json.dumps(answer))


main(*sys.argv[1:])
