//! What a GREEN verdict costs, controls included, beside one bare run of the same suite.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::suites::write;
use super::{LIMITS, Length, Measure, in_turns};
use crate::config::Environment;
use crate::git::Git;
use crate::process::{Program, Stop};

/// Tests of the old suite, each of which takes its share of the time.
const TESTS: usize = 10;
const STUB: &str = "def to_roman(n):\n    raise NotImplementedError\n";
const TEST: &str = "from roman import to_roman\n\n\ndef test_four():\n    assert to_roman(4) == \"IV\"\n";
const CODE: &str = "def to_roman(n):\n    out = \"\"\n    for value, sign in [(5, \"V\"), (4, \"IV\"), (1, \"I\")]:\n        \
                    out, n = out + sign * (n // value), n % value\n    return out\n";

pub(super) fn measures(
    folder: &Path,
    length: Length,
    environment: &Environment,
    ours: &Program,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measure>> {
    let python = environment.virtual_env.as_ref().map_or(PathBuf::from("python3"), |venv| venv.join("bin/python"));
    let python = Program::new(python);
    let has_pytest = python.clone().args(["-c", "import pytest"]).output(LIMITS, stop);
    if !has_pytest.is_ok_and(|output| output.success()) {
        tell("no verdict on a suite of pytest, which is not installed");
        return Ok(Vec::new());
    }
    let mut measures = Vec::new();
    for &(seconds, turns) in length.verdicts() {
        tell(&format!("a GREEN verdict on a suite of {seconds} s"));
        let root = folder.join(format!("verdict-{seconds}"));
        let ours = ours.clone().arg("-C").arg(&root).cwd(&root).env("REDGREEN_WORKTREES", folder.join("rooms"));
        prepare(&root, seconds, &ours, stop)?;
        let judge = ours.args(["judge", "green"]);
        let medians = in_turns(&[judge, python.clone().args(["-m", "pytest", "-q"]).cwd(&root)], turns, stop)?;
        if let [own, bare] = medians.as_slice() {
            let name = format!("a GREEN verdict, suite of {seconds} s");
            measures.push(Measure::new(name, *own).against("one bare run", *bare));
        }
    }
    Ok(measures)
}

/// A repository with an old suite, an accepted RED and a GREEN on top.
fn prepare(root: &Path, seconds: usize, ours: &Program, stop: &Stop) -> Result<()> {
    let share = format!("{}.{:03}", seconds / TESTS, seconds * 1000 / TESTS % 1000);
    let old = (0..TESTS).fold("import time\n".to_owned(), |mut text, number| {
        writeln!(text, "\n\ndef test_{number}():\n    time.sleep({share})").ok();
        text
    });
    let files = [("pytest.ini", "[pytest]\n"), ("roman.py", STUB), ("tests/test_old.py", &old), ("conftest.py", "")];
    let git = Git::create_scratch(root, &files, "base")?;
    for (path, text, phase) in [("tests/test_roman.py", TEST, "red"), ("roman.py", CODE, "green")] {
        write(root, &[(path.to_owned(), text.to_owned())])?;
        for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", phase]] {
            let output = git.typed(arguments).output(LIMITS, stop)?;
            ensure!(output.success(), "git {}: {}", arguments.join(" "), output.stderr_text());
        }
        if phase == "red" {
            let judged = ours.clone().args(["judge", "red"]).output(LIMITS, stop).context("judge the RED")?;
            ensure!(judged.success(), "the RED of the bench was not accepted: {}", judged.stdout_text());
        }
    }
    Ok(())
}
