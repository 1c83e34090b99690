//! The MCP server, with clients of both protocol generations.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::Story;

const TEST: &str = "import unittest\nfrom calc import add\n\n\nclass Tests(unittest.TestCase):\n    \
                    def test_adds(self):\n        assert add(1, 2) == 3\n";

struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    number: u64,
    /// Messages that are not answers.
    notices: Vec<Value>,
}

impl Client {
    fn start(story: &Story) -> Self {
        let mut child = story
            .prepare("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout, number: 0, notices: Vec::new() }
    }

    /// A client after the handshake of Codex and Gemini.
    fn shaken(story: &Story) -> Self {
        let mut client = Self::start(story);
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let welcome = client.ask("initialize", &hello);
        assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18", "{welcome}");
        assert_eq!(welcome["result"]["serverInfo"]["name"], "redgreen");
        client
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(
            &json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params })
                .to_string(),
        );
        self.answer(number)
    }

    fn answer(&mut self, number: u64) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the server ended");
            let value: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if value["id"] == json!(number) {
                return value;
            }
            self.notices.push(value);
        }
    }

    fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({ "name": name, "arguments": arguments }));
        answer["result"].clone()
    }

    fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_cycle_by_tools_alone() {
    let story = Story::new();
    let mut client = Client::shaken(&story);
    let none = client.tool("status", &json!({}));
    assert_eq!(none["isError"], true, "{none}");
    assert!(none.to_string().contains("redgreen session start"), "{none}");
    story.redgreen("session start \"adds two numbers\"").exits(0);
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["status", "check", "explain", "dispute_test", "plan"]);
    assert!(!tools.to_string().contains("phase\":"), "no tool takes a phase: {tools}");
    assert_eq!(tools["result"]["tools"][0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools["result"]["tools"][1]["annotations"]["readOnlyHint"], false);
    story.file("test_calc.py", TEST);
    let red = client.tool("check", &json!({}));
    assert_eq!(red["structuredContent"]["verdict"], "accepted", "{red}");
    assert_eq!(red["structuredContent"]["session"]["stage"]["name"], "green");
    story.file("calc.py", "def add(a, b):\n    return 4\n");
    let refused = client.tool("check", &json!({}));
    assert_eq!(
        refused["structuredContent"]["verdict"], "refused",
        "a no is an answer, not an error: {refused}"
    );
    assert_eq!(refused["isError"], false);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("dispute_test"), "{refused}");
    assert!(client.tool("explain", &json!({})).to_string().contains("experiments"));
    let prompt = client.ask("prompts/get", &json!({ "name": "green" }));
    assert!(prompt.to_string().contains("dispute_test"), "{prompt}");
    let brief = client.ask("resources/read", &json!({ "uri": "redgreen://session/brief" }));
    assert!(brief.to_string().contains("adds two numbers"), "{brief}");
    client.tool(
        "dispute_test",
        &json!({ "why": "1 and 2 is 4", "test": "test_calc.Tests.test_adds" }),
    );
    story.redgreen("session status").exits(3).says("1 and 2 is 4");
    let check = client.tool("check", &json!({}));
    let words = check["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("disputed") && !words.contains("nothing changed"), "{words}");
    client.end();
}

#[test]
fn a_check_can_be_cancelled_and_tells_that_it_is_at_work() {
    let story = Story::new();
    story.redgreen("session start slow").exits(0);
    story.file(
        "test_slow.py",
        "import unittest\nimport time\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_slow(self):\n        time.sleep(60)\n        assert False\n",
    );
    let mut client = Client::shaken(&story);
    let call = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call",
        "params": { "name": "check", "arguments": {}, "_meta": { "progressToken": "p" } } });
    client.send(&call.to_string());
    let mut line = String::new();
    client.stdout.read_line(&mut line).unwrap();
    assert!(line.contains("notifications/progress"), "{line}");
    let started = std::time::Instant::now();
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } }).to_string(),
    );
    let status = client.tool("status", &json!({}));
    assert_eq!(status["structuredContent"]["standing"], "unproven", "{status}");
    client.end();
    assert!(started.elapsed().as_secs() < 50, "the tests went on after nobody wanted them");
}

