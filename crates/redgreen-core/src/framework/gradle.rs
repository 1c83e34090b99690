//! JUnit with Gradle, read from the XML that its `test` task writes for each class. The build is a
//! separate step.
//!
//! A test that exits its process with success is missing from the report, and the build still
//! succeeds. Only a comparison with earlier ids reveals it.

use super::captured::Capture;
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, ReporterFile, Selection, Stale,
    Step,
};
use super::java::listing::SelectionRules;
use super::{Execution, Framework, Process, file_name, java};
use crate::coverage::Format;
use crate::format::{bounded_tail, junit};
use crate::report::{Exit, Outcome, Report, Stage};

pub const FRAMEWORK: Framework = Framework {
    name: "gradle",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "build.gradle or build.gradle.kts",
    detect,
    reads: |path| SCRIPTS.contains(&path),
    reach: Reach::Tree,
    tools: &["./gradlew", "gradle"],
    is_id: java::is_id,
    read: java::read_id,
    is_test_file: java::is_test_file,
    is_runner_config: |path| {
        let in_gradle = path.starts_with("gradle/")
            || path.contains("/gradle/wrapper/")
            || path.contains("buildSrc/");
        let name = file_name(path);
        let script = name.ends_with(".gradle") || name.ends_with(".gradle.kts");
        let known = matches!(
            name,
            "gradle.properties" | "gradlew" | "gradlew.bat" | "junit-platform.properties"
        );
        in_gradle || script || known
    },
    // Not every `build` folder: it may be a Java package.
    litter: &[
        ".gradle/",
        ".kotlin/",
        "**/build/classes/",
        "**/build/generated/",
        "**/build/kotlin/",
        "**/build/reports/",
        "**/build/test-results/",
        "**/build/tmp/",
    ],
};

/// Compiles the code and its tests.
const BUILD: &str = "testClasses";
const REPORTS: &str = "**/build/test-results/*/TEST-*.xml";
/// The folder of a module's reports.
const BUILT_IN: &str = "build/test-results/";

const SCRIPTS: &[&str] = &["build.gradle", "build.gradle.kts"];
/// JaCoCo's report, if the project uses it, and its counts, to which a new run would add.
const LINES: &str = "**/build/reports/jacoco/**/*.xml";
const COUNTS: &str = "**/build/jacoco/*.exec";
/// JaCoCo's plugin writes no XML by default. It overrides a setting that is made too early, and
/// Gradle 7 renamed the setting.
const WITH_XML: ReporterFile = ReporterFile {
    path: "xml.gradle",
    text: "gradle.projectsEvaluated { rootProject.allprojects { tasks.withType(JacocoReport) { report ->
  def xml = report.reports.xml
  if (xml.hasProperty('required')) { xml.required = true } else { xml.enabled = true }
} } }
",
};
/// A build with one of these words selects the tests of the `test` task. Without them, all tests
/// run.
const CHOOSES: &[&str] =
    &["filter", "include ", "include(", "exclude", "Tags", "Categories", "srcDir", "enabled"];
const CHOSEN: SelectionRules = SelectionRules {
    builds: &["**/build.gradle", "**/build.gradle.kts"],
    words: CHOOSES,
    is_run: |_| true,
};

