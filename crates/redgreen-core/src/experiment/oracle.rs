//! GREEN: do the tests themselves read a file that GREEN changed? With code that does nothing in place, whatever data is
//! opened is opened by the tests: it is what they compare with, wherever it lies, and it may not change. Needed for expected
//! output, tables and fixtures outside of the folders of tests. Data that the code reads is not opened here, and is the
//! code's to change.
//!
//! Code can be an expectation as well: a helper that compares, a table of right answers. It is known by three facts: nothing
//! but tests uses it, it gives the tests nothing to look at but whether it holds, and a test of RED fails when it alone is as
//! it was before, and also when everything else is.

use super::calls::Recording;
use super::{Answer, Experiment, Material, Question, Tree, Way, selection, stand_in, target_files};
use crate::change::{ChangedPath, Class, Kind};
use crate::report::{Report, Status};
use crate::syntax::{self, Language, Project};
use crate::verdict::{Code, Reason};

/// Files whose imports are read; in a larger project nobody says who uses what.
const FILES_MAX: usize = 2000;

/// Data that GREEN changed and that was there before: what is new in GREEN, no test of RED could have compared with.
pub(super) fn oracle(material: &Material<'_>, files: &[String]) -> Option<Experiment> {
    let is_data = |changed: &&ChangedPath| {
        changed.class == Class::Implementation
            && changed.kind != Kind::Added
            && Language::of_path(&changed.path) == Language::Other
    };
    let data: Vec<String> = material.change.paths.iter().filter(is_data).map(|changed| changed.path.clone()).collect();
    if data.is_empty() {
        return None;
    }
    let (stand_ins, _) = stand_in::stand_ins(material, files);
    let what = "which changed data the tests open, with code that does nothing";
    let selection = selection(files, material.targets);
    let run = Experiment::of_tests(Question::Oracle, Tree::Head, selection.clone(), what);
    let way = Way::Watched { selection, files: data };
    (!stand_ins.is_empty()).then_some(Experiment { edits: stand_ins, way, ..run })
}

pub(super) fn weigh(report: &Report, opened: &[&str]) -> Answer {
    let tell = |path: &&str| {
        let sentence = format!("{path} was changed, and the tests themselves read it: it is what they compare with");
        Reason::new(Code::GreenTestsChanged, sentence).place(Some(path), None)
    };
    let reasons: Vec<Reason> = opened.iter().filter(|_| !report.tests.is_empty()).map(tell).collect();
    if reasons.is_empty() { Answer::Right } else { Answer::Wrong(reasons) }
}

/// Changed code that was there before and that only tests use, with the other code that changed.
pub fn helpers(material: &Material<'_>) -> Vec<Helper> {
    let is_code = |changed: &&ChangedPath| {
        matches!(changed.class, Class::Implementation | Class::Mixed)
            && Language::of_path(&changed.path) != Language::Other
    };
    let changed: Vec<&ChangedPath> = material.change.paths.iter().filter(is_code).collect();
    if changed.len() < 2 || material.paths.len() > FILES_MAX {
        return Vec::new();
    }
    let tests = target_files(material);
    let is_helper = |changed: &&&ChangedPath| {
        let users: Vec<&String> = material.paths.iter().filter(|from| uses(material, from, &changed.path)).collect();
        changed.kind == Kind::Modified
            && users.iter().any(|user| tests.contains(user))
            && users.iter().all(|user| material.is_test(user))
    };
    let helper = |helper: &&ChangedPath| {
        let others = changed.iter().filter(|changed| changed.path != helper.path);
        Helper { path: helper.path.clone(), others: others.map(|other| other.path.clone()).collect() }
    };
    changed.iter().filter(is_helper).map(helper).collect()
}

fn uses(material: &Material<'_>, from: &str, path: &str) -> bool {
    let language = Language::of_path(from);
    let Some(source) = (material.now)(from).filter(|_| from != path) else { return false };
    let project = Project { paths: material.paths, packages: material.packages };
    let means = |import: &syntax::Import| syntax::resolve(language, from, import, project).iter().any(|to| to == path);
    syntax::imports(language, &source).iter().any(means)
}

/// Code that tests may compare with.
pub struct Helper {
    pub path: String,
    /// The other code that changed.
    others: Vec<String>,
}

impl Helper {
    /// The tests of RED, with the helper as it was before, and with everything else as it was before.
    pub fn experiments(&self, material: &Material<'_>) -> [Experiment; 2] {
        [std::slice::from_ref(&self.path), &self.others].map(|files| {
            let (mut edits, mut removed) = (Vec::new(), Vec::new());
            for file in files {
                match (material.before)(file) {
                    Some(old) => edits.push((file.clone(), old)),
                    None => removed.push(file.clone()),
                }
            }
            let selection = selection(&target_files(material), material.targets);
            let what = format!("the tests of RED, with {} as before", files.join(", "));
            Experiment { edits, removed, ..Experiment::of_tests(Question::Oracle, Tree::Head, selection, &what) }
        })
    }

    /// The reason to ask a human, if a test passes only because of the change to this file and of what it is about.
    pub fn decides(
        &self,
        material: &Material<'_>,
        recording: &Recording,
        alone: &Report,
        others: &Report,
    ) -> Option<Reason> {
        let passes = |report: &Report, id: &str| report.test(id).is_some_and(|test| test.status == Status::Passed);
        let ran = !alone.tests.is_empty();
        let fails = |id: &&String| ran && !passes(alone, id) && !passes(others, id);
        let failing = material.targets.iter().find(fails).filter(|_| recording.only_checks(&self.path))?;
        let path = &self.path;
        let sentence = format!(
            "{path} was changed, only tests use it, and {failing} fails with {path} as it was before: it is what the test \
             compares with"
        );
        Some(Reason::new(Code::GreenTestsChanged, sentence).test(failing).place(Some(path), None))
    }
}
