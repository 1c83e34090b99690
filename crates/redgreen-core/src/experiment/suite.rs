//! What is the result of every test? Runs all tests of a tree. The candidate's tests and runner
//! configuration are frozen. Nothing is overlaid, and the report is compared with that of the tree
//! before.

use super::{Experiment, Method, Question, Tree};
use crate::framework::invoke::Selection;
use crate::report::Test;
use crate::withheld::TestFile;

/// All tests of a tree.
pub fn on(tree: Tree) -> Experiment {
    let what = match tree {
        Tree::Base => "all tests on the base",
        Tree::Earlier => "all tests on the tree before the base",
        Tree::Head => "all tests on the candidate",
        Tree::AsIs => "all tests on the candidate, including those it added",
    };
    Experiment::of_tests(Question::Suite, tree, Selection::All, what)
}

/// The tests of some files, on the candidate.
pub fn of(files: &[String]) -> Experiment {
    let what = "the changed tests on the candidate";
    Experiment::of_tests(Question::Suite, Tree::Head, Selection::Files(files.to_vec()), what)
}

/// The same again.
pub fn repeated(tree: Tree, time: usize) -> Experiment {
    Experiment { time, question: Question::Again, ..on(tree) }
}

/// The files of the broken tests, again. Rust tests cannot be selected by file.
pub fn again(blamed: &[Test], time: usize) -> Experiment {
    let files: Option<Vec<String>> = blamed.iter().map(|test| test.file.clone()).collect();
    let files = files.filter(|files| files.iter().all(|file| !file.ends_with(".rs")));
    let selection = files.map_or(Selection::All, Selection::Files);
    let experiment =
        Experiment::of_tests(Question::Again, Tree::Head, selection, "the broken tests, again");
    Experiment { time, ..experiment }
}

/// Test files that GREEN added.
pub fn extra(files: &[String]) -> Experiment {
    let way = Method::Tests(Selection::Files(files.to_vec()));
    Experiment { way, what: "the tests added in GREEN".to_owned(), ..on(Tree::AsIs) }
}

/// Withheld test files, on the candidate; `alone` if the runner can select files.
pub fn withheld(files: &[&TestFile], alone: bool, time: usize) -> Experiment {
    let paths = || files.iter().map(|file| file.path.to_string());
    let selection = if alone { Selection::Files(paths().collect()) } else { Selection::All };
    let experiment =
        Experiment::of_tests(Question::Withheld, Tree::Head, selection, "the withheld tests");
    let edits = paths().zip(files.iter().map(|file| file.text.clone())).collect();
    Experiment { edits, time, ..experiment }
}
