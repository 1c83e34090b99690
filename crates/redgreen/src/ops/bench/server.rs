//! A model on loopback for the bench. It answers at once, in the wire format of the request, and
//! counts. It has no state: the answer follows from the request, so that many clients can use it in
//! parallel.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::model::wire::Wire;
use serde_json::{Value, json};

const BODY_BYTES_MAX: usize = 16 << 20;
const IDLE: Duration = Duration::from_secs(600);

pub(super) struct Server {
    /// Without a path. The OpenAI formats need `/v1` after it.
    pub(super) url: String,
    tally: Arc<Tally>,
    over: Arc<AtomicBool>,
}

#[derive(Default)]
struct Tally {
    requests: AtomicU64,
    bytes: AtomicU64,
    busy_us: AtomicU64,
}

/// The requests since the last call of `take`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) bytes: u64,
    /// The time the server needed.
    pub(super) busy: Duration,
}

/// A request.
pub(super) struct ModelRequest {
    pub(super) body: Value,
}

/// Text, and tool calls with their input.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) calls: Vec<(&'static str, Value)>,
}

impl Answer {
    pub(super) fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }

    pub(super) fn call(name: &'static str, input: Value) -> Self {
        Self { text: String::new(), calls: vec![(name, input)] }
    }

    pub(super) fn and_call(mut self, name: &'static str, input: Value) -> Self {
        self.calls.push((name, input));
        self
    }
}

impl ModelRequest {
    /// The number of answers in the conversation.
    pub(super) fn answers(&self) -> usize {
        let is_own = |item: &Value| {
            let is = |key: &str, word: &str| item[key] == word;
            is("role", "assistant")
                || is("role", "model")
                || is("type", "function_call")
                || is("type", "reasoning")
        };
        let items =
            ["messages", "input", "contents"].iter().find_map(|key| self.body[*key].as_array());
        let items = items.map(Vec::as_slice).unwrap_or_default();
        // Several items may form one answer. An item of the user ends it.
        let before = std::iter::once(false).chain(items.iter().map(is_own));
        items.iter().zip(before).filter(|(item, was_own)| is_own(item) && !was_own).count()
    }

    pub(super) fn has_tools(&self) -> bool {
        self.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }
}

impl Server {
    pub(super) fn start(
        play: impl Fn(&ModelRequest) -> Answer + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("listen on loopback")?;
        let url = format!("http://{}", listener.local_addr().context("listen on loopback")?);
        let server = Self { url, tally: Arc::default(), over: Arc::default() };
        let (tally, over, play) =
            (Arc::clone(&server.tally), Arc::clone(&server.over), Arc::new(play));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let (tally, play) = (Arc::clone(&tally), Arc::clone(&play));
                thread::spawn(move || while serve(&stream, &tally, play.as_ref()).is_some() {});
            }
        });
        Ok(server)
    }

    /// Resets the counters.
    pub(super) fn take(&self) -> Counts {
        let Tally { requests, bytes, busy_us } = self.tally.as_ref();
        let take = |count: &AtomicU64| count.swap(0, Ordering::SeqCst);
        Counts {
            requests: take(requests),
            bytes: take(bytes),
            busy: Duration::from_micros(take(busy_us)),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // The listener needs one more connection to notice the end.
        TcpStream::connect(self.url.trim_start_matches("http://")).ok();
    }
}

/// Answers one request. `None` if the connection ends.
fn serve(stream: &TcpStream, tally: &Tally, play: &dyn Fn(&ModelRequest) -> Answer) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(IDLE)).ok()?;
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|bytes| *bytes > 0)?;
    let mut size = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            size = value.trim().parse().ok().filter(|size| *size <= BODY_BYTES_MAX)?;
        }
    }
    let mut body = vec![0; size];
    reader.read_exact(&mut body).ok()?;
    let begun = Instant::now();
    let path = first.split(' ').nth(1).and_then(|path| path.split('?').next()).unwrap_or_default();
    let mut out = stream;
    let Some(wire) = wire_of(path) else {
        // Agents also ask for the list of models and the length of texts. They work without it.
        let nothing: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n";
        return out.write_all(nothing).ok();
    };
    let asked = ModelRequest { body: serde_json::from_slice(&body).ok()? };
    let number = tally.requests.fetch_add(1, Ordering::SeqCst);
    let label = Label { model: asked.body["model"].as_str().unwrap_or_default(), number };
    let streams = asked.body["stream"] == true || path.ends_with(":streamGenerateContent");
    let (kind, said) = words(wire, &play(&asked), label, streams);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        said.len()
    );
    tally.bytes.fetch_add(u64::try_from(size).unwrap_or(u64::MAX), Ordering::SeqCst);
    let sent = out.write_all((head + &said).as_bytes());
    tally.busy_us.fetch_add(
        u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        Ordering::SeqCst,
    );
    sent.ok()
}

