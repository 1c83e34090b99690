"""Runs unittest and writes what it does to $REDGREEN_REPORT, one JSON line per event, flushed: a crash loses nothing
said before.

    python -m redgreen_unittest [--list] [--start FOLDER]... [NAME]...

Names are modules, classes or methods, found from each folder; without any, tests are discovered below each folder. Its
reader is redgreen's framework/unittest.rs.
"""

import argparse
import inspect
import json
import os
import sys
import time
import unittest

CHAIN_MAX = 8
TEXT_CHARS_MAX = 4000

_path = os.environ.pop("REDGREEN_REPORT", None)
_stream = open(_path, "w", encoding="utf-8") if _path else None
_owner = os.getpid()


def _emit(**event):
    # A test that forks and comes back would go on as a second runner with the same stream.
    if _stream is not None and os.getpid() == _owner:
        _stream.write(json.dumps(event, default=str) + "\n")
        _stream.flush()


def _place(test):
    try:
        method = getattr(type(test), test._testMethodName)
        return inspect.getsourcefile(method), inspect.getsourcelines(method)[1]
    except Exception:  # A test made at run time has no place; whatever is wrong with it is not ours to report.
        return None, None


def _where(trace):
    """The innermost line outside of unittest."""
    place = (None, None)
    while trace is not None:
        if "__unittest" not in trace.tb_frame.f_globals:
            place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place


class _Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        test._redgreen_started = time.perf_counter()
        if not _is_failed_load(test):
            file, line = _place(test)
            _emit(event="test-start", id=test.id(), file=file, line=line)

    def _result(self, test, outcome, error=None, reason=None):
        told = {}
        if error is not None:
            kind, value, trace = error
            file, line = _where(trace)
            told = dict(
                exception=[base.__name__ for base in kind.__mro__[:-2]],
                message=str(value)[:TEXT_CHARS_MAX],
                file=file,
                line=line,
            )
        if reason is not None:
            told["message"] = str(reason)[:TEXT_CHARS_MAX]
        seconds = time.perf_counter() - getattr(test, "_redgreen_started", time.perf_counter())
        _emit(event="result", id=test.id(), outcome=outcome, seconds=seconds, **told)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._result(test, "passed")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._result(test, "failed", error)

    def addError(self, test, error):
        super().addError(test, error)
        if not _is_failed_load(test):
            self._result(test, "errored", error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._result(test, "skipped", reason=reason)

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self._result(test, "xfailed", error)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._result(test, "xpassed")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            failed = issubclass(error[0], test.failureException)
            self._result(subtest, "failed" if failed else "errored", error)


def _is_failed_load(test):
    return type(test).__name__ == "_FailedTest"


def _tests(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _tests(item)
        else:
            yield item


def _load_error(name):
    """Imports the module once more: the loader keeps only the text of what went wrong."""
    try:
        __import__(name)
    except BaseException as error:  # A module may raise SystemExit as well.
        chain = []
        cause = error
        while cause is not None and len(chain) < CHAIN_MAX:
            chain.append(cause)
            cause = cause.__cause__ or cause.__context__
        last = chain[-1]
        if isinstance(last, SyntaxError) and last.filename:
            file, line = last.filename, last.lineno
        else:
            file, line = _where_in_project(last.__traceback__)
        message = "%s: %s" % (type(last).__name__, last)
        return [type(one).__name__ for one in chain], message[:TEXT_CHARS_MAX], file, line
    return None


def _where_in_project(trace):
    root, place = os.getcwd() + os.sep, (None, None)
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.startswith(root) and "site-packages" not in path:
            place = (path, trace.tb_lineno)
        trace = trace.tb_next
    return place


def _report_failed_loads(tests):
    """What could not be loaded; says whether one of them is a name that does not exist."""
    unknown = False
    for test in tests:
        if not _is_failed_load(test):
            continue
        name = test._testMethodName
        found = _load_error(name)
        if found is None or not isinstance(test._exception, ImportError):
            unknown = True
            _emit(event="unknown", id=name, message=str(test._exception)[:TEXT_CHARS_MAX])
            continue
        chain, message, file, line = found
        _emit(event="load-error", id=name, exception=chain, message=message, file=file, line=line)
    return unknown


class _Loader(unittest.TestLoader):
    """Discovers `calc_test.py` as well, for which people give `discover` a pattern of their own."""

    def _match_path(self, path, full_path, pattern):
        return super()._match_path(path, full_path, pattern) or path.endswith("_test.py")


def _suite(options):
    starts = options.start or ["."]
    if options.names:
        sys.path[:0] = [os.path.abspath(start) for start in starts]
        return unittest.TestLoader().loadTestsFromNames(options.names)
    # A folder without __init__.py is no package: it is its own top, as `discover -s` has it. A loader remembers its
    # first top, so that each start needs one of its own.
    return unittest.TestSuite(_Loader().discover(start) for start in starts)


def _main():
    parser = argparse.ArgumentParser(prog="redgreen_unittest")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--start", action="append")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    _emit(event="start", runner="unittest", version=sys.version.split()[0], root=os.getcwd())
    suite = _suite(options)
    tests = list(_tests(suite))
    _emit(event="collected", ids=[test.id() for test in tests if not _is_failed_load(test)])
    unknown = _report_failed_loads(tests)
    if options.list:
        _emit(event="finish")
        return 0
    result = unittest.TextTestRunner(resultclass=_Result).run(suite)
    _emit(event="finish")
    if unknown:
        return 2
    if not result.wasSuccessful():
        return 1
    return 0 if result.testsRun else 5


if __name__ == "__main__":
    sys.exit(_main())
