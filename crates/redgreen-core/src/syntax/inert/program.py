
# A package that a program of the tests' own loads; the tests themselves tell by what they call.
import os as _redgreen_os
import sys as _redgreen_sys

if "REDGREEN_INERT_LOG" in _redgreen_os.environ and not {"pytest", "unittest"} & set(_redgreen_sys.modules):
    with open(_redgreen_os.environ["REDGREEN_INERT_LOG"], "a", encoding="utf-8") as _redgreen_log:
        _redgreen_log.write("loaded\n")
