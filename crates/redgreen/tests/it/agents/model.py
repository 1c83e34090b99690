"""A scripted model on loopback, for real coding agents in a separate network. It makes the agent do the work of a phase
with one command of its shell tool, and then says that it is done. Each answer depends only on the request, so retries and
resumed conversations work.

usage: unshare -n python model.py COMMAND...   serves on 127.0.0.1:4010 while the command runs

With MODEL_STEPS, a JSON file, it performs one step after the other instead, whatever the request:
{"write": PATH, "text": TEXT} with the agent's own tool, {"shell": COMMAND}, {"mcp": TOOL} of the server redgreen, {"say": WORDS}.
It prints the messages of the agent at the end.

With MODEL_FILES, a JSON file, it writes other files: {"choice": {...}, PHASE: [[PATH, TEXT]...]}; the key GREEN-2 is for the
second of several attempts. With MODEL_GATE, a folder, it creates the file `at` at the first request in GREEN, waits for the
file `go`, and records the requests in that phase and later.
"""
import fcntl, http.server, json, os, re, socket, struct, subprocess, sys, threading, time

PORT = 4010
LOG = []
OTHERS = json.load(open(os.environ["MODEL_FILES"])) if "MODEL_FILES" in os.environ else {}
GATE = os.environ.get("MODEL_GATE")
GATE_SECONDS = 200
CHOICE = OTHERS.get("choice") or {"description": "adds two numbers", "testFile": "test_calc.py", "implFile": "calc.py"}
DONE = f"- [x] {CHOICE['description']}"
FILES = {
    "PLAN": [("test-list.md", f"# Tests\n\n- [ ] {CHOICE['description']}\n")],
    "RED": [("test_calc.py", "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n\n\n"
                             "def test_adds_others():\n    assert add(-4, 9) == 5\n")],
    "GREEN": [("calc.py", "def add(a, b):\n    return a + b\n")],
    **OTHERS,
}
STEPS = json.load(open(os.environ["MODEL_STEPS"])) if "MODEL_STEPS" in os.environ else None
TOLD = []
SHELLS = ("Bash", "exec_command", "shell", "run_shell_command", "bash")


def phase_of(body):
    found = re.findall(r"test-driven development: ([A-Z]+)\.", json.dumps(body))
    return found[-1] if found else None


def plan(body):
    """The command to run, the final message, and the command as a list of words."""
    phase = phase_of(body)
    finished = phase == "PLAN" and DONE in json.dumps(body)
    last = json.dumps({"currentTest": None if finished else CHOICE}) if phase == "PLAN" else "Done."
    attempts = re.findall(r"-attempt-(\d)", json.dumps(body))
    files = FILES.get(f"{phase}-{attempts[-1]}" if attempts else phase) or FILES.get(phase)
    if files is None or finished:
        return None, last, last
    lines = [f"mkdir -p ./$(dirname {path})\ncat > {path} <<'REDGREEN'\n{text}REDGREEN" for path, text in files]
    words = "".join(f"{path}\n```\n{text}```\n\n" for path, text in files)
    return "\n".join(lines), last, f"{words}{last}\n"


def gate(body, asked):
    """Waits in GREEN until the test releases it."""
    if phase_of(body) not in ("GREEN", "REFACTOR"):
        return
    with open(os.path.join(GATE, "asked"), "a") as file:
        file.write(json.dumps([phase_of(body), asked, json.dumps(body)]) + "\n")
    if phase_of(body) == "GREEN" and asked == 0:
        open(os.path.join(GATE, "at"), "w").close()
        end = time.monotonic() + GATE_SECONDS
        while not os.path.exists(os.path.join(GATE, "go")) and time.monotonic() < end:
            time.sleep(0.05)


