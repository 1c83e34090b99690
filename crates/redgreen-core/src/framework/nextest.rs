//! cargo-nextest, for projects that configure it, read from its JUnit XML under a profile of ours.
//! Compile errors come from cargo's messages. nextest leaves out ignored tests and doc tests, so
//! later steps list the former and run the latter. Ids are those of [`cargo`].

use std::collections::BTreeMap;

use serde::Deserialize;

use super::captured::{Capture, StepEnd};
use super::cargo::{self, build, doc_prefix, id_prefix, libtest};
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{
    Call, CannotRun, CoverageAt, Invocation, Missing, ReportAt, ReporterFile, Selection, Step,
};
use super::{Execution, Framework, Process};
use crate::coverage::Format;
use crate::format::{bounded_tail, junit};
use crate::report::{Exit, Outcome, Report, Stage, Status, Test};
use build::TargetKind;

pub const FRAMEWORK: Framework = Framework {
    name: "nextest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "Cargo.toml and .config/nextest.toml",
    detect,
    reads: |_| false,
    reach: Reach::Tree,
    tools: &["cargo", "cargo-nextest", "cargo-llvm-cov"],
    is_id: cargo::FRAMEWORK.is_id,
    read: cargo::FRAMEWORK.read,
    is_test_file: cargo::FRAMEWORK.is_test_file,
    is_runner_config: cargo::FRAMEWORK.is_runner_config,
    litter: cargo::FRAMEWORK.litter,
};

/// A project with this file uses nextest.
pub const CONFIG: &str = ".config/nextest.toml";

/// A random suffix, because a profile of the same name in the project would override ours.
const PROFILE: &str = "redgreen-4c1f9a7e";
const REPORT: &str = "report.xml";
/// Output of passing tests is kept as well: libtest's result line in it distinguishes them from
/// tests that ended their process.
const SETTINGS: ReporterFile = ReporterFile {
    path: "nextest.toml",
    text: "[profile.redgreen-4c1f9a7e]\nretries = 0\nfail-fast = false\n\n[profile.redgreen-4c1f9a7e.junit]\n\
           path = \"@SCRATCH@/report.xml\"\nstore-success-output = true\nstore-failure-output = true\n",
};

const LCOV: &str = "lcov.info";
/// Include ignored tests, which otherwise match no filter.
const LISTING: &[&str] = &["--run-ignored", "all", "--message-format", "json"];
const BUILD: &str = "build";
const LIST: &str = "list";
const DOC: &str = "doc";
const DECIDES: &[(i32, Outcome)] = &[
    (2, Outcome::UsageError),
    (4, Outcome::NoTests),
    (94, Outcome::UsageError),
    (96, Outcome::UsageError),
    (101, Outcome::DidNotCompile),
    (102, Outcome::UsageError),
    (104, Outcome::Crashed),
    (105, Outcome::Errored),
];

/// How nextest marks target kinds in a binary's id. A library's id is only the package name.
const KINDS: &[(&str, TargetKind, &str)] = &[
    ("bin/", TargetKind::Bin, "/bin/"),
    ("example/", TargetKind::Example, "/examples/"),
    ("bench/", TargetKind::Bench, "/benches/"),
    ("", TargetKind::Test, "/tests/"),
];

