//! A scripted model on loopback, for the tests. It speaks the four wire formats and plays, turn by
//! turn, what real servers do: answer, call tools, refuse, fail, disconnect, send slowly, flood.
//!
//! ```text
//! let server = Server::start(vec![
//!     Turn::call("Read", json!({"path": "a.py"})),
//!     Turn::status(429),
//!     Turn::say("done"),
//! ]);
//! … --base-url server.url …
//! assert_eq!(server.requests().len(), 3);
//! ```

mod wire;

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use wire::Wire;

/// How often a slow or hanging server checks whether its test is over.
const TICK: Duration = Duration::from_millis(20);
const BODY_BYTES_MAX: usize = 64 << 20;

pub(crate) struct Server {
    /// Without a path: `http://127.0.0.1:4711`. The OpenAI formats expect `/v1` after it; the
    /// server accepts any path.
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    connections: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct SeenRequest {
    pub(crate) wire: Wire,
    pub(crate) path: String,
    /// Names in lowercase.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) bytes: usize,
}

/// One answer of the server.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    Answer(Answer),
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Reads the request and sends nothing.
    Hang,
    /// Closes the connection without an answer.
    Drop,
    /// Status 200, then one text answer of this many bytes.
    Flood(usize),
    /// Status 200, then this text in place of the events.
    Raw(String),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) thinking: Option<String>,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) ending: Ending,
    /// Tokens: sent, sent but read from the cache, received.
    pub(crate) usage: (u64, u64, u64),
    /// The connection breaks after this many events.
    pub(crate) events_max: Option<usize>,
    /// Adds unknown events, fields and comments.
    pub(crate) is_noisy: bool,
    /// The pause before each event.
    pub(crate) drip: Duration,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Ending {
    /// The answer decides: it ends with tool calls, or it ends the turn.
    #[default]
    Natural,
    /// Cut off: the arguments of a last tool call are incomplete.
    MaxTokens,
    Refusal,
    /// The stream reports an error after the first events.
    Error,
}

impl Turn {
    pub(crate) fn say(text: &str) -> Self {
        Turn::Answer(Answer { text: text.to_owned(), usage: (100, 40, 7), ..Answer::default() })
    }

    pub(crate) fn call(name: &str, input: Value) -> Self {
        Turn::say("").and_call(name, input)
    }

    /// Adds a tool call to the same answer.
    pub(crate) fn and_call(self, name: &str, input: Value) -> Self {
        self.with(|answer| answer.calls.push((name.to_owned(), input)))
    }

    pub(crate) fn thinking(self, words: &str) -> Self {
        self.with(|answer| answer.thinking = Some(words.to_owned()))
    }

    pub(crate) fn ending(self, ending: Ending) -> Self {
        self.with(|answer| answer.ending = ending)
    }

    /// Tokens: sent, sent but read from the cache, received.
    pub(crate) fn costing(self, sent: u64, cached: u64, received: u64) -> Self {
        self.with(|answer| answer.usage = (sent, cached, received))
    }

    pub(crate) fn noisy(self) -> Self {
        self.with(|answer| answer.is_noisy = true)
    }

    pub(crate) fn cut_after(self, events: usize) -> Self {
        self.with(|answer| answer.events_max = Some(events))
    }

    pub(crate) fn drip(self, pause: Duration) -> Self {
        self.with(|answer| answer.drip = pause)
    }

    /// An error in the wire format's own form.
    pub(crate) fn status(code: u16) -> Self {
        Turn::Status { code, headers: Vec::new(), body: String::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        if let Turn::Status { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub(crate) fn body(mut self, text: &str) -> Self {
        if let Turn::Status { body, .. } = &mut self {
            text.clone_into(body);
        }
        self
    }

    /// The number of events of this answer on the wire.
    pub(crate) fn events(&self, wire: Wire) -> usize {
        match self {
            Turn::Answer(answer) => wire.events(answer, "m").len(),
            _ => 0,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        if let Turn::Answer(answer) = &mut self {
            change(answer);
        }
        self
    }
}

impl SeenRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The number of model answers in the conversation. A stateless server uses it to find its
    /// turn.
    pub(crate) fn answers(&self) -> usize {
        self.wire.answers(&self.body)
    }
}

impl Server {
    /// Plays the turns in the order in which requests arrive. Every further request gets a 400 that
    /// says so.
    pub(crate) fn start(turns: Vec<Turn>) -> Self {
        let next = AtomicUsize::new(0);
        Self::answering(move |_| {
            let turn = turns.get(next.fetch_add(1, Ordering::SeqCst)).cloned();
            turn.unwrap_or_else(|| Turn::status(400).body("the script of this server is over"))
        })
    }

    /// Plays the turn that `turn` returns for each request. This suits conversations that restart
    /// or run in parallel.
    pub(crate) fn answering(turn: impl Fn(&SeenRequest) -> Turn + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self {
            url: format!("http://{address}"),
            seen: Arc::default(),
            connections: Arc::default(),
            over: Arc::default(),
        };
        let connections = Arc::clone(&server.connections);
        let (seen, over, turn) =
            (Arc::clone(&server.seen), Arc::clone(&server.over), Arc::new(turn));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, over, turn) = (Arc::clone(&seen), Arc::clone(&over), Arc::clone(&turn));
                thread::spawn(move || {
                    // In some tests the client disconnects on purpose.
                    serve(stream, &seen, &over, turn.as_ref()).ok();
                });
            }
        });
        server
    }

    /// Every request so far, in order.
    pub(crate) fn requests(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

impl Server {
    /// How many connections clients made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // One more connection wakes the listener, which then sees that the test is over.
        TcpStream::connect(self.url.trim_start_matches("http://")).ok();
    }
}

