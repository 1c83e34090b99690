//! JUnit with Maven, read from the XML that surefire writes for each class. The build is a separate
//! step. Without reports, the name of the failed goal tells the outcome.

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, Selection, Stale, Step,
};
use super::java::listing::SelectionRules;
use super::{Execution, Framework, Process, file_name, java};
use crate::coverage::Format;
use crate::format::{bounded_tail, junit};
use crate::report::{Exit, Outcome, Report, Stage};

pub const FRAMEWORK: Framework = Framework {
    name: "maven",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "pom.xml",
    detect,
    reads: |path| path == "pom.xml",
    reach: Reach::Tree,
    tools: &["./mvnw", "mvn"],
    is_id: java::is_id,
    read: java::read_id,
    is_test_file: java::is_test_file,
    is_runner_config: |path| {
        let in_mvn = path.starts_with(".mvn/") || path.contains("/.mvn/");
        in_mvn
            || matches!(
                file_name(path),
                "pom.xml" | "mvnw" | "mvnw.cmd" | "junit-platform.properties"
            )
    },
    // Not every `target` folder: it may be a Java package.
    litter: &[
        "**/target/classes/",
        "**/target/test-classes/",
        "**/target/generated-sources/",
        "**/target/generated-test-sources/",
        "**/target/maven-status/",
        "**/target/surefire-reports/",
        "**/target/surefire/",
    ],
};

/// Compiles the code and its tests, including the earlier phases.
const BUILD: &str = "test-compile";
const REPORTS: &str = "**/target/surefire-reports/TEST-*.xml";
/// The folder of a module's reports.
const BUILT_IN: &str = "target/surefire-reports/";
/// A filter that matches nothing, in one module or in all, must not fail the build. The names are
/// those of surefire 2 and 3.
const ALLOW_NO_TESTS: &[&str] =
    &["-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false"];

/// JaCoCo's plugin and report, if the project uses it, and its counts, to which a new run would
/// add.
const JACOCO: &str = "jacoco-maven-plugin";
const LINES: &str = "**/target/site/jacoco/jacoco.xml";
const COUNTS: &str = "**/target/jacoco.exec";
/// A pom.xml with one of these words selects the tests that surefire runs. Without them, class
/// names decide.
const CHOOSES: &[&str] =
    &["<include", "<exclude", "<groups>", "<excludedGroups>", "<testSourceDirectory>", "<skip"];
const CHOSEN: SelectionRules = SelectionRules { builds: &["**/pom.xml"], words: CHOOSES, is_run };

fn detect(folder: &Folder) -> Evidence {
    let says = |words: &str| folder.says("pom.xml", words);
    match folder.has("pom.xml") {
        false => Evidence::None,
        // A parent that names no framework itself still runs its modules.
        true if says("junit") || says("<modules>") => Evidence::Sure,
        true => Evidence::Likely,
    }
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(program) = facts.first_tool(FRAMEWORK.tools) else {
        return Err(CannotRun::Missing(Missing {
            what: "Maven is not installed".to_owned(),
            evidence: "the project has a pom.xml, and neither ./mvnw nor mvn was found".to_owned(),
            next: "install Maven: https://maven.apache.org/install.html".to_owned(),
        }));
    };
    let test = match selection {
        Selection::All => None,
        Selection::Files(paths) => {
            Some(paths.iter().map(|path| java::class_of(path)).collect::<Vec<_>>().join(","))
        }
        Selection::One(id) => Some(pattern(id)),
        Selection::List if CHOOSES.iter().any(|words| facts.folder.says("pom.xml", words)) => {
            return Err(CannotRun::Unsupported(
                "the pom.xml selects its tests, so they cannot be listed from the sources",
            ));
        }
        Selection::List => return Ok(java::listing::invocation(&CHOSEN)),
        Selection::Coverage if !facts.folder.says("pom.xml", JACOCO) => {
            return Err(CannotRun::Unsupported(
                "no coverage tool: the pom.xml does not name jacoco-maven-plugin",
            ));
        }
        Selection::Coverage => None,
    };
    // A failing module must not stop the modules that do not depend on it.
    let call = Call::new([program, "--batch-mode", "-Dstyle.color=never", "--fail-at-end"]);
    let mut invocation = Invocation::new("mvn test", Call::default());
    invocation.before.push(Step { name: BUILD, call: call.clone().args(["--quiet", BUILD]) });
    let chosen = test.map(|test| format!("-Dtest={test}"));
    let lenient: &[&str] = if chosen.is_some() { ALLOW_NO_TESTS } else { &[] };
    invocation.call = call.args(["test"]).args(chosen).args(lenient.iter().copied());
    invocation.reports.push(ReportAt::Tree(REPORTS));
    if *selection == Selection::Coverage {
        invocation.call = invocation.call.args(["jacoco:report"]);
        invocation.stale.extend([Stale::Always(LINES), Stale::Always(COUNTS)]);
        invocation.coverage = Some(CoverageAt::in_modules(LINES, Format::Jacoco, "target/"));
    }
    Ok(invocation)
}

