//! Old tests that check less, or were removed. A feature may make a test obsolete: then it fails on
//! the new code. A test that still passes is not obsolete, and the new tests must detect what it
//! detects.

use std::path::Path;

use anyhow::Result;
use redgreen_core::change::{Change, ChangedPath, Class, Kind};
use redgreen_core::names::Oid;
use redgreen_core::phase::JudgedPhase;
use redgreen_core::proof::{Evidence, without_obsolete};
use redgreen_core::report::{Report, Test};
use redgreen_core::syntax::{self, ItemChange, Language};
use redgreen_core::verdict::Decision;

use super::{Case, Step, is_in, judged};
use crate::git::Git;

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
    let measured = case.measured(&old, apart(&files), evidence)?;
    if !measured.load_errors.is_empty() {
        let told = files.iter().map(|file| {
            format!("{file}: not compared with its old tests, which do not load with the new code")
        });
        evidence.not_verified.extend(told);
        return Ok(());
    }
    let (old, measured) = without_obsolete_tests(case, evidence, old, measured, &mut files)?;
    if files.is_empty() {
        return Ok(());
    }
    let mut known = measured;
    known.tests.retain(|test| is_in(test, &files) && !test.status.is_failure());
    let only = apart(&files);
    if only.is_empty() {
        known.tests.extend(shown.tests.iter().filter(|test| !is_in(test, &files)).cloned());
    }
    let step = Step::new(JudgedPhase::Refactor, &old, head, &known);
    let tried = case.hold(&Step { only, ..step }, evidence)?;
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

/// The tree and its results without the tests that fail in it, which are obsolete. Files for which
/// this is impossible are removed from the list.
fn without_obsolete_tests(
    case: &Case<'_>,
    evidence: &mut Evidence,
    old: Oid,
    measured: Report,
    files: &mut Vec<String>,
) -> Result<(Oid, Report)> {
    let git = &case.project.git;
    let failing: Vec<&Test> =
        measured.tests.iter().filter(|test| test.status.is_failure()).collect();
    if failing.is_empty() {
        return Ok((old, measured));
    }
    let is_everywhere = failing.iter().any(|test| test.file.is_none());
    let mut texts: Vec<(String, String)> = Vec::new();
    let mut unclear: Vec<String> = Vec::new();
    for file in files.iter() {
        let own: Vec<&Test> =
            failing.iter().filter(|test| test.file.as_ref() == Some(file)).copied().collect();
        let text = git.read_file(&old, file)?.and_then(|bytes| String::from_utf8(bytes).ok());
        match text.and_then(|text| without_obsolete(file, &text, &own)) {
            Some(text) if !is_everywhere => {
                if !own.is_empty() {
                    texts.push((file.clone(), text));
                }
            }
            Some(_) | None => unclear.push(file.clone()),
        }
    }
    let edits: Vec<(&Path, &str)> =
        texts.iter().map(|(path, text)| (Path::new(path), text.as_str())).collect();
    let rest = if edits.is_empty() { old } else { git.with_files(&old, &edits)? };
    files.retain(|file| !unclear.contains(file));
    let again = match edits.is_empty() || files.is_empty() {
        true => measured,
        false => case.measured(&rest, apart(files), evidence)?,
    };
    let fails = |file: &String| {
        let is_failing = |test: &Test| test.status.is_failure() && test.file.as_ref() == Some(file);
        !again.load_errors.is_empty() || again.tests.iter().any(is_failing)
    };
    let (failing, still): (Vec<String>, Vec<String>) = files.drain(..).partition(fails);
    unclear.extend(failing);
    *files = still;
    // redgreen cannot tell how much the others should check.
    let told = unclear
        .iter()
        .map(|file| format!("{file}: not compared with its old tests, because some are obsolete"));
    evidence.not_verified.extend(told);
    // Files without a comparison are as in the head.
    let as_in_head: Vec<&str> = unclear.iter().map(String::as_str).collect();
    let rest = match as_in_head.is_empty() {
        true => rest,
        false => git.with_paths_of(&rest, &case.trees.head, &as_in_head)?,
    };
    Ok((rest, again))
}

/// The files, if their tests run without the others. Otherwise none, which means all.
fn apart(files: &[String]) -> &[String] {
    let runs_apart = |file: &String| {
        let language = Language::of_path(file);
        language == Language::Python || language.is_script()
    };
    if files.iter().all(runs_apart) { files } else { &[] }
}

fn with_tests_of(git: &Git, head: &str, base: &str, files: &[String]) -> Result<Oid> {
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
