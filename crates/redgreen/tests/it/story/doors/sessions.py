#!/usr/bin/env python3
"""A coding agent that remembers conversations, with the options and the output of Claude Code."""
import json, os, pathlib, sys, uuid

own = pathlib.Path(os.environ["HOME"], ".fake")
words = [word for word in sys.argv[1:] if not word.startswith("-p")]
if "--version" in words:
    sys.exit(print("2.1.0 (Claude Code)"))
if "--input-format" in words:
    # More messages can follow during the turn, so the input does not end.
    content = json.loads(sys.stdin.readline())["message"]["content"]
    orders = content if isinstance(content, str) else "".join(part["text"] for part in content)
else:
    orders = sys.stdin.read()
phase = orders.split("test-driven development: ")[1].split(".")[0]
with open(own / "calls", "a") as calls:
    print(phase, *words, file=calls)


def value(name):
    return words[words.index(name) + 1] if name in words else None


session = value("--session-id") or value("--resume")
if value("--resume") and not (own / session).exists():
    print(f"No conversation found with session ID: {session}", file=sys.stderr)
    sys.exit(1)
if "--fork-session" in words:
    session = str(uuid.uuid4())
(own / session).write_text(orders)
FILES = {
    "RED": {"tests/test_temperature.py": "from temperature import to_fahrenheit\n\n\ndef test_freezing():\n"
            "    assert to_fahrenheit(0) == 32\n\n\ndef test_boiling():\n    assert to_fahrenheit(100) == 212\n"},
    "GREEN": {"temperature.py": "def to_fahrenheit(celsius):\n    return celsius * 9 // 5 + 32\n"},
}
for path, text in FILES.get(phase, {}).items():
    pathlib.Path(path).parent.mkdir(exist_ok=True)
    pathlib.Path(path).write_text(text)
print(json.dumps({"type": "system", "subtype": "init", "session_id": session}))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": session}))
