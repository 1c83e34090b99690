"""Runs the bodies of tests as an ordinary program: without a test runner, and without a frame in a test file.

It reads the source of a test file and the names of tests from stdin, as JSON, and writes which of them hold. It skips a
test that needs more of a test runner than this file contains.
"""

import ast
import contextlib
import importlib.machinery
import importlib.metadata
import inspect
import itertools
import json
import os
import pathlib
import re
import sys
import tempfile
import types

ROWS_MAX = 200
RELATIVE, ABSOLUTE = 1e-6, 1e-12


class Unable(BaseException):
    """The test needs something that only its test runner provides."""


class Finder(importlib.machinery.PathFinder):
    """Finds installed packages, except those that only tests use."""

    hidden = ()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in cls.hidden else super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, *args, **kwargs):
        found = importlib.machinery.PathFinder.find_distributions(*args, **kwargs)
        return (one for one in found if one.metadata["Name"] not in cls.hidden)


def hide(names):
    Finder.hidden = tuple(names)
    Finder.__name__ = Finder.__qualname__ = "PathFinder"
    sys.meta_path[:] = [Finder if one is importlib.machinery.PathFinder else one for one in sys.meta_path]


class Caught:
    """An exception that a test expected."""

    value = type = None

    def match(self, pattern):
        assert re.search(pattern, str(self.value))
        return True

    def __getattr__(self, name):
        raise Unable(name)


class WaitsFor:
    """`pytest.raises`. It can be entered more than once."""

    def __init__(self, kinds, match=None):
        self.kinds, self.pattern = kinds, match

    def __enter__(self):
        self.caught = Caught()
        return self.caught

    def __exit__(self, kind, error, _):
        if kind is None:
            raise AssertionError(self.kinds)
        if not issubclass(kind, self.kinds):
            return False
        self.caught.value, self.caught.type = error, kind
        return self.pattern is None or self.caught.match(self.pattern)


def raises(kinds, *call, match=None, **keywords):
    if not call:
        if keywords:
            raise Unable
        return WaitsFor(kinds, match)
    with WaitsFor(kinds) as caught:
        call[0](*call[1:], **keywords)
    return caught


class Near:
    """`pytest.approx` of a number, or of numbers in a list, a tuple or a dictionary."""

    def __init__(self, value, rel=None, abs=None, nan_ok=False):
        if nan_ok:
            raise Unable
        self.value, self.rel, self.abs = value, rel, abs

    def near(self, wanted, got):
        if isinstance(wanted, dict):
            return wanted.keys() == got.keys() and all(self.near(wanted[key], got[key]) for key in wanted)
        if isinstance(wanted, (list, tuple)):
            return len(wanted) == len(got) and all(map(self.near, wanted, got))
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float, complex)):
            return wanted == got
        relative = (RELATIVE if self.abs is None else 0) if self.rel is None else self.rel
        return abs(wanted - got) <= max(relative * abs(wanted), ABSOLUTE if self.abs is None else self.abs)

    def __eq__(self, other):
        return self.near(self.value, other)


class Marks:
    """`pytest.mark`. Marks that only select or describe tests are ignored; tests with other marks are skipped."""

    def parametrize(self, names, rows, **_):
        names = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)

        def mark(test):
            table = [dict(zip(names, row if len(names) > 1 else [row])) for row in map(given, rows)]
            test.tables = [table, *getattr(test, "tables", [])]
            return test

        return mark

    def __getattr__(self, name):
        def mark(test):
            if name in ("skip", "skipif", "xfail", "usefixtures"):
                test.unable = True
            return test

        return lambda *args, **_: args[0] if len(args) == 1 and inspect.isroutine(args[0]) and mark(args[0]) else mark


class Row(tuple):
    """`pytest.param`: a row of a table."""


def given(row):
    return (row if len(row) > 1 else row[0]) if isinstance(row, Row) else row


def param(*values, marks=(), id=None):
    if marks:
        raise Unable
    return Row(values)


def fixture(*args, name=None, autouse=False, **_):
    def mark(function):
        function.provides, function.always = name or function.__name__, autouse
        return function

    return mark(args[0]) if args and callable(args[0]) else mark


def is_fixture(one):
    return isinstance(one, types.FunctionType) and hasattr(one, "provides")


def fail(*words, **_):
    raise AssertionError(*words)


class Runner:
    """The part of pytest that most tests use."""

    mark, approx = Marks(), Near
    fail, fixture = staticmethod(fail), staticmethod(fixture)
    param, raises = staticmethod(param), staticmethod(raises)

    def __getattr__(self, name):
        raise Unable(name)


