//! The model client against the scripted server, in all four wire formats: whatever the server
//! does, the client returns a reply or a named error in time.

mod aimock;
mod cassette;
mod live;
mod tls;

use std::time::{Duration, Instant};

use redgreen::agent::model::{Client, Limits};
use redgreen::config::Models;
use redgreen::process::{Interrupted, Stop};
use redgreen_core::model::provider::{OTHER_KEY, Provider, ProviderSettings, provider_of};
use redgreen_core::model::retry::RetryLimits;
use redgreen_core::model::wire::Wire as Format;
use redgreen_core::model::{
    Block, Delta, Message, ModelError, ModelErrorKind, Reply, Request, Stop as Ended, Tool, Usage,
};
use serde_json::{Value, json};

use crate::server::{Ending, Server, Turn, Wire};

const KEY: &str = "sk-very-secret";
/// No test here takes longer, however busy the machine is.
const ENOUGH: Duration = Duration::from_secs(120);
const QUICK: Limits = Limits {
    connect: Duration::from_secs(5),
    idle: Duration::from_secs(10),
    reply_bytes_max: 64 << 20,
    patience: RetryLimits { tries_max: 3, first_ms: 1, pause_ms_max: 2, asked_ms_max: 5_000 },
};

fn provider(wire: Wire, url: &str) -> Provider {
    let (wire, base) = match wire {
        Wire::Anthropic => (Format::Anthropic, url.to_owned()),
        Wire::Responses => (Format::Responses, format!("{url}/v1")),
        Wire::Chat => (Format::Chat, format!("{url}/v1")),
        Wire::Gemini => (Format::Gemini, url.to_owned()),
    };
    let wish = ProviderSettings { provider: None, base: Some(base), wire: Some(wire) };
    provider_of("scripted-1", &wish, |_| None).unwrap()
}

fn client(wire: Wire, url: &str, limits: Limits) -> Client {
    Client::new(provider(wire, url), &Models::default().with_key(OTHER_KEY, KEY), limits).unwrap()
}

fn request() -> Request {
    Request {
        model: String::new(),
        system: "Be brief.".to_owned(),
        tools: vec![Tool {
            name: "Read".to_owned(),
            description: "Reads a file.".to_owned(),
            input: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }],
        messages: vec![Message::User(vec![Block::Text { text: "go".to_owned() }])],
        max_tokens: 1000,
        ..Request::default()
    }
}

fn ask(client: &Client, request: &Request) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let mut live = |delta: &Delta| deltas.push(delta.clone());
    let answer = client.ask(request, Instant::now() + ENOUGH, &Stop::default(), &mut live).unwrap();
    (answer, deltas)
}

fn play(wire: Wire, turns: Vec<Turn>) -> (Result<Reply, ModelError>, Vec<Delta>, Server) {
    let server = Server::start(turns);
    let (answer, deltas) = ask(&client(wire, &server.url, QUICK), &request());
    (answer, deltas, server)
}

/// Every format must end with this error after this many tries.
#[track_caller]
fn ends(turn: &Turn, kind: ModelErrorKind, tries: usize) {
    for wire in Wire::ALL {
        let (answer, _, server) = play(wire, vec![turn.clone(); 5]);
        assert_eq!(answer.unwrap_err().kind, kind, "{wire:?} {turn:?}");
        assert_eq!(server.requests().len(), tries, "{wire:?} {turn:?}");
    }
}

fn text(reply: &Reply) -> String {
    let words = reply.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    words.collect()
}

fn calls(reply: &Reply) -> Vec<(String, Value)> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolUse { name, input, .. } => Some((name.clone(), input.clone())),
        _ => None,
    });
    calls.collect()
}

