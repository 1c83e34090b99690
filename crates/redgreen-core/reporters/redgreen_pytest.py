"""Writes the events of pytest to $REDGREEN_REPORT, one JSON line each, unbuffered. A crash loses no earlier event.

Loaded with `-p redgreen_pytest`; needs only pytest 6 or later. framework/pytest.rs reads the output.
"""

import copy
import json
import os

import pytest

CHAIN_MAX = 8
TEXT_CHARS_MAX = 4000

# `json.dumps` with an option would create a new encoder for each event.
_encode = json.JSONEncoder(default=str).encode
_stream = None
_owner = None
_order = None
# The duration of the call, for each test that passed and is not torn down yet.
_passed = {}


def _write(line):
    # A forked child that returns from its test would continue as a second pytest with the same stream.
    if _stream is not None and os.getpid() == _owner:
        _stream.write(line.encode("ascii"))


def _emit(**event):
    _write(_encode(event) + "\n")


def _tail(text):
    return text[-TEXT_CHARS_MAX:] if text else None


def _chain(error):
    """The exception and its causes, outermost first, because pytest and projects re-raise."""
    chain = []
    while error is not None and len(chain) < CHAIN_MAX:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def _place(error, root):
    """The place in the project: the line that does not parse, or the innermost line that ran."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno
    place = (None, None)
    trace = error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path.startswith(root + os.sep) and "site-packages" not in path:
            place = (path, trace.tb_lineno)
        trace = trace.tb_next
    return place


def _words(longrepr):
    """The reason of a skip is the third item of a tuple; every other representation has a text."""
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return longrepr[2]
    return str(longrepr) if longrepr else None


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    global _stream, _owner, _order
    # Removed before any code is loaded that could read it.
    _order = os.environ.pop("REDGREEN_ORDER", None)
    # Programs that the tests start must not write here. A worker of xdist has no stream: its controller
    # reports for it.
    path = os.environ.pop("REDGREEN_REPORT", None)
    if path is None or hasattr(config, "workerinput"):
        return
    _stream = open(path, "wb", buffering=0)
    _owner = os.getpid()
    _emit(event="start", runner="pytest", version=pytest.__version__, root=str(config.rootpath))


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    report = outcome.get_result()
    call = getattr(report, "call", None)
    if call is not None and call.excinfo is not None:
        report._redgreen_chain = _chain(call.excinfo.value)
        report._redgreen_root = str(collector.config.rootpath)


def pytest_collectreport(report):
    if report.outcome == "passed":
        return
    chain = getattr(report, "_redgreen_chain", [])
    cause = chain[-1] if chain else None
    file, line = _place(cause, report._redgreen_root) if cause is not None else (None, None)
    _emit(
        event="collect",
        id=report.nodeid,
        outcome=report.outcome,
        exception=[type(error).__name__ for error in chain] or None,
        message=_tail(_words(report.longrepr)),
        reason=_tail("%s: %s" % (type(cause).__name__, cause)) if cause is not None else None,
        file=file,
        line=line,
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Runs the tests in reverse order, twice, if the judge asks whether the order matters."""
    if _order != "reversed-twice" or _stream is None:
        return
    backwards = items[::-1]
    items[:] = [_copy(item) for item in backwards] + backwards


def _copy(item):
    """A copy, because pytest does not set up an item again that directly follows itself."""
    other = copy.copy(item)
    # The fixture request refers to its item, so the copy needs its own.
    if hasattr(other, "_initrequest"):
        other._initrequest()
    return other


def pytest_collection_finish(session):
    _emit(event="collected", ids=list(dict.fromkeys(item.nodeid for item in session.items)))


# Every test passes through here, and most of them succeed. Formatting these lines by hand takes a third of the time.
_START = '{"event":"test-start","id":%s,"file":%s,"line":%s}\n'
_PASSED = '{"event":"passed","id":%s,"seconds":%r}\n'


def pytest_runtest_logstart(nodeid, location):
    file, line, _ = location
    _write(_START % (_encode(nodeid), _encode(file), "null" if line is None else line + 1))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.excinfo is not None:
        # xdist sends user properties from a worker to its controller, but not attributes.
        classes = [base.__name__ for base in type(call.excinfo.value).__mro__[:-2]]
        report.user_properties.append(("redgreen_exception", classes))


def pytest_runtest_logreport(report):
    if report.outcome == "passed" and not hasattr(report, "wasxfail"):
        if report.when == "setup":
            return
        if report.when == "call":
            _passed[report.nodeid] = report.duration
            return
        seconds = _passed.pop(report.nodeid, None)
        if seconds is not None:
            _write(_PASSED % (_encode(report.nodeid), seconds))
            return
    elif report.nodeid in _passed:
        _emit(event="phase", id=report.nodeid, when="call", outcome="passed", seconds=_passed.pop(report.nodeid))
    _tell(report)


def _tell(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    classes = [value for key, value in report.user_properties if key == "redgreen_exception"]
    _emit(
        event="phase",
        id=report.nodeid,
        when=report.when,
        outcome=report.outcome,
        xfail=getattr(report, "wasxfail", None),
        exception=classes[-1] if classes and report.outcome != "passed" else None,
        message=_tail(getattr(crash, "message", None) or _words(report.longrepr)),
        file=getattr(crash, "path", None),
        line=getattr(crash, "lineno", None),
        seconds=report.duration,
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    _emit(event="finish", exitstatus=int(exitstatus))
