//! GREEN: do the RED tests pass alone, in another order, and twice? Tests of behaviour do. Needed
//! for code whose result depends on how often it was called: a counter, an attribute, a file or a
//! cache that satisfies contradicting tests, or results stored in the order of the tests.
//!
//! pytest runs all RED tests in one process, last one first, and then again; so do the programs of
//! [`super::bodies`]. Other runners have no order option: the last and the first test run alone,
//! and the others if there is time. A failure counts only after a second try.

use super::{Experiment, Material, Question, Tree, selection, target_files};
use crate::framework::invoke::Selection;
use crate::framework::{self, Home};
use crate::report::{Report, Status, Test};
use crate::syntax::{self, Language};
use crate::verdict::{Code, Reason};

/// Read by our pytest plugin: the tests in reverse order, twice.
const ORDER: &str = "REDGREEN_ORDER";
const TWICE: &str = "reversed-twice";
/// The number of tests that always run alone. The others run if there is time.
pub const ALONE_MIN: usize = 2;
/// The maximum number of tests to run alone, and to examine after they failed in another order.
const ALONE_MAX: usize = 20;
const SUSPECTS_MAX: usize = 3;

/// Experiments that always run, and those that run if there is time.
#[derive(Debug, Default)]
pub struct Orders {
    pub first: Vec<Experiment>,
    pub more: Vec<Experiment>,
}

pub fn orders(material: &Material<'_>) -> Orders {
    let files = target_files(material);
    let Selection::Files(files) = selection(&files, material.targets) else {
        return Orders::default();
    };
    let passing = passing(material);
    if material.after.runner == "pytest" && !passing.is_empty() {
        let all = Experiment::of_tests(
            Question::Order,
            Tree::Head,
            Selection::Files(files),
            "the RED tests in one process, in reverse order, twice",
        );
        return Orders {
            first: vec![Experiment { variables: vec![twice()], ..all }],
            more: Vec::new(),
        };
    }
    // The only test of a suite already runs alone.
    if material.after.tests.iter().filter(|test| !test.status.is_idle()).count() < 2 {
        return Orders::default();
    }
    let ends = passing.last().into_iter().chain(passing.first().filter(|_| passing.len() > 1));
    let between = passing.iter().rev().skip(1).take(passing.len().saturating_sub(ALONE_MIN));
    Orders {
        first: ends.map(|id| alone(id, 0)).collect(),
        more: between.take(ALONE_MAX).map(|id| alone(id, 0)).collect(),
    }
}

/// One test in its own process.
pub fn alone(id: &str, time: usize) -> Experiment {
    let selection = Selection::One(id.to_owned());
    Experiment {
        time,
        ..Experiment::of_tests(Question::Order, Tree::Head, selection, &format!("{id}, alone"))
    }
}

/// The rows of the same test alone, on an earlier tree. `None` for a test without rows.
pub fn rows_before(id: &str, tree: Tree) -> Option<Experiment> {
    let told = framework::identity(id);
    let case = told.case.filter(|_| matches!(told.home, Home::File(_)))?;
    let item = id.strip_suffix(&format!("[{case}]"))?;
    let what = format!("the rows of {item} alone, on the base");
    Some(Experiment { tree, what, ..alone(item, 1) })
}

/// Whether an old row, which passes with the whole suite, already failed alone before the
/// candidate. Then the test itself depends on order. On the candidate's base, RED tests fail for
/// another reason.
pub fn was_so_before(material: &Material<'_>, tree: Tree, rows: &Report) -> bool {
    let is_old = |test: &&Test| tree == Tree::Earlier || !material.targets.contains(&test.id);
    let passes =
        |id: &str| material.after.test(id).is_some_and(|test| test.status == Status::Passed);
    rows.tests.iter().filter(is_old).any(|test| test.status.is_failure() && passes(&test.id))
}

/// One test, twice in the same process. Only pytest supports this.
pub fn repeated(id: &str) -> Experiment {
    let what = format!("{id}, twice in one process");
    Experiment { variables: vec![twice()], what, ..alone(id, 1) }
}

/// The RED tests that passed with the whole suite and failed here.
pub fn suspects(material: &Material<'_>, report: &Report) -> Vec<String> {
    passing(material).into_iter().rev().filter(|id| fails(report, id)).take(SUSPECTS_MAX).collect()
}

pub fn fails(report: &Report, id: &str) -> bool {
    let told = framework::identity(id);
    let own = |test: &&Test| test.id == id || told.runs(&test.identity());
    report.tests.iter().filter(own).any(|test| test.status.is_failure())
}

/// The reason for a test that fails alone.
pub fn only_after_others(id: &str) -> Reason {
    let sentence = format!(
        "{id} passes only after other tests and fails alone: the result depends on how often or in \
         which order the code was called"
    );
    Reason::new(Code::GreenSuspicious, sentence).test(id)
}

/// The reason for a test that fails the second time, if the tests expect two results of the same
/// call. Otherwise a test that cannot be repeated proves nothing: the code may keep a cache, or
/// refuse to register a name twice.
pub fn only_once(material: &Material<'_>, id: &str) -> Option<Reason> {
    let call = contradiction(material)?;
    let sentence = format!(
        "{id} passes only the first time it runs in a process, and the tests expect two results of \
         {call}: the code counts its calls"
    );
    Some(Reason::new(Code::GreenSuspicious, sentence).test(id))
}

/// A call for which the RED tests expect two results.
fn contradiction(material: &Material<'_>) -> Option<String> {
    let mut known: Vec<(String, String)> = Vec::new();
    for file in target_files(material) {
        let language = Language::of_path(&file);
        let Some(source) = (material.now)(&file) else { continue };
        known.extend(syntax::written_answers(language, &file, &source));
    }
    let other = |(call, expected): &&(String, String)| {
        known.iter().any(|(known, other)| known == call && other != expected)
    };
    known.iter().find(other).map(|(call, _)| call.clone())
}

/// The RED tests that pass, in the order in which they ran.
fn passing(material: &Material<'_>) -> Vec<String> {
    let tests = material.after.tests.iter().filter(|test| material.targets.contains(&test.id));
    tests.filter(|test| test.status == Status::Passed).map(|test| test.id.clone()).collect()
}

fn twice() -> (&'static str, String) {
    (ORDER, TWICE.to_owned())
}