#[test]
fn an_answer_is_heard_as_it_comes_and_put_together() {
    for wire in Wire::ALL {
        for turn in [Turn::say("All is well."), Turn::say("All is well.").noisy()] {
            let (answer, deltas, server) = play(wire, vec![turn]);
            let reply = answer.unwrap();
            assert_eq!(
                (text(&reply).as_str(), &reply.stop),
                ("All is well.", &Ended::End),
                "{wire:?}"
            );
            let usage = Usage { input: 60, output: 7, cache_read: 40, cache_write: 0 };
            assert_eq!(reply.usage, usage, "{wire:?}");
            let pieces = deltas.iter().filter_map(|delta| match delta {
                Delta::Text(piece) => Some(piece.as_str()),
                _ => None,
            });
            assert_eq!(pieces.collect::<Vec<_>>(), ["All is", " well."], "{wire:?}");
            assert_eq!(deltas.last(), Some(&Delta::Usage(usage)), "{wire:?}");
            let seen = server.requests().remove(0);
            assert_eq!(seen.wire, wire);
            assert!(
                seen.path.starts_with("/v1") && seen.bytes == seen.body.to_string().len(),
                "{wire:?} {}",
                seen.path
            );
            let keys =
                ["x-api-key", "authorization", "x-goog-api-key"].map(|name| seen.header(name));
            assert!(keys.iter().flatten().all(|key| key.ends_with(KEY)), "{wire:?} {keys:?}");
            assert_eq!(keys.iter().flatten().count(), 1, "{wire:?}");
        }
    }
}

#[test]
fn tools_are_called_side_by_side_and_what_was_thought_goes_back_unchanged() {
    for wire in Wire::ALL {
        let both = Turn::say("Reading.")
            .thinking("hm")
            .and_call("Read", json!({"path": "a.py"}))
            .and_call("Read", json!({"path": "ü.py", "deep": {"list": [1, null]}}));
        let server = Server::start(vec![both, Turn::say("done")]);
        let client = client(wire, &server.url, QUICK);
        let mut request = request();
        let reply = ask(&client, &request).0.unwrap();
        assert_eq!(reply.stop, Ended::ToolUse, "{wire:?}");
        let read = |path: Value| ("Read".to_owned(), path);
        let expected = [
            read(json!({"path": "a.py"})),
            read(json!({"path": "ü.py", "deep": {"list": [1, null]}})),
        ];
        assert_eq!(calls(&reply), expected, "{wire:?}");

        let results = reply.blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, name, .. } => Some(Block::ToolResult {
                id: id.clone(),
                name: name.clone(),
                text: format!("of {id}"),
                is_error: false,
            }),
            _ => None,
        });
        let results: Vec<_> = results.collect();
        request.messages.extend([Message::Assistant(reply.blocks), Message::User(results)]);
        assert_eq!(text(&ask(&client, &request).0.unwrap()), "done", "{wire:?}");
        let seen = server.requests();
        assert_eq!(seen[1].answers(), 1, "{wire:?}");
        let list = |seen: &Value| match wire {
            Wire::Anthropic | Wire::Chat => seen["messages"].clone(),
            Wire::Responses => seen["input"].clone(),
            Wire::Gemini => seen["contents"].clone(),
        };
        // Messages are only appended. Cache marks may move, so the comparison ignores them.
        let plain = |value: &Value| {
            value.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
        };
        let (before, after) = (list(&seen[0].body), list(&seen[1].body));
        for (at, message) in before.as_array().unwrap().iter().enumerate() {
            assert_eq!(plain(message), plain(&after[at]), "{wire:?}");
        }
        let sent = plain(&after);
        let secret = match wire {
            Wire::Anthropic => r#"{"type":"thinking","thinking":"hm","signature":"c2lnbmVk"}"#,
            Wire::Responses => {
                r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VjcmV0"}"#
            }
            Wire::Chat => r#""reasoning_content":"hm""#,
            Wire::Gemini => r#""thoughtSignature":"c2lnbmVk""#,
        };
        assert!(sent.contains(secret), "{wire:?} {sent}");
        // The snapshot contains the whole conversation, so that any change shows.
        let whole = serde_json::to_string_pretty(&seen[1].body).unwrap();
        insta::assert_snapshot!(format!("conversation_{wire:?}"), whole);
    }
}