fn serve(
    stream: TcpStream,
    seen: &Mutex<Vec<SeenRequest>>,
    over: &AtomicBool,
    turn: &dyn Fn(&SeenRequest) -> Turn,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    while let Some(request) = read_request(&mut reader)? {
        seen.lock().unwrap().push(request.clone());
        if !play(&turn(&request), &request, &mut out, over)? {
            return out.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<SeenRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length.min(BODY_BYTES_MAX)];
    reader.read_exact(&mut body)?;
    let value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(SeenRequest { wire: Wire::of(&path), path, headers, body: value, bytes: length }))
}

/// Returns whether the connection may carry another request.
fn play(
    turn: &Turn,
    request: &SeenRequest,
    out: &mut TcpStream,
    over: &AtomicBool,
) -> std::io::Result<bool> {
    let wire = request.wire;
    match turn {
        Turn::Status { code, headers, body } => {
            let body = if body.is_empty() { wire.error(*code).to_string() } else { body.clone() };
            let mut head =
                format!("HTTP/1.1 {code} scripted\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            if !headers.iter().any(|(name, _)| name == "content-type") {
                head.push_str("content-type: application/json\r\n");
            }
            out.write_all(format!("{head}\r\n{body}").as_bytes())?;
            Ok(true)
        }
        Turn::Hang => wait(Duration::from_secs(3600), over).map(|()| false),
        Turn::Drop => Ok(false),
        Turn::Raw(text) => {
            begin(out)?;
            chunk(out, text.as_bytes())?;
            end(out)
        }
        Turn::Flood(bytes) => {
            begin(out)?;
            let answer = Answer { text: "x".repeat(32 << 10), ..Answer::default() };
            let events = wire.events(&answer, "m");
            for event in events.iter().take(wire.opening()) {
                chunk(out, event.text().as_bytes())?;
            }
            let text = events
                .iter()
                .find(|event| event.data.contains("xxxx"))
                .map(wire::Event::text)
                .unwrap_or_default();
            for _ in 0..bytes / text.len() {
                chunk(out, text.as_bytes())?;
            }
            end(out)
        }
        Turn::Answer(answer) => {
            begin(out)?;
            let model = request.body["model"].as_str().unwrap_or("m");
            for (at, event) in wire.events(answer, model).iter().enumerate() {
                if answer.events_max == Some(at) {
                    return Ok(false);
                }
                wait(answer.drip, over)?;
                if answer.is_noisy {
                    let noise =
                        json!({"type": "moon.phase", "phase": "waxing", "sequence_number": at});
                    chunk(
                        out,
                        format!(": OPENROUTER PROCESSING\n\nevent: moon.phase\ndata: {noise}\n\n")
                            .as_bytes(),
                    )?;
                }
                chunk(out, event.text().as_bytes())?;
            }
            if answer.events_max.is_some() {
                return Ok(false);
            }
            end(out)
        }
    }
}

fn wait(time: Duration, over: &AtomicBool) -> std::io::Result<()> {
    let mut left = time;
    while !left.is_zero() {
        if over.load(Ordering::SeqCst) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let step = left.min(TICK);
        thread::sleep(step);
        left -= step;
    }
    Ok(())
}

fn begin(out: &mut TcpStream) -> std::io::Result<()> {
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

fn chunk(out: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut whole = format!("{:x}\r\n", bytes.len()).into_bytes();
    whole.extend_from_slice(bytes);
    whole.extend_from_slice(b"\r\n");
    out.write_all(&whole)
}

fn end(out: &mut TcpStream) -> std::io::Result<bool> {
    out.write_all(b"0\r\n\r\n").map(|()| true)
}
