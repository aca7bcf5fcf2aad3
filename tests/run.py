"""Runs the unittest tests of one file, or those with the given names, and tells skipping from passing by the exit code.

Usage: run.py FILE [TEST_NAME...]
Exit:  0 passed, 1 failed (or nothing ran), 77 skipped.
"""
import importlib.util
import pathlib
import sys
import unittest

SKIPPED = 77


def load(path):
    sys.path[:0] = [str(path.parent), str(pathlib.Path(__file__).resolve().parent)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def main(file, names):
    every = tests_of(unittest.defaultTestLoader.loadTestsFromModule(load(pathlib.Path(file).resolve())))
    chosen = unittest.TestSuite(test for test in every if not names or test.id().split(".")[-1] in names)
    result = unittest.TextTestRunner(verbosity=2).run(chosen)
    for _, why in result.skipped:
        print(f"skipped: {why}")
    if not result.wasSuccessful() or not result.testsRun:
        return 1
    return SKIPPED if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
