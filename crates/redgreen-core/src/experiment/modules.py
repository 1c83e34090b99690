"""What every driver needs: which module a file is, and whether a value is plain data."""

import os

PLAIN = (int, float, complex, str, bytes, bool, type(None))


def module_name(path):
    parts = path[: -len(".py")].split("/")
    first = 0
    while first < len(parts) - 1 and not os.path.exists("/".join(parts[: first + 1]) + "/__init__.py"):
        first += 1
    return "/".join(parts[:first]) or ".", ".".join(parts[first:]).removesuffix(".__init__")


def is_data(value, depth=0):
    if isinstance(value, PLAIN):
        return True
    if depth < 6 and type(value) in (list, tuple, set, frozenset):
        return all(is_data(one, depth + 1) for one in value)
    if depth < 6 and type(value) is dict:
        return all(is_data(one, depth + 1) for pair in value.items() for one in pair)
    return False


