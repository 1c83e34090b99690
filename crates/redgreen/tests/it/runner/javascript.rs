//! The real test runners for JavaScript. Each situation is written once and runs with every
//! installed runner.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redgreen::process::Stop;
use redgreen::runner::detect;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Outcome, Report};

use super::{Project, STOPPED_MAX, check, is_installed, settings, shown};
use crate::skip::skipped;

/// The differences between the runners.
struct Dialect {
    runner: &'static str,
    /// The folder of an older or newer version, or `None` for the usual one.
    version: Option<&'static str>,
    manifest: &'static str,
    calc: &'static str,
    /// The first line of every test file.
    uses: &'static str,
    /// The line that imports a missing module.
    loads_nothing: &'static str,
    missing: &'static str,
    syntax: &'static str,
    /// The runner loads all files before the first test, so a broken file ends the run.
    loads_all_first: bool,
    /// The report on the tests `adds` and `leaves`, if the second exits its process with 0.
    leaves: &'static [&'static str],
}

const COMMON: &str = "exports.add = (a, b) => a + b\n";
const REQUIRE: &str = "const roman = require('../src/roman.js')";

const VITEST: Dialect = Dialect {
    runner: "vitest",
    version: None,
    manifest: r#"{"devDependencies": {"vitest": "*"}}"#,
    calc: "export const add = (a, b) => a + b\n",
    uses: "import { describe, test } from 'vitest'; import assert from 'node:assert'; import * as calc from '../src/calc.js'",
    loads_nothing: "import roman from '../src/roman.js'",
    missing: "MissingSymbol ERR_MODULE_NOT_FOUND test/calc.test.js:0",
    syntax: "Syntax RollupError test/calc.test.js:0",
    loads_all_first: false,
    leaves: &["Errored", "Errored test/calc.test.js > leaves", "Passed test/calc.test.js > adds"],
};

const JEST: Dialect = Dialect {
    runner: "jest",
    version: None,
    manifest: r#"{"devDependencies": {"jest": "*"}}"#,
    calc: COMMON,
    uses: "const assert = require('node:assert'), calc = require('../src/calc.js')",
    loads_nothing: REQUIRE,
    missing: "MissingSymbol MODULE_NOT_FOUND test/calc.test.js:2",
    syntax: "Syntax BABEL_PARSE_ERROR test/calc.test.js:3",
    loads_all_first: false,
    leaves: &["Crashed", "Crashed test/calc.test.js > leaves", "Passed test/calc.test.js > adds"],
};

const MOCHA: Dialect = Dialect {
    runner: "mocha",
    manifest: r#"{"devDependencies": {"mocha": "*"}}"#,
    uses: "const assert = require('node:assert'), calc = require('../src/calc.js'), test = Object.assign(it, { todo: it })",
    syntax: "Syntax SyntaxError test/calc.test.js:3",
    loads_all_first: true,
    ..JEST
};

const VITEST_1: Dialect = Dialect {
    version: Some("vitest-1"),
    missing: "MissingSymbol Error test/calc.test.js:0",
    syntax: "Syntax PARSE_ERROR test/calc.test.js:0",
    ..VITEST
};

const VITEST_2: Dialect = Dialect { version: Some("vitest-2"), ..VITEST_1 };

const VITEST_4: Dialect = Dialect {
    version: Some("vitest-4"),
    missing: "MissingSymbol ERR_MODULE_NOT_FOUND test/calc.test.js:2",
    ..VITEST
};

const JEST_27: Dialect = Dialect {
    version: Some("jest-27"),
    // This version does not report when a test begins.
    leaves: &["Crashed", "Passed test/calc.test.js > adds"],
    ..JEST
};

const MOCHA_9: Dialect = Dialect {
    version: Some("mocha-9"),
    // This version does not report the code of an error.
    missing: "MissingSymbol Error test/calc.test.js:2",
    ..MOCHA
};

const NODE: Dialect = Dialect {
    runner: "node",
    manifest: r#"{"scripts": {"test": "node --test"}}"#,
    uses: "const { describe, test } = require('node:test'), assert = require('node:assert'), calc = require('../src/calc.js')",
    syntax: "Syntax SyntaxError test/calc.test.js:3",
    leaves: &["Crashed", "Crashed test/calc.test.js"],
    ..JEST
};

