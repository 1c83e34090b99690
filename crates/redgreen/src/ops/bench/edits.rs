//! The check before each edit of a coding agent, in a large repository: `redgreen hook`, compared
//! with starting a program that does nothing.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redgreen_core::names::RunId;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::session::{Session, VerdictSummary, ledger};
use redgreen_core::verdict::Decision;
use serde_json::{Value, json};

use super::{LIMITS, Length, Measure, Memory, timed, watched};
use crate::config::Environment;
use crate::git::Git;
use crate::ops::session::store::Store;
use crate::process::{Program, Stop};

const TEST: &str = "def test_adds():\n    assert add(1, 2) == 3\n";
const FILES_IN_A_FOLDER: usize = 100;
/// How often the memory of the hook is measured. It is looked up while the hook runs.
const PEAKS: usize = 10;

impl Length {
    /// The files of the repository, and the number of edits.
    fn edits(self) -> (usize, usize) {
        match self {
            Self::Quick => (2_000, 20),
            Self::Full => (50_000, 200),
        }
    }
}

/// Edits whose check needs more than their paths: of a frozen test, which is compared with the
/// accepted one, and of a file that test runners would load by itself.
pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
) -> Result<Vec<Measure>> {
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
        VerdictSummary {
            phase: JudgedPhase::Red,
            decision: Decision::Accepted,
            codes: Vec::new(),
            tree,
        },
        &[],
        0,
    );
    let store = Store::of(&git, &environment)?;
    store.write(&store.hold()?, &mut session)?;
    for subject in [ledger::started(&session), ledger::accepted(JudgedPhase::Red)] {
        store.keep(&git, &session.accepted, &subject, 0)?;
    }
    let frozen = json!({ "file_path": root.join("test_calc.py"), "old_string": "== 3", "new_string": "== 4" });
    let loaded =
        json!({ "file_path": root.join("d0/conftest.py"), "content": "import os\nos.umask(0)\n" });
    let kinds = [("an edit check", frozen), ("an edit check of a new conftest.py", loaded)];
    let check = |(name, input): (&str, Value)| {
        let message = json!({ "hook_event_name": "PreToolUse", "cwd": root, "tool_input": input });
        let asked = ours
            .clone()
            .args(["hook", "claude"])
            .cwd(&root)
            .env("XDG_STATE_HOME", &state)
            .stdin(message.to_string());
        let measure = check(&asked, &root, turns, stop)?;
        Ok(Measure { name: format!("{name}, p95, {count} files"), ..measure })
    };
    kinds.into_iter().map(check).collect()
}

/// One check, many times, next to a program that does nothing.
fn check(asked: &Program, root: &Path, turns: usize, stop: &Stop) -> Result<Measure> {
    let nothing = Program::new("true").cwd(root);
    let (mut own, mut others) = (Vec::new(), Vec::new());
    // The first turn fills caches and does not count.
    for turn in 0..=turns {
        let pair = (timed(asked, stop)?, timed(&nothing, stop)?);
        if turn > 0 {
            own.push(pair.0);
            others.push(pair.1);
        }
    }
    let mut peak_memory_bytes = None;
    for _ in 0..PEAKS {
        let (output, peak) = watched(asked, LIMITS, Memory::ShortLived, stop)?;
        let is_denied = String::from_utf8_lossy(&output.stdout).contains("deny");
        ensure!(is_denied, "the hook did not deny: {}", output.stderr_text().trim());
        peak_memory_bytes = peak_memory_bytes.max(peak);
    }
    let measure = Measure::new(String::new(), p95_ms(own)).against("true", p95_ms(others));
    Ok(Measure { peak_memory_bytes, ..measure })
}

fn p95_ms(mut samples: Vec<Duration>) -> f64 {
    samples.sort_unstable();
    samples.get(samples.len() * 95 / 100).map_or(0.0, |sample| sample.as_secs_f64() * 1_000.0)
}
