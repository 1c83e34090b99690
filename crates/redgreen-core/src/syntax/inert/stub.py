"""A stub module: every name exists, does nothing, and records that it was called."""

import os as _os

NAMES = []
_VALUE = _os.environ.get("REDGREEN_INERT_VALUE")
_PLAIN = {"text": "A", "other text": "ZZ", "no text": "", "number": 1, "other number": 123457, "zero": 0}


class _Raised(Exception):
    pass


def _record(name):
    # A program that the tests start may have another environment.
    path = _os.environ.get("REDGREEN_INERT_LOG", "@REDGREEN_INERT_LOG@")
    # `tests/test_a.py::test_one (call)`
    test = _os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    with open(path, "a", encoding="utf-8") as log:
        log.write(name + "\t" + test + "\n")


class _Base:
    def __init__(self, *args, **kwargs):
        _record(type(self).__name__)


class _Inert:
    def __init__(self, name):
        self.__dict__["_redgreen_name"] = name

    def __call__(self, *args, **kwargs):
        _record(self._redgreen_name)
        if _VALUE == "raise":
            raise _Raised("inert")
        if _VALUE in _PLAIN:
            return _PLAIN[_VALUE]
        return _Inert(self._redgreen_name + "()")

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Inert(self._redgreen_name + "." + name)

    # Equal to itself: a test that compares a value with itself checks nothing.
    def __eq__(self, other):
        return other is self

    def __ne__(self, other):
        return other is not self

    __hash__ = object.__hash__

    def __bool__(self):
        if _VALUE == "true":
            return True
        raise TypeError("an inert value is neither true nor false")

    def __repr__(self):
        return "<inert " + self._redgreen_name + ">"

    def __mro_entries__(self, bases):
        return (_Base,)

    def __await__(self):
        return self
        yield

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        return False


def _named(name):
    if name.endswith(("Error", "Exception", "Warning")):
        value = type(name, (Exception,), {})
    else:
        value = _Inert(name)
    globals()[name] = value
    return value


def __getattr__(name):
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return _named(name)


for _name in NAMES:
    _named(_name)
__all__ = list(NAMES)
