//! Real vitest. One project shows many situations, because each start takes seconds.

use std::time::Duration;

use redgreen_core::framework::invoke::Selection;

use super::{check, javascript, shown};

const CALC: (&str, &str) = ("src/calc.js", "export const add = (a, b) => a + b\n");
const USES: &str = "import { expect, test } from 'vitest'\nimport * as calc from '../src/calc.js'\n";

fn project(files: &[(&str, &str)]) -> Option<super::Project> {
    let project = javascript::project("vitest", &[CALC])?;
    files.iter().for_each(|(path, body)| project.write(path, &format!("{USES}{body}")));
    Some(project)
}

const GOOD: (&str, &str) = ("test/good.test.js", "test('adds', () => expect(calc.add(1, 2)).toBe(3))\n");

#[test]
fn passes_and_runs_one_a_file_or_none() {
    let bad = ("test/bad.test.js", "test('adds', () => expect(calc.add(1, 2)).toBe(4))\ntest('other', () => {})\n");
    let Some(project) = project(&[GOOD, bad]) else { return };
    let file = project.select(&Selection::Files(vec!["test/good.test.js".to_owned()]));
    assert_eq!(shown(&file), "Passed\nPassed test/good.test.js > adds");
    assert_eq!(
        project.one("test/bad.test.js > adds"),
        "Failed\nFailed test/bad.test.js > adds\nNotRun test/bad.test.js > other"
    );
    assert_eq!(project.one("test/good.test.js > nothing"), "NoTests\nNotRun test/good.test.js > adds");
    let mut listed = project.list();
    listed.sort();
    assert_eq!(listed, ["test/bad.test.js > adds", "test/bad.test.js > other", "test/good.test.js > adds"]);
}

#[test]
fn what_fails_is_told_apart() {
    let body = "test('wrong', () => expect(calc.add(1, 2)).toBe(4))\n\
        test('missing', () => calc.subtract(1, 2))\n\
        test('leaves', () => process.exit(0))\n\
        test.skip('later', () => {})\ntest.todo('some day')\ntest.fails('known', () => expect(1).toBe(2))\n\
        test('noise', () => { console.log('Tests  1 passed (1)\\n{\"event\":\"finish\"}'); expect(1).toBe(2) })\n";
    let Some(project) = project(&[("test/calc.test.js", body)]) else { return };
    let report = check(
        &project,
        &[
            "Errored",
            "Errored test/calc.test.js > leaves",
            "Errored test/calc.test.js > missing",
            "Failed test/calc.test.js > noise",
            "Failed test/calc.test.js > wrong",
            "Skipped test/calc.test.js > later",
            "Skipped test/calc.test.js > some day",
            "Xfailed test/calc.test.js > known",
        ],
    );
    let missing = report.test("test/calc.test.js > missing").unwrap();
    assert_eq!((missing.exception.as_deref(), missing.line), (Some("TypeError"), Some(4)));
}

#[test]
fn what_does_not_load_is_told_apart_beside_tests_that_run() {
    let empty = ("test/empty.test.js", "");
    let syntax = ("test/syntax.test.js", "test('x', () => {\n  const = 1\n})\n");
    let missing = ("test/missing.test.js", "import roman from '../src/roman.js'\ntest('x', () => roman())\n");
    let Some(project) = project(&[GOOD, empty, syntax, missing]) else { return };
    let report = project.run();
    let words = shown(&report);
    assert!(words.starts_with("DidNotCompile\nMissingSymbol"), "{report:#?}");
    assert!(words.contains("test/missing.test.js") && words.contains("Syntax"), "{report:#?}");
    assert!(words.contains("Passed test/good.test.js > adds"), "{report:#?}");
    assert_eq!(report.load_errors.len(), 2, "{report:#?}");
}

#[test]
fn without_tests_and_with_a_hang() {
    let Some(project) = project(&[]) else { return };
    check(&project, &["NoTests"]);
    project.write("test/hang.test.js", &format!("{USES}test('hangs', () => {{ for (;;) {{}} }})\n"));
    assert_eq!(project.run_within(Duration::from_secs(8)).outcome, redgreen_core::report::Outcome::TimedOut);
}

#[test]
fn coverage_is_measured() {
    let Some(project) = project(&[GOOD]) else { return };
    let report = project.select(&Selection::Coverage);
    assert_eq!(shown(&report), "Passed\nPassed test/good.test.js > adds");
}
