//! `docs/book/requirements.md` lists every requirement of the founding documents, with the tests
//! that prove it or the reason why redgreen differs. It is generated from `requirements.txt`. It is
//! an error if that file names a missing test, or if no requirement names a test of a document's
//! own example.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const ROWS: &str = include_str!("requirements.txt");
/// Tests of the documents' own examples.
const EXAMPLES: &str = "story::doors::seeds::";
const DOCUMENTS: [&str; 5] = ["000", "001", "002", "003", "004"];

struct Row {
    document: &'static str,
    section: &'static str,
    requirement: &'static str,
    tests: Vec<&'static str>,
    reason: Option<&'static str>,
}

fn rows() -> Vec<Row> {
    let mut document = "";
    let mut rows = Vec::new();
    for line in ROWS.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            document = title;
            continue;
        }
        let parts: Vec<&str> = line.split(" | ").collect();
        let [section, requirement, proof] = parts[..] else {
            panic!("requirements.txt: three parts are expected: {line}")
        };
        let reason = proof.strip_prefix("= ");
        let tests =
            if reason.is_some() { Vec::new() } else { proof.split(", ").map(str::trim).collect() };
        rows.push(Row { document, section, requirement, tests, reason });
    }
    rows
}

/// Every test of this binary, by its full name.
fn known() -> BTreeSet<String> {
    let program = std::env::current_exe().unwrap();
    #[expect(
        clippy::disallowed_methods,
        reason = "the program of the tests says which tests it has"
    )]
    let output =
        std::process::Command::new(program).args(["--list", "--format", "terse"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

fn named<'k>(known: &'k BTreeSet<String>, name: &str) -> Vec<&'k String> {
    let ending = format!("::{name}");
    known.iter().filter(|test| *test == name || test.ends_with(&ending)).collect()
}

fn page() -> String {
    let mut text = "# Requirements\n\nredgreen implements five requirements documents. This page \
                    lists each requirement with the tests that prove it. \"different\" means that \
                    redgreen does something else, and says why. The page is generated from \
                    `requirements.txt` in the tests: `REDGREEN_TEST_WRITE=1 cargo test \
                    -p redgreen --test it requirements`.\n"
        .to_owned();
    let mut document = "";
    for row in rows() {
        if row.document != document {
            document = row.document;
            write!(
                text,
                "\n## {document}\n\n| section | requirement | proven by |\n|---|---|---|\n"
            )
            .unwrap();
        }
        let proof = match row.reason {
            Some(reason) => format!("different: {reason}"),
            None => row.tests.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join(", "),
        };
        writeln!(text, "| {} | {} | {proof} |", row.section, row.requirement).unwrap();
    }
    text
}

fn book(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn every_requirement_is_proven_by_a_test_or_says_why_it_is_different() {
    let (known, rows) = (known(), rows());
    let mut wrong = Vec::new();
    for row in &rows {
        for test in &row.tests {
            let count = named(&known, test).len();
            if count != 1 {
                wrong.push(format!(
                    "{} {}: {count} tests are called {test}",
                    row.document, row.requirement
                ));
            }
        }
        if row.tests.is_empty() && row.reason.is_none_or(str::is_empty) {
            wrong
                .push(format!("{} {}: neither a test nor a reason", row.document, row.requirement));
        }
    }
    for document in DOCUMENTS {
        if !rows.iter().any(|row| row.document.starts_with(document)) {
            wrong.push(format!("{document}: no requirement"));
        }
    }
    let listed: BTreeSet<&String> =
        rows.iter().flat_map(|row| &row.tests).flat_map(|test| named(&known, test)).collect();
    for test in known.iter().filter(|test| test.starts_with(EXAMPLES) && !listed.contains(test)) {
        wrong.push(format!("{test} is a test of a document and proves no requirement"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_of_requirements_is_up_to_date() {
    let (path, wanted) = (book("book/requirements.md"), page());
    #[expect(clippy::disallowed_methods, reason = "a variable makes the test write the page")]
    if std::env::var_os("REDGREEN_TEST_WRITE").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let how = "REDGREEN_TEST_WRITE=1 cargo test -p redgreen --test it requirements";
    assert!(found == wanted, "docs/book/requirements.md is out of date; write it with: {how}");
}

#[test]
fn the_architecture_has_a_diagram_of_a_run() {
    let text = fs::read_to_string(book("ARCHITECTURE.md")).unwrap();
    let (_, diagram) = text.split_once("```mermaid\n").expect("a diagram");
    let (diagram, _) = diagram.split_once("```").unwrap();
    for words in
        ["PLAN", "RED", "GREEN", "REFACTOR", "COMPLETE", "approve", "abort", "refused", "undecided"]
    {
        assert!(diagram.contains(words), "{words} is not in the diagram");
    }
}