/// Surefire's default class names.
fn is_run(class: &str) -> bool {
    class.starts_with("Test")
        || ["Test", "Tests", "TestCase"].iter().any(|ending| class.ends_with(ending))
}

fn list(captured: &Capture) -> Vec<String> {
    java::listing::list(captured, &CHOSEN)
}

/// All invocations of one method run together: a repeated method is `adds[1]` in JUnit 4 and `adds`
/// in JUnit 5.
fn pattern(id: &str) -> String {
    match java::class_and_method(id) {
        (class, None) => class.to_owned(),
        (class, Some(method)) if id.ends_with(']') => format!("{class}#{method}*"),
        (class, Some(method)) => format!("{class}#{method}"),
    }
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    java::add(&mut report, &junit::SUREFIRE, captured, BUILT_IN);
    let step = captured.failed_step();
    let words = String::from_utf8_lossy(step.map_or(&captured.stdout, |step| &step.stdout));
    let failed = Goal::that_failed(&words);
    let has_reports = captured.reports.iter().any(|(name, _)| name.ends_with(".xml"));
    if step.is_some() || (!has_reports && captured.exit != Exit::Code(0)) {
        without_reports(&mut report, captured, failed, &words);
    } else if !has_reports {
        report.finished = true;
    } else if failed.is_some_and(|goal| goal.is_surefire())
        && !report.tests.iter().any(|test| test.status.is_failure())
    {
        // A surefire process ended in the middle of a class, which then has no report.
        report.finished = false;
    }
    report.conclude();
    report
}

fn without_reports(report: &mut Report, captured: &Capture, failed: Option<Goal<'_>>, words: &str) {
    report.load_errors = java::diagnostics(captured, words);
    let compiler = failed.is_some_and(|goal| goal.is_compiler());
    if !report.load_errors.is_empty() || compiler {
        report.stage(Stage::Build, false);
        return;
    }
    match failed.filter(|goal| goal.is_surefire()) {
        Some(goal) if goal.says("No tests ") => report.decided = Some(Outcome::NoTests),
        Some(goal) if goal.says("There was a timeout") => report.decided = Some(Outcome::TimedOut),
        Some(_) => report.finished = false,
        // A bad project, dependency or flag: the build did not start.
        None => report.decided = Some(Outcome::UsageError),
    }
    report.errors_outside.push(bounded_tail(failed.map_or(words, |goal| goal.0)));
}

/// Maven's final error: `[ERROR] Failed to execute goal GROUP:PLUGIN:VERSION:GOAL (…) on project …:
/// words`.
#[derive(Clone, Copy)]
struct Goal<'a>(&'a str);

impl<'a> Goal<'a> {
    fn that_failed(words: &'a str) -> Option<Self> {
        words
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("[ERROR] Failed to execute goal "))
            .map(Self)
    }

    fn name(self) -> &'a str {
        self.0.split(' ').next().unwrap_or_default()
    }

    fn is_surefire(self) -> bool {
        self.name().contains("surefire") && self.name().ends_with(":test")
    }

    fn is_compiler(self) -> bool {
        [":compile", ":testCompile", ":test-compile"].iter().any(|goal| self.name().ends_with(goal))
    }

    fn says(self, words: &str) -> bool {
        self.0.contains(words)
    }
}

#[cfg(test)]
mod tests;
