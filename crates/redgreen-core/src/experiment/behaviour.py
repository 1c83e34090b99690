"""Calls functions of a tree with given values and tells, as data, what they answered."""

import ast
import contextlib
import importlib
import inspect
import io
import json
import random
import sys

CALLS_MAX = 400
ANSWER_CHARS_MAX = 300


def answer(function, arguments):
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            value = function(*arguments)
    except Exception as error:
        return "raises " + type(error).__name__
    if not is_data(value):
        return "a " + type(value).__name__
    return shown(value)[:ANSWER_CHARS_MAX]


def shown(value):
    """The same text for values that are equal, the last digits of a float aside."""
    if type(value) is float:
        return repr(float(f"{value:.9g}"))
    if type(value) is dict:
        return "{" + ", ".join(sorted(f"{shown(key)}: {shown(one)}" for key, one in value.items())) + "}"
    if type(value) in (set, frozenset):
        return "{" + ", ".join(sorted(map(shown, value))) + "}"
    if type(value) in (list, tuple):
        return repr(type(value)())[0] + ", ".join(map(shown, value)) + repr(type(value)())[-1]
    return repr(value)


def near(value):
    yield value
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (value + 1, value - 1, -value, value * 2, value * 10, 0)
    elif isinstance(value, str):
        yield from (value * 2, value.upper(), value.lower(), value[::-1], value[:1], "", " " + value, value.replace(" ", "\t"), value + "\n")
    elif isinstance(value, list):
        yield from (value * 2, value[::-1], value[:1], [])


def variants(arguments):
    yield arguments
    for place, one in enumerate(arguments):
        for other in near(one):
            yield arguments[:place] + (other,) + arguments[place + 1 :]


def wanted(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for one in parameters if one.kind in positional and one.default is inspect.Parameter.empty)


def read(text):
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()


def main():
    ask = json.load(sys.stdin)
    values = [value for text in ask["values"] for value in read(text)]
    answers = {}
    for module in ask["modules"]:
        root, name = module_name(module["path"])
        sys.path.insert(0, root)
        try:
            loaded = importlib.import_module(name)
        except Exception:
            continue
        for function_name in module["functions"]:
            function = getattr(loaded, function_name, None)
            if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
                continue
            least = wanted(function)
            tuples = [found for called, text in module["calls"] if called == function_name for found in read("(" + text + ",)")]
            if least is not None:
                # What a parameter is when nobody gives it is behaviour as well.
                tuples += [one[:count] for one in tuples for count in range(least, len(one))]
            if least == 1:
                # Where the tests show what kind of value it takes, others say nothing.
                kinds = {type(arguments[0]) for arguments in tuples if arguments}
                tuples += [(value,) for value in values if not kinds or type(value) in kinds]
            told = 0
            for arguments in (other for one in tuples for other in variants(one)):
                shown = function_name + "(" + ", ".join(repr(one) for one in arguments) + ")"
                key = module["path"] + " " + shown
                if key in answers or len(shown) > ANSWER_CHARS_MAX or told >= CALLS_MAX:
                    continue
                told += 1
                random.seed(1)
                first = answer(function, arguments)
                random.seed(2)
                # What does not answer the same twice cannot be compared.
                if first == answer(function, arguments):
                    answers[key] = first
    json.dump({"answers": answers}, sys.stdout)


main()