fn wire_of(path: &str) -> Option<Wire> {
    let ends = [
        ("/messages", Wire::Anthropic),
        ("/responses", Wire::Responses),
        ("/chat/completions", Wire::Chat),
        (":generateContent", Wire::Gemini),
        (":streamGenerateContent", Wire::Gemini),
    ];
    ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire)
}

/// The labels of an answer. Each number in a conversation is unique, because some agents use them
/// as ids.
#[derive(Clone, Copy)]
struct Label<'a> {
    model: &'a str,
    number: u64,
}

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// An answer in a wire format, with its content type: streamed, or at once.
fn words(wire: Wire, answer: &Answer, label: Label<'_>, streams: bool) -> (&'static str, String) {
    match wire {
        Wire::Anthropic => (EVENTS, anthropic(answer, label)),
        Wire::Responses => (EVENTS, responses(answer, label)),
        Wire::Chat if streams => (EVENTS, chat(answer, label)),
        Wire::Chat => (JSON, chat_at_once(answer, label).to_string()),
        Wire::Gemini if streams => (EVENTS, format!("data: {}\n\n", gemini(answer))),
        Wire::Gemini => (JSON, gemini(answer).to_string()),
    }
}

fn named(events: impl IntoIterator<Item = (&'static str, Value)>) -> String {
    let line = |(name, mut data): (&str, Value)| {
        data["type"] = name.into();
        format!("event: {name}\ndata: {data}\n\n")
    };
    events.into_iter().map(line).collect()
}

fn anthropic(answer: &Answer, Label { model, number }: Label<'_>) -> String {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    let message = json!({ "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage });
    let mut events = vec![("message_start", json!({ "message": message }))];
    let mut block = |at: usize, start: Value, delta: Value| {
        events.push(("content_block_start", json!({ "index": at, "content_block": start })));
        events.push(("content_block_delta", json!({ "index": at, "delta": delta })));
        events.push(("content_block_stop", json!({ "index": at })));
    };
    let words = usize::from(!answer.text.is_empty());
    if words > 0 {
        block(
            0,
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": answer.text }),
        );
    }
    for (at, (name, input)) in answer.calls.iter().enumerate() {
        let start = json!({ "type": "tool_use", "id": format!("toolu_{number}_{at}"), "name": name, "input": {} });
        block(
            at + words,
            start,
            json!({ "type": "input_json_delta", "partial_json": input.to_string() }),
        );
    }
    let stop = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
    let delta = json!({ "stop_reason": stop, "stop_sequence": null });
    events.extend([
        ("message_delta", json!({ "delta": delta, "usage": usage })),
        ("message_stop", json!({})),
    ]);
    named(events)
}

fn responses(answer: &Answer, Label { model, number }: Label<'_>) -> String {
    let words = (!answer.text.is_empty()).then(|| {
        let part = json!({ "type": "output_text", "text": answer.text, "annotations": [] });
        json!({ "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed", "content": [part] })
    });
    let calls = answer.calls.iter().enumerate().map(|(at, (name, input))| {
        json!({ "type": "function_call", "id": format!("fc_{number}_{at}"), "call_id": format!("call_{number}_{at}"), "name": name,
            "arguments": input.to_string(), "status": "completed" })
    });
    let output: Vec<Value> = words.into_iter().chain(calls).collect();
    let usage = json!({ "input_tokens": 1, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 1,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 2 });
    let whole = |status: &str, output: &[Value]| {
        json!({ "response": { "id": format!("resp_{number}"), "object": "response", "status": status, "model": model, "output": output,
            "usage": usage } })
    };
    let mut events = vec![("response.created", whole("in_progress", &[]))];
    for (at, item) in output.iter().enumerate() {
        let item = json!({ "output_index": at, "item": item });
        events.extend([
            ("response.output_item.added", item.clone()),
            ("response.output_item.done", item),
        ]);
    }
    events.push(("response.completed", whole("completed", &output)));
    named(events)
}

fn chat(answer: &Answer, Label { model, number }: Label<'_>) -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        json!({ "id": format!("chat_{number}"), "object": "chat.completion.chunk", "created": 0, "model": model, "choices": [choice],
            "usage": chat_usage() })
    };
    let (delta, finish) = chat_message(answer, number);
    let lines = [chunk(delta, Value::Null), chunk(json!({}), finish.into())];
    lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .chain(["data: [DONE]\n\n".to_owned()])
        .collect()
}

