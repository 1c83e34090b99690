//! What is the result of every test? All tests of a tree; the candidate's with tests and runner configuration as they were
//! frozen. Nothing is laid over the tree, and the report is compared with that of the tree before.

use super::{Experiment, Question, Tree, Way};
use crate::framework::invoke::Selection;
use crate::report::Test;
use crate::withheld::TestFile;

/// All tests of a tree.
pub fn on(tree: Tree) -> Experiment {
    let what = match tree {
        Tree::Base => "all tests on the code before",
        Tree::Earlier => "all tests of the tree before that",
        Tree::Head => "all tests on the candidate",
        Tree::AsIs => "all tests of the candidate, its own included",
    };
    Experiment::of_tests(Question::Suite, tree, Selection::All, what)
}

/// The tests of some files, on the candidate.
pub fn of(files: &[String]) -> Experiment {
    let what = "the changed tests on the candidate";
    Experiment::of_tests(Question::Suite, Tree::Head, Selection::Files(files.to_vec()), what)
}

/// The same once more.
pub fn repeated(tree: Tree, time: usize) -> Experiment {
    Experiment { time, question: Question::Again, ..on(tree) }
}

/// The files that hold the tests that are blamed, once more. Rust's are not run by file.
pub fn again(blamed: &[Test], time: usize) -> Experiment {
    let files: Option<Vec<String>> = blamed.iter().map(|test| test.file.clone()).collect();
    let files = files.filter(|files| files.iter().all(|file| !file.ends_with(".rs")));
    let selection = files.map_or(Selection::All, Selection::Files);
    let experiment = Experiment::of_tests(Question::Again, Tree::Head, selection, "tests that broke, once more");
    Experiment { time, ..experiment }
}

/// Test files that GREEN brought along.
pub fn extra(files: &[String]) -> Experiment {
    let way = Way::Tests(Selection::Files(files.to_vec()));
    Experiment { way, what: "the tests that came along".to_owned(), ..on(Tree::AsIs) }
}

/// Test files that the author of the code never saw, laid over the candidate; `alone` where the runner can be told so.
pub fn withheld(files: &[&TestFile], alone: bool, time: usize) -> Experiment {
    let paths = || files.iter().map(|file| file.path.to_string());
    let selection = if alone { Selection::Files(paths().collect()) } else { Selection::All };
    let experiment = Experiment::of_tests(Question::Withheld, Tree::Head, selection, "the withheld tests");
    let edits = paths().zip(files.iter().map(|file| file.text.clone())).collect();
    Experiment { edits, time, ..experiment }
}
