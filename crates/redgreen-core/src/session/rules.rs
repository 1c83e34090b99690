//! Objections of the judge that are certain before any test runs: edits that are not allowed now.

mod hooks;

use crate::change::{self, Change, ChangedPath, Class, Kind};
use crate::framework::{FRAMEWORKS, Framework};
use crate::judge::reports;
use crate::phase::{JudgedPhase, Phase};
use crate::syntax::{self, ItemChange, Language, SOURCE_BYTES_MAX};
use crate::text;
use crate::verdict::{Code, Reason};

use super::{CandidateParts, Stage, TestChange};

pub use hooks::is_hook_file;

/// A file before and after; `None` if it does not exist.
#[derive(Clone, Copy, Debug)]
pub struct FileChange<'a> {
    pub path: &'a str,
    pub old: Option<&'a str>,
    pub new: NextPhase<'a>,
}

/// The result of an edit.
#[derive(Clone, Copy, Debug)]
pub enum NextPhase<'a> {
    Text(&'a str),
    Gone,
    /// Not known before the edit is done.
    Unknown,
}

/// The frameworks with these names, or all if none is known.
pub fn frameworks(names: &[String]) -> Vec<&'static Framework> {
    let known: Vec<&Framework> =
        FRAMEWORKS.iter().filter(|row| names.iter().any(|name| *name == row.name)).collect();
    if known.is_empty() { FRAMEWORKS.iter().collect() } else { known }
}

/// Whether the accepted text of a file decides what an edit of it means.
pub fn needs_old_text(stage: &Stage, path: &str, frameworks: &[&Framework]) -> bool {
    is_hook_file(path)
        || match (stage, change::classify(path, frameworks)) {
            (_, Class::Manifest | Class::RunnerConfig) => true,
            (Stage::Green { .. }, Class::Test | Class::Mixed) => true,
            (Stage::Green { .. } | Stage::Open, _) => false,
        }
}

/// The folder whose files a new file changes, because runners load it automatically. Whether there
/// are any decides what an edit means.
pub fn affected_folder(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_loaded = name == "conftest.py" || path.split('/').any(|part| part == "__mocks__");
    is_loaded.then_some(folder)
}

/// The judge's objections to the change of one file; empty if it is allowed. `has_files` tells
/// whether the accepted tree has files in the [`affected_folder`].
pub fn objections(
    stage: &Stage,
    changed: FileChange<'_>,
    frameworks: &[&Framework],
    has_files: bool,
) -> Vec<Reason> {
    let (phase, loading) = match stage {
        Stage::Green { .. } => (JudgedPhase::Green, Phase::Green),
        // A failing test may need a stub or a changed signature, and a file that runners load by
        // itself; the verdict decides about that.
        Stage::Open => (JudgedPhase::Refactor, Phase::Red),
    };
    let FileChange { path, old, new } = changed;
    let kind = match (old, new) {
        (None, NextPhase::Gone) => return Vec::new(),
        (None, NextPhase::Text(_) | NextPhase::Unknown) => Kind::Added,
        (Some(_), NextPhase::Gone) => Kind::Deleted,
        (Some(old), NextPhase::Text(text)) if old == text => return Vec::new(),
        (Some(_), NextPhase::Text(_) | NextPhase::Unknown) => Kind::Modified,
    };
    let before = old.unwrap_or_default();
    let text = match new {
        NextPhase::Text(text) => text,
        NextPhase::Gone | NextPhase::Unknown => "",
    };
    if is_hook_file(path) {
        let text = match new {
            NextPhase::Text(text) => Some(text),
            NextPhase::Gone => Some(""),
            NextPhase::Unknown => None,
        };
        let why = hooks::objection(path, before, text);
        let reason = |why| {
            Reason::new(Code::GreenConfigChanged, format!("{path} {why}")).place(Some(path), None)
        };
        return why.map(reason).into_iter().collect();
    }
    let mut class = change::classify(path, frameworks);
    let is_readable =
        matches!(new, NextPhase::Text(_)) && before.len().max(text.len()) <= SOURCE_BYTES_MAX;
    if is_readable && change::needs_a_look(phase.into(), class, kind) {
        class = change::look_closer(phase.into(), class, path, before, text);
    }
    let change = Change { paths: vec![ChangedPath { path: path.to_owned(), kind, class }] };
    let mut reasons = reports::facts(phase, &change);
    if class == Class::Manifest && !matches!(new, NextPhase::Unknown) {
        reasons.extend(change::manifest_ruling(phase.into(), path, before, text, frameworks));
    }
    let read = |_: &str| matches!(new, NextPhase::Text(_)).then(|| text.to_owned());
    // One name represents all files of the folder.
    let any = affected_folder(path).filter(|_| has_files).map(|folder| format!("{folder}/"));
    let known: Vec<&str> = any.as_deref().into_iter().collect();
    reasons.extend(change::hooks_added(loading, &change, &known, read));
    for reason in &mut reasons {
        if reason.code == Code::GreenTestsChanged && is_readable {
            name_items(reason, path, before, text);
        }
    }
    reasons
}

