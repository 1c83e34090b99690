//! Real test runners in small projects: the report must say what a person would say about the run.
//! pytest and cargo are here, each other runner has its own file.

mod bats;
mod command;
mod ctest;
mod exunit;
mod go;
mod gradle;
mod javascript;
mod maven;
mod minitest;
mod nextest;
mod phpunit;
mod rspec;
mod situations;
mod unittest;

pub(crate) use javascript::{node_modules, versions};

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::skip::skipped;
use redgreen::failure::{Code, Failure};
use redgreen::process::Stop;
use redgreen::runner::{Settings, detect};
use redgreen_core::framework::FRAMEWORKS;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Flag, LoadErrorKind, Outcome, Report};
use tempfile::TempDir;

/// Long enough for compilers on a busy machine. A test of a limit sets its own.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How long a busy machine may take to end everything after the time limit.
const STOPPED_MAX: Duration = Duration::from_secs(20);

struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| project.write(path, text));
        project
    }

    /// A package `demo` with a library.
    fn rust(lib: &str, files: &[(&str, &str)]) -> Self {
        let project = Self::new(files);
        project.write(
            "Cargo.toml",
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        );
        project.write("src/lib.rs", lib);
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self) -> Report {
        self.run_within(TIMEOUT)
    }

    fn run_within(&self, timeout: Duration) -> Report {
        let settings = Settings { timeout, ..settings() };
        detect(self.0.path())
            .unwrap()
            .run(self.0.path(), &Selection::All, &settings, &Stop::default())
            .unwrap()
    }

    /// The report of a run that reaches its time limit. On a busy machine the runner may not reach
    /// its first test by then, so it gets more time.
    #[track_caller]
    fn hangs(&self, seconds: u64) -> Report {
        for limit in [1, 5, 25].map(|times| Duration::from_secs(times * seconds)) {
            let started = Instant::now();
            let report = self.run_within(limit);
            assert!(
                started.elapsed() < limit + STOPPED_MAX,
                "{:?} with a limit of {limit:?}",
                started.elapsed()
            );
            if !report.tests.is_empty() {
                return report;
            }
        }
        panic!("the runner never came to a test");
    }

    fn select(&self, selection: &Selection) -> Report {
        detect(self.0.path())
            .unwrap()
            .run(self.0.path(), selection, &settings(), &Stop::default())
            .unwrap()
    }

    fn one(&self, id: &str) -> String {
        shown(&self.select(&Selection::One(id.to_owned())))
    }

    /// The lines of a file that the tests reached, and the lines they missed.
    fn coverage(&self, file: &str) -> Option<(Vec<u32>, Vec<u32>)> {
        let suite = detect(self.0.path()).unwrap();
        let (_, coverage) = suite.coverage(self.0.path(), &settings(), &Stop::default()).unwrap();
        let lines = coverage?.files.remove(file)?.lines;
        let (hit, missed): (Vec<_>, Vec<_>) = lines.into_iter().partition(|&(_, hits)| hits > 0);
        let numbers = |lines: Vec<(u32, u64)>| lines.into_iter().map(|(line, _)| line).collect();
        Some((numbers(hit), numbers(missed)))
    }

    fn list(&self) -> Vec<String> {
        detect(self.0.path()).unwrap().list(self.0.path(), &settings(), &Stop::default()).unwrap()
    }
}

fn settings() -> Settings {
    Settings {
        timeout: TIMEOUT,
        cargo_target_dir: None,
        virtual_env: Some(venv()),
        path: path(),
        variables: Vec::new(),
        secrets: Vec::new(),
        services: Vec::new(),
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests' runners are on PATH")]
fn path() -> Option<OsString> {
    std::env::var_os("PATH")
}

/// Whether a runner is installed. If not, the test is skipped by name.
pub(crate) fn is_installed(program: &str) -> bool {
    let installed = std::env::split_paths(&path().unwrap_or_default())
        .any(|folder| folder.join(program).is_file());
    if !installed {
        skipped(&format!("{program} is not on PATH"));
    }
    installed
}

/// The virtual environment with pytest that `scripts/test` installs.
pub(crate) fn venv() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a variable names pytest")]
    let python = std::env::var_os("REDGREEN_TEST_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/python/bin/python"),
        PathBuf::from,
    );
    assert!(
        python.exists(),
        "no {}: run scripts/test, which installs pytest for the tests",
        python.display()
    );
    // `.tools` may be a link, which a clean room does not follow. The interpreter is a link, too,
    // and must stay one.
    python.parent().unwrap().parent().unwrap().canonicalize().unwrap()
}

