//! The cost of a turn of the built-in agent: read, edit, run the tests, done. The model is a server
//! on loopback that answers at once, so only our own time and that of the tests remain.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use redgreen_core::agent::{Assignment, Strategy, Turn};
use redgreen_core::brief::TestCase;
use redgreen_core::model::wire::Wire;
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::Budget;
use serde_json::json;

use super::server::{Answer, Server};
use super::suites::write;
use super::{LIMITS, Length, Measure, median_ms, peers, python, timed};
use crate::agent::built_in::BuiltIn;
use crate::agent::visible::Visible;
use crate::agent::{Agent, TurnInput};
use crate::config::{self, Environment, File};
use crate::process::{self, Stop};

pub(super) const WRONG: &str = "def add(a, b):\n    return a - b\n";
pub(super) const RIGHT: &str = "def add(a, b):\n    return a + b\n";
pub(super) const TEST: &str =
    "from calc import add\n\n\ndef test_adds():\n    assert add(2, 3) == 5\n";

/// Our own turn, and the same by other installed agents.
pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    tell("turns of the built-in agent");
    let root = folder.join("turn");
    let bare = python(environment).args(["-m", "pytest", "-q"]).cwd(&root);
    write(
        &root,
        &[("test_calc.py", TEST), ("calc.py", RIGHT)]
            .map(|(path, text)| (path.to_owned(), text.to_owned())),
    )?;
    let answers = answers();
    let server =
        Server::start(move |asked| answers.get(asked.answers()).cloned().unwrap_or_default())?;
    let model = config::Model {
        base_url: Some(server.url.clone()),
        wire: Some(Wire::Anthropic),
        ..config::Model::default()
    };
    let agent = Agent::BuiltIn(BuiltIn::new(
        "bench",
        &File { model, ..File::default() },
        environment,
        &root,
        Visible::new(environment, None, &[]),
    )?);
    let (mut own, mut tests, mut memory) = (Vec::new(), Vec::new(), None);
    let mut counted = server.take();
    // The first turn fills caches and does not count.
    for turn in 0..=length.turns() {
        write(&root, &[("calc.py".to_owned(), WRONG.to_owned())])?;
        let started = Instant::now();
        let mut taken = None;
        let peak = process::peak_memory_during(|| taken = Some(take(&agent, &root, stop)));
        let wall = started.elapsed();
        taken.context("the bench takes a turn")??;
        counted = server.take();
        if turn > 0 {
            own.push(wall.saturating_sub(counted.busy));
            tests.push(timed(&bare, stop)?);
            memory = memory.max(peak);
        }
    }
    let own_ms = median_ms(own);
    let measure = Measure {
        requests: Some(counted.requests),
        bytes_sent: Some(counted.bytes),
        memory_bytes: memory.map(|peak| peak.more),
        peak_memory_bytes: memory.map(|peak| peak.whole),
        ..Measure::new("a turn of four requests", own_ms)
    };
    let mut measures = vec![measure.against("one bare pytest", median_ms(tests))];
    measures.extend(peers::measures(folder, length.peer_turns(), environment, own_ms, stop, tell)?);
    Ok(measures)
}

/// The actions of the model, one answer per request.
fn answers() -> [Answer; 4] {
    let edit = json!({ "file_path": "calc.py", "old_string": "return a - b", "new_string": "return a + b" });
    [
        Answer::call("Read", json!({ "file_path": "calc.py" })),
        Answer::call("Edit", edit),
        Answer::call("RunTests", json!({})),
        Answer::call(
            "Complete",
            json!({ "implementation_files": ["calc.py"], "summary": "it adds" }),
        ),
    ]
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
        candidate: None,
        request: "an adder".to_owned(),
        brief: None,
        current: Some(test),
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: Strategy::New,
    };
    let taken = agent.take_turn(&mut TurnInput {
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
        aside: root,
        packages: &[],
        stop,
        live: &mut |_| {},
        messages: &mut Vec::new,
    })?;
    ensure!(
        matches!(taken.turn, Turn::Done { .. }),
        "the turn of the bench failed: {}",
        taken.transcript
    );
    let code = std::fs::read_to_string(root.join("calc.py")).context("read what the turn left")?;
    ensure!(code == RIGHT, "the turn of the bench left {code:?}: {}", taken.transcript);
    Ok(())
}