#[test]
fn a_fault_that_passes_is_tried_again_and_then_named() {
    ends(&Turn::status(429), ModelErrorKind::RateLimit, 3);
    ends(&Turn::status(500), ModelErrorKind::Server, 3);
    ends(&Turn::status(502).body("<html>bad gateway</html>"), ModelErrorKind::Server, 3);
    ends(&Turn::status(503), ModelErrorKind::Overloaded, 3);
    ends(&Turn::status(529), ModelErrorKind::Overloaded, 3);
    ends(&Turn::Drop, ModelErrorKind::Network, 3);
    ends(&Turn::Raw("data: {\"half\": \n\n".to_owned()), ModelErrorKind::Server, 3);
    ends(&Turn::Raw("data: [1, 2]\n\n".to_owned()), ModelErrorKind::Server, 3);
    ends(&Turn::Raw(String::new()), ModelErrorKind::Network, 3);
    ends(&Turn::Raw("\u{0}\u{1}ÿ nonsense \n\n\n".to_owned()), ModelErrorKind::Network, 3);
}

#[test]
fn a_fault_that_stays_is_not_tried_again() {
    ends(&Turn::status(400), ModelErrorKind::BadRequest, 1);
    ends(&Turn::status(401), ModelErrorKind::Auth, 1);
    ends(&Turn::status(402), ModelErrorKind::Billing, 1);
    ends(&Turn::status(403), ModelErrorKind::Auth, 1);
    ends(&Turn::status(404), ModelErrorKind::UnknownModel, 1);
    ends(&Turn::status(404).body("<html>no such page</html>"), ModelErrorKind::BadRequest, 1);
    ends(&Turn::status(413), ModelErrorKind::TooLong, 1);
    // The client follows no redirects: the other address would get the key.
    ends(
        &Turn::status(302).header("location", "http://127.0.0.1:9/"),
        ModelErrorKind::BadRequest,
        1,
    );
    // The server asks for a longer pause than the client accepts.
    ends(&Turn::status(429).header("retry-after", "86400"), ModelErrorKind::RateLimit, 1);
}

#[test]
fn an_unknown_model_is_named() {
    for wire in Wire::ALL {
        let (answer, _, _) = play(wire, vec![Turn::status(404)]);
        let error = answer.unwrap_err();
        assert!(error.message.contains("scripted-1"), "{wire:?} {error:?}");
    }
}

#[test]
fn a_server_that_recovers_is_heard() {
    for wire in Wire::ALL {
        let broken = Turn::say("half an").cut_after(2);
        let late = Turn::status(429).header("retry-after-ms", "30");
        let (answer, deltas, server) = play(wire, vec![late, broken, Turn::say("whole")]);
        assert_eq!(text(&answer.unwrap()), "whole", "{wire:?}");
        assert_eq!(server.requests().len(), 3, "{wire:?}");
        let again = deltas.iter().filter_map(|delta| match delta {
            Delta::Again { error, pause_ms } => Some((error.kind, *pause_ms)),
            _ => None,
        });
        let again: Vec<_> = again.collect();
        assert_eq!(again[0], (ModelErrorKind::RateLimit, 30), "{wire:?}");
        assert_eq!(again[1].0, ModelErrorKind::Network, "{wire:?}");
    }
}

#[test]
fn a_stream_that_dies_at_any_event_is_no_answer() {
    let turn = Turn::say("Some words").thinking("hm").and_call("Read", json!({"path": "a"}));
    let once = Limits { patience: RetryLimits { tries_max: 1, ..QUICK.patience }, ..QUICK };
    for wire in Wire::ALL {
        for events in 0..turn.events(wire) {
            let server = Server::start(vec![turn.clone().cut_after(events)]);
            let (answer, _) = ask(&client(wire, &server.url, once), &request());
            assert_eq!(
                answer.unwrap_err().kind,
                ModelErrorKind::Network,
                "{wire:?} after {events}"
            );
        }
    }
}

