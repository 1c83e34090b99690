//! CTest runs the tests of a CMake project, one process each, and reports how each process ended.
//! GoogleTest takes options from the environment and reports its tests as JSON. Catch2 takes none,
//! so redgreen looks for the final line in its output.

mod targets;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::captured::{Capture, StepEnd};
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, Choice, CoverageAt, Invocation, Missing, ReportAt, Selection, Stale, Step,
};
use super::{Execution, Framework, Process, cpp, file_name, identity};
use crate::coverage::Format;
use crate::format::{bounded_tail, gtest_json, junit};
use crate::report::{Exit, Outcome, Report, Stage, Status, Test};

pub const FRAMEWORK: Framework = Framework {
    name: "ctest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "CMakeLists.txt with enable_testing() or include(CTest)",
    detect,
    reads: |path| path == "CMakeLists.txt",
    reach: Reach::Tree,
    tools: &["cmake", "ctest", "gcovr"],
    // A test can have any name. A wrong guess only costs a run without tests.
    is_id: |_| true,
    read: identity::whole,
    is_test_file: cpp::is_test_file,
    is_runner_config: |path| {
        let known =
            ["CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json", "CTestCustom.cmake"];
        known.contains(&file_name(path))
    },
    litter: &["**/build/redgreen/", "**/build/redgreen-coverage/"],
};

/// Kept between runs, so that only changes are recompiled. The project's own build folder is not
/// touched.
const BUILD_IN: &str = "build/redgreen";
const COVERAGE_IN: &str = "build/redgreen-coverage";
/// Deleted before a run, because gcov adds to existing counts.
const COUNTS: &str = "build/redgreen-coverage/**/*.gcda";
/// CMake rejects much longer regular expressions. If the selected tests do not fit, all tests run.
const PATTERN_BYTES_MAX: usize = 16 << 10;
const JOBS: &str = "4";
/// Output that CTest keeps per test, in bytes. Its default is too small for passing tests.
const OUTPUT_MAX: &str = "65536";

const JUNIT: &str = "ctest.xml";
const GTEST_JSON: &str = "gtest/*.json";
const COBERTURA: &str = "cobertura.xml";

const CONFIGURE: &str = "configure";
const BUILD: &str = "build";
const LIST: &str = "list";
const GTEST: &str = "gtest";
const CATCH2: &str = "catch2";
/// For each library, the mangled name of a class that every program linked with it contains.
const MARKS: &[(&str, &str)] = &[(GTEST, "N7testing4TestE"), (CATCH2, "N5Catch")];

