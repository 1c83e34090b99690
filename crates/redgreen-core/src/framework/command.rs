//! Runs a command that the user configured and reads a report in a known format. As a last resort
//! it reads only the exit code, and the output says so. If the command just calls a known runner,
//! redgreen runs it as that runner, which gives better results.

use serde::Deserialize;
use serde_json::Value;

use super::captured::Capture;
use super::facts::{Evidence, Folder, Reach};
use super::invoke::{Call, CannotRun, Invocation, ReportAt, Selection};
use super::{
    Detection, Execution, FRAMEWORKS, Framework, file_name, go, identity, javascript, python,
};
use crate::format::{junit, tap};
use crate::report::{EXIT_CODE_ONLY, Exit, Flag, Outcome, Report, Status, Test};
use crate::syntax::glob;

/// Not in [`FRAMEWORKS`]: it is configured by the user or used as the last resort.
pub const FRAMEWORK: Framework = Framework {
    name: "command",
    how: Execution::Command,
    looks_for: "test.command in redgreen.toml, or a script `test` in package.json",
    detect: |_| Evidence::None,
    reads: |_| false,
    reach: Reach::Tree,
    tools: &[],
    is_id: |id| id.starts_with(EXIT_CODE_ONLY),
    read: identity::whole,
    is_test_file,
    is_runner_config: |path| {
        let known = matches!(
            file_name(path),
            "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Taskfile.yml"
        );
        known || FRAMEWORKS.iter().any(|row| (row.is_runner_config)(path))
    },
    litter: &[],
};

/// A command, and where its test results come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The line to pass to the shell.
    pub line: String,
    pub told: ReportSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportSource {
    ByExitCode,
    OnStdout(Format),
    /// The pattern has the form of [`ReportAt::Fresh`].
    InFiles(String, Format),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Junit,
    Tap,
    /// Output of `go test -json`.
    GoJson,
    /// Output of `jest --json` and of vitest's `json` reporter.
    JestJson,
    /// Output of mocha's `json` reporter.
    MochaJson,
}

/// Replaces a report's path to read standard output.
const STDOUT: &str = "stdout";
/// Exit codes of a shell that could not start the command.
const NOT_STARTED: &[i32] = &[126, 127];

/// Prefixes that can start a runner.
const STARTERS: &[&[&str]] = &[
    &["npx", "--no-install"],
    &["npx"],
    &["pnpm", "exec"],
    &["pnpm"],
    &["yarn"],
    &["bunx"],
    &["uv", "run"],
    &["poetry", "run"],
    &["bundle", "exec"],
    &["python", "-m"],
    &["python3", "-m"],
];
/// The usual command line of each runner, and the name of its row.
const CALLS: &[(&[&str], &str)] = &[
    (&["pytest"], "pytest"),
    (&["unittest"], "unittest"),
    (&["unittest", "discover"], "unittest"),
    (&["cargo", "test"], "cargo"),
    (&["cargo", "t"], "cargo"),
    (&["cargo", "nextest", "run"], "nextest"),
    (&["vitest"], "vitest"),
    (&["vitest", "run"], "vitest"),
    (&["jest"], "jest"),
    (&["mocha"], "mocha"),
    (&["node", "--test"], "node"),
    (&["go", "test"], "go"),
    (&["mvn", "test"], "maven"),
    (&["./mvnw", "test"], "maven"),
    (&["gradle", "test"], "gradle"),
    (&["./gradlew", "test"], "gradle"),
    (&["rspec"], "rspec"),
    (&["phpunit"], "phpunit"),
    (&["vendor/bin/phpunit"], "phpunit"),
    (&["ctest"], "ctest"),
    (&["mix", "test"], "exunit"),
    (&["bats"], "bats"),
];
/// Commands that run the `test` script of a `package.json`.
const SCRIPTS: &[&str] = &[
    "npm test",
    "npm t",
    "npm run test",
    "pnpm test",
    "pnpm run test",
    "yarn test",
    "yarn run test",
    "bun run test",
];
/// Characters that need a shell.
const SHELL: &str = "|&;<>$`(){}\"'\\*?#\n";
/// Arguments that affect neither the selection nor the result of tests.
const HARMLESS: &[&str] = &[
    "-q",
    "-qq",
    "--quiet",
    "-s",
    "--silent",
    "-v",
    "-vv",
    "--verbose",
    "-B",
    "--batch-mode",
    "--no-header",
    "-ra",
    "-rA",
    "--tb=*",
    "--color*",
    "--no-color",
    "-x",
    "--exitfirst",
    "--workspace",
    "--all",
    "--recursive",
    "./...",
];
/// Usual test folders.
const TEST_FOLDERS: &[&str] = &["test", "tests", "spec", "__tests__"];
/// Runners that take paths as positional arguments. For the others a path is part of a test name or
/// something else.
const TAKES_PATHS: &[&str] =
    &["pytest", "vitest", "jest", "mocha", "node", "rspec", "phpunit", "exunit", "bats"];

