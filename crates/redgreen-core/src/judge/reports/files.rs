//! Facts about the change that decide without a test run: files that a phase must not change.

use super::bounded;
use crate::change::{Change, Class, Kind};
use crate::phase::JudgedPhase;
use crate::verdict::{Code, Reason};

/// Reasons against a candidate that follow from the changed paths alone.
pub fn facts(phase: JudgedPhase, change: &Change) -> Vec<Reason> {
    let mut reasons = submodules(change);
    match phase {
        JudgedPhase::Red => reasons.extend(touched_implementation(change)),
        JudgedPhase::Green => {
            reasons.extend(changed_tests(change));
            reasons.extend(changed_config(change, Code::GreenConfigChanged));
        }
        JudgedPhase::Refactor => {
            reasons.extend(changed_config(change, Code::RefactorConfigChanged));
        }
    }
    reasons
}

fn submodules(change: &Change) -> Vec<Reason> {
    of_class(change, Class::Submodule, |path, _| {
        Some(Reason::new(Code::ChangeSubmodule, format!("{path} is a separate repository")))
    })
}

/// Data formats. A new data file does nothing on its own, and tests may compare with it.
const DATA: &[&str] =
    &["csv", "html", "json", "jsonl", "md", "sql", "toml", "tsv", "txt", "xml", "yaml", "yml"];

/// Whether a path is a data file, by its extension.
pub(crate) fn is_data(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| DATA.contains(&ending))
}

fn touched_implementation(change: &Change) -> Vec<Reason> {
    of_class(change, Class::Implementation, |path, kind| {
        let sentence = format!("{path} was changed before the test was accepted");
        (kind != Kind::Added || !is_data(path))
            .then(|| Reason::new(Code::RedTouchesImplementation, sentence))
    })
}

/// New test files are allowed in GREEN. Files that RED froze must not change.
fn changed_tests(change: &Change) -> Vec<Reason> {
    of_class(change, Class::Test, |path, kind| match kind {
        Kind::Added => None,
        Kind::Modified => Some(Reason::new(Code::GreenTestsChanged, format!("{path} was changed"))),
        Kind::Deleted => Some(Reason::new(Code::GreenTestsChanged, format!("{path} was deleted"))),
    })
}

fn changed_config(change: &Change, code: Code) -> Vec<Reason> {
    of_class(change, Class::RunnerConfig, |path, _| {
        Some(Reason::new(code, format!("{path} was changed")))
    })
}

fn of_class(
    change: &Change,
    class: Class,
    tell: impl Fn(&str, Kind) -> Option<Reason>,
) -> Vec<Reason> {
    let paths = change.paths.iter().filter(|changed| changed.class == class);
    let told = paths.filter_map(|changed| {
        tell(&changed.path, changed.kind).map(|reason| reason.place(Some(&changed.path), None))
    });
    bounded(told.collect())
}
