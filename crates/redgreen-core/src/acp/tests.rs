//! Tests over recorded conversations with real agents.

use super::*;
use crate::agent::{Cost, Failure};
use crate::names::SessionId;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../testdata/acp/", $name, ".jsonl"))
    };
}

fn plan(strategy: Strategy, mode: Option<&str>) -> Plan {
    let (folder, prompt) = ("/project".to_owned(), Some("Write hello.py".to_owned()));
    Plan {
        folder,
        prompt,
        strategy,
        mode: mode.map(str::to_owned),
        offers: ClientServices::default(),
    }
}

/// Replays the messages of an agent and returns the sent methods and the client.
fn play(plan: Plan, agent: &str) -> (Vec<String>, Client) {
    let mut client = Client::new(plan);
    let mut sent = client.begin();
    for line in agent.lines() {
        // The recorded ids may differ from ours; an answer always belongs to the last request.
        let mut message: Value = serde_json::from_str(line).unwrap();
        if message.get("method").is_none() {
            message["id"] = json!(client.awaited);
        }
        let next = client.heard(&message.to_string());
        sent.push_str(&next.send);
        if next.over {
            break;
        }
    }
    let methods = sent.lines().map(|line| {
        let message: Value = serde_json::from_str(line).unwrap();
        match text(&message, "/method") {
            Some(method) => method.to_owned(),
            None => text(&message, "/result/outcome/optionId").unwrap_or("an error").to_owned(),
        }
    });
    (methods.collect(), client)
}

const NEW: [&str; 3] = ["initialize", "session/new", "session/prompt"];
const NEW_MODE: [&str; 4] = ["initialize", "session/new", "session/set_mode", "session/prompt"];

#[test]
fn completes_a_turn_of_each_agent() {
    for (agent, mode, methods, tokens, microdollars) in [
        (sample!("claude-hello"), Some("acceptEdits"), &NEW_MODE[..], 23602, Some(99488)),
        (sample!("codex-hello"), Some("no-such-mode"), &NEW, 22292, None),
        (sample!("gemini-hello"), Some("autoEdit"), &NEW_MODE, 24995, None),
    ] {
        let (sent, client) = play(plan(Strategy::New, mode), agent);
        assert_eq!(sent, methods);
        assert!(client.session().is_some());
        assert_eq!(
            client.agent_output().cost(),
            Cost { tokens: Some(tokens), microdollars, ..Cost::default() }
        );
        match client.end(Exit::Code(0), "") {
            Turn::Done { answer } => assert!(answer.ends_with("Wrote hello.py."), "{answer}"),
            failed @ Turn::Failed { .. } => panic!("{failed:?}"),
        }
    }
}

#[test]
fn allows_a_write_inside_the_worktree() {
    let (sent, _) = play(plan(Strategy::New, None), sample!("claude-permission"));
    assert_eq!(sent, ["initialize", "session/new", "session/prompt", "allow-once"]);
}