fn detect(folder: &Folder) -> Evidence {
    if folder.has("Cargo.toml") && folder.has(CONFIG) { Evidence::Sure } else { Evidence::None }
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let (Some(cargo), Some(_)) = (facts.tool("cargo"), facts.tool("cargo-nextest")) else {
        return Err(CannotRun::Missing(Missing {
            what: "cargo-nextest is not installed".to_owned(),
            evidence: format!("the project has a {CONFIG}, and no cargo-nextest was found on PATH"),
            next: "cargo install --locked cargo-nextest".to_owned(),
        }));
    };
    let step = |name, call| Step { name, call };
    let settings = format!("redgreen:{}", facts.scratch(SETTINGS.path));
    let common = ["--workspace", "--tool-config-file", &settings, "--profile", PROFILE];
    let mut invocation = Invocation::new("cargo nextest run", Call::default());
    invocation.inject.push(SETTINGS);
    invocation.before.push(step(BUILD, Call::new([cargo]).args(cargo::BUILD.iter().copied())));
    let list = Call::new([cargo, "nextest", "list"]).args(common).args(LISTING.iter().copied());
    let mut filters = Vec::new();
    let none = || vec!["-E".to_owned(), "none()".to_owned()];
    let (chosen, doc) = match selection {
        Selection::List => {
            invocation.call = list;
            return Ok(invocation);
        }
        Selection::All | Selection::Coverage => (Vec::new(), Some("--workspace".to_owned())),
        Selection::Files(paths) => {
            filters = cargo::example_filters(paths);
            let plain = |path: &&String| cargo::read_example(path).1.is_none();
            let plain: Vec<String> = paths.iter().filter(plain).cloned().collect();
            let doc = (!filters.is_empty()).then(|| "--workspace".to_owned());
            (if plain.is_empty() { none() } else { targets(&plain) }, doc)
        }
        Selection::One(id) => match doc_package(id) {
            // The id of a doc test has no line, so rustdoc cannot run it alone.
            Some(package) => (none(), Some(format!("--package={package}"))),
            None => (vec!["-E".to_owned(), expression(id)], None),
        },
    };
    invocation.reports.push(ReportAt::Scratch(REPORT.to_owned()));
    invocation.after.push(step(LIST, list.args(chosen.iter().cloned())));
    if let Some(packages) = doc {
        invocation.inject.push(cargo::RUSTDOC);
        let call = Call::new([cargo, "test", "--doc", "--no-fail-fast", &packages, "--"]);
        let call = call
            .args(cargo::JSON.iter().copied())
            .args(filters)
            .env("RUSTDOC", facts.scratch(cargo::RUSTDOC.path));
        invocation.after.push(step(DOC, call));
    }
    if *selection == Selection::Coverage {
        let installed = facts.tool("cargo-llvm-cov").is_some();
        invocation.after.push(step(
            "coverage",
            cargo::llvm_cov(installed, &["nextest"], &facts.scratch(LCOV))?,
        ));
        invocation.coverage = Some(CoverageAt::new(LCOV, Format::Lcov));
    }
    invocation.call =
        Call::new([cargo, "nextest", "run"]).args(common).args(["--no-fail-fast"]).args(chosen);
    Ok(invocation)
}

/// Selects the targets of files that are a target each. Selects everything if a file is only part
/// of a target.
fn targets(paths: &[String]) -> Vec<String> {
    let target = |path: &String| {
        let (folder, name) = path.rsplit_once('/')?;
        let alone = folder == "tests" || (folder.ends_with("/tests") && !folder.contains("src"));
        let target = name.strip_suffix(".rs").filter(|_| alone)?;
        Some(format!("--test={target}"))
    };
    paths.iter().map(target).collect::<Option<_>>().unwrap_or_default()
}

fn doc_package(id: &str) -> Option<&str> {
    id.split_once("::")?.0.strip_suffix("/doc")
}

/// Converts `demo/tests/calc::adds` to a nextest filter. nextest rejects a binary that does not
/// exist.
fn expression(id: &str) -> String {
    let (target, test) = id.split_once("::").unwrap_or((id, ""));
    let of_kind = |&(mark, _, between): &(&str, TargetKind, &str)| {
        let (package, name) = target.split_once(between)?;
        Some(format!("{package}::{mark}{name}"))
    };
    let binary = KINDS.iter().find_map(of_kind).unwrap_or_else(|| target.to_owned());
    format!("binary_id(={}) and test(={})", escaped(&binary), escaped(test))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(')', "\\)").replace(',', "\\,")
}

/// The prefix of the ids of a binary's tests, from nextest's id of the binary.
fn prefix(binary: &str) -> String {
    let Some((package, target)) = binary.split_once("::") else { return binary.to_owned() };
    let of_kind =
        |&(mark, kind, _): &(&str, TargetKind, &str)| Some((kind, target.strip_prefix(mark)?));
    let (kind, name) = KINDS.iter().find_map(of_kind).unwrap_or((TargetKind::Test, target));
    id_prefix(package, kind, name)
}

fn parse(captured: &Capture) -> Report {
    let mut report = captured.report(FRAMEWORK.name, DECIDES);
    if let Some(step) = captured.failed_step() {
        let build = build::parse(&step.stdout, &String::from_utf8_lossy(&step.stderr), step.exit);
        return Report { runner: report.runner, ..cargo::report(build, Vec::new()) };
    }
    if let (Some(Outcome::DidNotCompile), [_, ..]) = (report.decided, captured.steps.as_slice()) {
        // The build succeeded, so this means that a target does not exist.
        report.decided = Some(Outcome::UsageError);
    }
    let mut documents: Vec<junit::Document> = captured.files(".xml").map(junit::parse).collect();
    documents.iter_mut().for_each(|document| document.cases.rename_classes(prefix));
    junit::add(&mut report, &junit::NEXTEST, &documents, |path| captured.relative(path));
    place(&mut report, &documents);
    let listed = captured.step_after(LIST).and_then(ListOutput::read).unwrap_or_default();
    listed.complete(&mut report);
    if let Some(step) = captured.step_after(DOC) {
        add_doc_tests(&mut report, step, &listed);
    }
    match report.decided {
        // The project has only ignored tests or doc tests.
        Some(Outcome::NoTests) if !report.tests.is_empty() => {
            report.decided = None;
            let doc = captured.step_after(DOC).map_or(Exit::Code(0), |step| step.exit);
            (report.exit, report.finished) = (doc, true);
        }
        Some(Outcome::DidNotCompile) => report.stage(Stage::Build, false),
        Some(Outcome::NoTests) | None => {}
        Some(_) => {
            report.errors_outside.push(bounded_tail(&String::from_utf8_lossy(&captured.stderr)));
        }
    }
    report.conclude();
    report
}