#[test]
fn an_error_inside_the_stream_is_that_error() {
    for (wire, kind) in [
        (Wire::Anthropic, ModelErrorKind::Overloaded),
        (Wire::Responses, ModelErrorKind::Server),
        (Wire::Chat, ModelErrorKind::Server),
        (Wire::Gemini, ModelErrorKind::Overloaded),
    ] {
        let failing = Turn::say("So far").ending(Ending::Error);
        let (answer, _, server) = play(wire, vec![failing.clone(), failing.clone(), failing]);
        assert_eq!(answer.unwrap_err().kind, kind, "{wire:?}");
        assert_eq!(server.requests().len(), 3, "{wire:?}");
    }
}

#[test]
fn a_refusal_is_an_answer() {
    for wire in Wire::ALL {
        let (answer, _, server) = play(wire, vec![Turn::say("I").ending(Ending::Refusal)]);
        let reply = answer.unwrap();
        assert!(
            matches!(&reply.stop, Ended::Refusal { why } if !why.is_empty()),
            "{wire:?} {:?}",
            reply.stop
        );
        assert_eq!(server.requests().len(), 1, "{wire:?}");
    }
}

#[test]
fn a_call_that_was_cut_off_can_not_be_run() {
    for wire in Wire::ALL {
        let cut = Turn::call("Read", json!({"path": "whole.py"}))
            .and_call("Read", json!({"path": "cut.py"}))
            .ending(Ending::MaxTokens);
        let (answer, _, _) = play(wire, vec![cut]);
        let reply = answer.unwrap();
        assert_eq!(reply.stop, Ended::MaxTokens, "{wire:?}");
        let calls = calls(&reply);
        assert_eq!(calls.len(), 2, "{wire:?}");
        assert!(calls.iter().all(|(_, input)| input.is_string()), "{wire:?} {calls:?}");
        // Servers accept only complete arguments, so truncated ones are not sent back.
        for block in &reply.blocks {
            if let Block::ToolUse { raw, .. } = block {
                assert!(
                    !raw.to_string().contains("cut.py") || wire == Wire::Gemini,
                    "{wire:?} {raw}"
                );
            }
        }
    }
}

#[test]
fn a_silent_server_is_left_after_the_idle_limit() {
    for wire in [Wire::Anthropic, Wire::Gemini] {
        for turn in [Turn::Hang, Turn::say("so slow").drip(Duration::from_secs(300))] {
            let server = Server::start(vec![turn]);
            let once = RetryLimits { tries_max: 1, ..QUICK.patience };
            let limits = Limits { idle: Duration::from_millis(150), patience: once, ..QUICK };
            let started = Instant::now();
            let (answer, _) = ask(&client(wire, &server.url, limits), &request());
            assert_eq!(answer.unwrap_err().kind, ModelErrorKind::Timeout, "{wire:?}");
            assert!(started.elapsed() < ENOUGH / 2, "{wire:?} {:?}", started.elapsed());
        }
    }
}

#[test]
fn a_drip_is_heard_to_its_end_or_to_the_deadline() {
    for wire in Wire::ALL {
        let slow = Turn::say("drop by drop").drip(Duration::from_millis(10));
        let (answer, _, _) = play(wire, vec![slow]);
        assert_eq!(text(&answer.unwrap()), "drop by drop", "{wire:?}");
    }
    let server = Server::start(vec![Turn::say("drop by drop").drip(Duration::from_millis(300))]);
    let client = client(Wire::Anthropic, &server.url, QUICK);
    let started = Instant::now();
    let deadline = started + Duration::from_millis(500);
    let error =
        client.ask(&request(), deadline, &Stop::default(), &mut |_| {}).unwrap().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert!(started.elapsed() < ENOUGH / 2);
}

