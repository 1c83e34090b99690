//! The demo's kata does what its notes claim: every turn is played in order, and cargo's tests
//! confirm the results.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redgreen::agent::script::Script;
use redgreen::agent::{Agent, TurnInput};
use redgreen::process::{Limits, Program, Stop};
use redgreen_core::agent::{Assignment, Strategy, Turn};
use redgreen_core::phase::{Phase, Role};
use redgreen_core::policy::Budget;

const MINUTE: Duration = Duration::from_secs(60);
const OUTPUT_BYTES_MAX: usize = 1 << 20;

const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../../demo/rust/manifest.toml")),
    (".gitignore", include_str!("../../demo/rust/ignore")),
    ("src/lib.rs", include_str!("../../demo/rust/src/lib.rs")),
    ("tests/numerals.rs", include_str!("../../demo/rust/tests/numerals.rs")),
    ("kata.toml", include_str!("../../demo/rust/kata.toml")),
];

#[test]
fn every_turn_of_the_kata_does_what_it_claims() -> Result<()> {
    let kata = Kata::new()?;
    kata.tests("pass")?;
    kata.plays(Role::TestList, 0, "one to three are that many strokes")?;
    kata.plays(Role::Test, 0, "")?;
    kata.tests("do not compile: to_roman")?;
    kata.plays(Role::Implementing, 0, "")?;
    kata.tests("fail: one_to_three_are_that_many_strokes")?;
    kata.plays(Role::Diagnosis, 0, "repeat the stroke")?;
    kata.plays(Role::Implementing, 1, "")?;
    kata.tests("pass")?;
    kata.plays(Role::Refactor, 0, "nothing to improve")?;
    kata.tests("pass")?;

    kata.plays(Role::TestList, 1, "larger numbers add numerals up")?;
    kata.plays(Role::Test, 1, "")?;
    kata.tests("fail: larger_numbers_add_numerals_up_the_largest_first")?;
    kata.plays(Role::Implementing, 2, "All tests pass now.")?;
    kata.tests("pass")?; // The cheat passes the tests; only the judge stops it.
    kata.plays(Role::Diagnosis, 1, "changed instead of the code")?;
    kata.plays(Role::Implementing, 3, "")?;
    kata.tests("pass")?;
    kata.plays(Role::Refactor, 1, "")?;
    kata.tests("pass")?;

    kata.plays(Role::TestList, 2, "four and nine")?;
    kata.plays(Role::Test, 2, "")?;
    kata.tests("pass")?; // RED refuses a test that already passes.
    kata.plays(Role::Test, 3, "")?;
    kata.tests("fail: four_and_nine_are_written_by_subtraction")?;
    kata.plays(Role::Implementing, 4, "")?;
    kata.tests("pass")?;
    kata.plays(Role::Refactor, 2, "")?;
    kata.tests("fail: four_and_nine_are_written_by_subtraction")?;
    kata.plays(Role::Refactor, 3, "")?;
    kata.tests("pass")?;
    kata.plays(Role::TestList, 3, r#"{"currentTest":null}"#)
}

/// The demo's crate in a temporary folder, and the agent that develops it.
struct Kata {
    folder: tempfile::TempDir,
    agent: Agent,
}

impl Kata {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (path, text) in FILES {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().context("a folder")?)?;
            fs::write(path, text)?;
        }
        let agent = Agent::Scripted(Script::read(&folder.path().join("kata.toml"))?);
        Ok(Self { folder, agent })
    }

    fn plays(&self, role: Role, turn: u32, says: &str) -> Result<()> {
        let taken = self.agent.take_turn(&mut TurnInput {
            assignment: &assignment(role, turn),
            worktree: self.folder.path(),
            env: &[],
            time_limit: MINUTE,
            allowance: Budget::default(),
            desk: self.folder.path(),
            report: None,
            tests: &[],
            changes: &|| Ok(String::new()),
            repository: self.folder.path(),
            private: self.folder.path(),
            aside: self.folder.path(),
            packages: &[],
            stop: &Stop::default(),
            live: &mut |_| {},
            messages: &mut Vec::new,
        })?;
        match taken.turn {
            Turn::Done { answer } => assert!(answer.contains(says), "{role} {turn}: {answer}"),
            Turn::Failed { message, .. } => panic!("{role} {turn}: {message}"),
        }
        assert!(taken.cost.tokens.is_some() && taken.cost.microdollars.is_some(), "{role} {turn}");
        Ok(())
    }

    fn tests(&self, expected: &str) -> Result<()> {
        assert_eq!(cargo_test(self.folder.path())?, expected);
        Ok(())
    }
}

fn cargo_test(folder: &Path) -> Result<String> {
    let limits = Limits { wall: MINUTE, output_bytes_max: OUTPUT_BYTES_MAX };
    let output = Program::new("cargo")
        .args(["test", "--offline", "--no-fail-fast", "--lib", "--tests"])
        .cwd(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output(limits, &Stop::default())?;
    let (stdout, stderr) = (output.stdout_text(), output.stderr_text());
    if stderr.contains("unresolved import `roman::to_roman`") {
        return Ok("do not compile: to_roman".to_owned());
    }
    let failing = stdout.lines().filter_map(|line| line.strip_suffix(" ... FAILED"));
    let failing: Vec<_> = failing.filter_map(|line| line.strip_prefix("test ")).collect();
    match failing[..] {
        [] if output.success() => Ok("pass".to_owned()),
        [] => bail!("cargo test did not run: {stderr}"),
        [..] => Ok(format!("fail: {}", failing.join(", "))),
    }
}

fn assignment(role: Role, turn: u32) -> Assignment {
    let phase = match role {
        Role::TestList => Phase::Plan,
        Role::Test => Phase::Red,
        Role::Implementing | Role::Diagnosis => Phase::Green,
        Role::Refactor => Phase::Refactor,
    };
    Assignment {
        role,
        phase,
        cycle: 1,
        turn,
        attempt: 1,
        candidate: None,
        request: "Convert numbers to Roman numerals".to_owned(),
        brief: None,
        current: None,
        completed: Vec::new(),
        pending: Vec::new(),
        trouble: None,
        diagnosis: None,
        remarks: Vec::new(),
        messages: Vec::new(),
        more: false,
        withhold: false,
        strategy: Strategy::New,
    }
}
