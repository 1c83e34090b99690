//! Facts of the change that decide without a test run: which files of which class a phase may not touch.

use super::bounded;
use crate::change::{Change, Class, Kind};
use crate::phase::JudgedPhase;
use crate::verdict::{Code, Reason};

/// What the changed paths alone show against a candidate, whatever its tests do.
pub fn facts(phase: JudgedPhase, change: &Change) -> Vec<Reason> {
    let mut reasons = submodules(change);
    match phase {
        JudgedPhase::Red => reasons.extend(touched_implementation(change)),
        JudgedPhase::Green => {
            reasons.extend(changed_tests(change));
            reasons.extend(changed_config(change, Code::GreenConfigChanged));
        }
        JudgedPhase::Refactor => reasons.extend(changed_config(change, Code::RefactorConfigChanged)),
    }
    reasons
}

fn submodules(change: &Change) -> Vec<Reason> {
    of_class(change, Class::Submodule, |path, _| {
        Some(Reason::new(Code::ChangeSubmodule, format!("{path} is a repository of its own")))
    })
}

/// Forms of data: a new file of them does nothing by itself, and may be what the tests compare with.
const DATA: &[&str] = &["csv", "html", "json", "jsonl", "md", "sql", "toml", "tsv", "txt", "xml", "yaml", "yml"];

/// Whether a path is one of data, by its ending.
pub(crate) fn is_data(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| DATA.contains(&ending))
}

fn touched_implementation(change: &Change) -> Vec<Reason> {
    of_class(change, Class::Implementation, |path, kind| {
        let sentence = format!("{path} was changed before the test was accepted");
        (kind != Kind::Added || !is_data(path)).then(|| Reason::new(Code::RedTouchesImplementation, sentence))
    })
}

/// New test files are welcome in GREEN; what RED froze is not to be touched.
fn changed_tests(change: &Change) -> Vec<Reason> {
    of_class(change, Class::Test, |path, kind| match kind {
        Kind::Added => None,
        Kind::Modified => Some(Reason::new(Code::GreenTestsChanged, format!("{path} was changed"))),
        Kind::Deleted => Some(Reason::new(Code::GreenTestsChanged, format!("{path} was deleted"))),
    })
}

fn changed_config(change: &Change, code: Code) -> Vec<Reason> {
    of_class(change, Class::RunnerConfig, |path, _| Some(Reason::new(code, format!("{path} was changed"))))
}

fn of_class(change: &Change, class: Class, tell: impl Fn(&str, Kind) -> Option<Reason>) -> Vec<Reason> {
    let paths = change.paths.iter().filter(|changed| changed.class == class);
    let told = paths
        .filter_map(|changed| tell(&changed.path, changed.kind).map(|reason| reason.place(Some(&changed.path), None)));
    bounded(told.collect())
}