#[test]
fn ctrl_c_ends_the_wait_at_once() {
    let server = Server::start(vec![Turn::Hang]);
    let client = client(Wire::Anthropic, &server.url, QUICK);
    let stop = Stop::default();
    let wish = stop.clone();
    let clock = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        wish.request();
    });
    let started = Instant::now();
    let error = client.ask(&request(), started + ENOUGH, &stop, &mut |_| {}).unwrap_err();
    assert!(error.is::<Interrupted>(), "{error:?}");
    assert!(started.elapsed() < ENOUGH / 2);
    clock.join().unwrap();
}

#[test]
fn an_answer_without_end_is_not_kept() {
    for wire in Wire::ALL {
        let before = peak_kib("self");
        let (answer, _, server) = play(wire, vec![Turn::Flood(100 << 20)]);
        assert_eq!(answer.unwrap_err().kind, ModelErrorKind::TooLarge, "{wire:?}");
        assert_eq!(server.requests().len(), 1, "{wire:?}");
        let grown = peak_kib("self").saturating_sub(before);
        assert!(grown < 60 << 10, "{wire:?}: {grown} KiB more");
    }
}

/// The peak memory of a process in KiB. For this process (`self`) it is a rough measure, because
/// parallel tests count as well.
pub(super) fn peak_kib(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn nobody_listens_there() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (answer, _) = ask(&client(Wire::Chat, &format!("http://{free}"), QUICK), &request());
    let error = answer.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Network);
    assert!(error.message.contains(&free.to_string()), "{error:?}");
}

#[test]
fn a_web_page_is_no_model() {
    let page = Turn::Status {
        code: 200,
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        body: "<html>Welcome!</html>".to_owned(),
    };
    for wire in Wire::ALL {
        let (answer, _, server) = play(wire, vec![page.clone()]);
        let error = answer.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::BadRequest, "{wire:?} {error:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn what_is_missing_is_said_before_anything_is_sent() {
    let claude = redgreen::agent::model::provider(
        "claude-opus-5-5",
        &ProviderSettings::default(),
        &Models::default(),
    )
    .unwrap();
    let error = Client::new(claude.clone(), &Models::default(), QUICK).unwrap_err();
    assert_eq!(error.to_string(), "anthropic needs a key, and ANTHROPIC_API_KEY is not set");
    let error =
        redgreen::agent::model::provider("opus", &ProviderSettings::default(), &Models::default())
            .unwrap_err();
    assert_eq!(error.to_string(), "no known provider for model \"opus\"");

    let paid =
        Client::new(claude, &Models::default().with_key("ANTHROPIC_API_KEY", KEY), QUICK).unwrap();
    assert!(paid.has_listed_prices());
    let wish = ProviderSettings {
        base: Some("http://127.0.0.1:9".to_owned()),
        ..ProviderSettings::default()
    };
    let own = provider_of("claude-opus-5-5", &wish, |_| None).unwrap();
    assert!(!Client::new(own, &Models::default(), QUICK).unwrap().has_listed_prices());
}

#[test]
fn a_key_is_shown_to_nobody() {
    let body =
        json!({"error": {"message": format!("wrong key {KEY}"), "type": "authentication_error"}})
            .to_string();
    let server = Server::start(vec![Turn::status(401).body(&body)]);
    let client = client(Wire::Anthropic, &server.url, QUICK);
    let error = ask(&client, &request()).0.unwrap_err();
    assert_eq!(error.message, "wrong key …");
    assert!(!format!("{client:?} {error:?}").contains(KEY));
}

#[test]
fn a_connection_is_used_again() {
    let server = Server::start(vec![Turn::say("one"), Turn::say("two"), Turn::say("three")]);
    let client = client(Wire::Chat, &server.url, QUICK);
    for word in ["one", "two", "three"] {
        assert_eq!(text(&ask(&client, &request()).0.unwrap()), word);
    }
    assert_eq!(server.connections(), 1);
}
