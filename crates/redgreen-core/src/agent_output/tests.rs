//! Tests over the recorded output of real programs.

use super::*;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../testdata/agents/", $name))
    };
}

fn heard(dialect: Dialect, printed: &str) -> AgentOutput {
    let mut agent_output = AgentOutput::new(dialect);
    for line in printed.lines() {
        agent_output.line(line);
    }
    agent_output
}

fn done(answer: &str) -> Turn {
    Turn::Done { answer: answer.to_owned() }
}

#[test]
fn a_successful_turn_has_an_answer_a_session_and_a_cost() {
    for (dialect, printed, session, tokens, microdollars) in [
        (
            Dialect::Claude,
            sample!("claude-hello.jsonl"),
            "2b06b2b6-4043-4cfc-bc32-dfccbed32d4f",
            23689,
            Some(95396),
        ),
        (
            Dialect::Claude,
            sample!("claude-denied.jsonl"),
            "4cae205d-6f04-4b59-a570-1e6bceaa27e2",
            23677,
            Some(95348),
        ),
        (
            Dialect::Codex,
            sample!("codex-hello.jsonl"),
            "01a1e0e5-186c-73c1-a8c0-10ac835a139c",
            20320,
            None,
        ),
        (
            Dialect::Gemini,
            sample!("gemini-hello.jsonl"),
            "1c232099-a6e2-4c52-ac2b-382d8d8e4d52",
            24607,
            None,
        ),
        (
            Dialect::Opencode,
            sample!("opencode-hello.jsonl"),
            "ses_e1f118706ffeXFYKlAvl6zzA0t",
            15511,
            Some(0),
        ),
    ] {
        let agent_output = heard(dialect, printed);
        assert_eq!(agent_output.end(Exit::Code(0), ""), done("Wrote hello.py."), "{dialect:?}");
        assert_eq!(agent_output.session.as_deref(), Some(session), "{dialect:?}");
        assert_eq!(
            agent_output.cost(),
            Cost { tokens: Some(tokens), microdollars, ..Cost::default() },
            "{dialect:?}"
        );
    }
}

#[test]
fn a_failed_request_fails_the_turn_with_any_exit_code() {
    let limited = Failure::RateLimit { retry_after_ms: None };
    for (dialect, printed, expected) in [
        (Dialect::Claude, sample!("claude-401.jsonl"), Failure::Unusable),
        (Dialect::Claude, sample!("claude-429.jsonl"), limited),
        (Dialect::Claude, sample!("claude-500.jsonl"), Failure::Crash),
        (Dialect::Claude, sample!("claude-nokey.jsonl"), Failure::Unusable),
        (Dialect::Codex, sample!("codex-401.jsonl"), Failure::Unusable),
        (Dialect::Codex, sample!("codex-429.jsonl"), limited),
        (Dialect::Codex, sample!("codex-500.jsonl"), limited),
        (Dialect::Codex, sample!("codex-nokey.jsonl"), Failure::Unusable),
        (Dialect::Opencode, sample!("opencode-401.jsonl"), Failure::Unusable),
        (Dialect::Aider, sample!("aider-401.txt"), Failure::Unusable),
    ] {
        match heard(dialect, printed).end(Exit::Code(0), "") {
            Turn::Failed { failure, message } => {
                assert_eq!(failure, expected, "{dialect:?}: {message}");
            }
            Turn::Done { answer } => panic!("{dialect:?}: {answer}"),
        }
    }
}

#[test]
fn messages_and_tool_calls_are_shown_and_recorded() {
    let mut agent_output = AgentOutput::new(Dialect::Claude);
    let said: Vec<AgentActivity> =
        sample!("claude-hello.jsonl").lines().flat_map(|line| agent_output.line(line)).collect();
    let tool =
        AgentActivity::Tool { name: "Write".to_owned(), what: "/project/hello.py".to_owned() };
    assert!(
        said.contains(&tool) && said.contains(&AgentActivity::Text("Wrote hello.py.".to_owned())),
        "{said:?}"
    );
    assert!(
        agent_output.transcript().starts_with("[Write] /project/hello.py\nWrote hello.py."),
        "{}",
        agent_output.transcript()
    );
}

#[test]
fn a_rejected_edit_is_in_the_transcript() {
    let agent_output = heard(Dialect::Opencode, sample!("opencode-refused.jsonl"));
    assert!(
        agent_output.transcript().contains("The user rejected permission"),
        "{}",
        agent_output.transcript()
    );
}

#[test]
fn finds_answer_and_tokens_in_aiders_text() {
    let agent_output = heard(Dialect::Aider, sample!("aider-hello.txt"));
    assert_eq!(agent_output.cost(), Cost { tokens: Some(783), ..Cost::default() });
    assert!(
        matches!(agent_output.end(Exit::Code(0), ""), Turn::Done { answer } if answer.contains("Here is the file."))
    );
}

#[test]
fn a_failed_program_is_explained_by_its_last_lines() {
    let agent_output = heard(Dialect::Codex, "");
    for (exit, stderr, failure, words) in [
        (
            Exit::Code(1),
            "a\nno such thing\n",
            Failure::Crash,
            "it ended with exit 1: a\nno such thing",
        ),
        (Exit::Signal(11), "", Failure::Crash, "it ended with signal 11: no output"),
        (Exit::Code(41), "Invalid auth method selected.", Failure::Unusable, "Invalid auth method"),
        (Exit::TimedOut, "", Failure::Timeout, "it did not stop in time"),
    ] {
        match agent_output.end(exit, stderr) {
            Turn::Failed { failure: found, message } => {
                assert_eq!(found, failure, "{message}");
                assert!(message.contains(words), "{message}");
            }
            Turn::Done { answer } => panic!("{answer}"),
        }
    }
}

#[test]
fn garbage_is_bounded_and_kept_as_text() {
    for dialect in [
        Dialect::Text,
        Dialect::Aider,
        Dialect::Claude,
        Dialect::Codex,
        Dialect::Gemini,
        Dialect::Opencode,
    ] {
        let mut agent_output = AgentOutput::new(dialect);
        for line in [
            "{",
            "[1]",
            "null",
            "\u{0}\u{1b}[31m",
            "{\"type\":7}",
            "{\"type\":\"result\"}",
            "{\"item\":[]}",
            "é",
        ] {
            agent_output.line(line);
        }
        let long = "é".repeat(1 << 20);
        for _ in 0..8 {
            agent_output.line(&long);
        }
        assert!(agent_output.transcript().len() <= TRANSCRIPT_BYTES_MAX + 2, "{dialect:?}");
        assert!(
            matches!(agent_output.end(Exit::Code(0), ""), Turn::Done { answer } if answer.len() <= ANSWER_BYTES_MAX)
        );
    }
}

#[test]
fn a_program_killed_after_its_turn_ended_succeeded() {
    for (dialect, printed) in [
        (Dialect::Claude, sample!("claude-hello.jsonl")),
        (Dialect::Codex, sample!("codex-hello.jsonl")),
        (Dialect::Gemini, sample!("gemini-hello.jsonl")),
    ] {
        let agent_output = heard(dialect, printed);
        assert!(agent_output.is_over());
        assert_eq!(agent_output.end(Exit::Signal(15), ""), done("Wrote hello.py."));
    }
}
