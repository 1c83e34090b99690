"""Runs unittest and writes its events to $REDGREEN_REPORT, one JSON line each, flushed. A crash loses no earlier event.

    python -m redgreen_unittest [--list] [--start FOLDER]... [NAME]...

Names are modules, classes or methods, relative to each folder. Without names, it discovers the tests below each folder.
framework/unittest.rs reads the output.
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
    # A forked child that returns from its test would continue as a second runner with the same stream.
    if _stream is not None and os.getpid() == _owner:
        _stream.write(json.dumps(event, default=str) + "\n")
        _stream.flush()


def _place(test):
    try:
        method = getattr(type(test), test._testMethodName)
        return inspect.getsourcefile(method), inspect.getsourcelines(method)[1]
    except Exception:  # A test that was created at run time has no source.
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
    """Imports the module again, because the loader keeps only the text of the error."""
    try:
        __import__(name)
    except BaseException as error:  # A module may also raise SystemExit.
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
    """Reports tests that could not be loaded. Returns whether a requested name does not exist."""
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
    """Also discovers `calc_test.py`, for which `discover` needs a pattern."""

    def _match_path(self, path, full_path, pattern):
        return super()._match_path(path, full_path, pattern) or path.endswith("_test.py")


def _suite(options):
    starts = options.start or ["."]
    if options.names:
        sys.path[:0] = [os.path.abspath(start) for start in starts]
        return unittest.TestLoader().loadTestsFromNames(options.names)
    # A folder without __init__.py is its own top-level folder, as with `discover -s`. A loader remembers its first
    # top-level folder, so each start needs another loader.
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
