//! Old tests that check less, or were removed. A feature may make a test obsolete: then it fails on
//! the new code. A test that still passes is not obsolete, and the new tests must detect what it
//! detects.

use anyhow::Result;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::phase::JudgedPhase;
use redgreen_core::proof::Evidence;
use redgreen_core::report::{Report, Test};
use redgreen_core::syntax::{self, ItemChange, Language};
use redgreen_core::verdict::Decision;

use super::{Case, Step, is_in, judged};
use crate::git::Git;
use crate::trial;

/// Compares old tests with those of the range, on the code of the head. `shown` is the report of
/// the head.
pub(super) fn compare(
    case: &Case<'_>,
    evidence: &mut Evidence,
    change: &Change,
    shown: &Report,
) -> Result<()> {
    let git = &case.project.git;
    let (base, head) = (&case.trees.base, &case.trees.head);
    let is_exempt =
        |changed: &&ChangedPath| evidence.policy.exemption(Some(&changed.path), None).is_some();
    let changed =
        change.paths.iter().filter(|one| one.class == Class::Test && one.kind != Kind::Added);
    let changed =
        changed.filter(|one| !is_exempt(one)).filter(|one| asks_for_less(git, base, head, one));
    let mut files: Vec<String> = changed.map(|one| one.path.clone()).collect();
    if files.is_empty() {
        return Ok(());
    }
    let old = with_tests_of(git, head, base, &files)?;
    let measured =
        trial::measure(case.ground(), &old, case.timeout(JudgedPhase::Refactor)?)?.report;
    evidence.tests_ms += measured.wall_ms;
    // If one test of a file is obsolete, redgreen cannot tell how much the others should check.
    let failing: Vec<&Test> =
        measured.tests.iter().filter(|test| test.status.is_failure()).collect();
    let is_obsolete = |file: &String| {
        failing.iter().any(|test| test.file.as_ref().is_none_or(|home| home == file))
    };
    let (obsolete, still): (Vec<String>, Vec<String>) = files.drain(..).partition(is_obsolete);
    let told = obsolete
        .iter()
        .map(|file| format!("{file}: not compared with its old tests, because some are obsolete"));
    evidence.not_verified.extend(told);
    if still.is_empty() || !measured.load_errors.is_empty() {
        return Ok(());
    }
    let old = with_tests_of(git, head, base, &still)?;
    let mut known = measured;
    known.tests.retain(|test| is_in(test, &still) && !test.status.is_failure());
    known.tests.extend(shown.tests.iter().filter(|test| !is_in(test, &still)).cloned());
    let tried = case.hold(&Step::new(JudgedPhase::Refactor, &old, head, &known), evidence)?;
    match tried.verdict.decision {
        Decision::Accepted => {}
        Decision::Refused => {
            let what = "the old and the new tests, on the new code";
            evidence.steps.push(judged(JudgedPhase::Refactor, what, tried));
        }
        // No experiment failed. A reviewer may read the text.
        Decision::Undecided => {
            let told = tried.verdict.reasons.iter().map(|reason| reason.sentence.clone());
            evidence.not_verified.extend(told);
        }
    }
    Ok(())
}

fn with_tests_of(
    git: &Git,
    head: &str,
    base: &str,
    files: &[String],
) -> Result<redgreen_core::names::Oid> {
    git.with_paths_of(head, base, &files.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether the text says that a test was removed or checks less. This is only a reason to compare.
fn asks_for_less(git: &Git, base: &str, head: &str, changed: &ChangedPath) -> bool {
    let read = |tree: &str| {
        let bytes = git.read_file(tree, &changed.path).ok().flatten();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    };
    let language = Language::of_path(&changed.path);
    let changes = syntax::test_block_frozen(language, &changed.path, &read(base), &read(head));
    changes.iter().any(|change| match change {
        ItemChange::Weakened { old, .. } | ItemChange::Removed(old) => old.is_test,
        ItemChange::Changed { .. } | ItemChange::Added(_) | ItemChange::Renamed { .. } => false,
    })
}
