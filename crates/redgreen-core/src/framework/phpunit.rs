//! PHPUnit, read from its JUnit XML, which is written at the end, and its TeamCity lines, which are
//! written during the run. After a crash, only the latter show which test was running.

use std::collections::BTreeSet;

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, Selection};
use super::{Execution, Framework, Process, file_name, identity};
use crate::coverage::Format;
use crate::format::{bounded_head, bounded_tail, junit, phpunit_list};
use crate::report::{Exit, LoadError, LoadErrorKind, Outcome, Report, Stage, Status, Test};

pub const FRAMEWORK: Framework = Framework {
    name: "phpunit",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "phpunit.xml, phpunit.xml.dist, or phpunit in composer.json",
    detect,
    reads: |path| path == "composer.json",
    reach: Reach::Package,
    tools: &["vendor/bin/phpunit", "phpunit"],
    is_id: |id| {
        let class = id
            .split_once("::")
            .map(|(class, _)| class)
            .filter(|class| !class.contains(['/', '.', ' ']));
        let name = class.and_then(|class| class.rsplit('\\').next());
        name.is_some_and(|name| name.starts_with(char::is_uppercase))
    },
    read: identity::whole,
    is_test_file: |path| {
        let folders = path.split('/').rev().skip(1);
        path.ends_with("Test.php")
            || (folders.into_iter().any(|name| name == "tests") && path.ends_with(".php"))
    },
    is_runner_config: |path| {
        let name = file_name(path);
        matches!(
            name,
            "phpunit.xml"
                | "phpunit.xml.dist"
                | "phpunit.dist.xml"
                | "composer.json"
                | "composer.lock"
        )
    },
    litter: &[".phpunit.result.cache", ".phpunit.cache/"],
};

const JUNIT: &str = "junit.xml";
const TEAMCITY: &str = "run.teamcity";
const COVERAGE: &str = "cobertura.xml";
const LIST: &str = "list.xml";
/// PHP itself aborted: a file could not be loaded, or a test crashed.
const FATAL: Exit = Exit::Code(255);
/// A test without assertions. The XML reports an error, but PHPUnit does not count it as one. In
/// strict mode its exit code does.
const RISKY: &str = "RiskyTestError";

fn detect(folder: &Folder) -> Evidence {
    let own =
        ["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"].iter().any(|name| folder.has(name));
    match own || folder.says("composer.json", "phpunit/phpunit") {
        true => Evidence::Sure,
        false => Evidence::None,
    }
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(program) = facts.first_tool(FRAMEWORK.tools) else {
        return Err(CannotRun::Missing(Missing {
            what: "PHPUnit is not installed".to_owned(),
            evidence: "neither vendor/bin/phpunit nor phpunit on PATH was found".to_owned(),
            next: if facts.folder.has("composer.json") {
                "composer install"
            } else {
                "composer require --dev phpunit/phpunit"
            }
            .to_owned(),
        }));
    };
    let mut invocation = Invocation::new("phpunit", Call::default());
    if *selection == Selection::List {
        invocation.call = Call::new([program, "--list-tests-xml", &facts.scratch(LIST)]);
        invocation.reports.push(ReportAt::Scratch(LIST.to_owned()));
        return Ok(invocation);
    }
    let call = Call::new([
        program,
        "--log-junit",
        &facts.scratch(JUNIT),
        "--log-teamcity",
        &facts.scratch(TEAMCITY),
    ]);
    invocation.reports = [JUNIT, TEAMCITY].map(|name| ReportAt::Scratch(name.to_owned())).to_vec();
    invocation.call = match selection {
        Selection::All | Selection::List => call,
        // Before version 11 PHPUnit accepts only one path.
        Selection::Files(paths) if paths.len() == 1 => call.args(paths.iter().cloned()),
        Selection::Files(paths) => call.args(["--filter", &classes(paths)]),
        Selection::One(id) => call.args(["--filter", &format!("/^{}$/", quoted(id))]),
        Selection::Coverage => {
            invocation.coverage = Some(CoverageAt::new(COVERAGE, Format::Cobertura));
            let call = call.args(["--coverage-cobertura", &facts.scratch(COVERAGE)]);
            call.env("XDEBUG_MODE", "coverage")
        }
    };
    Ok(invocation)
}

/// The classes that the files are named after, as PHPUnit's loader expects.
fn classes(paths: &[String]) -> String {
    let stem = |path: &String| quoted(file_name(path).trim_end_matches(".php"));
    let names: Vec<String> = paths.iter().map(stem).collect();
    format!("/(^|\\\\)({})::/", names.join("|"))
}

