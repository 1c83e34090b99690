//! What a candidate changes, read from the two trees.

use std::collections::BTreeSet;

use anyhow::Result;
use redgreen_core::change::{self, Change, ChangedPath, Class, Kind};
use redgreen_core::framework::Framework;
use redgreen_core::phase::Phase;
use redgreen_core::report::Report;
use redgreen_core::syntax::SOURCE_BYTES_MAX;
use redgreen_core::verdict::Reason;

use crate::git::{Git, Status};
use crate::room::{Frozen, Options};

/// What the candidate changes, and what each path is to the phase.
pub(crate) fn change(git: &Git, phase: Phase, base: &str, head: &str, frameworks: &[&Framework]) -> Result<Change> {
    let mut paths = Vec::new();
    for changed in git.diff(base, head)? {
        let kind = match changed.status {
            Status::Added => Kind::Added,
            Status::Deleted => Kind::Deleted,
            Status::Modified | Status::TypeChanged => Kind::Modified,
        };
        let mut class = change::classify(&changed.path, frameworks);
        if changed.is_submodule() {
            class = Class::Submodule;
        } else if change::needs_a_look(phase, class, kind)
            && let Some((old, new)) = both_versions(git, base, head, &changed.path)?
        {
            class = change::look_closer(phase, class, &changed.path, &old, &new);
        }
        paths.push(ChangedPath { path: changed.path, kind, class });
    }
    Ok(Change { paths })
}

/// What was done to the parts of manifests that tell runners what to do, and to files that only tools read.
pub(super) fn configuration(git: &Git, phase: Phase, base: &str, head: &str, change: &Change) -> Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    for changed in &change.paths {
        if changed.class == Class::Manifest
            && let Some((old, new)) = both_versions(git, base, head, &changed.path)?
        {
            reasons.extend(change::manifest_ruling(phase, &changed.path, &old, &new));
        }
    }
    let files = git.tree_files(base)?;
    let known: Vec<&str> = files.iter().filter_map(|file| file.path.to_str()).collect();
    let read = |path: &str| String::from_utf8(git.read_file(head, path).ok()??).ok();
    reasons.extend(change::hooks_added(phase, change, &known, read));
    Ok(reasons)
}

/// Test files that GREEN brought along: welcome, and kept apart from those that decide.
pub(super) fn extra_tests(phase: Phase, change: &Change) -> Vec<String> {
    let more = |changed: &&ChangedPath| super::is_added_test(changed) || changed.class == Class::MoreTests;
    let added = change.paths.iter().filter(|_| phase == Phase::Green).filter(more);
    added.map(|changed| changed.path.clone()).collect()
}

/// How a candidate is laid out for the run that decides: with the tests as RED left them.
pub(super) fn frozen(phase: Phase, base: &str, change: &Change) -> Options {
    let mut options = Options { base: Some(base.to_owned()), ..Options::default() };
    for path in extra_tests(phase, change) {
        let known = change.paths.iter().any(|changed| changed.path == path && changed.kind == Kind::Modified);
        match known {
            true => options.frozen.push(Frozen { tree: base.to_owned(), path: path.into() }),
            false => options.removed.push(path.into()),
        }
    }
    options
}

/// The tests that fail in a report.
pub(super) fn failing(report: &Report) -> Vec<String> {
    let failing: BTreeSet<&str> =
        report.tests.iter().filter(|test| test.status.is_failure()).map(|test| test.id.as_str()).collect();
    failing.into_iter().map(str::to_owned).collect()
}

/// A file before and after, if it is text of a size that can be read; one that is not there is empty.
fn both_versions(git: &Git, old: &str, new: &str, path: &str) -> Result<Option<(String, String)>> {
    let mut texts = Vec::new();
    for tree in [old, new] {
        let bytes = git.read_file(tree, path)?.unwrap_or_default();
        let text = (bytes.len() <= SOURCE_BYTES_MAX).then(|| String::from_utf8(bytes).ok()).flatten();
        texts.extend(text);
    }
    Ok(<[String; 2]>::try_from(texts).ok().map(|[old, new]| (old, new)))
}
