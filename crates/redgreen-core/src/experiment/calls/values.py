"""Describes values and outcomes as data. Shared by our programs that record or repeat calls in Python."""

import base64
import enum
import hashlib
import io
import json
import os
import pickle
import re
import sys

TEXT_CHARS_MAX = 400
NODES_MAX = 600
DEPTH_MAX = 12
ITEMS_MAX = 200
FLOAT_DIGITS = 12
CONTAINERS = (list, tuple, set, frozenset, dict)
ABILITIES = ("__hash__", "__eq__", "__lt__", "__setattr__", "__iter__", "__len__", "__contains__", "__getitem__", "__call__")
SCALARS = (bool, int, float, complex, str, bytes, bytearray)


def describe(value, consume=False):
    """A value by its type and content. Does not call the code's `__eq__`, `__repr__` and the like."""
    return Describer(consume).of(value, 0)


class Describer:
    def __init__(self, consume):
        # While recording, iterators must not be consumed and properties must not be called.
        self.consume = consume
        self.nodes = 0
        self.above = []

    def of(self, value, depth):
        kind = type(value)
        self.nodes += 1
        if value is None or self.nodes > NODES_MAX or depth > DEPTH_MAX:
            return {"is": kind.__name__}
        if issubclass(kind, enum.Enum):
            return {"is": kind.__name__, "text": enum.Enum.name.__get__(value)}
        base = next((one for one in SCALARS if issubclass(kind, one)), None)
        if base is not None:
            return {"is": kind.__name__, "text": scalar(base, value)}
        stream = stream_of(value)
        if stream is not None:
            return {"is": "stream", "text": stream}
        if any(one is value for one in self.above):
            return {"is": kind.__name__, "cycle": True}
        self.above.append(value)
        try:
            return self.inside(value, kind, depth + 1)
        finally:
            self.above.pop()

    def inside(self, value, kind, depth):
        base = next((one for one in CONTAINERS if issubclass(kind, one)), None)
        if base is dict:
            pairs = [[self.of(key, depth), self.of(one, depth)] for key, one in list(dict.items(value))[:ITEMS_MAX]]
            order = [shown(key) for key, _ in pairs]
            found = {"is": kind.__name__, "pairs": sorted(pairs, key=text_of), "size": dict.__len__(value)}
            return {**found, "order": order}
        if base is not None:
            items = [self.of(one, depth) for one in list(base.__iter__(value))[:ITEMS_MAX]]
            if base in (set, frozenset):
                items.sort(key=text_of)
            return {"is": kind.__name__, "items": items, "size": base.__len__(value)}
        if issubclass(kind, type) or is_function(value):
            return {"is": "class" if issubclass(kind, type) else "function"}
        if issubclass(kind, BaseException):
            items = [self.of(one, depth) for one in BaseException.args.__get__(value)]
            return {"is": kind.__name__, "items": items, "fields": self.fields(value, kind, depth)}
        if is_iterator(kind):
            return {"is": "iterator", "items": self.consumed(value, depth)} if self.consume else {"is": "iterator"}
        if is_standard(kind):
            return {"is": kind.__name__, "text": cut(re.sub(r"0x[0-9a-fA-F]+", "0x", repr(value)))}
        return {"is": kind.__name__, "fields": self.fields(value, kind, depth), "can": abilities(kind)}

    def consumed(self, value, depth):
        items = []
        try:
            for one in value:
                items.append(self.of(one, depth))
                if len(items) >= ITEMS_MAX:
                    break
        except Exception as error:
            items.append({"is": "raised " + type(error).__name__})
        return items

    def fields(self, value, kind, depth):
        found = {}
        try:
            found.update(object.__getattribute__(value, "__dict__"))
        except AttributeError:
            pass
        for one in kind.__mro__:
            slots = one.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                try:
                    found[name] = one.__dict__[name].__get__(value)
                except (AttributeError, KeyError):
                    continue
        if self.consume:
            # For callers, a field that became a property is the same.
            for name in (name for one in kind.__mro__ for name, held in vars(one).items() if type(held) is property):
                try:
                    found.setdefault(name, getattr(value, name))
                except Exception:
                    continue
        return {str(name): self.of(one, depth) for name, one in found.items()}


def abilities(kind):
    """The operations that a type defines: hashing, comparing, changing, iterating and so on."""
    own = [one for one in kind.__mro__ if one is not object]
    return [name for name in ABILITIES if getattr(kind, name, None) and any(name in vars(one) for one in own)]


def stream_of(value):
    """The name of the standard stream, if it is one. Test runners replace the streams, which is not behaviour of the code."""
    for name in ("stdin", "stdout", "stderr"):
        for stream in (getattr(sys, name, None), getattr(sys, f"__{name}__", None)):
            if stream is not None and value is stream:
                return name
            if stream is not None and value is getattr(stream, "buffer", None):
                return f"{name}.buffer"
    return None


def is_standard(kind):
    """Whether the type belongs to Python, so its `repr` is not code of the project."""
    module = str(kind.__dict__.get("__module__", kind.__module__)).split(".")[0]
    return module == "builtins" or module in sys.stdlib_module_names


def is_function(value):
    return is_standard(type(value)) and callable(value)


def is_iterator(kind):
    return is_standard(kind) and hasattr(kind, "__next__") and not issubclass(kind, io.IOBase)


def scalar(base, value):
    if base is float:
        return repr(float(f"{float.__float__(value):.{FLOAT_DIGITS}g}"))
    return cut(str.__str__(value) if base is str else base.__repr__(value))


def text_of(description):
    return json.dumps(description, sort_keys=True)


def cut(text):
    if len(text) <= TEXT_CHARS_MAX:
        return text
    return text[:TEXT_CHARS_MAX] + "… " + hashlib.sha1(text.encode("utf-8", "replace")).hexdigest()


def shown(description):
    """A short form for people."""
    if "text" in description:
        text = description["text"]
        return repr(text) if description["is"] == "str" else text
    if "pairs" in description:
        return "{" + ", ".join(shown(key) + ": " + shown(one) for key, one in description["pairs"]) + "}"
    if "items" in description:
        edges = {"tuple": "()", "set": "{}"}.get(description["is"], "[]")
        return edges[0] + ", ".join(map(shown, description["items"])) + edges[1]
    return "None" if description["is"] == "NoneType" else "<" + description["is"] + ">"


def ended(error):
    """The outcome of an exception."""
    if issubclass(type(error), SystemExit):
        return {"exits": describe(error.code)}
    names = [one.__name__ for one in type(error).__mro__]
    try:
        message = cut(str(error))
    except Exception:
        message = ""
    return {"raises": names, "message": re.sub(r"0x[0-9a-fA-F]+", "0x", message)}


class Output:
    """Records the output. Keeps the stream object, because code may check its type."""

    def __init__(self):
        self.parts = []
        self.stream = sys.stdout
        try:
            write = self.stream.write
            self.stream.write = lambda text: (self.parts.append(text), write(text))[1]
        except (AttributeError, TypeError):
            self.stream = None

    def end(self):
        if self.stream is None:
            return None
        try:
            del self.stream.write
        except AttributeError:
            return None
        return cut("".join(part for part in self.parts if isinstance(part, str)))