fn chat_at_once(answer: &Answer, Label { model, number }: Label<'_>) -> Value {
    let (message, finish) = chat_message(answer, number);
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    json!({ "id": format!("chat_{number}"), "object": "chat.completion", "created": 0, "model": model, "choices": [choice],
        "usage": chat_usage() })
}

fn chat_usage() -> Value {
    json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 })
}

/// The message, and why it ended.
fn chat_message(answer: &Answer, number: u64) -> (Value, &'static str) {
    let calls = answer.calls.iter().enumerate().map(|(at, (name, input))| {
        json!({ "index": at, "id": format!("call_{number}_{at}"), "type": "function",
            "function": { "name": name, "arguments": input.to_string() } })
    });
    let calls: Vec<Value> = calls.collect();
    match calls.is_empty() {
        true => (json!({ "role": "assistant", "content": answer.text }), "stop"),
        false => (
            json!({ "role": "assistant", "content": answer.text, "tool_calls": calls }),
            "tool_calls",
        ),
    }
}

fn gemini(answer: &Answer) -> Value {
    let words = (!answer.text.is_empty()).then(|| json!({ "text": answer.text }));
    let calls = answer
        .calls
        .iter()
        .map(|(name, input)| json!({ "functionCall": { "name": name, "args": input } }));
    let parts: Vec<Value> = words.into_iter().chain(calls).collect();
    let content = json!({ "role": "model", "parts": parts });
    json!({ "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_in_events_is_answered_in_events() {
        let answer = Answer::say("Done.").and_call("bash", json!({ "command": "true" }));
        for (path, streams, kind, begins) in [
            ("/v1/messages", true, EVENTS, "event: message_start\n"),
            ("/v1/responses", true, EVENTS, "event: response.created\n"),
            ("/v1/chat/completions", true, EVENTS, "data: {"),
            ("/v1/chat/completions", false, JSON, "{"),
            ("/v1beta/models/m:streamGenerateContent", true, EVENTS, "data: {"),
            ("/v1beta/models/m:generateContent", false, JSON, "{"),
        ] {
            let said =
                words(wire_of(path).unwrap(), &answer, Label { model: "m", number: 0 }, streams);
            assert!(said.0 == kind && said.1.starts_with(begins), "{path}: {said:?}");
            assert!(said.1.contains("Done.") && said.1.contains("bash"), "{path}: {said:?}");
        }
        assert_eq!(wire_of("/v1/models"), None);
    }

    #[test]
    fn which_answer_is_due_follows_from_the_request() {
        for (body, due) in [
            (json!({ "messages": [{ "role": "user" }] }), 0),
            (
                json!({ "messages": [{ "role": "user" }, { "role": "assistant" }, { "role": "user" }] }),
                1,
            ),
            (
                json!({ "input": [{ "role": "user" }, { "type": "reasoning" }, { "type": "function_call" },
                { "type": "function_call_output" }, { "role": "assistant" }] }),
                2,
            ),
            (json!({}), 0),
        ] {
            assert_eq!(ModelRequest { body }.answers(), due);
        }
    }
}
