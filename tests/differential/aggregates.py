#!/usr/bin/env python3
"""Asks PostgreSQL for aggregates of short lists of values and writes tests/data/aggregates.tsv.

    tests/differential/aggregates.py --psql "psql -h /tmp/socket -U postgres" > tests/data/aggregates.tsv

Every line: aggregate, type, values between bars, type of the result, result; or ..., ERROR, SQLSTATE. Float values are
such that every partial sum is exact, because PostgreSQL rounds at each step and we do not.
"""
import argparse
import random
import re
import subprocess
import sys

LISTS = {
    "int2": [["1"], ["1", "2", "4"], ["-32768", "32767", "NULL"], [], ["NULL"]],
    "int4": [["1", "2"], ["2147483647", "2147483647", "2147483647"], ["-5", "NULL", "3"], [], ["7", "7", "8"]],
    "int8": [["9223372036854775807", "9223372036854775807"], ["-9223372036854775808", "-9223372036854775808", "1"], ["1", "2"],
             ["10000000000", "3", "NULL"], [], ["9223372036854775807"], ["1", "1", "1", "1", "1", "1", "2"]],
    "numeric": [["1.50", "2.5", "0.001"], ["-1.5", "1.50"], ["99999999999999999999", "0.00000000000000001"], ["NULL"], [], ["1", "2"], ["10", "0", "0"],
                ["0.1", "0.2"], ["12345.678", "-0.0001", "7"], ["1e20", "-1e20", "1e-10"], ["100000", "200000.5", "1"]],
    "numeric(10,2)": [["1.50", "2.25"], ["99999999.99", "0.01"]],
    "float4": [["1.5", "2.25", "-0.75"], ["Infinity", "1"], ["NaN", "1"], ["Infinity", "-Infinity"], [], ["3e38", "3e38"], ["0.5"]],
    "float8": [["1.5", "2.25", "-0.75"], ["Infinity", "1"], ["NaN", "-Infinity"], ["Infinity", "-Infinity"], [], ["NULL", "2"], ["-0"], ["-0", "0"],
               ["1e308", "1e308"], ["1", "2", "4"], ["0.1"]],
    "text": [["b", "a", "B"], ["", "x"], ["é", "z"], ["NULL", "q"], [], ["ab", "abc", "a"]],
    "date": [["2024-01-01", "2023-12-31"], ["NULL"], []],
    "timestamp": [["2024-01-01 00:00:00", "2024-01-01 00:00:00.000001"], ["-infinity", "infinity"], []],
    "timestamptz": [["2024-01-01 00:00:00Z", "2024-01-01 00:30:00+01"], []],
    "interval": [["1 month", "31 days"], ["1 month", "29 days 24:00:01"], ["1 day", "2 hours", "NULL"], [], ["1 year 2 months 3 days 04:05:06.7", "1 day", "3 seconds"],
                 ["-1 month", "10 days"], ["1 month", "1 month", "1 day"]],
    "boolean": [["t", "f"]],
    "jsonb": [["1"]],
}
NAMES = ["count", "sum", "min", "max", "avg"]

FUNCTION = r"""
CREATE FUNCTION pg_temp.try(e text) RETURNS text LANGUAGE plpgsql AS $f$
DECLARE r text;
BEGIN
  EXECUTE 'SELECT pg_typeof(x)::text || E''\t'' || coalesce(x::text, ''NULL'') FROM (' || e || ') AS q(x)' INTO r;
  RETURN r;
EXCEPTION WHEN OTHERS THEN RETURN E'ERROR\t' || SQLSTATE;
END $f$;
SET timezone = 'UTC'; SET datestyle = 'ISO'; SET intervalstyle = 'postgres';
"""


def rfc3339(kind, value):
    if kind.startswith("timestamp") and value not in ("NULL", "infinity", "-infinity"):
        value = re.sub(r"\+00$", "Z", value.replace(" ", "T", 1))
    return value


def random_lists():
    source = random.Random(20240501)
    for _ in range(40):
        size = source.randint(1, 9)
        yield "numeric", [f"{source.randint(-10**source.randint(1, 12), 10**12)}e-{source.randint(0, 9)}" for _ in range(size)]
        yield "int8", [str(source.randint(-2**source.randint(1, 63), 2**63 - 1)) for _ in range(size)]
        yield "interval", [f"{source.randint(-50, 50)} months {source.randint(-99, 99)} days {source.randint(-10**6, 10**6)} ms" for _ in range(size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--psql", default="psql", help="the command that connects")
    options = parser.parse_args()
    cases = [(kind, values) for kind, lists in LISTS.items() for values in lists] + list(random_lists())
    questions = [(name, kind, values) for kind, values in cases for name in NAMES
                 if values != ["-0", "0"] or name == "sum"]  # of equal values PostgreSQL keeps the one that came first
    script = FUNCTION
    for name, kind, values in questions:
        rows = ",".join("(NULL)" if v == "NULL" else f"('{v}')" for v in values) or "(NULL)"
        empty = "" if values else " LIMIT 0"
        inner = f"SELECT {name}(v) FROM (SELECT column1::{kind} AS v FROM (VALUES {rows}) r{empty}) s"
        script += "SELECT pg_temp.try('" + inner.replace("'", "''") + "');\n"
    run = subprocess.run(options.psql.split() + ["-XAtq", "-v", "ON_ERROR_STOP=1"], input=script, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    answers = run.stdout.rstrip("\n").split("\n")
    if len(answers) != len(questions):
        sys.exit(f"{len(questions)} questions but {len(answers)} answers")
    print("# Aggregates of short lists and what PostgreSQL 15 says; written by tests/differential/aggregates.py.")
    for (name, kind, values), answer in zip(questions, answers):
        result_kind, value = answer.split("\t", 1)
        print("\t".join([name, kind, "|".join(values), result_kind, rfc3339(result_kind, value)]))


main()