fn detect(folder: &Folder) -> Evidence {
    let names = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    if names.iter().any(|name| folder.has(name)) { Evidence::Sure } else { Evidence::None }
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let Some(program) = facts.first_tool(FRAMEWORK.tools) else {
        return Err(CannotRun::Missing(Missing {
            what: "Gradle is not installed".to_owned(),
            evidence: "the project has a Gradle build, and neither ./gradlew nor gradle was found"
                .to_owned(),
            next: "install Gradle: https://gradle.org/install".to_owned(),
        }));
    };
    let says = |words: &str| SCRIPTS.iter().any(|script| facts.folder.says(script, words));
    let tests: Vec<String> = match selection {
        Selection::All => Vec::new(),
        Selection::Files(paths) => paths.iter().map(|path| java::class_of(path)).collect(),
        Selection::One(id) => vec![pattern(id)],
        Selection::List if CHOOSES.iter().any(|words| says(words)) => {
            return Err(CannotRun::Unsupported(
                "the build selects its tests, so they cannot be listed from the sources",
            ));
        }
        Selection::List => return Ok(java::listing::invocation(&CHOSEN)),
        Selection::Coverage if !says("jacoco") => {
            return Err(CannotRun::Unsupported(
                "no coverage tool: the build does not apply the plugin jacoco",
            ));
        }
        Selection::Coverage => Vec::new(),
    };
    // With a daemon the tests would not be our child processes and could outlive the time limit.
    let call = Call::new([program, "--no-daemon", "--console=plain"]);
    let mut invocation = Invocation::new("gradle test", Call::default());
    invocation.before.push(Step { name: BUILD, call: call.clone().args([BUILD]) });
    // A task that is up to date or cached would run no test. A failing module must not stop the
    // others.
    let call = call.args(["--rerun-tasks", "--continue", "test"]);
    invocation.call = call.args(tests.iter().flat_map(|test| ["--tests", test]));
    invocation.reports.push(ReportAt::Tree(REPORTS));
    if *selection == Selection::Coverage {
        invocation.inject.push(WITH_XML);
        invocation.call = invocation.call.args([
            "jacocoTestReport",
            "--init-script",
            &facts.scratch(WITH_XML.path),
        ]);
        invocation.stale.extend([Stale::Always(LINES), Stale::Always(COUNTS)]);
        invocation.coverage = Some(CoverageAt::in_modules(LINES, Format::Jacoco, "build/"));
    }
    Ok(invocation)
}

fn list(captured: &Capture) -> Vec<String> {
    java::listing::list(captured, &CHOSEN)
}

/// All invocations of one parameterized method run together.
fn pattern(id: &str) -> String {
    match java::class_and_method(id) {
        (class, None) => class.to_owned(),
        (class, Some(method)) if id.ends_with(']') => format!("{class}.{method}*"),
        (class, Some(method)) => format!("{class}.{method}"),
    }
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, &[]);
    java::add(&mut report, &junit::GRADLE, captured, BUILT_IN);
    let step = captured.failed_step();
    let words = String::from_utf8_lossy(step.map_or(&captured.stderr, |step| &step.stderr));
    let failed = failed_task(&words);
    let has_reports = captured.reports.iter().any(|(name, _)| name.ends_with(".xml"));
    if step.is_some() || (!has_reports && captured.exit != Exit::Code(0)) {
        without_reports(&mut report, captured, failed, &words);
    } else if !has_reports {
        report.finished = true;
    } else if words.contains(ENDED_EARLY) {
        // The process of a module ended in the middle of a class, which then has no report.
        report.finished = false;
    }
    report.conclude();
    report
}

/// Gradle's message about a test process that ended early.
const ENDED_EARLY: &str = "> Process 'Gradle Test Executor";
/// Gradle's messages when nothing ran: because of a filter or, since version 9, because there are
/// no tests.
const NOTHING: &[&str] =
    &["> No tests found for given includes", "did not discover any tests to execute"];

fn without_reports(report: &mut Report, captured: &Capture, failed: Option<&str>, words: &str) {
    report.load_errors = java::diagnostics(captured, words);
    if !report.load_errors.is_empty() || failed.is_some_and(|task| task.starts_with("compile")) {
        report.stage(Stage::Build, false);
        return;
    }
    match failed {
        Some(_) if NOTHING.iter().any(|nothing| words.contains(nothing)) => {
            report.decided = Some(Outcome::NoTests);
        }
        Some(_) => report.finished = false,
        // A bad build file, dependency or flag: the build did not start.
        None => report.decided = Some(Outcome::UsageError),
    }
    report.errors_outside.push(bounded_tail(words));
}

/// Returns the last part of the task in `Execution failed for task ':core:compileTestJava'.`
fn failed_task(words: &str) -> Option<&str> {
    let path = words
        .lines()
        .find_map(|line| line.strip_prefix("Execution failed for task '"))?
        .split('\'')
        .next()?;
    path.rsplit(':').next()
}

#[cfg(test)]
mod tests;
