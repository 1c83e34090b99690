//! GREEN: do the tests themselves read a file that GREEN changed? With code that does nothing in place, whatever data is
//! opened is opened by the tests: it is what they compare with, wherever it lies, and it may not change. Needed for expected
//! output, tables and fixtures outside of the folders of tests. Data that the code reads is not opened here, and is the
//! code's to change.

use super::{Answer, Experiment, Material, Question, Tree, Way, selection, stand_in};
use crate::change::{ChangedPath, Class, Kind};
use crate::report::Report;
use crate::syntax::Language;
use crate::verdict::{Code, Reason};

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
    (!stand_ins.is_empty()).then(|| Experiment {
        question: Question::Oracle,
        tree: Tree::Head,
        edits: stand_ins,
        removed: Vec::new(),
        way: Way::Watched { selection: selection(files, material.targets), files: data },
        variables: Vec::new(),
        about: Vec::new(),
        what: "which changed data the tests open, with code that does nothing".to_owned(),
        otherwise: None,
        time: 0,
    })
}

pub(super) fn weigh(report: &Report, opened: &[&str]) -> Answer {
    let tell = |path: &&str| {
        let sentence = format!("{path} was changed, and the tests themselves read it: it is what they compare with");
        Reason::new(Code::GreenTestsChanged, sentence).place(Some(path), None)
    };
    let reasons: Vec<Reason> = opened.iter().filter(|_| !report.tests.is_empty()).map(tell).collect();
    if reasons.is_empty() { Answer::Right } else { Answer::Wrong(reasons) }
}
