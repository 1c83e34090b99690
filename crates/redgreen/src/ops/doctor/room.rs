//! The tests as a run starts with them: the last commit, in the clean room. Lists tests that fail
//! only there, with the setting that would help.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use redgreen_core::report::{Report, room};

use super::{Check, suite, unless_stopped};
use crate::config::{self, Environment};
use crate::ops;
use crate::process::Stop;
use crate::trial;
use crate::view;

/// The maximum number of tests to list.
const NAMED_MAX: usize = 20;

/// `outside` is the result in the checkout. Returns nothing if there is no commit, because another
/// check reports that.
pub(super) fn check(
    start: &Path,
    environment: &Environment,
    outside: &Report,
    stop: &Stop,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Check>> {
    let Ok(project) = ops::open(start, environment.clone(), stop).and_then(ops::with_packages)
    else {
        return Ok(Vec::new());
    };
    let (git, ground) = (&project.git, project.ground());
    let Ok(head) = git.head() else { return Ok(Vec::new()) };
    if !project.file.worktree.setup.is_empty() {
        let saw = "not tried: the tests need worktree.setup, which only runs execute";
        return Ok(vec![Check::note("room", "looked at worktree.setup", saw)]);
    }
    tell("running every test in the clean room");
    let timeout = Duration::from_millis(project.file.policy(environment)?.red_timeout_ms);
    let tree = git.tree_of(&head.commit)?;
    let measured = match unless_stopped(trial::measure(ground, &tree, timeout))? {
        Ok(measured) => measured.report,
        Err(error) => {
            return Ok(vec![Check::bad(
                "room",
                "all tests in the clean room",
                &error,
                "redgreen doctor",
            )]);
        }
    };
    let mut ran = format!("{} in the clean room ({})", measured.command, measured.exit);
    if !git.dirty_count()?.is_clean() {
        ran.push_str("; it contains the last commit, not your uncommitted changes");
    }
    let found = trial::explain(ground, &tree, outside, &measured)?;
    let counts = measured.counts();
    let mut saw =
        format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    if counts.load_errors > 0 {
        saw.push_str(&format!(", {} not loaded", counts.load_errors));
    }
    let lines = view::only_there(&found);
    for line in lines.iter().take(NAMED_MAX) {
        saw.push_str(&format!("\n{line}"));
    }
    if lines.len() > NAMED_MAX {
        saw.push_str(&format!("\nand {} more", lines.len() - NAMED_MAX));
    }
    let settings = room::settings(found.iter().map(|(_, help)| help));
    let fix = |check: Check| match settings.as_slice() {
        [] => check.fix("redgreen test"),
        settings => check.fix(format!("set {} in {}", settings.join(" and "), config::FILE)),
    };
    Ok(vec![if !measured.is_baseline() {
        fix(Check::wrong("room", ran, format!("{saw}\n{}", suite::words(&measured))))
    } else if found.is_empty() {
        Check::good(
            "room",
            ran,
            format!("{saw}; everything that passes in your checkout passes here"),
        )
    } else {
        fix(Check::note("room", ran, saw))
    }])
}