fn detect(folder: &Folder) -> Evidence {
    let text = folder.text("CMakeLists.txt").unwrap_or_default().to_lowercase();
    let text: String = text.split_whitespace().collect();
    let tests = ["enable_testing(", "include(ctest)"].iter().any(|words| text.contains(words));
    // A folder without its own `project()` is part of the project above it.
    if tests && text.contains("project(") { Evidence::Sure } else { Evidence::None }
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let missing = |what: &str, evidence: &str, next: &str| {
        CannotRun::Missing(Missing {
            what: what.to_owned(),
            evidence: evidence.to_owned(),
            next: next.to_owned(),
        })
    };
    let (Some(cmake), Some(ctest)) = (facts.tool("cmake"), facts.tool("ctest")) else {
        let evidence =
            "the project has a CMakeLists.txt, and no cmake with ctest was found on PATH";
        return Err(missing(
            "CMake is not installed",
            evidence,
            "install CMake: https://cmake.org/download",
        ));
    };
    let step = |name, call| Step { name, call };
    let covers = *selection == Selection::Coverage;
    let folder = if covers { COVERAGE_IN } else { BUILD_IN };
    let mut invocation = Invocation::new("ctest", Call::default());
    let mut configure = Call::new([cmake, "-S", ".", "-B", folder, "-DCMAKE_BUILD_TYPE=Debug"]);
    if covers {
        let Some(gcovr) = facts.tool("gcovr") else {
            let evidence = "it measures the coverage of C++, but was not found on PATH";
            return Err(missing("gcovr is not installed", evidence, "pip install gcovr"));
        };
        configure = configure.args(["-DCMAKE_CXX_FLAGS=--coverage", "-DCMAKE_C_FLAGS=--coverage"]);
        let gcovr = Call::new([
            gcovr,
            "--root",
            ".",
            "--exclude",
            "build/",
            "--cobertura",
            &facts.scratch(COBERTURA),
        ]);
        invocation.after.push(step("coverage", gcovr));
        invocation.coverage = Some(CoverageAt::new(COBERTURA, Format::Cobertura));
        invocation.stale.push(Stale::Always(COUNTS));
    }
    invocation.before.push(step(CONFIGURE, configure));
    invocation.before.push(step(BUILD, Call::new([cmake, "--build", folder, "--parallel", JOBS])));
    let list = Call::new([ctest, "--test-dir", folder, "--show-only=json-v1"]);
    if let Selection::Files(paths) = selection {
        invocation.before.insert(0, step(targets::ASK, targets::ask(folder)));
        invocation.before.push(step(LIST, list.clone()));
        invocation.before.push(step(targets::ANSWER, targets::answer(folder)));
        invocation.choice = Some(Choice { files: paths.clone(), args: chosen });
    }
    if *selection == Selection::List {
        invocation.call = list;
        return Ok(invocation);
    }
    invocation.after.push(step(LIST, list));
    for &(library, mark) in MARKS {
        let programs = [
            "find", folder, "-type", "f", "-perm", "-u+x", "-exec", "grep", "-laF", mark, "{}", "+",
        ];
        invocation.after.push(step(library, Call::new(programs)));
    }
    invocation.reports.push(ReportAt::Scratch(JUNIT.to_owned()));
    invocation.reports.push(ReportAt::ScratchTree(GTEST_JSON));
    let call = Call::new([ctest, "--test-dir", folder, "--output-junit", &facts.scratch(JUNIT)])
        .args(["--test-output-size-passed", OUTPUT_MAX, "--test-output-size-failed", OUTPUT_MAX])
        .env("GTEST_OUTPUT", format!("json:{}/", facts.scratch(GTEST)));
    invocation.call = match selection {
        Selection::All | Selection::Files(_) | Selection::Coverage | Selection::List => call,
        Selection::One(id) => match id.split_once(WITHIN) {
            Some((name, test)) => call.args(["-R", &exactly(name)]).env("GTEST_FILTER", test),
            None => call.args(["-R", &exactly(id)]),
        },
    };
    Ok(invocation)
}

/// The tests whose program is built from one of the files. All tests if the owner of a file is
/// unknown.
fn chosen(captured: &Capture, files: &[String]) -> Vec<String> {
    let step = |name: &str| {
        captured.steps.iter().find(|step| step.name == name).map(|step| step.stdout.as_slice())
    };
    let Some(programs) = targets::programs_of(step(targets::ANSWER).unwrap_or_default(), files)
    else {
        return Vec::new();
    };
    let listed = ListOutput::read(step(LIST).unwrap_or_default());
    let is_meant = |test: &&ListedTest| {
        let program = test.command.first().map(|program| built(program).trim_start_matches('/'));
        program.is_some_and(|program| programs.iter().any(|built| built == program))
    };
    let names: Vec<String> =
        listed.tests.iter().filter(is_meant).map(|test| quoted(&test.name)).collect();
    let pattern = format!("^({})$", names.join("|"));
    match names.as_slice() {
        // No test has an empty name, so this pattern selects nothing.
        [] => vec!["-R".to_owned(), "^$".to_owned()],
        _ if pattern.len() > PATTERN_BYTES_MAX => Vec::new(),
        _ => vec!["-R".to_owned(), pattern],
    }
}

/// Separates a program that CTest runs as one test from a GoogleTest test in it.
const WITHIN: &str = " > ";

fn exactly(name: &str) -> String {
    format!("^{}$", quoted(name))
}