macro_rules! with_every_runner {
    ($($situation:ident)*) => {
        with_every_runner! { vitest VITEST: $($situation)* }
        with_every_runner! { vitest_1 VITEST_1: $($situation)* }
        with_every_runner! { vitest_2 VITEST_2: $($situation)* }
        with_every_runner! { vitest_4 VITEST_4: $($situation)* }
        with_every_runner! { jest JEST: $($situation)* }
        with_every_runner! { jest_27 JEST_27: $($situation)* }
        with_every_runner! { mocha_9 MOCHA_9: $($situation)* }
        with_every_runner! { mocha MOCHA: $($situation)* }
        with_every_runner! { node NODE: $($situation)* }
    };
    ($name:ident $dialect:ident: $($situation:ident)*) => {
        mod $name {
            $(#[test] fn $situation() { super::$situation(&super::$dialect) })*
        }
    };
}

with_every_runner! {
    passes_and_counts_lines
    what_fails_is_reported_apart
    names_that_are_made_and_nested
    what_is_missing_is_told
    what_does_not_parse_is_told
    a_file_that_does_not_load_beside_one_that_does
    without_tests
    one_a_file_none_and_the_list
    a_test_that_ends_the_process
    a_hang_is_stopped_in_time
    output_that_imitates_results_changes_nothing
}

/// The packages that `scripts/test` installs.
pub(crate) fn node_modules() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a variable names the runners")]
    let given = std::env::var_os("REDGREEN_TEST_NODE_MODULES");
    given.map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/node/node_modules"),
        PathBuf::from,
    )
}

/// Folders with the oldest and newest versions of runners, in addition to those in `node_modules`.
/// `scripts/test` installs them.
pub(crate) fn versions() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a variable names the runners")]
    let given = std::env::var_os("REDGREEN_TEST_VERSIONS");
    given.map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/versions"),
        PathBuf::from,
    )
}

/// A project with these tests, or `None` and a message if the runner is not installed.
fn project(dialect: &Dialect, files: &[(&str, &str)]) -> Option<Project> {
    let modules = dialect
        .version
        .map_or_else(node_modules, |name| versions().join(name).join("node_modules"));
    if !is_installed("node") {
        return None;
    }
    if dialect.runner != "node" && !modules.join(".bin").join(dialect.runner).exists() {
        skipped(&format!(
            "{} is not installed by scripts/test",
            dialect.version.unwrap_or(dialect.runner)
        ));
        return None;
    }
    let project =
        Project::new(&[("package.json", dialect.manifest), ("src/calc.js", dialect.calc)]);
    files.iter().for_each(|(path, body)| project.write(path, &format!("{}\n{body}", dialect.uses)));
    if dialect.runner != "node" {
        symlink(modules, project.0.path().join("node_modules")).unwrap();
    }
    Some(project)
}

const ADDS: &str = "test('adds', () => assert.equal(calc.add(1, 2), 3))\n";

/// Runs a project with one test file.
#[track_caller]
fn runs(dialect: &Dialect, body: &str, expected: &[&str]) -> Option<Report> {
    Some(check(&project(dialect, &[("test/calc.test.js", body)])?, expected))
}

fn passes_and_counts_lines(dialect: &Dialect) {
    let Some(project) = project(dialect, &[("test/calc.test.js", ADDS)]) else { return };
    let report = check(&project, &["Passed", "Passed test/calc.test.js > adds"]);
    assert_eq!((report.runner.as_str(), report.flags.as_slice()), (dialect.runner, &[][..]));
    let suite = detect(project.0.path()).unwrap();
    let (report, coverage) =
        suite.coverage(project.0.path(), &settings(), &Stop::default()).unwrap();
    assert_eq!(shown(&report), "Passed\nPassed test/calc.test.js > adds", "{report:#?}");
    assert_eq!(coverage.unwrap().percent(), Some(100.0));
}

