//! Reads the changes of a candidate from the two trees.

use std::collections::BTreeSet;

use anyhow::Result;
use redgreen_core::change::{self, Change, ChangedPath, Class, Kind};
use redgreen_core::framework::Framework;
use redgreen_core::phase::Phase;
use redgreen_core::syntax::SOURCE_BYTES_MAX;
use redgreen_core::verdict::Reason;

use crate::git::{Git, Status};
use crate::room::{FrozenPath, Options};

/// The changes of the candidate, with the class of each path in this phase.
pub(crate) fn change(
    git: &Git,
    phase: Phase,
    base: &str,
    head: &str,
    frameworks: &[&Framework],
) -> Result<Change> {
    let mut paths = Vec::new();
    for changed in git.diff(base, head)? {
        let kind = match changed.status {
            Status::Added => Kind::Added,
            Status::Deleted => Kind::Deleted,
            Status::Modified | Status::TypeChanged => Kind::Modified,
        };
        let submodule = changed.is_submodule();
        let class =
            if submodule { Class::Submodule } else { change::classify(&changed.path, frameworks) };
        paths.push(ChangedPath { path: changed.path, kind, class });
    }
    let looked_at: Vec<&mut ChangedPath> = paths
        .iter_mut()
        .filter(|changed| change::needs_a_look(phase, changed.class, changed.kind))
        .collect();
    let names: Vec<String> = looked_at.iter().map(|changed| changed.path.clone()).collect();
    let texts = both_versions(git, base, head, &names)?;
    for (changed, versions) in looked_at.into_iter().zip(texts) {
        if let Some((old, new)) = versions {
            changed.class = change::look_closer(phase, changed.class, &changed.path, &old, &new);
        }
    }
    Ok(Change { paths })
}

/// What was done to the parts of manifests that tell runners what to do, and to files that only
/// tools read.
pub(super) fn configuration(
    git: &Git,
    phase: Phase,
    trees: (&str, &str),
    change: &Change,
    frameworks: &[&Framework],
) -> Result<Vec<Reason>> {
    let (base, head) = trees;
    let manifests = change.paths.iter().filter(|changed| changed.class == Class::Manifest);
    let manifests: Vec<String> = manifests.map(|changed| changed.path.clone()).collect();
    let mut reasons = Vec::new();
    for (path, versions) in manifests.iter().zip(both_versions(git, base, head, &manifests)?) {
        let (old, new) = versions.unwrap_or_default();
        reasons.extend(change::manifest_ruling(phase, path, &old, &new, frameworks));
    }
    let files = git.tree_files(base)?;
    let known: Vec<&str> = files.iter().filter_map(|file| file.path.to_str()).collect();
    let read = |path: &str| String::from_utf8(git.read_file(head, path).ok()??).ok();
    reasons.extend(change::hooks_added(phase, change, &known, read));
    Ok(reasons)
}

/// Test files added in GREEN, which are allowed but do not decide.
pub(super) fn extra_tests(phase: Phase, change: &Change) -> Vec<String> {
    let more =
        |changed: &&ChangedPath| super::is_added_test(changed) || changed.class == Class::MoreTests;
    let added = change.paths.iter().filter(|_| phase == Phase::Green).filter(more);
    added.map(|changed| changed.path.clone()).collect()
}

/// The files of a candidate in the deciding run: with the tests as RED left them.
pub(super) fn frozen(phase: Phase, base: &str, change: &Change) -> Options {
    let mut options = Options { base: Some(base.to_owned()), ..Options::default() };
    for path in extra_tests(phase, change) {
        let known = change
            .paths
            .iter()
            .any(|changed| changed.path == path && changed.kind == Kind::Modified);
        match known {
            true => options.frozen.push(FrozenPath { tree: base.to_owned(), path: path.into() }),
            false => options.removed.push(path.into()),
        }
    }
    options
}

/// Both versions of files, if they are small texts. A missing file is empty.
fn both_versions(
    git: &Git,
    old: &str,
    new: &str,
    paths: &[String],
) -> Result<Vec<Option<(String, String)>>> {
    let asked: Vec<(&str, &str)> =
        paths.iter().flat_map(|path| [(old, path.as_str()), (new, path.as_str())]).collect();
    let present = |tree: &str| -> Result<BTreeSet<String>> {
        let files = git.tree_files(tree)?;
        Ok(files.iter().filter_map(|file| file.path.to_str().map(str::to_owned)).collect())
    };
    let (in_old, in_new) = (present(old)?, present(new)?);
    let texts = git.read_texts(&asked)?;
    let pairs = paths.iter().zip(texts.chunks_exact(2)).map(|(path, pair)| {
        let [before, after] = pair else { return None };
        let known = |text: &Option<String>, present: bool| match text {
            None if present => None,
            None => Some(String::new()),
            Some(text) => (text.len() <= SOURCE_BYTES_MAX).then(|| text.clone()),
        };
        Some((known(before, in_old.contains(path))?, known(after, in_new.contains(path))?))
    });
    Ok(pairs.collect())
}
