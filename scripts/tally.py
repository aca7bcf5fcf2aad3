"""Adds up the results of ctest runs of several presets: names what failed or was skipped, ends with the totals."""
import collections
import pathlib
import sys
import xml.etree.ElementTree as xml


def outcome(case):
    if case.get("status") == "run":
        return "passed"
    return "failed" if case.get("status") == "fail" else "skipped"


def reason(case):
    """The line in which a skipped test says why, if it does."""
    lines = (case.findtext("system-out") or "").splitlines()
    return next((line.strip() for line in lines if "skipped:" in line.lower()), "")


def main(presets):
    totals, unreadable = collections.Counter(), False
    for preset in presets:
        results = pathlib.Path("build") / preset / "results.xml"
        try:
            cases = xml.parse(results).getroot().findall("testcase")
        except (OSError, xml.ParseError) as problem:
            print(f"no results in {results}: {problem}")
            unreadable = True
            continue
        for case in cases:
            what = outcome(case)
            totals[what] += 1
            if what != "passed":
                print(f"{what}: {preset} {case.get('name')} {reason(case)}".rstrip())
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if unreadable or totals["failed"] or not totals["passed"] else 0


sys.exit(main(sys.argv[1:]))
