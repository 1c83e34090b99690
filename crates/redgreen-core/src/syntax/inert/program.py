
# Reports that a program which the tests start loaded this package. Tests themselves report their calls.
import os as _redgreen_os
import sys as _redgreen_sys

if not {"pytest", "unittest"} & set(_redgreen_sys.modules):
    _redgreen_path = _redgreen_os.environ.get("REDGREEN_INERT_LOG", "@REDGREEN_INERT_LOG@")
    with open(_redgreen_path, "a", encoding="utf-8") as _redgreen_log:
        _redgreen_log.write("loaded\n")