/// The report as a person sees it: the outcome, and one line for each test and load error.
fn shown(report: &Report) -> String {
    let mut lines = vec![format!("{:?}", report.outcome)];
    lines.extend(report.tests.iter().map(|test| format!("{:?} {}", test.status, test.id)));
    lines.extend(report.load_errors.iter().map(|error| {
        let place =
            format!("{}:{}", error.file.as_deref().unwrap_or("-"), error.line.unwrap_or_default());
        format!("{:?} {} {place}", error.kind, error.code.as_deref().unwrap_or("-"))
    }));
    lines[1..].sort();
    lines.join("\n")
}

#[track_caller]
fn check(project: &Project, expected: &[&str]) -> Report {
    let report = project.run();
    assert_eq!(shown(&report), expected.join("\n"), "{report:#?}");
    report
}

#[track_caller]
fn pytest(test: &str, expected: &[&str]) -> Report {
    let calc = ("calc.py", "def add(a, b):\n    return a + b\n");
    check(&Project::new(&[calc, ("tests/test_calc.py", test)]), expected)
}

#[test]
fn pytest_passes() {
    let report = pytest(
        "from calc import add\ndef test_adds():\n    assert add(1, 2) == 3\n",
        &["Passed", "Passed tests/test_calc.py::test_adds"],
    );
    assert!(report.finished && report.planned.is_some_and(|ids| ids.len() == 1));
}

#[test]
fn pytest_assertion_fails_with_its_line() {
    let report = pytest(
        "def test_good():\n    pass\n\ndef test_bad():\n    x = 1\n    assert x == 2\n",
        &["Failed", "Failed tests/test_calc.py::test_bad", "Passed tests/test_calc.py::test_good"],
    );
    let bad = report.test("tests/test_calc.py::test_bad").unwrap();
    assert_eq!((bad.file.as_deref(), bad.line), (Some("tests/test_calc.py"), Some(6)));
    assert_eq!(bad.message.as_deref(), Some("assert 1 == 2"));
}

#[test]
fn pytest_missing_module_and_name_beside_a_test_that_runs() {
    let project = Project::new(&[
        ("tests/test_old.py", "def test_old():\n    pass\n"),
        ("tests/test_new.py", "\nimport roman\n"),
        ("tests/test_name.py", "from os import nosuch\n"),
    ]);
    let report = check(
        &project,
        &[
            "DidNotCompile",
            "MissingSymbol ImportError tests/test_name.py:1",
            "MissingSymbol ModuleNotFoundError tests/test_new.py:2",
            "Passed tests/test_old.py::test_old",
        ],
    );
    assert!(
        report
            .load_errors
            .iter()
            .any(|error| error.message == "ModuleNotFoundError: No module named 'roman'")
    );
}

#[test]
fn pytest_missing_function_is_an_error_of_its_class() {
    let report = pytest(
        "import calc\ndef test_x():\n    calc.subtract(1, 2)\n",
        &["Errored", "Errored tests/test_calc.py::test_x"],
    );
    assert_eq!(report.tests[0].exception.as_deref(), Some("AttributeError"));
}

#[test]
fn pytest_syntax_error_is_not_a_missing_symbol() {
    pytest("\ndef test_x(:\n", &["DidNotCompile", "Syntax SyntaxError tests/test_calc.py:2"]);
}

#[test]
fn pytest_without_tests() {
    let project = Project::new(&[("pytest.ini", "[pytest]\n"), ("calc.py", "")]);
    check(&project, &["NoTests"]);
}

#[test]
fn pytest_that_is_ended_by_a_test_has_crashed() {
    let report = pytest(
        "import os\ndef test_a():\n    pass\ndef test_exit():\n    os._exit(0)\ndef test_never():\n    pass\n",
        &["Crashed", "Crashed tests/test_calc.py::test_exit", "Passed tests/test_calc.py::test_a"],
    );
    assert!(report.has(Flag::NoFinish) && report.has(Flag::ResultMissing));
}

