#!/usr/bin/env python3
"""Asks PostgreSQL for aggregates of short lists of values and writes tests/data/aggregates.tsv.

    tests/differential/aggregates.py --psql "psql -h /tmp/socket -U postgres" > tests/data/aggregates.tsv

Every line: aggregate, type, values between bars, type of the result, result; or ..., ERROR, SQLSTATE. The words after an
aggregate's name are what stands in its call: "count distinct" is count(DISTINCT v), "jsonb_agg desc" is jsonb_agg(v ORDER BY v
DESC); string_agg's separator is "-". Float values are such that every partial sum is exact, because PostgreSQL rounds at each step
and we do not.
"""
import argparse
import random
import re
import subprocess
import sys

LISTS = {
    "int2": [["1"], ["1", "2", "4"], ["-32768", "32767", "NULL"], [], ["NULL"]],
    "int4": [["1", "2"], ["3", "1", "NULL", "2", "1", "3", "NULL"], ["2147483647", "2147483647", "2147483647"], ["-5", "NULL", "3"], [], ["7", "7", "8"]],
    "int8": [["9223372036854775807", "9223372036854775807"], ["-9223372036854775808", "-9223372036854775808", "1"], ["1", "2"],
             ["10000000000", "3", "NULL"], [], ["9223372036854775807"], ["1", "1", "1", "1", "1", "1", "2"]],
    "numeric": [["1.50", "2.5", "0.001"], ["-1.5", "1.50"], ["99999999999999999999", "0.00000000000000001"], ["NULL"], [], ["1", "2"], ["10", "0", "0"],
                ["0.1", "0.2"], ["12345.678", "-0.0001", "7"], ["1e20", "-1e20", "1e-10"], ["100000", "200000.5", "1"]],
    "numeric(10,2)": [["1.50", "2.25"], ["99999999.99", "0.01"]],
    "float4": [["1.5", "2.25", "-0.75"], ["Infinity", "1"], ["NaN", "1"], ["Infinity", "-Infinity"], [], ["3e38", "3e38"], ["0.5"]],
    "float8": [["1.5", "2", "1.5"], ["1.5", "2.25", "-0.75"], ["Infinity", "1"], ["NaN", "-Infinity"], ["Infinity", "-Infinity"], [], ["NULL", "2"], ["-0"], ["-0", "0"],
               ["1e308", "1e308"], ["1", "2", "4"], ["0.1"]],
    "text": [["b", "a", "NULL", "b", "", "a"], ["b", "a", "B"], ["", "x"], ["é", "z"], ["NULL", "q"], [], ["ab", "abc", "a"]],
    "date": [["2024-01-01", "2023-12-31"], ["NULL"], []],
    "timestamp": [["2024-01-01 00:00:00", "2024-01-01 00:00:00.000001"], ["-infinity", "infinity"], []],
    "timestamptz": [["2024-01-01 00:00:00Z", "2024-01-01 00:30:00+01"], []],
    "interval": [["1 month", "31 days"], ["1 month", "29 days 24:00:01"], ["1 day", "2 hours", "NULL"], [], ["1 year 2 months 3 days 04:05:06.7", "1 day", "3 seconds"],
                 ["-1 month", "10 days"], ["1 month", "1 month", "1 day"]],
    "boolean": [["t", "f"], ["t", "NULL"], ["f"], ["t", "t"], ["NULL"], []],
    "jsonb": [["1"]],
}
NAMES = ["count", "sum", "min", "max", "avg", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "bool_and", "bool_or", "every",
         "count distinct", "sum distinct", "avg distinct", "var_samp distinct", "min distinct", "string_agg", "string_agg desc", "string_agg distinct",
         "string_agg distinct desc", "jsonb_agg", "jsonb_agg asc", "jsonb_agg desc", "jsonb_agg desc nulls last", "jsonb_agg nulls first",
         "jsonb_agg distinct"]
# What differs on purpose: JSON's timestamps are RFC 3339 in UTC here; DISTINCT of intervals and jsonb is only refused here.
DIFFERENT = {("jsonb_agg", "timestamp"), ("jsonb_agg", "timestamptz"), ("sum distinct", "interval"), ("avg distinct", "interval"),
             ("count distinct", "jsonb"), ("jsonb_agg distinct", "jsonb"), ("jsonb_agg asc", "jsonb"), ("jsonb_agg desc", "jsonb")}


def is_asked(name, kind, values):
    if {(name, kind), (name.split()[0], kind)} & DIFFERENT or (kind == "jsonb" and name.startswith("jsonb_agg ")):
        return False
    if values == ["-0", "0"]:  # of equal values PostgreSQL keeps the one that came first
        return name == "sum"
    if values == ["1e308", "1e308"]:  # here a variance takes no value whose square leaves double precision
        return "distinct" not in name
    return True


def call(name):
    base, *words = name.split()
    distinct = "DISTINCT " if "distinct" in words else ""
    separator = ", '-'" if base == "string_agg" else ""
    order = [word.upper() for word in words if word != "distinct"]
    return f"{base}({distinct}v{separator}{' ORDER BY v ' + ' '.join(order) if order else ''})"

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
    if kind == "boolean":
        return value[0] if value in ("true", "false") else value
    if kind.startswith("timestamp") and value not in ("NULL", "infinity", "-infinity"):
        value = re.sub(r"\+00$", "Z", value.replace(" ", "T", 1))
    return value


def random_lists():
    source = random.Random(20240501)
    for _ in range(40):
        size = source.randint(1, 9)
        yield "numeric", [f"{source.randint(-10**source.randint(1, 12), 10**12)}e-{source.randint(0, 9)}" for _ in range(size)]
        yield "int4", [str(source.randint(-1000, 1000)) for _ in range(size)]
        yield "numeric(10,2)", [f"{source.randint(-10**5, 10**5)}e-2" for _ in range(size)]
        yield "int8", [str(source.randint(-2**source.randint(1, 63), 2**63 - 1)) for _ in range(size)]
        yield "interval", [f"{source.randint(-50, 50)} months {source.randint(-99, 99)} days {source.randint(-10**6, 10**6)} ms" for _ in range(size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--psql", default="psql", help="the command that connects")
    options = parser.parse_args()
    few = [name for name in NAMES if not re.match("bool|every|string|.* nulls|.* asc", name)]
    questions = [(name, kind, values) for kind, lists in LISTS.items() for values in lists for name in NAMES if is_asked(name, kind, values)]
    questions += [(name, kind, values) for kind, values in random_lists() for name in few if is_asked(name, kind, values)]
    script = FUNCTION
    for name, kind, values in questions:
        rows = ",".join("(NULL)" if v == "NULL" else f"('{v}')" for v in values) or "(NULL)"
        empty = "" if values else " LIMIT 0"
        inner = f"SELECT {call(name)} FROM (SELECT column1::{kind} AS v FROM (VALUES {rows}) r{empty}) s"
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
        if result_kind == "numeric" and sum(c.isdigit() for c in value) > 38:
            continue  # a numeric has 38 digits here
        print("\t".join([name, kind, "|".join(values), result_kind, rfc3339(result_kind, value)]))


main()