def shell_tool(tools):
    """The name of the tool that runs a command, and its arguments."""
    for tool in tools:
        tool = tool.get("function", tool)
        schema = tool.get("input_schema") or tool.get("parameters") or tool.get("parametersJsonSchema") or {}
        if tool.get("name") in SHELLS:
            properties = schema.get("properties", {})

            def arguments(command):
                key = "cmd" if "cmd" in properties else "command"
                listed = properties.get(key, {}).get("type") == "array"
                filled = {name: "work" for name in schema.get("required", []) if name != key}
                # Codex does not wait for the output of a command unless this is set.
                filled.update({"yield_time_ms": 120000} if "yield_time_ms" in properties else {})
                return {**filled, key: ["bash", "-c", command] if listed else command}
            return tool["name"], arguments
    return None, None


def write_tool(tools):
    """The name of the tool that writes a file, and its arguments. Tool names differ, so their inputs decide."""
    for tool in tools:
        tool = tool.get("function", tool)
        schema = tool.get("input_schema") or tool.get("parameters") or tool.get("parametersJsonSchema") or {}
        properties = schema.get("properties", {})
        path = next((key for key in ("file_path", "filePath") if key in properties), None)
        if path and "content" in properties:
            return tool["name"], lambda place, text: {path: os.path.join(os.getcwd(), place), "content": text}
    return None, None


def step(body, tools, asked):
    TOLD.append(json.dumps(body))
    shell, command = shell_tool(tools)
    if shell is None:
        return "text", "ok"
    now = STEPS[asked] if asked < len(STEPS) else {"say": "Done."}
    if "say" in now:
        return "text", now["say"]
    if "shell" in now:
        return "call", shell, command(now["shell"])
    if "mcp" in now:
        return "call", f"mcp__redgreen__{now['mcp']}", {}
    name, arguments = write_tool(tools)
    if name:
        return "call", name, arguments(now["write"], now["text"])
    # Codex edits with patches, and also accepts them in its shell.
    lines = "".join(f"+{line}\n" for line in now["text"].splitlines())
    begin = f"*** Begin Patch\n*** Delete File: {now['write']}\n" if os.path.exists(now["write"]) else "*** Begin Patch\n"
    patch = f"{begin}*** Add File: {now['write']}\n{lines}*** End Patch"
    return "call", shell, command(f"apply_patch <<'REDGREEN'\n{patch}\nREDGREEN")


def answer(body, tools, asked):
    """The answer: ("call", name, arguments) or ("text", words)."""
    if STEPS is not None:
        return step(body, tools, asked)
    command, last, words = plan(body)
    name, arguments = shell_tool(tools)
    if name is None:
        return "text", words
    if GATE:
        gate(body, asked)
    if command and asked == 0:
        return "call", name, arguments(command)
    return "text", last


def sse(events):
    return "".join((f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
                   for name, data in events)


def since_orders(items, is_assistant):
    """The assistant items after the last message with orders."""
    count = 0
    for item in items:
        if is_assistant(item):
            count += 1
        elif "test-driven development: " in json.dumps(item):
            count = 0
    return count


def anthropic(body):
    said = answer(body["messages"], body.get("tools", []), since_orders(body["messages"], lambda m: m["role"] == "assistant"))
    if said[0] == "call":
        block, delta = {"type": "tool_use", "id": f"toolu_{len(LOG):04}", "name": said[1], "input": {}}, \
                       {"type": "input_json_delta", "partial_json": json.dumps(said[2])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said[1]}
    stop = "tool_use" if said[0] == "call" else "end_turn"
    message = {"id": f"msg_{len(LOG):04}", "type": "message", "role": "assistant", "model": body["model"], "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1}}
    if not body.get("stream"):
        whole = {**block, **({"input": said[2]} if said[0] == "call" else {"text": said[1]})}
        return "application/json", json.dumps({**message, "content": [whole], "stop_reason": stop})
    return "text/event-stream", sse([
        ("message_start", {"type": "message_start", "message": message}),
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                           "usage": {"output_tokens": 20}}),
        ("message_stop", {"type": "message_stop"})])