fn quoted(text: &str) -> String {
    text.chars().fold(String::new(), |mut quoted, letter| {
        if r"\.+*?()|[]{}^$/#-".contains(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
        quoted
    })
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    // Captured samples use other names for the same files.
    let junit = captured.file(".xml");
    if junit.is_none() && captured.file(".teamcity").is_none() {
        without_reports(&mut report, captured);
        report.conclude();
        return report;
    }
    let document = junit::parse(junit.unwrap_or_default());
    junit::add(&mut report, &junit::PHPUNIT, std::slice::from_ref(&document), |path| {
        captured.relative(path)
    });
    for test in &mut report.tests {
        if test.exception.as_deref().is_some_and(|class| class.ends_with(RISKY)) {
            // The test ran but asserts nothing.
            test.status = Status::Skipped;
        }
        explain(test, captured);
    }
    let lines = Lines::read(captured.file(".teamcity").unwrap_or_default(), captured);
    report.tests.extend(lines.unfinished(captured.exit));
    if !document.complete {
        report.tests.extend(lines.finished());
    }
    report.conclude();
    report
}

/// A message starts with the test's name and ends with the places of its trace, innermost first,
/// one per line.
fn explain(test: &mut Test, captured: &Capture) {
    let Some(message) = test.message.take() else { return };
    let words = message.strip_prefix(test.id.as_str()).unwrap_or(&message).trim();
    let (words, places) = match words.rsplit_once("\n\n") {
        Some((words, places)) if places.lines().all(|line| place(line).is_some()) => {
            (words, places)
        }
        Some(_) | None => (words, ""),
    };
    let mut places =
        places.lines().filter_map(place).map(|(file, line)| (captured.relative(file), line));
    if let Some((_, line)) = places.find(|(file, _)| Some(file) == test.file.as_ref()) {
        test.line = Some(line);
    }
    test.message = Some(words.to_owned());
}

/// Parses `/project/tests/CalcTest.php:13`.
fn place(line: &str) -> Option<(&str, u32)> {
    let (file, line) = line.rsplit_once(':')?;
    Some((file, line.trim().parse().ok()?))
}

fn without_reports(report: &mut Report, captured: &Capture) {
    let words = format!(
        "{}\n{}",
        String::from_utf8_lossy(&captured.stdout).trim(),
        String::from_utf8_lossy(&captured.stderr).trim()
    );
    match captured.exit {
        FATAL => report.load_errors.push(load_error(captured, &words)),
        Exit::Code(1 | 2) => {
            report.decided = Some(Outcome::UsageError);
            report.errors_outside.push(bounded_tail(&words));
        }
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotStarted => {
            report.finished = false;
        }
    }
}

/// Parses `PHP Parse error:  syntax error, unexpected token "{" in /project/tests/CalcTest.php:9`,
/// also `… on line 9`.
fn load_error(captured: &Capture, words: &str) -> LoadError {
    let first = words
        .lines()
        .find(|line| line.contains(" error: ") || line.contains("Warning: "))
        .unwrap_or(words);
    let kind = if first.contains("syntax error") || first.contains("ParseError") {
        LoadErrorKind::Syntax
    } else if ["not found", "Failed to open", "Failed opening required", "undefined"]
        .iter()
        .any(|known| first.contains(known))
    {
        LoadErrorKind::MissingSymbol
    } else {
        LoadErrorKind::Other
    };
    let place = first.rsplit_once(" in /").map(|(_, path)| format!("/{path}"));
    let place =
        place.as_deref().and_then(|path| path.split_once(" on line ").or(path.rsplit_once(':')));
    LoadError {
        stage: Stage::Collect,
        file: place.map(|(file, _)| captured.relative(file)),
        line: place.and_then(|(_, line)| line.trim().parse().ok()),
        kind,
        code: None,
        message: bounded_head(first),
    }
}

/// The TeamCity lines:
/// `##teamcity[testStarted name='testAdds' locationHint='php_qn:///p/CalcTest.php::\CalcTest::testAdds' flowId='7']`.
#[derive(Default)]
struct Lines {
    started: Vec<(String, String)>,
    failed: BTreeSet<String>,
    ignored: BTreeSet<String>,
    ended: BTreeSet<String>,
}

impl Lines {
    fn read(bytes: &[u8], captured: &Capture) -> Self {
        let mut lines = Self::default();
        let text = String::from_utf8_lossy(bytes);
        let mut running: Option<String> = None;
        for line in text.lines().filter_map(|line| line.strip_prefix("##teamcity[")) {
            match line.split(' ').next() {
                Some("testStarted") => {
                    let Some((file, class, name)) = hinted(line) else { continue };
                    let id = format!("{class}::{name}");
                    lines.started.push((id.clone(), captured.relative(&file)));
                    running = Some(id);
                }
                Some("testFailed") => lines.failed.extend(running.clone()),
                Some("testIgnored") => lines.ignored.extend(running.clone()),
                Some("testFinished") => lines.ended.extend(running.take()),
                Some(_) | None => {}
            }
        }
        lines
    }

    /// The tests that were running when the process ended.
    fn unfinished(&self, exit: Exit) -> Vec<Test> {
        let status = if exit == Exit::TimedOut { Status::TimedOut } else { Status::Crashed };
        let lost = self.started.iter().filter(|(id, _)| !self.ended.contains(id));
        lost.map(|(id, file)| Test { file: Some(file.clone()), ..Test::new(id, status) }).collect()
    }

    /// The tests that had ended before. The XML would have more details.
    fn finished(&self) -> Vec<Test> {
        let ended = self.started.iter().filter(|(id, _)| self.ended.contains(id));
        let status = |id: &String| match (self.failed.contains(id), self.ignored.contains(id)) {
            (true, _) => Status::Failed,
            (false, true) => Status::Skipped,
            (false, false) => Status::Passed,
        };
        ended
            .map(|(id, file)| Test { file: Some(file.clone()), ..Test::new(id, status(id)) })
            .collect()
    }
}

/// File, class and name of a test. Skips PHPUnit's placeholder for a class without tests.
fn hinted(line: &str) -> Option<(String, String, String)> {
    let name = attribute(line, " name='")?;
    let hint = attribute(line, " locationHint='")?;
    let (file, rest) = hint.strip_prefix("php_qn://")?.split_once("::")?;
    let (class, _) = rest.split_once("::")?;
    let class = class.trim_start_matches('\\');
    (!class.starts_with("PHPUnit\\")).then(|| (file.to_owned(), class.to_owned(), name))
}

/// TeamCity escapes with `|`: `|'`, `|n`, `|[`.
fn attribute(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(name)?;
    let mut value = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => return Some(value),
            '|' => match letters.next()? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

fn list(captured: &Capture) -> Vec<String> {
    phpunit_list::parse(captured.file(".xml").unwrap_or_default())
}

#[cfg(test)]
mod tests;