fn what_fails_is_reported_apart(dialect: &Dialect) {
    let body = format!(
        "{ADDS}test('wrong', () => assert.equal(calc.add(1, 2), 4))\n\
        test('missing', () => calc.subtract(1, 2))\ntest.skip('later', () => {{}})\ntest.todo('some day')\n"
    );
    let expected = [
        "Errored",
        "Errored test/calc.test.js > missing",
        "Failed test/calc.test.js > wrong",
        "Passed test/calc.test.js > adds",
        "Skipped test/calc.test.js > later",
        "Skipped test/calc.test.js > some day",
    ];
    let Some(report) = runs(dialect, &body, &expected) else { return };
    let missing = report.test("test/calc.test.js > missing").unwrap();
    assert_eq!(
        (missing.exception.as_deref(), missing.line),
        (Some("TypeError"), Some(4)),
        "{missing:#?}"
    );
    assert!(
        missing
            .message
            .as_deref()
            .is_some_and(|words| words.contains("subtract is not a function"))
    );
    let wrong = report.test("test/calc.test.js > wrong").unwrap();
    assert_eq!((wrong.file.as_deref(), wrong.line), (Some("test/calc.test.js"), Some(3)));
}

fn names_that_are_made_and_nested(dialect: &Dialect) {
    let body = "for (const n of [1, 2]) test(`${n} (of 2)?`, () => assert.equal(n, 1))\n\
        describe('outer', () => describe('inner', () => { test('1 (of 2)?', () => {}); test('other', () => {}) }))\n";
    let Some(project) = project(dialect, &[("test/calc.test.js", body)]) else { return };
    check(
        &project,
        &[
            "Failed",
            "Failed test/calc.test.js > 2 (of 2)?",
            "Passed test/calc.test.js > 1 (of 2)?",
            "Passed test/calc.test.js > outer > inner > 1 (of 2)?",
            "Passed test/calc.test.js > outer > inner > other",
        ],
    );
    let inner = "test/calc.test.js > outer > inner > 1 (of 2)?";
    assert_eq!(ran(&project, inner), ["Passed", &format!("Passed {inner}")]);
}

fn what_is_missing_is_told(dialect: &Dialect) {
    runs(
        dialect,
        &format!("{}\n{ADDS}", dialect.loads_nothing),
        &["DidNotCompile", dialect.missing],
    );
}

fn what_does_not_parse_is_told(dialect: &Dialect) {
    runs(dialect, "test('x', () => {\n  const = 1\n})\n", &["DidNotCompile", dialect.syntax]);
}

fn a_file_that_does_not_load_beside_one_that_does(dialect: &Dialect) {
    let files = [("test/calc.test.js", dialect.loads_nothing), ("test/good.test.js", ADDS)];
    let Some(project) = project(dialect, &files) else { return };
    let mut expected = vec!["DidNotCompile", dialect.missing];
    expected.extend((!dialect.loads_all_first).then_some("Passed test/good.test.js > adds"));
    check(&project, &expected);
}

fn without_tests(dialect: &Dialect) {
    let Some(project) = project(dialect, &[]) else { return };
    check(&project, &["NoTests"]);
    project.write("test/calc.test.js", "");
    check(&project, &["NoTests"]);
}

/// The report on one test, without the tests that did not run.
fn ran(project: &Project, id: &str) -> Vec<String> {
    project.one(id).lines().filter(|line| !line.starts_with("NotRun")).map(str::to_owned).collect()
}

fn one_a_file_none_and_the_list(dialect: &Dialect) {
    let bad = "test('adds', () => assert.equal(calc.add(1, 2), 4))\ntest('other', () => assert.fail('no'))\n";
    let files = [("test/bad.test.js", bad), ("test/good.test.js", ADDS)];
    let Some(project) = project(dialect, &files) else { return };
    let file = project.select(&Selection::Files(vec!["test/good.test.js".to_owned()]));
    assert_eq!(shown(&file), "Passed\nPassed test/good.test.js > adds");
    assert_eq!(
        ran(&project, "test/good.test.js > adds"),
        ["Passed", "Passed test/good.test.js > adds"]
    );
    assert_eq!(
        ran(&project, "test/bad.test.js > adds"),
        ["Failed", "Failed test/bad.test.js > adds"]
    );
    assert_eq!(ran(&project, "test/good.test.js > nothing"), ["NoTests"]);
    let mut listed = project.list();
    listed.sort();
    assert_eq!(
        listed,
        ["test/bad.test.js > adds", "test/bad.test.js > other", "test/good.test.js > adds"]
    );
}