class WithoutRunner(ast.NodeTransformer):
    """Removes imports of pytest and binds their names to the replacements in this file."""

    def __init__(self):
        self.names = {}

    def visit_Import(self, node):
        for one in node.names:
            if one.name == "pytest":
                self.names[one.asname or one.name] = Runner()
        node.names = [one for one in node.names if one.name != "pytest"]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    def visit_ImportFrom(self, node):
        if node.module != "pytest" or node.level:
            return node
        for one in node.names:
            self.names[one.asname or one.name] = getattr(Runner(), one.name)
        return ast.copy_location(ast.Pass(), node)


def module_name(path):
    parts = path[: -len(".py")].split("/")
    first = len(parts) - 1
    while first > 0 and os.path.exists("/".join(parts[:first]) + "/__init__.py"):
        first -= 1
    return "/".join(parts[:first]) or ".", ".".join(parts[first:])


def load(ask):
    root, name = module_name(ask["file"])
    folders = [os.path.abspath(one) for one in (root, ".", "src", "lib") if os.path.isdir(one)]
    sys.path[:0] = [one for one in dict.fromkeys(folders) if one not in sys.path]
    tree = WithoutRunner()
    code = compile(ast.fix_missing_locations(tree.visit(ast.parse(ask["source"]))), "program.py", "exec")
    module = types.ModuleType(name if ask["named"] else "program")
    module.__package__ = name.rpartition(".")[0]
    module.__file__ = os.path.abspath(ask["file"])
    vars(module).update(tree.names)
    sys.modules[module.__name__] = module
    exec(code, vars(module))
    return module


def renamed(test):
    """Gives the function a name that does not look like a test."""
    if isinstance(test, types.FunctionType):
        test.__code__ = test.__code__.replace(co_name="step")
    return test


class Fixtures:
    def __init__(self, module, ends):
        found = [one for one in vars(module).values() if is_fixture(one)]
        self.known, self.made, self.ends = {one.provides: one for one in found}, {}, ends
        for one in found:
            if one.always:
                self.get(one.provides)

    def get(self, name):
        if name not in self.made:
            self.made[name] = self.make(name)
        return self.made[name]

    def make(self, name):
        if name in self.known:
            value = self.known[name](**self.wanted_by(self.known[name]))
            if not inspect.isgenerator(value):
                return value
            self.ends.callback(next, value, None)
            return next(value)
        if name == "tmp_path":
            return pathlib.Path(self.ends.enter_context(tempfile.TemporaryDirectory())).resolve()
        raise Unable(name)

    def wanted_by(self, function, own=()):
        parameters = inspect.signature(function).parameters.values()
        wanted = [one.name for one in parameters if one.default is one.empty and one.name not in own]
        return {name: self.get(name) for name in wanted}


def run(module, path):
    if any(hasattr(module, name) for name in ("setup_module", "teardown_module", "setup_function", "setUpModule")):
        raise Unable
    if hasattr(module, "pytestmark") and getattr(module.pytestmark, "unable", False):
        raise Unable
    *classes, name = path.split("::")
    owner = module
    for one in classes:
        owner = getattr(owner, one)
    test = inspect.getattr_static(owner, name)
    if getattr(test, "unable", False) or inspect.iscoroutinefunction(test) or getattr(owner, "unable", False):
        raise Unable
    renamed(test)
    tables = [*getattr(test, "tables", []), *getattr(owner, "tables", [])] if classes else getattr(test, "tables", [])
    for rows in itertools.islice(itertools.product(*tables), ROWS_MAX):
        row = {name: value for part in rows for name, value in part.items()}
        with contextlib.ExitStack() as ends:
            body = method(owner, name, ends) if classes else test
            body(**row, **Fixtures(module, ends).wanted_by(body, row))


def method(owner, name, ends):
    if any("unittest" in one.__module__ for one in owner.__mro__ if one.__name__ == "TestCase"):
        one = owner(name)
        owner.setUpClass()
        one.setUp()
        ends.callback(one.doCleanups)
        ends.callback(one.tearDown)
    else:
        one = owner()
        if hasattr(one, "setup_class") or any(map(is_fixture, vars(owner).values())):
            raise Unable
        if hasattr(one, "setup_method"):
            one.setup_method()
        if hasattr(one, "teardown_method"):
            ends.callback(one.teardown_method)
    return getattr(one, name)


def held(module, path):
    try:
        run(module, path)
    except Unable:
        return "skipped"
    except BaseException as error:
        return "skipped" if type(error).__name__ in ("SkipTest", "Skipped") else "fails"
    return "holds"


def main():
    ask = json.load(sys.stdin)
    told = os.dup(1)
    os.dup2(2, 1)
    sys.argv[:] = ["program"]
    hide(ask["hidden"])
    try:
        module = load(ask)
    except BaseException:
        # The file needs something that only the test runner provides.
        module = None
    for turn in range(ask["rounds"]):
        for at in reversed(range(len(ask["tests"]))):
            word = held(module, ask["tests"][at]) if module else "skipped"
            os.write(told, f"\n{ask['mark']} {at} {turn} {word}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
