"""An ordinary program: it makes calls without a test runner and without the tests, and reports the outcome of each.

It reads the calls from stdin, as JSON, and writes one JSON line for each call.
"""

import ast
import importlib.machinery
import importlib.metadata
import select
import signal
import time

SECONDS_MAX = 8
SECONDS_OF_ONE_MAX = 2
VARIANTS_MAX = 900
SHOWN_CHARS_MAX = 300


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


def passes(ask, calls):
    """The work of each process: the calls in order, then in reverse and each twice."""
    if "near" not in ask:
        plain = [(line, None, 0) for line in calls.lines]
        return [(plain, 1), ([one for one in reversed(plain) for _ in range(2)], 2)]
    calls.lines.extend(uncalled(ask, calls.lines))
    every = varied(calls, [value for text in ask["near"] for value in read(text)][:VALUES_MAX])
    return [(every, 1), (every[::-1], 2)]


def uncalled(ask, lines):
    """Calls of functions with one parameter that no test calls, with the values of the tests."""
    called = {(line["module"], line["name"]) for line in lines}
    number = 0
    for path, names in ask["functions"]:
        root, module = module_name(path)
        sys.path.append(os.path.abspath(root))
        for name in names:
            number -= len(ask["values"])
            if (module, name) in called or wanted(module, name) != 1:
                continue
            for at, text in enumerate(ask["values"]):
                for value in read(text):
                    args = base64.b64encode(pickle.dumps(((value,), {}))).decode()
                    line = {"number": number + at, "module": module, "name": name, "kind": "function"}
                    yield {**line, "args": args, "touches": [], "byState": False}


def wanted(module, name):
    try:
        function = getattr(importlib.import_module(module), name)
        parameters = inspect.signature(function).parameters.values()
    except (Exception, SystemExit):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for one in parameters if one.kind in positional and one.default is inspect.Parameter.empty)


def varied(calls, others):
    plan = []
    for line in calls.lines:
        if line["byState"]:
            continue
        plan.append((line, None, 0))
        try:
            args, kwargs = load_plainly(line)
        except Exception:
            continue
        for label, change in enumerate(changes(args, kwargs, line, others), 1):
            if label > VARIANTS_OF_ONE_MAX + len(others) or len(plan) >= VARIANTS_MAX:
                break
            plan.append((line, change, label))
    return plan


def load_plainly(line):
    """The arguments, with None in place of objects that the code creates."""
    objects = dict.fromkeys(line["touches"])
    return load(line, objects)


def read(text):
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()


def make(calls, plan, seed, tell):
    for attempt in attempts(calls, plan, seed, tell):
        try:
            attempt.gives(attempt.target(*attempt.args, **attempt.kwargs))
        except BaseException as error:
            attempt.raises(error)


def in_child(calls, plan, seed, answers, until):
    """Makes the calls in a child process, and also reports a call that ends the process or never ends."""
    done = 0
    while done < len(plan) and time.monotonic() < until:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w", buffering=1) as told:
                make(calls, plan[done:], seed, lambda line: told.write(json.dumps(line) + "\n"))
            os._exit(0)
        os.close(writer)
        begun, ready = listen(reader, answers, until)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if begun is None:
            return
        outcome = {"unknown": "never ends"} if ready else {"ends": True}
        answers({**begun, "outcome": outcome})
        place = (begun["number"], begun["variant"])
        at = next(at for at in range(done, len(plan)) if (plan[at][0]["number"], plan[at][2]) == place)
        done = at + 1


def listen(reader, answers, until):
    """The call that began and did not end, if any, and whether it is still running."""
    begun, rest = None, b""
    with os.fdopen(reader, "rb", buffering=0) as told:
        while True:
            wait = min(SECONDS_OF_ONE_MAX, until - time.monotonic())
            if wait <= 0 or not select.select([told], [], [], wait)[0]:
                return begun, True
            data = told.read(1 << 16)
            if not data:
                return begun, False
            *whole, rest = (rest + data).split(b"\n")
            for line in map(json.loads, whole):
                begun = {key: line[key] for key in ("number", "variant", "time")} if "begins" in line else None
                if begun is None:
                    answers(line)


def repeat(ask, answers):
    lines = [json.loads(text) for text in ask["lines"]]
    calls = Calls([line for line in lines if "number" in line])
    until = time.monotonic() + SECONDS_MAX
    everything = passes(ask, calls)
    for at, (plan, seed) in enumerate(everything, 1):
        in_child(calls, plan, seed, answers, until if at == len(everything) else until - SECONDS_MAX / 2)


def module_name(path):
    parts = path[: -len(".py")].split("/")
    first = 0
    while first < len(parts) - 1 and not os.path.exists("/".join(parts[: first + 1]) + "/__init__.py"):
        first += 1
    return "/".join(parts[:first]) or ".", ".".join(parts[first:]).removesuffix(".__init__")


def plain_data(value):
    """The value as JSON data; raises TypeError if it is not plain data."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is bytes:
        return value.decode("utf-8", "replace")
    if kind is complex:
        return repr(value)
    if kind in (list, tuple):
        return [plain_data(one) for one in value]
    if kind in (set, frozenset):
        return [plain_data(one) for one in sorted(value, key=repr)]
    if kind is dict:
        return {str(key): plain_data(one) for key, one in value.items()}
    raise TypeError(kind.__name__)


def example(call):
    try:
        module = call["module"]
        if module.endswith(".py"):
            root, module = module_name(module)
            sys.path.insert(0, root)
        function = getattr(importlib.import_module(module), call["function"])
    except (Exception, SystemExit) as error:
        return {"missing": type(error).__name__ + ": " + str(error)[:SHOWN_CHARS_MAX]}
    try:
        value = function(*call["args"])
        if inspect.isawaitable(value):
            value = asyncio.run(waited(value))
    except (Exception, SystemExit) as error:
        names = [one.__name__ for one in type(error).__mro__]
        return {"raises": names, "shown": (type(error).__name__ + ": " + str(error))[:SHOWN_CHARS_MAX]}
    told = repr(value)[:SHOWN_CHARS_MAX]
    try:
        json.dumps(plain_data(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return {"other": told}
    return {"gives": plain_data(value), "shown": told}


def main():
    ask = json.load(sys.stdin)
    hide(ask["hidden"])
    # The output of the code must not mix with the answers.
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    del sys.path[0]
    sys.path[:0] = map(os.path.abspath, ask["path"])
    if "lines" in ask:
        repeat(ask, lambda line: told.write(json.dumps(line) + "\n"))
        return
    for call in ask["examples"]:
        told.write(json.dumps({"index": call["index"], **example(call)}) + "\n")


if __name__ == "__main__":
    main()