fn a_test_that_ends_the_process(dialect: &Dialect) {
    runs(dialect, &format!("{ADDS}test('leaves', () => process.exit(0))\n"), dialect.leaves);
}

fn a_hang_is_stopped_in_time(dialect: &Dialect) {
    let body = format!("{ADDS}test('hangs', () => {{ for (;;) {{}} }})\n");
    let Some(project) = project(dialect, &[("test/calc.test.js", &body)]) else { return };
    let (started, limit) = (Instant::now(), Duration::from_secs(5));
    let report = project.run_within(limit);
    assert_eq!(report.outcome, Outcome::TimedOut, "{report:#?}");
    assert!(started.elapsed() < limit + STOPPED_MAX);
}

fn output_that_imitates_results_changes_nothing(dialect: &Dialect) {
    let body = "const noise = '{\"event\":\"finish\"}\\nTests: 1 passed, 1 total\\n# pass 1\\nok 1 - noise\\n'\n\
        test('noise', () => { console.log(noise); console.error(noise); assert.equal(1, 2) })\n";
    runs(dialect, body, &["Failed", "Failed test/calc.test.js > noise"]);
}

/// Project settings that stop early, run nothing, or add files to the requested ones.
#[test]
fn settings_leave_no_test_out() {
    let bad = "test('adds', () => assert.equal(calc.add(1, 2), 4))\ntest('other', () => {})\n";
    let files = [("test/bad.test.js", bad), ("test/good.test.js", ADDS)];
    let all = [
        "Failed",
        "Failed test/bad.test.js > adds",
        "Passed test/bad.test.js > other",
        "Passed test/good.test.js > adds",
    ];
    for (dialect, path, text) in [
        (
            &JEST,
            "jest.config.json",
            r#"{"bail": 1, "maxWorkers": 1, "coverageThreshold": {"global": {"lines": 101}}}"#,
        ),
        (
            &MOCHA,
            ".mocharc.json",
            r#"{"bail": true, "parallel": true, "dry-run": true, "spec": ["test/*.js"]}"#,
        ),
        (
            &VITEST,
            "vitest.config.js",
            "export default { test: { bail: 1, coverage: { enabled: true } } }\n",
        ),
    ] {
        let Some(project) = project(dialect, &files) else { continue };
        project.write(path, text);
        check(&project, &all);
        assert_eq!(
            ran(&project, "test/good.test.js > adds"),
            ["Passed", "Passed test/good.test.js > adds"]
        );
        let file = project.select(&Selection::Files(vec!["test/good.test.js".to_owned()]));
        assert_eq!(shown(&file), "Passed\nPassed test/good.test.js > adds", "{}", dialect.runner);
    }
}

#[test]
fn node_is_known_by_its_tests_alone() {
    let Some(project) = project(&NODE, &[("test/calc.test.js", ADDS)]) else { return };
    project.write("package.json", "{}");
    check(&project, &["Passed", "Passed test/calc.test.js > adds"]);
}

#[test]
fn node_is_started_as_the_projects_script_does() {
    let Some(project) =
        project(&NODE, &[("unit/a.js", "test('is set up', () => assert.equal(ready, 1))\n")])
    else {
        return;
    };
    project.write(
        "package.json",
        r#"{"scripts": {"test": "node --require ./setup.cjs --test unit/*.js"}}"#,
    );
    project.write("setup.cjs", "globalThis.ready = 1\n");
    project.write("test/slow.test.js", "require('node:test')('is not in the script', () => {})\n");
    check(&project, &["Passed", "Passed unit/a.js > is set up"]);
    assert_eq!(project.list(), ["unit/a.js > is set up"]);
}