#[test]
fn clients_of_the_newer_era_need_no_handshake() {
    let story = Story::new();
    story.redgreen("session start x").exits(0);
    let mut client = Client::start(&story);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} });
    let found = client.ask("server/discover", &json!({ "_meta": meta }));
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    let tools = client.ask("tools/list", &json!({ "_meta": meta }));
    assert_eq!(tools["result"]["resultType"], "complete", "{tools}");
    let status =
        client.ask("tools/call", &json!({ "_meta": meta, "name": "status", "arguments": {} }));
    assert!(status.to_string().contains("write one failing test"), "{status}");
    client.end();
}

#[test]
fn rubbish_is_answered_and_the_conversation_continues() {
    let story = Story::new();
    story.redgreen("session start x").exits(0);
    let mut client = Client::shaken(&story);
    for line in ["rubbish", "{}", "[]", "{\"jsonrpc\":\"2.0\",\"id\":null}", "\u{0}"] {
        client.send(line);
    }
    client.send(&"x".repeat(100 << 20));
    for (method, params) in [
        ("tools/call", json!({ "name": "set_phase", "arguments": { "phase": "GREEN" } })),
        ("resources/read", json!({ "uri": "file:///etc/passwd" })),
        ("prompts/get", json!({ "name": "../x" })),
        ("no/such/method", json!({})),
    ] {
        let answer = client.ask(method, &params);
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    let wrong = client.tool("dispute_test", &json!({ "why": 7 }));
    assert_eq!(wrong["isError"], true, "{wrong}");
    assert_eq!(client.tool("status", &json!({}))["isError"], false);
    client.end();
}

/// Ten thousand messages, most of them damaged: the server answers the readable ones and continues.
#[test]
fn damaged_messages_by_the_thousand_are_survived() {
    const MESSAGES: usize = 10_000;
    /// The last message, which gets a normal answer.
    const LAST: u64 = 7_777_777;
    let story = Story::new();
    story.redgreen("session start x").exits(0);
    let mut client = Client::shaken(&story);
    let mut stdin = client.stdin.take().unwrap();
    let sending = thread::spawn(move || {
        for message in damaged(MESSAGES) {
            stdin.write_all(&message).unwrap();
            stdin.write_all(b"\n").unwrap();
        }
        let last = json!({ "jsonrpc": "2.0", "id": LAST, "method": "tools/list", "params": {} });
        stdin.write_all(format!("{last}\n").as_bytes()).unwrap();
        stdin
    });
    let tools = client.answer(LAST);
    assert!(tools["result"]["tools"].as_array().is_some_and(|tools| tools.len() >= 5), "{tools}");
    let answered = client.notices.iter().filter(|notice| notice["result"].is_object()).count();
    assert!(answered > MESSAGES / 100, "hardly any message was whole: {answered}");
    client.stdin = Some(sending.join().unwrap());
    client.end();
}

/// Messages with a few bytes removed, changed or added. They are the same in each run.
fn damaged(count: usize) -> impl Iterator<Item = Vec<u8>> {
    const WHOLE: [&str; 5] = [
        r#"{"jsonrpc":"2.0","id":100,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":101,"method":"tools/list","params":{"cursor":null}}"#,
        r#"{"jsonrpc":"2.0","id":102,"method":"resources/read","params":{"uri":"redgreen://session/brief"}}"#,
        r#"{"jsonrpc":"2.0","id":103,"method":"prompts/get","params":{"name":"red","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"x"}}"#,
    ];
    let mut random: u64 = 0x5eed_0f12_de1a;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    (0..count).map(move |number| {
        let mut bytes = WHOLE[number % WHOLE.len()].as_bytes().to_vec();
        for _ in 0..next(4) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = u8::try_from(next(256)).unwrap(),
                2 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:0\n"[next(9)]),
            }
        }
        bytes
    })
}