impl Command {
    /// Validates the user's configuration; the error explains the problem.
    pub fn new(
        line: &str,
        report: Option<&str>,
        format: Option<Format>,
    ) -> Result<Command, &'static str> {
        let outside =
            |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
        let told = match (report, format) {
            (None, None) => ReportSource::ByExitCode,
            (None, Some(_)) => {
                return Err("a format needs a report: the file that has it, or \"stdout\"");
            }
            (Some(STDOUT), None | Some(Format::Junit)) => {
                return Err(
                    "a report on stdout needs a format, such as \"tap\"; JUnit's XML needs a file",
                );
            }
            (Some(STDOUT), Some(format)) => ReportSource::OnStdout(format),
            (Some(path), _) if path.trim().is_empty() || outside(path) => {
                return Err("a report is a file of the project, by its path from the root");
            }
            (Some(path), format) => ReportSource::InFiles(
                path.trim_start_matches("./").to_owned(),
                format.unwrap_or(Format::Junit),
            ),
        };
        if line.trim().is_empty() {
            return Err("a command cannot be empty");
        }
        Ok(Command { line: line.trim().to_owned(), told })
    }

    /// Resolves the framework that runs the command in the project root.
    pub fn found(self, root: Folder) -> Detection {
        let runner = match &self.told {
            ReportSource::ByExitCode => runner(&self.line, &root),
            ReportSource::OnStdout(_) | ReportSource::InFiles(..) => None,
        };
        match runner {
            Some((row, files)) => Detection { row, folder: root, command: None, files },
            None => {
                Detection { row: &FRAMEWORK, folder: root, command: Some(self), files: Vec::new() }
            }
        }
    }

    pub fn invoke(&self, selection: &Selection) -> Result<Invocation, CannotRun> {
        match selection {
            Selection::All => {}
            // A command has only this one test.
            Selection::One(id) if *id == self.id() => {}
            Selection::One(_) | Selection::Files(_) | Selection::List | Selection::Coverage => {
                return Err(CannotRun::Unsupported(
                    "a custom command always runs all of its tests",
                ));
            }
        }
        let mut invocation = Invocation::new(&self.line, Call::new(["sh", "-c", &self.line]));
        if let ReportSource::InFiles(pattern, _) = &self.told {
            invocation.reports.push(ReportAt::Fresh(pattern.clone()));
        }
        Ok(invocation)
    }

    pub fn parse(&self, captured: &Capture) -> Report {
        let mut report = match &self.told {
            ReportSource::ByExitCode => self.by_exit_code(captured),
            ReportSource::OnStdout(format) => {
                let mut report = read(*format, &[captured.stdout.as_slice()], captured);
                report.finished &= !captured.cut;
                report
            }
            ReportSource::InFiles(pattern, format) => {
                let texts: Vec<&[u8]> =
                    captured.reports.iter().map(|(_, bytes)| bytes.as_slice()).collect();
                let mut report = read(*format, &texts, captured);
                if texts.is_empty() {
                    report.finished = false;
                    report.errors_outside.push(format!("the command wrote no report {pattern}"));
                }
                report
            }
        };
        report.runner = FRAMEWORK.name.to_owned();
        let not_started = matches!(captured.exit, Exit::Code(code) if NOT_STARTED.contains(&code));
        if not_started && report.tests.iter().all(|test| test.id.starts_with(EXIT_CODE_ONLY)) {
            report.decided = Some(Outcome::UsageError);
        }
        report.conclude();
        report
    }

    /// The id of the single test that an exit code represents.
    fn id(&self) -> String {
        format!("{EXIT_CODE_ONLY}{}", self.line)
    }

    fn by_exit_code(&self, captured: &Capture) -> Report {
        let mut report = captured.report(FRAMEWORK.name, &[]);
        let status = match captured.exit {
            Exit::Code(0) => Status::Passed,
            Exit::Code(_) => Status::Failed,
            Exit::TimedOut => Status::TimedOut,
            Exit::Signal(_) | Exit::NotStarted => Status::Crashed,
        };
        let mut test = Test::new(self.id(), status);
        test.message = status.is_failure().then(|| captured.exit.to_string());
        report.tests.push(test);
        report.finished = matches!(captured.exit, Exit::Code(_));
        report.flag(Flag::ExitCodeAlone);
        report
    }
}

