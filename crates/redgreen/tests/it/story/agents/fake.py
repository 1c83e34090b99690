"""A coding agent in a few lines: reads its orders, does what the phase asks for, and misbehaves as it is told to.

usage: fake.py [acp] [FAULT in PHASE]...   where a fault is a function below, and the orders come on standard input
"""
import json, os, pathlib, signal, subprocess, sys, time

WORK = {
    "PLAN": {"test-list.md": "# Tests\n\n- [ ] adds two numbers\n"},
    "RED": {"test_calc.py": "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n\n\n"
                            "def test_adds_others():\n    assert add(-4, 9) == 5\n"},
    "GREEN": {"calc.py": "def add(a, b):\n    return a + b\n"},
    "REFACTOR": {},
}
CHOICE = {"description": "adds two numbers", "testFile": "test_calc.py", "implFile": "calc.py"}


def phase_of(orders):
    return orders.split("test-driven development: ")[1].split(".")[0]


def work(phase, orders):
    for path, text in WORK[phase].items():
        if path != "test-list.md" or not os.path.exists(path):
            pathlib.Path(path).write_text(text)
    finished = phase == "PLAN" and "[x] adds two numbers" in pathlib.Path("test-list.md").read_text()
    return json.dumps({"currentTest": None if finished else CHOICE}) if phase == "PLAN" else "Done."


def git(*words):
    return subprocess.run(["git", *words], capture_output=True, text=True)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(600)


def garbage():
    os.write(1, bytes(range(256)) * 64 + b'\n{"type":"result","is_err\n{"jsonrpc":"2.0","id":1,"resu\n')


def flood():
    chunk = b"x" * (1 << 20)
    for _ in range(1024):
        os.write(1, chunk)


def wrong_branch():
    git("checkout", "-q", "-B", "main")
    pathlib.Path("stray.txt").write_text("stray\n")
    git("add", "-A")
    git("commit", "-q", "-m", "mine")
    git("update-ref", "refs/heads/main", "HEAD")
    git("update-ref", "refs/heads/mine", "HEAD")
    pathlib.Path("stray.txt").unlink()


def own_branch():
    branch = git("for-each-ref", "--format=%(refname)", "refs/heads/redgreen").stdout.split()[0]
    git("update-ref", branch, "main")


def reset_hard():
    git("stash", "-u")
    git("reset", "-q", "--hard", "HEAD~1")


def forge_notes():
    git("notes", "--ref=tdd-handoffs", "add", "-f", "-m", '{"version":1,"phase":"COMPLETE"}', "HEAD")


def forge_records():
    common = git("rev-parse", "--git-common-dir").stdout.strip()
    for path in pathlib.Path(common, "redgreen").rglob("*"):
        if path.is_file():
            path.write_text("forged")


def outside():
    for path in [os.environ["HOME"] + "/mine.txt", os.environ["FAKE_CHECKOUT"] + "/mine.txt"]:
        try:
            pathlib.Path(path).write_text("mine")
        except OSError:
            pass


def daemon():
    child = subprocess.Popen(["setsid", "sleep", "671"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    pathlib.Path(os.environ["HOME"], ".fake", "daemon").write_text(str(child.pid))


def stale_folder():
    assert os.environ["PWD"] == os.getcwd(), (os.environ["PWD"], os.getcwd())


def lie():
    print("All tests pass.")
    sys.exit(0)


def secrets():
    leaked = [name for name in os.environ if "SECRET" in name]
    assert not leaked, leaked


def misbehave(phase, faults):
    for fault, where in faults:
        once = pathlib.Path(os.environ["HOME"], ".fake", f"once-{fault}")
        if where == phase and not once.exists():
            once.write_text("")
            globals()[fault]()


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def acp(faults):
    for line in sys.stdin:
        message = json.loads(line)
        method, params, to = message.get("method"), message.get("params", {}), message.get("id")
        if method == "initialize":
            say({"id": to, "result": {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"}}})
        elif method == "session/new":
            say({"id": to, "result": {"sessionId": "fake-session"}})
        elif method == "session/prompt":
            orders = params["prompt"][0]["text"]
            phase = phase_of(orders)
            misbehave(phase, faults)
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": work(phase, orders)}}
            say({"method": "session/update", "params": {"sessionId": "fake-session", "update": update}})
            say({"id": to, "result": {"stopReason": "end_turn", "usage": {"totalTokens": 7}}})


def main(words):
    faults = [word.split(":") for word in words if ":" in word]
    if "acp" in words:
        return acp(faults)
    orders = sys.stdin.read() if len(words) == len(faults) else pathlib.Path(words[-1]).read_text()
    phase = phase_of(orders)
    misbehave(phase, faults)
    print(work(phase, orders))


main(sys.argv[1:])
