//! Exchanges on disk: recorded with the scripted server, replayed without one.

use redgreen::agent::model::Client;
use redgreen::failure::Failure;
use serde_json::json;

use super::{KEY, ModelErrorKind, QUICK, ask, client, provider, request, text};
use crate::server::{Server, Turn, Wire};

#[test]
fn what_was_recorded_is_replayed_without_a_server() {
    for wire in Wire::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cassette.jsonl");
        let turns = vec![
            Turn::status(429)
                .header("retry-after-ms", "5")
                .body(&format!("{{\"error\":{{\"message\":\"{KEY}\"}}}}")),
            Turn::say("half").cut_after(2),
            Turn::say("Hello").and_call("Read", json!({"path": "a"})),
            Turn::status(401),
        ];
        let server = Server::start(turns);
        let live = client(wire, &server.url, QUICK).recording(&path).unwrap();
        let first = ask(&live, &request());
        let second = ask(&live, &request());
        assert_eq!(second.0.as_ref().unwrap_err().kind, ModelErrorKind::Auth);
        drop(server);

        let tape = std::fs::read_to_string(&path).unwrap();
        assert_eq!(tape.lines().count(), 4, "{wire:?}");
        assert!(!tape.contains(KEY), "{wire:?}: the key is on the cassette");
        let replay = Client::replaying(provider(wire, "http://127.0.0.1:9"), &path, QUICK).unwrap();
        assert_eq!(ask(&replay, &request()).0, first.0, "{wire:?}");
        assert_eq!(ask(&replay, &request()).0, second.0, "{wire:?}");
    }
}

#[test]
fn another_request_than_the_recorded_one_is_an_error_that_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassette.jsonl");
    let server = Server::start(vec![Turn::say("Hello")]);
    assert_eq!(
        text(
            &ask(&client(Wire::Chat, &server.url, QUICK).recording(&path).unwrap(), &request())
                .0
                .unwrap()
        ),
        "Hello"
    );
    let replay =
        || Client::replaying(provider(Wire::Chat, "http://127.0.0.1:9"), &path, QUICK).unwrap();
    let fails = |client: &Client, request| {
        let late = std::time::Instant::now() + super::ENOUGH;
        let error = client
            .ask(&request, late, &redgreen::process::Stop::default(), &mut |_| {})
            .unwrap_err();
        let failure = error.downcast::<Failure>().unwrap();
        format!("{}; {}", failure.what, failure.evidence.join("; "))
    };
    let mut other = request();
    other.system = "Be long.".to_owned();
    let said = fails(&replay(), other);
    assert!(said.starts_with("the cassette was recorded for another request; "), "{said}");
    assert!(
        said.ends_with("cassette.jsonl:1: the first difference is in messages/0/content"),
        "{said}"
    );

    let client = replay();
    ask(&client, &request()).0.unwrap();
    let said = fails(&client, request());
    assert!(said.starts_with("the cassette has no more exchanges; "), "{said}");

    std::fs::write(&path, "{\"version\": 1}\n").unwrap();
    let said = fails(&replay(), request());
    assert!(said.starts_with("the cassette cannot be used; "), "{said}");
}