/// Adds the place of failures: the text of a failure is what libtest would have printed.
fn place(report: &mut Report, documents: &[junit::Document]) {
    let cases = documents.iter().flat_map(|document| document.cases.telling());
    let failed = cases.filter_map(|case| Some((case, case.failure.as_deref()?)));
    let texts: BTreeMap<String, &str> = failed
        .map(|(case, detail)| {
            (format!("{}::{}", case.classname, case.name.as_deref().unwrap_or_default()), detail)
        })
        .map(|(id, detail)| (id, detail.text.head.as_str()))
        .collect();
    for test in &mut report.tests {
        if let Some(text) = texts.get(&test.id).filter(|text| text.contains(libtest::PANICKED)) {
            libtest::explain(test, text);
        }
    }
}

fn add_doc_tests(report: &mut Report, step: &StepEnd, listed: &ListOutput) {
    let words = String::from_utf8_lossy(&step.stderr);
    // Cargo names each library before its doc tests.
    let crates: Vec<&str> =
        words.lines().filter_map(|line| line.trim_start().strip_prefix("Doc-tests ")).collect();
    let suites = libtest::suites(&step.stdout);
    if crates.is_empty()
        && (step.exit == Exit::Code(0) || words.contains("no library targets found"))
    {
        return;
    }
    report.finished &= crates.len() == suites.len();
    for (library, suite) in crates.into_iter().zip(suites) {
        let doc = libtest::parse_doc(
            &doc_prefix(listed.package_of(library)),
            libtest::LibtestOutput { exit: step.exit, stdout: suite, cut: false },
        );
        report.finished &= doc.finished;
        doc.flags.into_iter().for_each(|flag| report.flag(flag));
        report.tests.extend(doc.tests);
    }
    report.exit = Exit::worse(report.exit, step.exit);
}

/// Output of `cargo nextest list`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ListOutput {
    rust_suites: BTreeMap<String, Suite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Suite {
    package_name: String,
    binary_name: String,
    kind: String,
    #[serde(default)]
    testcases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Case {
    ignored: bool,
    filter_match: Match,
}

#[derive(Deserialize)]
struct Match {
    status: String,
}

impl ListOutput {
    fn read(step: &StepEnd) -> Option<Self> {
        serde_json::from_slice(&step.stdout).ok().filter(|_| step.exit == Exit::Code(0))
    }

    fn tests(&self) -> impl Iterator<Item = (String, &Case)> {
        self.rust_suites.iter().flat_map(|(binary, suite)| {
            let prefix = prefix(binary);
            suite.testcases.iter().map(move |(name, case)| (format!("{prefix}::{name}"), case))
        })
    }

    /// Adds what the report lacks: the selected tests and the ignored tests.
    fn complete(&self, report: &mut Report) {
        if self.rust_suites.is_empty() {
            return;
        }
        let chosen = self.tests().filter(|(_, case)| case.filter_match.status == "matches");
        let (ignored, planned): (Vec<_>, Vec<_>) = chosen.partition(|(_, case)| case.ignored);
        report.planned = Some(planned.into_iter().map(|(id, _)| id).collect());
        report.tests.extend(ignored.into_iter().map(|(id, _)| Test::new(id, Status::Skipped)));
    }

    /// The package of a library.
    fn package_of<'a>(&'a self, library: &'a str) -> &'a str {
        let is = |suite: &&Suite| {
            suite.binary_name == library && matches!(suite.kind.as_str(), "lib" | "proc-macro")
        };
        self.rust_suites.values().find(is).map_or(library, |suite| suite.package_name.as_str())
    }
}

fn list(captured: &Capture) -> Vec<String> {
    let listed: Option<ListOutput> = serde_json::from_slice(&captured.stdout).ok();
    listed.iter().flat_map(|listed| listed.tests().map(|(id, _)| id)).collect()
}

#[cfg(test)]
mod tests;
