"""Finds functions and classes of the language and of test runners that the code replaced."""

import subprocess

RUNNERS = ("pytest", "_pytest")
# Programs may replace the hooks of `sys`.
HOOKS = ("sys", "__main__")
ORIGINAL = "import importlib, sys\nfound = importlib.import_module(sys.argv[1])\nfor name in sys.argv[2:]: found = vars(found)[name]"


def language(is_own):
    """The names of the language whose value `is_own` says is defined by the code."""
    known = getattr(sys, "stdlib_module_names", ())
    for module, holder in list(sys.modules.items()):
        top = module.split(".")[0]
        if top in HOOKS or not (top in known or top in RUNNERS) or not hasattr(holder, "__dict__"):
            continue
        for name, value in list(vars(holder).items()):
            if name.startswith("_"):
                continue
            if is_own(value):
                changed = [(name,)]
            elif isinstance(value, type) and value.__module__ == module:
                changed = [(name, inner) for inner, one in list(vars(value).items()) if is_own(one)]
            else:
                continue
            yield from (".".join((module, *path)) for path in changed if is_original(module, path))


def is_original(module, path):
    """Whether the name also exists in another process, so the code replaced it instead of adding it."""
    try:
        done = subprocess.run([sys.executable, "-c", ORIGINAL, module, *path], capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
