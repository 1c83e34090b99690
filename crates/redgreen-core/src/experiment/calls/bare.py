def _tell(line):
    with open(os.environ["REDGREEN_INERT_LOG"], "a") as log:
        log.write(json.dumps(line) + "\n")


_ASK = json.loads(QUESTION)
sys.path[:0] = [one for one in map(os.path.abspath, _ASK["path"]) if one not in sys.path]
_CALLS = Calls([line for line in map(json.loads, _ASK["lines"]) if "number" in line])
_PLAN = [(line, None, 0) for line in _CALLS.lines if line["number"] in _ASK["only"]]


