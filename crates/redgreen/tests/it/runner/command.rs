//! A user's test command: redgreen reads any report that the command wrote in this run, and
//! otherwise uses its exit code and says so.

use std::time::{Duration, Instant};

use redgreen::config::{Environment, File};
use redgreen::failure::Failure;
use redgreen::process::Stop;
use redgreen::runner::{Settings, suite};
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::Flag;

use super::{Project, is_installed, settings, shown, venv};

const ONE: &str = "<testsuite><testcase classname=\"A\" name=\"a\"/></testsuite>";
const TWO: &str =
    "<testsuite><testcase name=\"b\"><failure message=\"no\"/></testcase></testsuite>";

/// `[test]` as a user writes it, and the displayed report.
#[track_caller]
fn check(project: &Project, test: &str, expected: &[&str]) {
    let settings = Settings { timeout: Duration::from_secs(20), ..settings() };
    assert_eq!(run(project, test, &settings), expected.join("\n"), "{test}");
}

fn run(project: &Project, test: &str, settings: &Settings) -> String {
    let file = File::parse(&format!("[test]\n{test}\n")).unwrap();
    let suite = suite(project.0.path(), &file.test).unwrap();
    shown(&suite.run(project.0.path(), &Selection::All, settings, &Stop::default()).unwrap())
}

#[test]
fn an_exit_code_is_all_there_is_to_go_by() {
    let project = Project::new(&[]);
    check(&project, "command = \"true\"", &["Passed", "Passed exit code only: true"]);
    check(&project, "command = \"exit 3\"", &["Failed", "Failed exit code only: exit 3"]);
    check(
        &project,
        "command = \"no-such-thing\"",
        &["UsageError", "Failed exit code only: no-such-thing"],
    );
    check(&project, "command = \"kill -9 $$\"", &["Crashed", "Crashed exit code only: kill -9 $$"]);
    let started = Instant::now();
    let shown = run(
        &project,
        "command = \"sleep 600 & sleep 600\"",
        &Settings { timeout: Duration::from_secs(1), ..settings() },
    );
    assert_eq!(shown, "TimedOut\nTimedOut exit code only: sleep 600 & sleep 600");
    assert!(started.elapsed() < Duration::from_secs(120));
}

#[test]
fn reports_are_read_and_only_those_of_this_run() {
    let project = Project::new(&[("one.xml", ONE), ("two.xml", TWO), ("out/fixture.xml", TWO)]);
    let both =
        "command = \"cp one.xml out/1.xml; cp two.xml out/2.xml; exit 1\"\nreport = \"out/*.xml\"";
    check(&project, both, &["Failed", "Failed b", "Passed A::a"]);
    let one = "command = \"cp one.xml out/1.xml\"\nreport = \"out/**/*.xml\"\nformat = \"junit\"";
    check(&project, one, &["Passed", "Passed A::a"]);
    // The report of the previous run still exists, but does not count.
    check(&project, "command = \"true\"\nreport = \"out/*.xml\"", &["Crashed"]);
    check(
        &project,
        "command = \"printf '<testsuite>' > out/1.xml\"\nreport = \"out/*.xml\"",
        &["Crashed"],
    );
    check(&project, "command = \"true\"\nreport = \"nowhere/*.xml\"", &["Crashed"]);
    assert!(
        project.0.path().join("out/fixture.xml").exists(),
        "a file that only matches is not removed"
    );
}

#[test]
fn a_report_may_be_printed() {
    let project = Project::new(&[("tap", "1..2\nok 1 - a\nnot ok 2 - b # TODO later\n")]);
    let test = "report = \"stdout\"\nformat = \"tap\"";
    check(&project, &format!("command = \"cat tap\"\n{test}"), &["Passed", "Passed a", "Todo b"]);
    check(&project, &format!("command = \"head -2 tap\"\n{test}"), &["Crashed", "Passed a"]);
}