/// The `test` script of a `package.json`, for projects where nothing else was detected.
pub(super) fn of_script(root: &Folder) -> Option<Detection> {
    // `npm init` writes a script that always fails.
    script(root).filter(|script| !script.contains("no test specified"))?;
    let line = format!("{} run test", javascript::manager(root));
    Some(Command { line, told: ReportSource::ByExitCode }.found(root.clone()))
}

fn script(root: &Folder) -> Option<String> {
    let package: Value = serde_json::from_str(root.text(javascript::MANIFEST)?).ok()?;
    package.pointer("/scripts/test")?.as_str().map(str::to_owned)
}

/// The known runner that a line calls without shell features, and the test files it names.
fn runner(line: &str, root: &Folder) -> Option<(&'static Framework, Vec<String>)> {
    if SCRIPTS.contains(&line) {
        // A script that calls itself would never end.
        return runner(&script(root).filter(|script| !SCRIPTS.contains(&script.as_str()))?, root);
    }
    if line.contains(|letter| SHELL.contains(letter)) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let words = STARTERS.iter().find_map(|starter| words.strip_prefix(*starter)).unwrap_or(&words);
    let calls = CALLS.iter().filter_map(|(call, name)| Some((words.strip_prefix(*call)?, *name)));
    let (rest, name) = calls.min_by_key(|(rest, _)| rest.len())?;
    let row = FRAMEWORKS.iter().find(|row| row.name == name)?;
    let mut files = Vec::new();
    for word in rest {
        let path = word.trim_start_matches("./").trim_end_matches('/');
        let is_everything = path == "." || TEST_FOLDERS.contains(&path);
        if HARMLESS.iter().any(|known| glob::matches(known, word))
            || (TAKES_PATHS.contains(&name) && is_everything)
        {
            continue;
        }
        if word.starts_with('-') || !TAKES_PATHS.contains(&name) || !(row.is_test_file)(path) {
            return None;
        }
        files.push(path.to_owned());
    }
    Some((row, files))
}

fn is_test_file(path: &str) -> bool {
    let in_tests = path.split('/').rev().skip(1).any(|folder| TEST_FOLDERS.contains(&folder));
    in_tests || FRAMEWORKS.iter().any(|row| (row.is_test_file)(path))
}

fn read(format: Format, texts: &[&[u8]], captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    match format {
        Format::Junit => {
            let documents: Vec<_> = texts.iter().map(|bytes| junit::parse(bytes)).collect();
            junit::add(&mut report, &junit::ANY, &documents, |file| captured.relative(file));
            report.load_errors.iter_mut().for_each(python::explain);
        }
        Format::Tap => {
            tap::add(&mut report, &texts.iter().map(|bytes| tap::parse(bytes)).collect::<Vec<_>>());
        }
        Format::JestJson => {
            report = each(texts, report, |bytes| {
                javascript::json::jest(captured, FRAMEWORK.name, bytes)
            });
        }
        Format::MochaJson => {
            report = each(texts, report, |bytes| {
                javascript::json::mocha(captured, FRAMEWORK.name, bytes)
            });
        }
        Format::GoJson => {
            report = go::parse(&Capture { stdout: texts.concat(), cut: false, ..captured.clone() });
        }
    }
    report
}

/// Merges several texts into one report. Each text has to be complete; returns `none` if there are
/// no texts.
fn each(texts: &[&[u8]], none: Report, read: impl Fn(&[u8]) -> Report) -> Report {
    let reports = texts.iter().map(|bytes| {
        let mut report = read(bytes);
        // A text that is not a report does not mean that the command line was wrong.
        report.decided = report.decided.filter(|&outcome| outcome != Outcome::UsageError);
        report.conclude();
        report
    });
    if texts.is_empty() { none } else { Report::merge(reports.collect()) }
}

#[cfg(test)]
mod tests;