/// Escapes a name for CMake's regular expressions.
fn quoted(name: &str) -> String {
    let mut quoted = String::new();
    for letter in name.chars() {
        if r"\.+*?()|[]^$".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    if let Some(step) = captured.failed_step() {
        not_built(&mut report, captured, step);
        report.conclude();
        return report;
    }
    let mut document = junit::parse(captured.file(JUNIT).unwrap_or_default());
    // CTest repeats the test name as the class.
    document.cases.rename_classes(|_| String::new());
    junit::add(&mut report, &junit::CTEST, std::slice::from_ref(&document), |path| {
        captured.relative(path)
    });
    let lines = Lines::read(&captured.stdout);
    if !document.complete {
        report.tests = lines.tests(captured.exit);
    }
    let outputs = document
        .cases
        .telling()
        .filter_map(|case| Some((case.name.as_deref()?, case.system_out.as_deref()?)));
    let outputs: BTreeMap<&str, &junit::Excerpt> = outputs.collect();
    let programs = Programs::read(captured);
    let tests = std::mem::take(&mut report.tests);
    for mut test in tests {
        if let Some(status) = lines.ended_badly(&test) {
            test.status = status;
        }
        let output = outputs.get(test.id.as_str()).copied();
        report.tests.extend(programs.explain(test, output, captured));
    }
    report.conclude();
    report
}

fn not_built(report: &mut Report, captured: &Capture, step: &StepEnd) {
    let words = format!(
        "{}\n{}",
        String::from_utf8_lossy(&step.stdout),
        String::from_utf8_lossy(&step.stderr)
    );
    if step.name == CONFIGURE {
        report.decided = Some(Outcome::UsageError);
        report.errors_outside.push(bounded_tail(&words));
        return;
    }
    report.load_errors = cpp::diagnostics(captured, &words);
    report.stage(Stage::Build, false);
    if report.load_errors.is_empty() {
        report.errors_outside.push(bounded_tail(&words));
    }
}

/// CTest's own lines, which tests cannot write to: `    Start 2: Calc.Z`, then `2/3 Test #2: Calc.Z
/// .....***Failed    0.01 sec`.
#[derive(Default)]
struct Lines {
    /// Every started test by name, with its end.
    started: BTreeMap<String, Option<String>>,
}

impl Lines {
    fn read(stdout: &[u8]) -> Self {
        let mut lines = Self::default();
        let mut names: BTreeMap<u32, &str> = BTreeMap::new();
        let text = String::from_utf8_lossy(stdout);
        for line in text.lines().map(str::trim_start) {
            if let Some((number, name)) = started(line) {
                names.insert(number, name);
                lines.started.insert(name.to_owned(), None);
            } else if let Some((name, rest)) =
                ended(line).and_then(|(at, rest)| Some((*names.get(&at)?, rest)))
            {
                let end =
                    rest.strip_prefix(name).map(|end| end.trim_matches([' ', '.']).to_owned());
                lines.started.insert(name.to_owned(), end);
            }
        }
        lines
    }

    /// The more precise status of a failed test, from CTest's lines.
    fn ended_badly(&self, test: &Test) -> Option<Status> {
        let end =
            self.started.get(&test.id)?.as_deref().filter(|_| test.status == Status::Failed)?;
        match end {
            _ if end.contains("***Timeout") => Some(Status::TimedOut),
            _ if end.contains("***Exception") => Some(Status::Crashed),
            _ => None,
        }
    }

    /// The known results if CTest was stopped before it wrote its report.
    fn tests(&self, exit: Exit) -> Vec<Test> {
        let running = if exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
        let status = |end: &Option<String>| match end.as_deref() {
            None => running,
            Some(end) if end.starts_with("Passed") => Status::Passed,
            Some(end) if end.contains("***Skipped") || end.contains("***Not Run") => {
                Status::Skipped
            }
            Some(_) => Status::Failed,
        };
        self.started.iter().map(|(name, end)| Test::new(name, status(end))).collect()
    }
}

/// The number and the name of a test that starts.
fn started(line: &str) -> Option<(u32, &str)> {
    let (number, name) = line.strip_prefix("Start ")?.split_once(": ")?;
    Some((number.trim().parse().ok()?, name))
}

/// The number of a test that ended, and the rest of the line.
fn ended(line: &str) -> Option<(u32, &str)> {
    let (_, rest) = line.split_once(" Test ")?;
    let (number, rest) = rest.trim_start().strip_prefix('#')?.split_once(": ")?;
    Some((number.trim().parse().ok()?, rest))
}

/// The programs that CTest runs as tests.
#[derive(Default)]
struct Programs {
    /// By the test's name.
    commands: BTreeMap<String, Vec<String>>,
    gtest: BTreeSet<String>,
    catch2: BTreeSet<String>,
    /// GoogleTest's results, by the name of each completed program, then by test.
    results: BTreeMap<String, BTreeMap<String, Test>>,
}

impl Programs {
    fn read(captured: &Capture) -> Self {
        let listed = captured
            .step_after(LIST)
            .map(|step| ListOutput::read(&step.stdout))
            .unwrap_or_default();
        let found = |library: &str| {
            let words = captured
                .step_after(library)
                .map(|step| String::from_utf8_lossy(&step.stdout).into_owned());
            words.unwrap_or_default().lines().map(|path| built(path).to_owned()).collect()
        };
        let mut results: BTreeMap<String, BTreeMap<String, Test>> = BTreeMap::new();
        for (name, bytes) in captured.reports.iter().filter(|(name, _)| name.ends_with(".json")) {
            let stem = file_name(name).trim_end_matches(".json");
            let Some(tests) = gtest_json::parse(bytes, |path| captured.relative(path)) else {
                continue;
            };
            // GoogleTest does not overwrite a file: `calc_test.json` is followed by
            // `calc_test_1.json`.
            for program in [stem, without_number(stem)] {
                let known = results.entry(program.to_owned()).or_default();
                tests.iter().for_each(|test| note(known, test));
            }
        }
        let tests = listed.tests.into_iter().map(|test| (test.name, test.command));
        Self { commands: tests.collect(), gtest: found(GTEST), catch2: found(CATCH2), results }
    }

    /// Expands a CTest test: the test itself, or the GoogleTest tests that it ran.
    fn explain(
        &self,
        mut test: Test,
        output: Option<&junit::Excerpt>,
        captured: &Capture,
    ) -> Vec<Test> {
        let none = Vec::new();
        let command = self.commands.get(&test.id).unwrap_or(&none);
        let program = built(command.first().map_or("", String::as_str));
        let own_report = command.iter().any(|word| word.starts_with("--gtest_output"));
        if test.status == Status::Skipped {
            return vec![test];
        }
        let told = self.results.contains_key(file_name(program));
        if (told || self.gtest.contains(program)) && !own_report {
            return self.within(test, command, file_name(program));
        }
        if self.catch2.contains(program) {
            cpp::explain_catch2(&mut test, output, |path| captured.relative(path));
        } else if test.status.is_failure() && test.message.is_none() {
            test.message =
                output.map(|output| bounded_tail(&output.tail)).filter(|words| !words.is_empty());
        }
        vec![test]
    }

    /// The results of a GoogleTest program that ran to completion.
    fn within(&self, test: Test, command: &[String], program: &str) -> Vec<Test> {
        let filter = command.iter().find_map(|word| word.strip_prefix("--gtest_filter="));
        let one = filter.filter(|filter| !filter.contains(['*', '?', ':']));
        let results: Vec<&Test> = match one {
            Some(one) => {
                self.results.get(program).and_then(|results| results.get(one)).into_iter().collect()
            }
            None => self.results.get(program).into_iter().flat_map(BTreeMap::values).collect(),
        };
        let lost = if test.status == Status::TimedOut { Status::TimedOut } else { Status::Crashed };
        let told = self.results.contains_key(program);
        let mut tests: Vec<Test> = match (one, results.as_slice()) {
            (Some(_), []) => return vec![Test { status: lost, ..test }],
            (None, []) if !told => return vec![Test { status: lost, ..test }],
            (Some(_), [result, ..]) => vec![Test { id: test.id.clone(), ..(*result).clone() }],
            (None, results) => {
                let id = |result: &Test| format!("{}{WITHIN}{}", test.id, result.id);
                results.iter().map(|&result| Test { id: id(result), ..result.clone() }).collect()
            }
        };
        if test.status.is_failure() && !tests.iter().any(|test| test.status.is_failure()) {
            // The tests passed but the process failed, for example in a sanitizer or a destructor.
            tests.push(Test { status: test.status.max(Status::Errored), ..test });
        }
        tests
    }
}

/// A program's path below the build folder. CMake may use another name for that folder.
fn built(path: &str) -> &str {
    path.rsplit_once(BUILD_IN).map_or(path, |(_, below)| below)
}

/// Keeps the worse of two results for one test.
fn note(results: &mut BTreeMap<String, Test>, test: &Test) {
    let known = results.entry(test.id.clone()).or_insert_with(|| test.clone());
    if test.status > known.status {
        *known = test.clone();
    }
}

fn without_number(stem: &str) -> &str {
    match stem.rsplit_once('_') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => stem,
    }
}

/// Output of `ctest --show-only=json-v1`.
#[derive(Default, Deserialize)]
struct ListOutput {
    tests: Vec<ListedTest>,
}

#[derive(Deserialize)]
struct ListedTest {
    name: String,
    #[serde(default)]
    command: Vec<String>,
}

impl ListOutput {
    fn read(stdout: &[u8]) -> Self {
        serde_json::from_slice(stdout).unwrap_or_default()
    }
}

fn list(captured: &Capture) -> Vec<String> {
    ListOutput::read(&captured.stdout).tests.into_iter().map(|test| test.name).collect()
}

#[cfg(test)]
mod tests;