#[test]
fn pytest_that_hangs_is_stopped_in_time() {
    let project =
        Project::new(&[("test_a.py", "import time\ndef test_hang():\n    time.sleep(600)\n")]);
    assert_eq!(shown(&project.hangs(4)), "TimedOut\nTimedOut test_a.py::test_hang");
}

#[test]
fn pytest_skips_expected_failures_and_parameters() {
    let test = "import pytest\n\
        @pytest.mark.skip(reason='later')\ndef test_skip():\n    pass\n\
        @pytest.mark.xfail\ndef test_xfail():\n    assert 0\n\
        @pytest.mark.xfail\ndef test_xpass():\n    pass\n\
        @pytest.mark.parametrize('n', [1, 2])\ndef test_table(n):\n    assert n == 1\n";
    let report = pytest(
        test,
        &[
            "Failed",
            "Failed tests/test_calc.py::test_table[2]",
            "Passed tests/test_calc.py::test_table[1]",
            "Skipped tests/test_calc.py::test_skip",
            "Xfailed tests/test_calc.py::test_xfail",
            "Xpassed tests/test_calc.py::test_xpass",
        ],
    );
    assert_eq!(
        report.test("tests/test_calc.py::test_skip").unwrap().message.as_deref(),
        Some("Skipped: later")
    );
}

#[test]
fn pytest_output_that_imitates_results_changes_nothing() {
    let test = "import os\ndef test_a():\n    os.write(1, b'{\"event\": \"finish\", \"exitstatus\": 0}\\n1 passed\\n')\n    assert 0\n";
    pytest(test, &["Failed", "Failed tests/test_calc.py::test_a"]);
}

#[test]
fn pytest_leaves_nothing_in_the_project_and_runs_all_in_spite_of_exitfirst() {
    let project = Project::new(&[
        ("pytest.ini", "[pytest]\naddopts = -x --ff\n"),
        ("test_a.py", "def test_a():\n    assert 0\ndef test_b():\n    pass\n"),
    ]);
    check(&project, &["Failed", "Failed test_a.py::test_a", "Passed test_a.py::test_b"]);
    let mut left: Vec<_> =
        fs::read_dir(project.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["pytest.ini", "test_a.py"]);
}

#[test]
fn pytest_that_is_not_installed_is_the_environments_fault() {
    let project = Project::new(&[("test_a.py", "")]);
    // An interpreter that cannot import pytest, even if the machine has it.
    project.write(".venv/bin/python", "#!/bin/sh\necho \"No module named 'pytest'\" >&2\nexit 1\n");
    let python = project.0.path().join(".venv/bin/python");
    fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let suite = detect(project.0.path()).unwrap();
    let error =
        suite.run(project.0.path(), &Selection::All, &settings(), &Stop::default()).unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    assert_eq!(failure.code, Code::Environment);
    assert!(failure.next.as_deref().is_some_and(|next| next.ends_with("-m pip install pytest")));
}

#[test]
fn a_project_without_tests_gets_a_list_of_the_files_that_were_tried() {
    let project = Project::new(&[("README.md", "")]);
    let error = detect(project.0.path()).unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    assert_eq!((failure.code, failure.evidence.len()), (Code::Environment, FRAMEWORKS.len()));
}

#[test]
fn pytest_runs_one_test_or_one_file_and_lists_without_running() {
    let project = Project::new(&[
        ("tests/test_a.py", "def test_a():\n    pass\ndef test_b():\n    assert 0\n"),
        ("tests/test_c.py", "def test_c():\n    pass\n"),
    ]);
    assert_eq!(project.one("tests/test_a.py::test_a"), "Passed\nPassed tests/test_a.py::test_a");
    assert_eq!(project.one("tests/test_a.py::test_z"), "UsageError");
    let file = project.select(&Selection::Files(vec!["tests/test_c.py".to_owned()]));
    assert_eq!(shown(&file), "Passed\nPassed tests/test_c.py::test_c");
    let all = ["tests/test_a.py::test_a", "tests/test_a.py::test_b", "tests/test_c.py::test_c"];
    assert_eq!(project.list(), all);
}

