//! Which frameworks a project needs, and what its paths are.

use super::*;

#[track_caller]
fn finds(files: &[&str], manifests: &[(&str, &str)], expected: &[&str]) {
    let owned = |text: &&str| (*text).to_owned();
    let root = Root {
        files: files.iter().map(owned).collect(),
        manifests: manifests.iter().map(|(name, text)| (owned(name), owned(text))).collect(),
    };
    let names: Vec<_> = detect(&root).iter().map(|row| row.name).collect();
    assert_eq!(names, expected, "{files:?}");
}

#[test]
fn a_project_is_known_by_its_root() {
    finds(&["README.md"], &[], &[]);
    finds(&["Cargo.toml", "tests/roman.rs"], &[], &["cargo"]);
    finds(&["pytest.ini"], &[], &["pytest"]);
    finds(&["conftest.py"], &[], &["pytest"]);
    finds(&["tests/test_roman.py"], &[], &["pytest"]);
    finds(&["pyproject.toml"], &[("pyproject.toml", "")], &["pytest"]);
    finds(&["setup.py"], &[], &["pytest"]);
}

#[test]
fn two_frameworks_are_both_found_but_a_linters_manifest_is_not_one() {
    finds(&["Cargo.toml", "pytest.ini"], &[], &["pytest", "cargo"]);
    finds(&["Cargo.toml", "pyproject.toml"], &[("pyproject.toml", "[tool.pytest.ini_options]")], &["pytest", "cargo"]);
    finds(&["Cargo.toml", "pyproject.toml"], &[("pyproject.toml", "[tool.ruff]")], &["cargo"]);
}

#[track_caller]
fn is(framework: &Framework, path: &str, expected: &str) {
    let test = (framework.is_test_file)(path);
    let config = (framework.is_runner_config)(path);
    let seen = match (test, config) {
        (true, false) => "test",
        (false, true) => "config",
        (false, false) => "-",
        (true, true) => "both",
    };
    assert_eq!(seen, expected, "{}: {path}", framework.name);
}

#[test]
fn paths_are_tests_or_runner_configuration_or_neither() {
    for (path, expected) in [
        ("tests/test_roman.py", "test"),
        ("roman_test.py", "test"),
        ("test_roman.py", "test"),
        ("tests/conftest.py", "test"),
        ("tests/helpers.py", "test"),
        ("src/roman.py", "-"),
        ("src/latest.py", "-"),
        ("tests/data.json", "-"),
        ("pyproject.toml", "config"),
        ("sub/tox.ini", "config"),
        ("README.md", "-"),
    ] {
        is(&pytest::FRAMEWORK, path, expected);
    }
    for (path, expected) in [
        ("tests/roman.rs", "test"),
        ("tests/it/main.rs", "test"),
        ("crates/a/tests/data/in.txt", "test"),
        ("src/roman/tests.rs", "test"),
        ("src/tests/one.rs", "test"),
        ("src/lib.rs", "-"),
        ("src/attest.rs", "-"),
        ("Cargo.toml", "config"),
        ("crates/a/Cargo.toml", "config"),
        (".cargo/config.toml", "config"),
        ("build.rs", "config"),
        ("rust-toolchain.toml", "config"),
    ] {
        is(&cargo::FRAMEWORK, path, expected);
    }
}

#[test]
fn long_messages_are_cut_between_characters() {
    let long = "é".repeat(MESSAGE_BYTES_MAX);
    assert!(bounded_head(&long).len() <= MESSAGE_BYTES_MAX && bounded_tail(&long).len() <= MESSAGE_BYTES_MAX);
    assert_eq!((bounded_head(" a "), bounded_tail(" a ")), ("a".to_owned(), "a".to_owned()));
}