/// Names the tests that an edit changes.
fn name_items(reason: &mut Reason, path: &str, old: &str, new: &str) {
    let language = Language::of_path(path);
    let changed =
        syntax::test_block_frozen(language, path, old, new).into_iter().filter_map(|change| {
            match change {
                ItemChange::Removed(old) => Some(format!("{} was removed", old.name)),
                ItemChange::Changed { old, .. } | ItemChange::Weakened { old, .. } => {
                    Some(format!("{} changed", old.name))
                }
                ItemChange::Added(_) | ItemChange::Renamed { .. } => None,
            }
        });
    let changed: Vec<String> = changed.take(NAMED_MAX).collect();
    if !changed.is_empty() {
        let sentence = format!("{}: {}", reason.sentence, changed.join(", "));
        reason.sentence = text::without_line_breaks(&sentence).into_owned();
    }
}

/// Maximum number of changed tests to name.
const NAMED_MAX: usize = 3;

/// What a changed file contributes to the choice of the phase; the class is that of RED.
pub fn touched(changed: &ChangedPath, old: Option<&str>, new: Option<&str>) -> CandidateParts {
    let path = changed.path.as_str();
    let language = Language::of_path(path);
    let (before, after) = (old.unwrap_or_default(), new.unwrap_or_default());
    match changed.class {
        Class::Test | Class::MoreTests | Class::Snapshot => {
            // If the language has no parser, or the file cannot be read, a changed test file may
            // contain a new test.
            let is_read = language != Language::Other && (old.is_some() || new.is_some());
            let adds_tests = if is_read {
                adds_items(language, path, before, after)
            } else {
                changed.kind != Kind::Deleted
            };
            let tests = if adds_tests && !is_data(path, language) {
                TestChange::New
            } else {
                TestChange::Existing
            };
            CandidateParts { tests, ..CandidateParts::default() }
        }
        Class::Mixed => {
            let items = syntax::test_block_frozen(language, path, before, after);
            let is_new = |item: &ItemChange| matches!(item, ItemChange::Added(new) if new.is_test);
            let tests = match items.iter().any(is_new) {
                true => TestChange::New,
                false if items.is_empty() => TestChange::None,
                false => TestChange::Existing,
            };
            let code = match syntax::tests_over(language, path, after, before) {
                Some(only_tests) => !syntax::only_reformatted(language, &only_tests, after),
                None => !syntax::only_reformatted(language, before, after),
            };
            let code = code && !change::is_stub(path, before, after);
            CandidateParts { tests, code, ..CandidateParts::default() }
        }
        Class::Implementation | Class::Submodule => {
            CandidateParts { code: true, ..CandidateParts::default() }
        }
        Class::RunnerConfig if change::is_own_settings(path) => {
            CandidateParts { settings: true, ..CandidateParts::default() }
        }
        Class::Stub
        | Class::RunnerConfig
        | Class::Manifest
        | Class::Documentation
        | Class::TestList => CandidateParts::default(),
    }
}

fn adds_items(language: Language, path: &str, old: &str, new: &str) -> bool {
    let items = syntax::test_block_frozen(language, path, old, new);
    items.iter().any(|item| matches!(item, ItemChange::Added(added) if added.is_test))
}

/// Test data is not a test.
fn is_data(path: &str, language: Language) -> bool {
    language == Language::Other && reports::is_data(path)
}

impl CandidateParts {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tests: self.tests.max(other.tests),
            code: self.code || other.code,
            settings: self.settings || other.settings,
        }
    }
}

#[cfg(test)]
mod tests;