#[test]
fn an_id_of_no_framework_is_a_run_without_tests() {
    let project = Project::new(&[("tests/test_a.py", "def test_a():\n    pass\n")]);
    assert_eq!(project.one("nothing at all"), "NoTests");
}

const ADD: &str = "pub fn add(a: i32, b: i32) -> i32 { a + b }\n";

#[test]
fn cargo_names_unit_integration_and_doc_tests_apart() {
    let lib = "/// ```\n/// assert_eq!(demo::add(1, 2), 3);\n/// ```\n/// ```\n/// assert_eq!(demo::add(1, 2), 4);\n/// ```\n\
        pub fn add(a: i32, b: i32) -> i32 { a + b }\n#[cfg(test)]\nmod tests { #[test] fn adds() {} }\n";
    let project = Project::rust(
        lib,
        &[
            ("src/main.rs", "fn main() {}\n#[test]\nfn adds() {}\n"),
            (
                "tests/calc.rs",
                "#[test]\nfn adds() {\n    assert_eq!(demo::add(1, 2), 4);\n}\n#[test]\n#[ignore = \"later\"]\nfn ig() {}\n",
            ),
        ],
    );
    let report = check(
        &project,
        &[
            "Failed",
            "Failed demo/doc::src/lib.rs - add #2",
            "Failed demo/tests/calc::adds",
            "Passed demo/bin/demo::adds",
            "Passed demo/doc::src/lib.rs - add",
            "Passed demo::tests::adds",
            "Skipped demo/tests/calc::ig",
        ],
    );
    let adds = report.test("demo/tests/calc::adds").unwrap();
    assert_eq!((adds.file.as_deref(), adds.line), (Some("tests/calc.rs"), Some(3)));
    assert_eq!(
        adds.message.as_deref(),
        Some("assertion `left == right` failed\n  left: 3\n right: 4")
    );
}

#[test]
fn cargo_keeps_old_results_beside_a_new_test_that_does_not_compile() {
    let project = Project::rust(
        ADD,
        &[
            ("tests/old.rs", "#[test]\nfn adds() { assert_eq!(demo::add(1, 2), 3); }\n"),
            (
                "tests/new.rs",
                "use demo::subtract;\n#[test]\nfn subtracts() { assert_eq!(subtract(2, 1), 1); }\n",
            ),
        ],
    );
    check(
        &project,
        &["DidNotCompile", "MissingSymbol E0432 tests/new.rs:1", "Passed demo/tests/old::adds"],
    );
}

#[test]
fn cargo_syntax_error_is_not_a_missing_symbol() {
    let project = Project::rust(ADD, &[("tests/calc.rs", "#[test]\nfn adds( {\n}\n")]);
    let report = project.run();
    assert_eq!(report.outcome, Outcome::DidNotCompile);
    assert!(report.load_errors.iter().all(|error| error.kind == LoadErrorKind::Syntax));
}

#[test]
fn cargo_without_tests() {
    check(&Project::rust(ADD, &[]), &["NoTests"]);
}

#[test]
fn cargo_that_is_ended_by_a_test_has_crashed() {
    let project = Project::rust(
        ADD,
        &[(
            "tests/calc.rs",
            "#[test]\nfn leaves() { std::process::exit(0) }\n#[test]\nfn other() {\n    std::thread::sleep(std::time::Duration::from_secs(5));\n}\n",
        )],
    );
    let report = project.run();
    assert_eq!(report.outcome, Outcome::Crashed, "{report:#?}");
    assert!(report.has(Flag::ResultMissing) || report.test("demo/tests/calc::leaves").is_some());
}

#[test]
fn cargo_that_hangs_is_stopped_in_time() {
    let project = Project::rust(
        ADD,
        &[("tests/calc.rs", "#[test]\nfn hangs() { loop { std::thread::park() } }\n")],
    );
    assert_eq!(shown(&project.hangs(8)), "TimedOut\nTimedOut demo/tests/calc::hangs");
}