#[test]
fn a_plain_call_of_a_runner_has_that_runners_ids() {
    let rust = ("tests/calc.rs", "#[test]\nfn adds() {}\n");
    let project = Project::rust("", &[("tests/test_a.py", "def test_a():\n    pass\n"), rust]);
    check(&project, "command = \"pytest -q\"", &["Passed", "Passed tests/test_a.py::test_a"]);
    project.write("tests/test_b.py", "def test_b():\n    pass\n");
    check(
        &project,
        "command = \"pytest tests/test_b.py\"",
        &["Passed", "Passed tests/test_b.py::test_b"],
    );
    check(&project, "command = \"cargo test\"", &["Passed", "Passed demo/tests/calc::adds"]);
    let python = venv().join("bin/python").display().to_string();
    let own = format!("command = \"{python} -m pytest -q -p no:cacheprovider --junitxml=out.xml\"");
    check(
        &project,
        &format!("{own}\nreport = \"out.xml\""),
        &["Passed", "Passed tests.test_a::test_a", "Passed tests.test_b::test_b"],
    );
}

#[test]
fn a_script_of_a_package_is_run_by_its_exit_code() {
    if !is_installed("npm") {
        return;
    }
    let project = Project::new(&[
        ("package.json", r#"{"scripts": {"test": "node check.js"}}"#),
        ("check.js", ""),
    ]);
    assert_eq!(shown(&project.run()), "Passed\nPassed exit code only: npm run test");
    project.write("check.js", "throw new Error('no')");
    assert_eq!(shown(&project.run()), "Failed\nFailed exit code only: npm run test");
}

#[test]
fn one_test_and_the_list() {
    let project = Project::new(&[]);
    let file = File::parse("[test]\ncommand = \"true\"").unwrap();
    let suite = suite(project.0.path(), &file.test).unwrap();
    let one = Selection::One("exit code only: true".to_owned());
    let report = suite.run(project.0.path(), &one, &settings(), &Stop::default()).unwrap();
    assert!(report.has(Flag::ExitCodeAlone));
    let other = Selection::One("exit code only: true, or not".to_owned());
    assert_eq!(
        shown(&suite.run(project.0.path(), &other, &settings(), &Stop::default()).unwrap()),
        "NoTests"
    );
    assert_eq!(
        suite.list(project.0.path(), &settings(), &Stop::default()).unwrap(),
        Vec::<String>::new()
    );
}

#[test]
fn settings_that_cannot_be_meant_are_reported() {
    for test in
        ["report = \"a.xml\"", "command = \" \"", "command = \"make\"\nreport = \"../a.xml\""]
    {
        let file = File::parse(&format!("[test]\n{test}\n")).unwrap();
        let error = suite(Project::new(&[]).0.path(), &file.test).unwrap_err();
        assert!(
            error.downcast_ref::<Failure>().is_some_and(|failure| failure.next.is_some()),
            "{test}"
        );
    }
    assert!(File::parse("[test]\ncommand = \"make\"\nreport = \"a\"\nformat = \"html\"").is_err());
}

#[test]
fn tdd_properties_say_what_redgreen_toml_does_not() {
    let project = Project::new(&[(
        "tdd.properties",
        "# theirs\ntest.command = make test\nbash.timeout: 7\n",
    )]);
    let file = File::read(project.0.path(), &Environment::default()).unwrap();
    assert_eq!(file.test.command.as_deref(), Some("make test"));
    assert_eq!((file.timeout.red, file.timeout.green), (Some(7.0), Some(7.0)));
    project.write("redgreen.toml", "[test]\ncommand = \"pytest\"\n[timeout]\nred = 9\n");
    let file = File::read(project.0.path(), &Environment::default()).unwrap();
    assert_eq!(file.test.command.as_deref(), Some("pytest"));
    assert_eq!((file.timeout.red, file.timeout.green), (Some(9.0), Some(7.0)));
    project.write("tdd.properties", "bash.timeout = soon\n");
    assert!(File::read(project.0.path(), &Environment::default()).is_err());
}
