"""Repeats recorded calls and reports the outcome of each, as data."""

import asyncio
import importlib
import inspect
import operator
import random

REPLAYED_MAX = 60
VARIANTS_OF_ONE_MAX = 24
VALUES_MAX = 40


class Attempt:
    """One call that is about to be made. The user of this class makes it from its own frame."""

    def __init__(self, line, target, args, kwargs, label):
        self.line, self.target, self.args, self.kwargs, self.label = line, target, args, kwargs, label
        self.output = Output()
        self.outcome = {}

    def gives(self, value):
        if inspect.isawaitable(value):
            value = asyncio.run(waited(value))
        elif hasattr(type(value), "__aiter__") and is_standard(type(value)):
            value = asyncio.run(collected(value))
        self.value = value
        self.outcome = {"gives": describe(value, consume=True)}

    def raises(self, error):
        self.outcome = ended(error)

    def end(self):
        self.outcome["output"] = self.output.end()
        self.outcome["after"] = [describe(one, consume=True) for one in [*self.args, *self.kwargs.values()]]
        return self.outcome


async def waited(value):
    return await value


async def collected(value):
    return iter([one async for one in value])


class Unpickler(pickle.Unpickler):
    def __init__(self, file, objects):
        super().__init__(file)
        self.objects = objects

    def persistent_load(self, number):
        return self.objects[number]


class Calls:
    def __init__(self, lines):
        self.lines = sorted(lines, key=lambda line: line["number"])
        self.by_number = {line["number"]: line for line in self.lines}

    def target(self, line, args):
        found = importlib.import_module(line["module"])
        path = line["name"].split(".")
        if line["kind"] == "property":
            return operator.attrgetter(path[-1])
        for name in path[:-1]:
            found = getattr(found, name)
        if line["kind"] == "classmethod":
            found = args[0]
        return getattr(found, path[-1])

    def needed(self, line):
        """The earlier calls that created or changed its objects, in order."""
        wanted, found = set(line["touches"]), []
        for earlier in reversed(self.lines):
            number = earlier["number"]
            if number < line["number"] and wanted & {number, *earlier["touches"]}:
                found.append(earlier)
                wanted.update(earlier["touches"])
            if len(found) > REPLAYED_MAX:
                raise Unmade("too much happened before")
        return reversed(found)

    def arguments(self, line):
        objects = {}
        for earlier in self.needed(line):
            args, kwargs = load(earlier, objects)
            try:
                value = self.target(earlier, args)(*given(earlier, args), **kwargs)
                objects[earlier["number"]] = asyncio.run(waited(value)) if inspect.isawaitable(value) else value
            except (Exception, SystemExit):
                continue
        return load(line, objects)

    def attempt(self, line, change=None, label=0):
        args, kwargs = self.arguments(line)
        if change is not None:
            args, kwargs = change(args, kwargs)
        target = self.target(line, args)
        return Attempt(line, target, given(line, args), kwargs, label)


class Unmade(Exception):
    """A call that cannot be made here."""


def given(line, args):
    return args[1:] if line["kind"] == "classmethod" else args


def load(line, objects):
    try:
        return Unpickler(io.BytesIO(base64.b64decode(line["args"])), objects).load()
    except Exception as error:
        raise Unmade(type(error).__name__) from error


def attempts(calls, plan, seed, tell):
    """Each call of the plan, ready to be made. Reports its outcome before the next one."""
    for line, change, label in plan:
        place = {"number": line["number"], "variant": label, "time": seed}
        tell({**place, "begins": True})
        try:
            attempt = calls.attempt(line, change, label)
        except Unmade as error:
            tell({**place, "outcome": {"unknown": str(error)}})
            continue
        except (ImportError, AttributeError) as error:
            tell({**place, "outcome": {"unknown": type(error).__name__ + ": " + cut(str(error))}})
            continue
        except (Exception, SystemExit) as error:
            tell({**place, "outcome": {**ended(error), "atLoad": True}})
            continue
        given = [*attempt.args, *attempt.kwargs.values()]
        words = [shown(describe(one)) for one in (given[1:] if line["kind"] in ("method", "property") else given)]
        random.seed(seed)
        yield attempt
        told = {**place, "shown": line["name"] + "(" + cut(", ".join(words)) + ")"}
        tell({**told, "outcome": attempt.end()})


def near(value, others):
    """Similar values of the same type."""
    kind = type(value)
    if kind is bool:
        yield not value
    elif kind in (int, float):
        yield from (value + 1, value - 1, -value, value * 2, value * 10, kind(0))
    elif kind is str:
        yield from (value * 2, value * 5, "", value[:1], value.upper(), value.lower(), value[::-1], " " + value)
        yield from (value.replace(" ", "\t"), value + "\n")
        if value.lstrip("-").isdigit():
            number = int(value)
            limits = [edge + step for edge in others if type(edge) is int for step in (-1, 0, 1)]
            yield from map(str, (number + 1, number - 1, -number, 0, *limits))
    elif kind in (list, tuple):
        yield from (value * 2, value[::-1], value[:1], kind())
        yield from (value[:place] + kind([one]) + value[place + 1 :] for place, old in enumerate(value[:2]) for one in near(old, ()))
    elif kind is dict:
        yield {}
        for key in list(value)[:2]:
            yield {other: one for other, one in value.items() if other != key}
    for other in others:
        if type(other) is kind and kind is not str:
            yield from (other, other + 1, other - 1) if kind is int else (other,)
        elif type(other) is kind:
            yield other


def changes(args, kwargs, line, others):
    """Small changes of one argument. Each is applied to newly loaded arguments."""
    first = 1 if line["kind"] in ("method", "property", "classmethod") else 0
    for place in range(first, len(args)):
        for other in near(args[place], others):
            yield lambda args, kwargs, place=place, other=other: (args[:place] + (other,) + args[place + 1 :], kwargs)
    for name in kwargs:
        for other in near(kwargs[name], others):
            yield lambda args, kwargs, name=name, other=other: (args, {**kwargs, name: other})
    # The default of a parameter is behaviour too.
    for count in range(first, len(args)):
        yield lambda args, kwargs, count=count: (args[:count], kwargs)