#[test]
fn resumes_a_conversation_as_the_agent_supports_it() {
    let resume = || Strategy::Resume { session: SessionId::parse("s").unwrap() };
    let (sent, client) = play(plan(resume(), None), sample!("claude-resume"));
    assert_eq!(sent[1], "session/resume");
    assert!(client.session().is_some());
    let fork = Strategy::MergeFork {
        sessions: ["a", "b"].map(|id| SessionId::parse(id).unwrap()).to_vec(),
    };
    let (sent, _) = play(plan(fork, None), sample!("claude-resume"));
    assert_eq!(sent[1], "session/fork");

    let refused = r#"{"jsonrpc":"2.0","id":1,"result":{"agentCapabilities":{"loadSession":true}}}
{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no such session"}}
{"jsonrpc":"2.0","id":3,"result":{"sessionId":"n"}}
{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}"#;
    let (sent, client) = play(plan(resume(), None), refused);
    assert_eq!(sent, ["initialize", "session/load", "session/new", "session/prompt"]);
    assert_eq!(client.session(), Some("n"));
}

#[test]
fn a_message_during_a_turn_is_sent_to_an_agent_that_offers_it() {
    let prompted = r#"{"id":1,"result":{"_meta":{"steering":{"supported":true}}}}
{"id":2,"result":{"sessionId":"s"}}"#;
    let (_, mut client) = play(plan(Strategy::New, None), prompted);
    assert!(client.can_be_steered());
    let sent: Value = serde_json::from_str(&client.steer("use a dataclass")).unwrap();
    assert_eq!(sent["method"], "_session/steering");
    assert_eq!(sent["params"]["sessionId"], "s");
    assert_eq!(sent["params"]["prompt"][0]["text"], "use a dataclass");
    // The response to the message does not end the turn.
    assert!(!client.heard(r#"{"id":"message-1","result":{"outcome":"injected"}}"#).over);
    assert!(client.agent_output().transcript().contains("use a dataclass"));
    let end = json!({ "id": client.awaited, "result": { "stopReason": "end_turn" } });
    assert!(client.heard(&end.to_string()).over && !client.can_be_steered());

    let (_, client) = play(plan(Strategy::New, None), &prompted.replace("true", "false"));
    assert!(!client.can_be_steered());
    assert!(!Client::new(plan(Strategy::New, None)).can_be_steered());
}

#[test]
fn a_failure_reported_as_end_of_turn_is_a_failure() {
    for (agent, expected) in [
        (sample!("claude-500"), Failure::Crash),
        (sample!("codex-500"), Failure::RateLimit { retry_after_ms: None }),
        (sample!("codex-401"), Failure::Unusable),
        (sample!("gemini-400"), Failure::Unusable),
    ] {
        let (_, client) = play(plan(Strategy::New, None), agent);
        match client.end(Exit::Code(0), "") {
            Turn::Failed { failure, message } => assert_eq!(failure, expected, "{message}"),
            Turn::Done { answer } => panic!("{answer}"),
        }
    }
}

#[test]
fn logs_in_once_with_the_api_key() {
    let agent = r#"{"id":1,"result":{"authMethods":[{"id":"oauth"},{"id":"gemini-api-key"}]}}
{"id":2,"error":{"code":-32000,"message":"Authentication required"}}
{"id":3,"result":{}}
{"id":4,"error":{"code":-32000,"message":"Authentication required"}}"#;
    let (sent, client) = play(plan(Strategy::New, None), agent);
    assert_eq!(sent, ["initialize", "session/new", "authenticate", "session/new"]);
    assert!(matches!(
        client.end(Exit::Code(0), ""),
        Turn::Failed { failure: Failure::Unusable, .. }
    ));
}

#[test]
fn a_crash_or_garbage_is_a_failure_with_a_reason() {
    let mut client = Client::new(plan(Strategy::New, None));
    client.begin();
    for line in [
        "",
        "{",
        "[]",
        "7",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu",
        "\u{fffd}",
        "{\"method\":7,\"id\":[]}",
    ] {
        assert!(!client.heard(line).over);
    }
    let asked =
        client.heard(r#"{"jsonrpc":"2.0","id":"x","method":"terminal/create","params":{}}"#);
    assert!(asked.send.contains("-32601") && asked.send.contains("\"x\""), "{}", asked.send);
    match client.end(Exit::Code(3), "out of paper\n") {
        Turn::Failed { failure: Failure::Crash, message } => {
            assert!(message.contains("out of paper"), "{message}");
        }
        other @ (Turn::Done { .. } | Turn::Failed { .. }) => panic!("{other:?}"),
    }
    assert!(matches!(
        client.end(Exit::TimedOut, ""),
        Turn::Failed { failure: Failure::Timeout, .. }
    ));
}

#[test]
fn the_greeting_identifies_the_agent() {
    let (sent, client) =
        play(Plan { prompt: None, ..plan(Strategy::New, None) }, sample!("codex-hello"));
    assert_eq!(sent, ["initialize"]);
    let greeting = client.greeting();
    assert_eq!((greeting.version.as_deref(), greeting.protocol), (Some("2.6.0"), Some(1)));
}

#[test]
fn cancels_only_a_running_turn() {
    let mut client = Client::new(plan(Strategy::New, None));
    client.begin();
    assert_eq!(client.cancel(), "");
    for line in [r#"{"id":1,"result":{}}"#, r#"{"id":2,"result":{"sessionId":"s"}}"#] {
        client.heard(line);
    }
    assert!(client.cancel().contains("session/cancel"));
    assert!(client.heard(r#"{"id":3,"result":{"stopReason":"cancelled"}}"#).over);
    assert!(matches!(
        client.end(Exit::TimedOut, ""),
        Turn::Failed { failure: Failure::Timeout, .. }
    ));
}

#[test]
fn announces_offered_services_and_passes_requests_on() {
    let read = r#"{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"path":"/project/a.py"}}"#;
    for (offers, announced) in
        [(ClientServices::Nothing, false), (ClientServices::FilesAndTerminals, true)]
    {
        let mut client = Client::new(Plan { offers, ..plan(Strategy::New, None) });
        let greeting: Value = serde_json::from_str(&client.begin()).unwrap();
        let expected = json!({ "fs": { "readTextFile": announced, "writeTextFile": announced }, "terminal": announced });
        assert_eq!(greeting["params"]["clientCapabilities"], expected);
        let next = client.heard(read);
        assert_eq!(
            (next.asked.is_some(), next.send.contains("-32601")),
            (announced, !announced),
            "{next:?}"
        );
    }
}

#[test]
fn answers_a_truncated_request() {
    let mut client = Client::new(plan(Strategy::New, None));
    for (beginning, id) in [
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"fs/write_text_file","params":{"content":"aaa"#,
            "\"id\":\"x\"",
        ),
        (
            r#"{"id" : 12, "method":"fs/write_text_file", "params" : {"id": 3, "content":"aaa"#,
            "\"id\":12,",
        ),
        (r#"{"method":"session/update","params":{"id": 3, "content":"aaa"#, ""),
        ("xxxx", ""),
    ] {
        let sent = client.heard_in_part(beginning).send;
        assert!(sent.contains(id) && sent.is_empty() == id.is_empty(), "{beginning}: {sent}");
    }
}
