"""A small coding agent: reads its orders, does the work of the phase, and misbehaves as its arguments say.

usage: fake.py [acp [loads]] [FAULT:PHASE]...   where a fault is a function below, and the orders come on standard input
"""
import json, os, pathlib, signal, subprocess, sys, time

WORK = {
    "PLAN": {"test-list.md": "# Tests\n\n- [ ] adds two numbers\n"},
    "RED": {"test_calc.py": "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n"
                            "    def test_adds(self):\n        assert add(1, 2) == 3\n\n"
                            "    def test_adds_others(self):\n        assert add(-4, 9) == 5\n"},
    "GREEN": {"calc.py": "def add(a, b):\n    return a + b\n"},
    "REFACTOR": {},
}
SESSION = "fake-session"
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


def partial():
    os.write(1, b'{"jsonrpc":"2.0","id":3,"resu')
    sys.exit(0)


def wrong_git():
    pathlib.Path(".git").write_text(f"gitdir: {os.environ['FAKE_CHECKOUT']}/.git\n")


def own_git():
    pathlib.Path(".git").unlink()
    git("init", "-q", ".")
    git("commit", "-q", "--allow-empty", "-m", "mine")


def no_git():
    pathlib.Path(".git").unlink()


def lie():
    print("All tests pass.")
    sys.exit(0)


def own_places():
    pathlib.Path(os.environ["XDG_DATA_HOME"], "fake", "kept").write_text("mine")
    for name in ["npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR", "GOCACHE"]:
        pathlib.Path(os.environ[name], "mine").write_text("mine")


def secrets():
    leaked = [name for name in os.environ if "SECRET" in name]
    assert not leaked, leaked


def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method, **params):
    """Sends a request to the client. Returns the result, or the code of the error."""
    say({"id": "fake", "method": method, "params": {"sessionId": SESSION, **params}})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "fake":
            return message["result"] if "result" in message else message["error"]["code"]


def run(line, **more):
    """Runs a shell line in a terminal. Returns its output and its exit."""
    terminal = ask("terminal/create", command=line, **more)["terminalId"]
    ended = ask("terminal/wait_for_exit", terminalId=terminal)
    shown = ask("terminal/output", terminalId=terminal)
    assert shown["exitStatus"] == ended, (shown, ended)
    assert ask("terminal/release", terminalId=terminal) == {}
    assert ask("terminal/output", terminalId=terminal) == -32002
    return shown["output"], shown["truncated"], ended


def files():
    here, home = os.getcwd(), os.environ["HOME"]
    assert ask("fs/read_text_file", path=f"{here}/new/a.txt") == -32002
    assert ask("fs/write_text_file", path=f"{here}/new/a.txt", content="a\nb\nc\n") == {}
    assert ask("fs/read_text_file", path=f"{here}/new/a.txt", line=2, limit=1) == {"content": "b\n"}
    os.symlink(home, "out")
    for path in [f"{home}/mine.txt", f"{here}/../mine.txt", f"{here}/.git", f"{here}/out/mine.txt", "/etc/passwd"]:
        assert ask("fs/write_text_file", path=path, content="mine") == -32602, path
        assert ask("fs/read_text_file", path=path) in (-32602, -32002), path
    assert ask("fs/write_text_file", path=f"{here}/big", content="x" * (9 << 20)) == -32600
    assert ask("fs/write_text_file", path=f"{here}/none") == -32602
    assert run("rm -r new out") == ("", False, {"exitCode": 0, "signal": None})


