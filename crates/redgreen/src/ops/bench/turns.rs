//! What a turn of the built-in agent costs: read, edit, run the tests, done. The model is a server on loopback that
//! answers at once, so that only our own time and the tests' are left.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use redgreen_core::agent::{Assignment, Strategy, Turn};
use redgreen_core::brief::TestCase;
use redgreen_core::model::wire::Wire;
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::Budget;
use serde_json::json;

use super::suites::write;
use super::{LIMITS, Measure, median_ms, timed};
use crate::agent::built_in::BuiltIn;
use crate::agent::{Agent, Orders};
use crate::config::{self, Environment, File};
use crate::process::{self, Program, Stop};

const WRONG: &str = "def add(a, b):\n    return a - b\n";
const RIGHT: &str = "def add(a, b):\n    return a + b\n";
const TEST: &str = "from calc import add\n\n\ndef test_adds():\n    assert add(2, 3) == 5\n";
/// The model's four answers: a tool and its input.
const ANSWERS: [(&str, &str); 4] = [
    ("Read", r#"{"file_path":"calc.py"}"#),
    ("Edit", r#"{"file_path":"calc.py","old_string":"return a - b","new_string":"return a + b"}"#),
    ("RunTests", "{}"),
    ("Complete", r#"{"implementation_files":["calc.py"],"summary":"it adds"}"#),
];
const BODY_BYTES_MAX: usize = 1 << 20;

pub(super) fn measures(
    folder: &Path,
    turns: usize,
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let python = environment.virtual_env.as_ref().map_or(PathBuf::from("python3"), |venv| venv.join("bin/python"));
    let root = folder.join("turn");
    let bare = Program::new(python).args(["-m", "pytest", "-q"]).cwd(&root);
    write(&root, &[("test_calc.py", TEST), ("calc.py", RIGHT)].map(|(path, text)| (path.to_owned(), text.to_owned())))?;
    if !bare.output(LIMITS, stop).is_ok_and(|output| output.success()) {
        tell("no turn of the built-in agent: pytest is not installed");
        return Ok(Vec::new());
    }
    tell("turns of the built-in agent");
    let server = Server::start()?;
    let model =
        config::Model { base_url: Some(server.url.clone()), wire: Some(Wire::Anthropic), ..config::Model::default() };
    let agent = Agent::BuiltIn(BuiltIn::new("bench", &File { model, ..File::default() }, environment, &root)?);
    let (mut own, mut tests, mut memory) = (Vec::new(), Vec::new(), None);
    // The first turn fills the caches and does not count.
    for turn in 0..=turns {
        write(&root, &[("calc.py".to_owned(), WRONG.to_owned())])?;
        let started = Instant::now();
        let mut taken = None;
        let peak = process::peak_memory_during(|| taken = Some(take(&agent, &root, stop)));
        let wall = started.elapsed();
        taken.context("the bench takes a turn")??;
        if turn > 0 {
            own.push(wall);
            tests.push(timed(&bare, stop)?);
            memory = memory.max(peak);
        }
    }
    let (requests, bytes) = (server.requests.load(Ordering::SeqCst), server.bytes.load(Ordering::SeqCst));
    let each = |all: usize| Some(u64::try_from(all / (turns + 1)).unwrap_or(u64::MAX));
    let measure = Measure {
        requests: each(requests),
        bytes_sent: each(bytes),
        memory_bytes: memory,
        ..Measure::new("a turn of four requests", median_ms(own))
    };
    Ok(vec![measure.against("one bare pytest", median_ms(tests))])
}

fn take(agent: &Agent, root: &Path, stop: &Stop) -> Result<()> {
    let test = TestCase {
        description: "adds two numbers".to_owned(),
        test_file: "test_calc.py".to_owned(),
        impl_file: "calc.py".to_owned(),
    };
    let assignment = Assignment {
        role: Role::Implementing,
        phase: Phase::Green,
        cycle: 1,
        turn: 0,
        attempt: 1,
        request: "an adder".to_owned(),
        brief: None,
        current: Some(test),
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        strategy: Strategy::New,
    };
    let taken = agent.take_turn(&mut Orders {
        assignment: &assignment,
        worktree: root,
        env: &[],
        time_limit: LIMITS.wall,
        allowance: Budget::default(),
        desk: root,
        report: None,
        tests: &[],
        changes: &|| Ok(String::new()),
        repository: root,
        private: &root.join("nothing"),
        stop,
        live: &mut |_| {},
    })?;
    ensure!(matches!(taken.turn, Turn::Done { .. }), "the turn of the bench failed: {}", taken.transcript);
    let code = std::fs::read_to_string(root.join("calc.py")).context("read what the turn left")?;
    ensure!(code == RIGHT, "the turn of the bench left {code:?}: {}", taken.transcript);
    Ok(())
}

/// A model that knows four answers.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Server {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("listen on loopback")?;
        let url = format!("http://{}", listener.local_addr().context("listen on loopback")?);
        let server = Self { url, requests: Arc::default(), bytes: Arc::default(), over: Arc::default() };
        let (requests, bytes, over) =
            (Arc::clone(&server.requests), Arc::clone(&server.bytes), Arc::clone(&server.over));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                // A client may close a connection and make another one.
                while let Some(size) = serve(&stream, requests.load(Ordering::SeqCst)) {
                    requests.fetch_add(1, Ordering::SeqCst);
                    bytes.fetch_add(size, Ordering::SeqCst);
                }
            }
        });
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // The listener waits for one more connection to see that it is over.
        TcpStream::connect(self.url.trim_start_matches("http://")).ok();
    }
}

/// Answers one request; gives back how many bytes its body had.
fn serve(stream: &TcpStream, number: usize) -> Option<usize> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut size = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            if line.trim().is_empty() { break } else { continue }
        };
        if name.eq_ignore_ascii_case("content-length") {
            size = value.trim().parse().ok().filter(|size| *size <= BODY_BYTES_MAX)?;
        }
    }
    reader.read_exact(&mut vec![0; size]).ok()?;
    let (tool, input) = ANSWERS.get(number % ANSWERS.len())?;
    let body = answer(tool, input);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n", body.len());
    let mut out = stream;
    out.write_all((head + &body).as_bytes()).ok()?;
    Some(size)
}

/// An answer that calls a tool, in the events of the wire format.
fn answer(tool: &str, input: &str) -> String {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let events = [
        ("message_start", json!({ "message": { "id": "m", "usage": usage } })),
        (
            "content_block_start",
            json!({ "index": 0, "content_block": { "type": "tool_use", "id": "t", "name": tool, "input": {} } }),
        ),
        ("content_block_delta", json!({ "index": 0, "delta": { "type": "input_json_delta", "partial_json": input } })),
        ("content_block_stop", json!({ "index": 0 })),
        ("message_delta", json!({ "delta": { "stop_reason": "tool_use" }, "usage": usage })),
        ("message_stop", json!({})),
    ];
    let lines = events.into_iter().map(|(name, mut data)| {
        data["type"] = name.into();
        format!("event: {name}\ndata: {data}\n\n")
    });
    lines.collect()
}
