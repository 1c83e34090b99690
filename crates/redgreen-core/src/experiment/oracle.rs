//! GREEN: do the tests read a file that GREEN changed? With code that does nothing, only the tests
//! open data files. Such a file contains expected values, wherever it is, and must not change.
//! Needed for expected output, tables and fixtures outside of test folders. Data that the code
//! reads is not opened here, and may change.
//!
//! Code can contain expected values too: a helper that compares, a table of answers. Four facts
//! identify it: only tests use it, it does not use the other changed code, it returns nothing to
//! the tests except whether it holds, and a RED test fails both with the old version of it alone
//! and with the old version of everything else. Code that uses the other changed code is a part of
//! what is tested: the index of a package, a command line, a module above another one.

use super::calls::Recording;
use super::{
    Answer, Experiment, Material, Method, Question, Tree, selection, stand_in, target_files,
};
use crate::change::{ChangedPath, Class, Kind};
use crate::report::{Report, Status};
use crate::syntax::{self, Language, Project};
use crate::verdict::{Code, Reason};

/// The maximum number of files whose imports are read. In a larger project, usage is unknown.
const FILES_MAX: usize = 2000;

/// Existing data that GREEN changed. RED tests cannot have compared with data that is new in GREEN.
pub(super) fn oracle(material: &Material<'_>, files: &[String]) -> Option<Experiment> {
    let is_data = |changed: &&ChangedPath| {
        changed.class == Class::Implementation
            && changed.kind != Kind::Added
            && Language::of_path(&changed.path) == Language::Other
    };
    let data: Vec<String> =
        material.change.paths.iter().filter(is_data).map(|changed| changed.path.clone()).collect();
    if data.is_empty() {
        return None;
    }
    let (stand_ins, _) = stand_in::stand_ins(material, files);
    let what = "which changed data the tests open, with code that does nothing";
    let selection = selection(files, material.targets);
    let run = Experiment::of_tests(Question::Oracle, Tree::Head, selection.clone(), what);
    let way = Method::Watched { selection, files: data };
    (!stand_ins.is_empty()).then_some(Experiment { edits: stand_ins, way, ..run })
}

pub(super) fn weigh(report: &Report, opened: &[&str]) -> Answer {
    let tell = |path: &&str| {
        let sentence =
            format!("{path} was changed, and the tests read it: it contains expected values");
        Reason::new(Code::GreenTestsChanged, sentence).place(Some(path), None)
    };
    let reasons: Vec<Reason> =
        opened.iter().filter(|_| !report.tests.is_empty()).map(tell).collect();
    if reasons.is_empty() { Answer::Right } else { Answer::Wrong(reasons) }
}

/// Existing changed code that only tests use, with the other changed code.
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
    let changed_paths: Vec<&str> = changed.iter().map(|changed| changed.path.as_str()).collect();
    let is_helper = |changed: &&&ChangedPath| {
        let users: Vec<&String> =
            material.paths.iter().filter(|from| uses(material, from, &changed.path)).collect();
        changed.kind == Kind::Modified
            && users.iter().any(|user| tests.contains(user))
            && users.iter().all(|user| material.is_test(user))
            && !reaches(material, &changed.path, &changed_paths)
    };
    let helper = |helper: &&ChangedPath| {
        let others = changed.iter().filter(|changed| changed.path != helper.path);
        Helper {
            path: helper.path.clone(),
            others: others.map(|other| other.path.clone()).collect(),
        }
    };
    changed.iter().filter(is_helper).map(helper).collect()
}

fn uses(material: &Material<'_>, from: &str, path: &str) -> bool {
    from != path && used_by(material, from).iter().any(|to| to == path)
}

/// The files that a file imports.
fn used_by(material: &Material<'_>, from: &str) -> Vec<String> {
    let language = Language::of_path(from);
    let Some(source) = (material.now)(from) else { return Vec::new() };
    let project = Project { paths: material.paths, packages: material.packages };
    let imports = syntax::imports(language, &source);
    imports.iter().flat_map(|import| syntax::resolve(language, from, import, project)).collect()
}

/// Whether a file imports one of the others, directly or through other files.
fn reaches(material: &Material<'_>, from: &str, others: &[&str]) -> bool {
    let mut known = vec![from.to_owned()];
    let mut at = 0;
    while let Some(file) = known.get(at).cloned() {
        for next in used_by(material, &file) {
            if next != from && others.contains(&next.as_str()) {
                return true;
            }
            if !known.contains(&next) {
                known.push(next);
            }
        }
        at += 1;
    }
    false
}

/// Code that may contain expected values.
pub struct Helper {
    pub path: String,
    /// The other changed code.
    others: Vec<String>,
}

impl Helper {
    /// The RED tests with the old helper, and with the old version of everything else.
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
            let what = format!("the RED tests, with the old {}", files.join(", "));
            Experiment {
                edits,
                removed,
                ..Experiment::of_tests(Question::Oracle, Tree::Head, selection, &what)
            }
        })
    }

    /// The reason to ask a human, if a test passes only because both this file and the code under
    /// test changed.
    pub fn decides(
        &self,
        material: &Material<'_>,
        recording: &Recording,
        alone: &Report,
        others: &Report,
    ) -> Option<Reason> {
        let passes = |report: &Report, id: &str| {
            report.test(id).is_some_and(|test| test.status == Status::Passed)
        };
        let ran = !alone.tests.is_empty();
        let fails = |id: &&String| ran && !passes(alone, id) && !passes(others, id);
        let failing =
            material.targets.iter().find(fails).filter(|_| recording.only_checks(&self.path))?;
        let path = &self.path;
        let sentence = format!(
            "{path} was changed, only tests use it, and {failing} fails with the old {path}: it \
             contains expected values"
        );
        Some(Reason::new(Code::GreenTestsChanged, sentence).test(failing).place(Some(path), None))
    }
}