def responses(body):
    items = body["input"] if isinstance(body["input"], list) else []
    is_assistant = lambda i: i.get("type") in ("function_call", "custom_tool_call", "local_shell_call") or i.get("role") == "assistant"
    said = answer(items, body.get("tools", []), since_orders(items, is_assistant))
    if said[0] == "call":
        item = {"type": "function_call", "id": f"fc_{len(LOG):04}", "call_id": f"call_{len(LOG):04}", "name": said[1],
                "arguments": json.dumps(said[2]), "status": "completed"}
        # Codex puts the tools of an MCP server into a separate namespace.
        if said[1].startswith("mcp__"):
            item["namespace"], item["name"] = said[1].rsplit("__", 1)
    else:
        item = {"type": "message", "id": f"msg_{len(LOG):04}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": said[1], "annotations": []}]}
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120}
    whole = {"id": f"resp_{len(LOG):04}", "object": "response", "status": "completed", "model": body["model"],
             "output": [item], "usage": usage}
    return "text/event-stream", sse([
        ("response.created", {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"type": "response.output_item.added", "output_index": 0, "item": item}),
        ("response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}),
        ("response.completed", {"type": "response.completed", "response": whole})])


def chat(body):
    said = answer(body["messages"], body.get("tools") or [], since_orders(body["messages"], lambda m: m["role"] == "assistant"))
    if said[0] == "call":
        call = {"index": 0, "id": f"call_{len(LOG):04}", "type": "function",
                "function": {"name": said[1], "arguments": json.dumps(said[2])}}
        delta, stop = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
    else:
        delta, stop = {"role": "assistant", "content": said[1]}, "stop"
    head = {"id": f"chat_{len(LOG):04}", "created": 0, "model": body["model"]}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    if not body.get("stream"):
        choice = {"index": 0, "message": delta, "finish_reason": stop}
        return "application/json", json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    chunk = {**head, "object": "chat.completion.chunk"}
    return "text/event-stream", sse([
        (None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        (None, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}),
        (None, "[DONE]")])


def filled(schema):
    """A value that fits a schema, for side questions of an agent, such as the difficulty of its task."""
    kinds = schema.get("properties", {}).items()
    return json.dumps({name: 1 if kind.get("type", "").lower() in ("integer", "number") else "x" for name, kind in kinds})


def gemini(body, streams):
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    tools = [tool for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])]
    asked = since_orders(body["contents"], lambda c: c.get("role") == "model")
    said = ("text", filled(schema)) if schema else answer(body["contents"], tools, asked)
    part = {"functionCall": {"name": said[1], "args": said[2]}} if said[0] == "call" else {"text": said[1]}
    whole = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
             "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}}
    return ("text/event-stream", sse([(None, whole)])) if streams else ("application/json", json.dumps(whole))


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        LOG.append(self.path)
        path = self.path.split("?")[0]
        if path.endswith("/messages"):
            kind, text = anthropic(body)
        elif path.endswith("/count_tokens") or path.endswith(":countTokens"):
            kind, text = "application/json", json.dumps({"input_tokens": 100, "totalTokens": 100})
        elif path.endswith("/responses"):
            kind, text = responses(body)
        elif path.endswith("/chat/completions"):
            kind, text = chat(body)
        elif "enerateContent" in path:
            kind, text = gemini(body, "stream" in path)
        else:
            return self.send(404, "application/json", "{}")
        self.send(200, kind, text)

    def do_GET(self):
        self.send(200 if self.path.endswith("/models") else 404, "application/json", json.dumps({"data": [], "models": []}))

    do_HEAD = do_GET

    def send(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))


raise_loopback()
server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
code = subprocess.run(sys.argv[1:]).returncode
print(f"{len(LOG)} requests", file=sys.stderr)
print(max(TOLD, key=len, default=""))
sys.exit(code if code >= 0 else 128 - code)
