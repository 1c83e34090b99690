//! The check before each edit of a coding agent, in a large repository: `redgreen hook`, compared
//! with starting a program that does nothing.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use redgreen_core::hook::read;
use redgreen_core::names::RunId;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::session::{Ruled, Session, ledger};
use redgreen_core::verdict::Decision;
use serde_json::json;

use super::{Length, Measure, timed};
use crate::config::Environment;
use crate::git::Git;
use crate::ops::hook;
use crate::ops::session::store::Store;
use crate::process::{Program, Stop, peak_memory_during};

const TEST: &str = "def test_adds():\n    assert add(1, 2) == 3\n";
const FILES_IN_A_FOLDER: usize = 100;

impl Length {
    /// The files of the repository, and the number of edits.
    fn edits(self) -> (usize, usize) {
        match self {
            Self::Quick => (2_000, 20),
            Self::Full => (50_000, 200),
        }
    }
}

/// An edit of a frozen test, which must be compared with the accepted one: the most expensive kind.
pub(super) fn measure(
    folder: &Path,
    length: Length,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
) -> Result<Measure> {
    let (count, turns) = length.edits();
    let root = folder.join("edits");
    let names: Vec<String> =
        (0..count).map(|number| format!("d{}/f{number}.py", number / FILES_IN_A_FOLDER)).collect();
    let mut files: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "x = 1\n")).collect();
    files.extend([("pytest.ini", "[pytest]\n"), ("test_calc.py", TEST)]);
    let git = Git::create_scratch(&root, &files, "first")?;
    let state = folder.join("state");
    let environment = Environment { state: Some(state.join("redgreen")), ..environment.clone() };
    let tree = git.mark("HEAD")?.tree;
    let id = RunId::parse("20261117-214849-k3x9").context("name a session")?;
    let mut session = Session::begin(id, "bench", tree.clone(), vec!["pytest".to_owned()]);
    session.apply(
        Ruled { phase: JudgedPhase::Red, decision: Decision::Accepted, codes: Vec::new(), tree },
        &[],
        0,
    );
    let store = Store::of(&git, &environment)?;
    store.write(&store.hold()?, &mut session)?;
    for subject in [ledger::started(&session), ledger::accepted(JudgedPhase::Red)] {
        store.keep(&git, &session.accepted, &subject, 0)?;
    }
    let message = json!({ "hook_event_name": "PreToolUse", "cwd": root, "tool_input": {
        "file_path": root.join("test_calc.py"), "old_string": "== 3", "new_string": "== 4" } })
    .to_string();
    let event = read(message.as_bytes(), None).map_err(anyhow::Error::msg)?;
    let mut answered = Ok(());
    let peak =
        peak_memory_during(|| answered = hook::answer(&event, &root, &environment, stop).map(drop));
    answered?;
    let asked = ours
        .clone()
        .args(["hook", "claude"])
        .cwd(&root)
        .env("XDG_STATE_HOME", &state)
        .stdin(message);
    let nothing = Program::new("true").cwd(&root);
    let (mut own, mut others) = (Vec::new(), Vec::new());
    // The first turn fills caches and does not count.
    for turn in 0..=turns {
        let pair = (timed(&asked, stop)?, timed(&nothing, stop)?);
        if turn > 0 {
            own.push(pair.0);
            others.push(pair.1);
        }
    }
    let name = format!("an edit check, p95, {count} files");
    let measure = Measure::new(name, p95_ms(own)).against("true", p95_ms(others));
    Ok(Measure { peak_memory_bytes: peak.map(|peak| peak.whole), ..measure })
}

fn p95_ms(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples.get(samples.len() * 95 / 100).map_or(0.0, |sample| sample.as_secs_f64() * 1_000.0)
}
