//! Tests for unittest: captured streams and invocation.

use super::*;
use crate::framework::invoke::Stale;
use crate::framework::samples::Check;

#[test]
fn parses_captured_runs() {
    Check::new("unittest-stream", parse).run();
}

#[track_caller]
fn invokes(files: &[&str], selection: &Selection, expected: &str) {
    let tools = vec![("python3".to_owned(), "python3".to_owned())];
    let folder = Folder {
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Folder::default()
    };
    let facts = Facts {
        folder,
        root: "/p".to_owned(),
        scratch: "/s".to_owned(),
        tools,
        ..Facts::default()
    };
    let invocation = invoke(&facts, selection).unwrap();
    assert_eq!(invocation.call.words.join(" "), format!("python3 {expected}"));
    assert_eq!(invocation.stale, [Stale::Bytecode("**/__pycache__/*.pyc")]);
    assert!(invocation.call.env.contains(&("PYTHONPATH".to_owned(), "/s/plugins".to_owned())));
}

#[test]
fn folders_without_init_are_separate_starts() {
    invokes(&["test_a.py"], &Selection::All, "-m redgreen_unittest --start .");
    invokes(&["tests/test_a.py"], &Selection::All, "-m redgreen_unittest --start . --start tests");
    invokes(&["tests/a_test.py"], &Selection::All, "-m redgreen_unittest --start . --start tests");
    invokes(
        &["tests/__init__.py", "tests/test_a.py"],
        &Selection::List,
        "-m redgreen_unittest --start . --list",
    );
}

#[test]
fn selects_files_and_tests_by_name() {
    invokes(
        &[],
        &Selection::Files(vec!["tests/test_a.py".to_owned()]),
        "-m redgreen_unittest --start . tests.test_a",
    );
    let file = Selection::Files(vec!["tests/test_a.py".to_owned()]);
    invokes(&["tests/test_a.py"], &file, "-m redgreen_unittest --start . --start tests test_a");
    invokes(
        &[],
        &Selection::One("tests.test_a.A.test_b (i=1)".to_owned()),
        "-m redgreen_unittest --start . tests.test_a.A.test_b",
    );
    invokes(
        &[],
        &Selection::Coverage,
        "-m coverage run --data-file=/s/coverage --source=. -m redgreen_unittest --start .",
    );
}