def terminals():
    here = os.getcwd()
    assert run("echo out; echo err >&2; exit 3") == ("out\nerr\n", False, {"exitCode": 3, "signal": None})
    assert run("sh", args=["-c", "printf %s \"$A$PWD\""], env=[{"name": "A", "value": "b "}])[0] == f"b {here}"
    assert run("no-such-program", args=["x"])[2]["exitCode"] == 127
    assert ask("terminal/create", command="true", cwd="/") == -32602
    much, cut, _ = run("head -c 30000000 /dev/zero | tr '\\0' x; printf end", outputByteLimit=1000)
    assert (len(much), much[-3:], cut) == (1000, "end", True), len(much)
    # It must not reach the agent's variables, its folders, or anything outside of the worktree.
    assert "FAKE_" not in run("env")[0]
    assert run("echo mine > \"$HOME/mine.txt\"")[2]["exitCode"] != 0
    assert run("echo mine > \"$HOME/.fake/mine.txt\"")[2]["exitCode"] != 0
    hangs = ask("terminal/create", command="trap '' TERM; printf here; while :; do sleep 68101; done")["terminalId"]
    while ask("terminal/output", terminalId=hangs)["output"] != "here":
        time.sleep(0.05)
    assert ask("terminal/output", terminalId=hangs)["exitStatus"] is None
    assert ask("terminal/kill", terminalId=hangs) == {}
    assert ask("terminal/wait_for_exit", terminalId=hangs)["exitCode"] is None
    assert ask("terminal/output", terminalId=hangs)["output"] == "here"
    # Never released.
    for _ in range(2):
        ask("terminal/create", command="trap '' TERM; setsid sleep 68102 & sleep 68103")
    while isinstance(ask("terminal/create", command="sleep 68104"), dict):
        pass


def terminal_network():
    """The ports that a command in a terminal reaches: only that of the model."""
    model, other = os.environ["FAKE_BASE_URL"].rsplit(":", 1)[1], os.environ["FAKE_OTHER"]
    reach = "exec 3<>/dev/tcp/127.0.0.1/{} && echo reached"
    tunnel = ("exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:}; printf 'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n' >&3; "
              "head -c 12 <&3")
    said = [run("bash", args=["-c", line])[0] for line in [reach.format(model), reach.format(other), tunnel]]
    note("terminal-network", json.dumps(["reached" in said[0], "reached" in said[1], said[2]]))


def heeds():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for line in sys.stdin:
        if json.loads(line).get("method") == "session/cancel":
            note("cancelled", "yes")
            say({"id": heeds.prompt, "result": {"stopReason": "cancelled"}})
            time.sleep(600)


def misbehave(phase, faults):
    for fault, where in faults:
        once = pathlib.Path(os.environ["HOME"], ".fake", f"once-{fault}")
        if where == phase and not once.exists():
            once.write_text("")
            globals()[fault]()


def note(name, text):
    pathlib.Path(os.environ["HOME"], ".fake", name).write_text(text)


def acp(faults, words):
    for line in sys.stdin:
        message = json.loads(line)
        method, params, to = message.get("method"), message.get("params", {}), message.get("id")
        if method == "initialize":
            note("offered", json.dumps(params["clientCapabilities"]))
            capabilities = {"loadSession": True} if "loads" in words else {}
            say({"id": to, "result": {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"},
                                      "agentCapabilities": capabilities}})
        elif method == "session/new":
            say({"id": to, "result": {"sessionId": SESSION}})
        elif method == "session/load":
            note("loaded", params["sessionId"])
            update("agent_message_chunk", content={"type": "text", "text": "a message from long ago"})
            say({"id": to, "result": {}})
        elif method == "session/prompt":
            orders = params["prompt"][0]["text"]
            phase = phase_of(orders)
            heeds.prompt = to
            misbehave(phase, faults)
            update("usage_update", used=7, size=1000, cost={"amount": 0.01, "currency": "USD"})
            update("agent_message_chunk", content={"type": "text", "text": work(phase, orders)})
            say({"id": to, "result": {"stopReason": "end_turn", "usage": {"totalTokens": 7}}})


def update(kind, **more):
    say({"method": "session/update", "params": {"sessionId": SESSION, "update": {"sessionUpdate": kind, **more}}})


def main(words):
    faults = [word.split(":") for word in words if ":" in word]
    if "acp" in words:
        return acp(faults, words)
    orders = sys.stdin.read() if len(words) == len(faults) else pathlib.Path(words[-1]).read_text()
    phase = phase_of(orders)
    misbehave(phase, faults)
    print(work(phase, orders))


main(sys.argv[1:])
