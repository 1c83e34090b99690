//! The message of a coding agent's hook, the record of a session, and settings of coding agents that
//! a project brings along.

use redgreen_core::hook::{
    Action, Answer, EditResult, Host, broken, read, render, shell_objection,
};
use redgreen_core::install::{added, parts, removed};
use redgreen_core::session::Session;
use redgreen_core::session::rules::{FileChange, NextPhase, frameworks, objections};

pub(crate) fn input(bytes: &[u8]) {
    if let Ok(session) = Session::parse(bytes) {
        assert_eq!(
            Session::parse(&serde_json::to_vec(&session).unwrap_or_default()).as_ref(),
            Ok(&session)
        );
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        for part in Host::ALL.into_iter().flat_map(parts) {
            removed(&part, text).ok();
            if let Ok(with) = added(&part, Some(text)) {
                removed(&part, &with).ok();
            }
        }
    }
    let event = match read(bytes, None) {
        Ok(event) => event,
        Err(why) => {
            assert!(Host::ALL.iter().all(|host| broken(*host, None, &why).code != 0));
            return;
        }
    };
    for host in Host::ALL {
        render(host, &event, &Answer::Deny("no".to_owned()));
    }
    match &event.action {
        Action::Edit(edits) => {
            for edit in edits {
                let old = "def test_adds():\n    assert add(1, 2) == 3\n";
                let becomes = edit.apply(Some(old));
                let new = match &becomes {
                    EditResult::Text(text) => NextPhase::Text(text),
                    EditResult::Gone => NextPhase::Gone,
                    EditResult::Unknown => NextPhase::Unknown,
                };
                let stage = redgreen_core::session::Stage::Green { targets: Vec::new() };
                let changed = FileChange { path: &edit.path, old: Some(old), new };
                objections(&stage, changed, &frameworks(&[]), true);
            }
        }
        Action::Shell(command) => drop(shell_objection(command)),
        Action::None => {}
    }
}
