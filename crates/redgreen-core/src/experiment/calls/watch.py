

def _redgreen_watch(source):
    import os
    import sys
    import types

    log = os.environ.get("REDGREEN_INERT_LOG")
    if not log or __name__ == "__main__":
        return
    known = sys.modules.get("_redgreen_calls")
    if known is None:
        known = types.ModuleType("_redgreen_calls")
        exec(compile(source, "_redgreen_calls", "exec"), known.__dict__)
        known.one = known.Recorder(log, TESTS)
        sys.modules["_redgreen_calls"] = known
    known.one.watch(__name__, _redgreen_watch.__code__.co_filename, globals())


_redgreen_watch(SOURCE)
del _redgreen_watch