#[test]
fn cargo_results_forged_by_a_test_do_not_count() {
    let forged = "use std::io::Write;\n#[test]\nfn forges() {\n\
        let out = \"{ \\\"type\\\": \\\"test\\\", \\\"name\\\": \\\"victim\\\", \\\"event\\\": \\\"ok\\\" }\\n{ \\\"type\\\": \\\"test\\\", \\\"name\\\": \\\"forges\\\", \\\"event\\\": \\\"ok\\\" }\\n{ \\\"type\\\": \\\"suite\\\", \\\"event\\\": \\\"ok\\\" }\\n\";\n\
        std::io::stdout().write_all(out.as_bytes()).unwrap();\n    std::io::stdout().flush().unwrap();\n    std::process::exit(0)\n}\n\
        #[test]\nfn victim() { std::thread::sleep(std::time::Duration::from_secs(1)); panic!() }\n";
    let report = Project::rust(ADD, &[("tests/calc.rs", forged)]).run();
    assert_eq!(report.outcome, Outcome::Crashed, "{report:#?}");
    assert!(report.has(Flag::SourcesDisagree));
}

#[test]
fn cargo_noise_without_a_line_end_changes_nothing() {
    let noisy = "use std::io::Write;\n#[test]\nfn noisy() {\n    std::io::stdout().write_all(b\"test x ... FAILED\").unwrap();\n}\n";
    check(
        &Project::rust(ADD, &[("tests/calc.rs", noisy)]),
        &["Passed", "Passed demo/tests/calc::noisy"],
    );
}

#[test]
fn cargo_runs_every_member_and_a_test_with_its_own_main() {
    let manifest = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
    };
    let here = "#[test]\nfn here() { assert!(std::path::Path::new(\"Cargo.toml\").exists()); assert_eq!(std::env::var(\"CARGO_PKG_NAME\").unwrap(), env!(\"CARGO_PKG_NAME\")); }\n";
    let project = Project::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"2\"\n"),
        ("a/Cargo.toml", &manifest("a", "")),
        ("a/src/lib.rs", ""),
        ("a/tests/it.rs", here),
        ("b/Cargo.toml", &manifest("b", "[[test]]\nname = \"own\"\nharness = false\n")),
        ("b/src/lib.rs", "#[test]\nfn fails() { panic!(\"no\") }\n"),
        ("b/tests/it.rs", here),
        ("b/tests/own.rs", "fn main() {}\n"),
    ]);
    let report = check(
        &project,
        &[
            "Failed",
            "Failed b::fails",
            "Passed a/tests/it::here",
            "Passed b/tests/it::here",
            "Passed b/tests/own",
        ],
    );
    assert_eq!(report.test("b::fails").unwrap().file.as_deref(), Some("b/src/lib.rs"));
}

/// Unit tests of a macro need the toolchain's shared libraries. No other program that cargo builds
/// does.
#[test]
fn cargo_runs_the_unit_tests_of_a_macro() {
    let kit = "[package]\nname = \"kit\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n";
    let macros = "use proc_macro::TokenStream;\n#[proc_macro]\npub fn same(input: TokenStream) -> TokenStream { input }\n\
                  fn two() -> u8 { 2 }\n#[test]\nfn counts() { assert_eq!(two(), 2); }\n";
    check(
        &Project::new(&[("Cargo.toml", kit), ("src/lib.rs", macros)]),
        &["Passed", "Passed kit::counts"],
    );
}

#[test]
fn cargo_lists_every_kind_of_test_without_running_one() {
    let lib = "/// ```\n/// panic!()\n/// ```\n/// ```\n/// ```\npub fn f() {}\n#[test]\nfn unit() { panic!() }\n";
    let calc = "#[test]\n#[ignore]\nfn ig() {}\n#[test]\nfn adds() { panic!() }\n";
    let project = Project::rust(lib, &[("tests/calc.rs", calc)]);
    let mut listed = project.list();
    listed.sort();
    let doc = ["demo/doc::src/lib.rs - f", "demo/doc::src/lib.rs - f #2"];
    assert_eq!(
        listed,
        [doc[0], doc[1], "demo/tests/calc::adds", "demo/tests/calc::ig", "demo::unit"]
    );
}

