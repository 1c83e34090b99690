

def _redgreen_look(number, side, value):
    import os
    import sys
    import types

    log = os.environ.get("REDGREEN_INERT_LOG", "@REDGREEN_INERT_LOG@")
    known = sys.modules.get("_redgreen_contents")
    if known is None:
        known = types.ModuleType("_redgreen_contents")
        exec(compile(SOURCE, "_redgreen_contents", "exec"), known.__dict__)
        sys.modules["_redgreen_contents"] = known
    known.look(log, number, side, value)
    return value