/// `cargo test` and nextest measure coverage with the same tool.
#[test]
fn cargo_and_nextest_know_the_lines_that_tests_reach() {
    if !is_installed("cargo-llvm-cov") {
        return;
    }
    let lib =
        "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\npub fn never() -> i32 {\n    7\n}\n";
    let tests = "#[test]\nfn adds() { assert_eq!(demo::add(1, 2), 3); }\n#[test]\nfn fails() { panic!() }\n";
    let project = Project::rust(lib, &[("tests/calc.rs", tests)]);
    let expected = Some((vec![1, 2, 3], vec![5, 6, 7]));
    assert_eq!(project.coverage("src/lib.rs"), expected);
    if is_installed("cargo-nextest") {
        project.write(".config/nextest.toml", "");
        assert_eq!(project.coverage("src/lib.rs"), expected);
    }
}

#[test]
fn coverage_without_its_tool_says_what_to_install() {
    let project = Project::rust(ADD, &[]);
    let suite = detect(project.0.path()).unwrap();
    let bare = Settings { path: None, ..settings() };
    let error = suite.coverage(project.0.path(), &bare, &Stop::default()).unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    assert_eq!(
        (failure.code, failure.what.as_str()),
        (Code::Environment, "cargo-llvm-cov is not installed")
    );
}

#[test]
fn cargo_runs_one_test_alone() {
    let two = "#[test]\nfn adds() {}\n#[test]\nfn adds_more() { panic!() }\n";
    let project = Project::rust(ADD, &[("tests/calc.rs", two), ("tests/other.rs", two)]);
    assert_eq!(project.one("demo/tests/calc::adds"), "Passed\nPassed demo/tests/calc::adds");
    assert_eq!(project.one("demo/tests/calc::nothing"), "NoTests");
    let file = project.select(&Selection::Files(vec!["tests/other.rs".to_owned()]));
    assert_eq!(
        shown(&file),
        "Failed\nFailed demo/tests/other::adds_more\nPassed demo/tests/other::adds"
    );
}

#[test]
fn packages_below_the_root_are_run_in_their_own_folder() {
    let project = Project::new(&[
        ("web/pytest.ini", "[pytest]\n"),
        ("web/test_a.py", "import os\ndef test_a():\n    assert os.path.exists('pytest.ini')\n"),
        ("api/pytest.ini", "[pytest]\n"),
        ("api/test_a.py", "def test_a():\n    assert 0\n"),
    ]);
    let report = check(
        &project,
        &["Failed", "Failed api: test_a.py::test_a", "Passed web: test_a.py::test_a"],
    );
    assert_eq!(
        report.test("api: test_a.py::test_a").unwrap().file.as_deref(),
        Some("api/test_a.py")
    );
    assert_eq!(project.one("web: test_a.py::test_a"), "Passed\nPassed web: test_a.py::test_a");
}

#[test]
fn both_frameworks_make_one_report() {
    let project = Project::rust(
        ADD,
        &[
            ("tests/calc.rs", "#[test]\nfn adds() {}\n"),
            ("tests/test_calc.py", "def test_adds():\n    assert 0\n"),
        ],
    );
    let report = check(
        &project,
        &["Failed", "Failed tests/test_calc.py::test_adds", "Passed demo/tests/calc::adds"],
    );
    assert_eq!(report.runner, "pytest+cargo");
    assert_eq!(detect(project.0.path()).unwrap().describe(), "pytest + cargo");
}

#[test]
fn bytecode_of_an_older_source_is_not_believed() {
    let project = Project::new(&[("pytest.ini", "[pytest]\n"), ("calc.py", "VALUE = 1\n")]);
    let test = "import calc\n\ndef test_value():\n    assert calc.VALUE == 2\n";
    fs::write(project.0.path().join("test_calc.py"), test).unwrap();
    let python = venv().join("bin/python");
    let compile = redgreen::process::Program::new(python)
        .args(["-m", "compileall", "-q", "."])
        .cwd(project.0.path());
    let limits = redgreen::process::Limits { wall: TIMEOUT, output_bytes_max: 1 << 16 };
    assert!(compile.output(limits, &Stop::default()).unwrap().success());
    // The size and the timestamp are the same, so Python would reuse the old bytecode.
    let source = project.0.path().join("calc.py");
    let time = fs::metadata(&source).unwrap().modified().unwrap();
    fs::write(&source, "VALUE = 2\n").unwrap();
    fs::File::options().write(true).open(&source).unwrap().set_modified(time).unwrap();
    check(&project, &["Passed", "Passed test_calc.py::test_value"]);
}
