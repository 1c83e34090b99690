//! cargo-nextest, for projects that configure it: read from its JUnit XML under a profile of ours. What does not compile
//! is told by cargo's own messages, and the doc tests, which nextest leaves out, are run after it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::captured::Captured;
use super::cargo::{self, build, libtest};
use super::facts::{Evidence, Facts, Folder, Reach};
use super::invoke::{Call, Injected, Invocation, Missing, ReportAt, Selection, Step, Unable};
use super::{Framework, How, Process};
use crate::format::{bounded_tail, junit};
use crate::report::{Exit, Outcome, Report, Stage};

pub const FRAMEWORK: Framework = Framework {
    name: "nextest",
    how: How::Process(Process { invoke, parse, list }),
    looks_for: "Cargo.toml and .config/nextest.toml",
    detect,
    reads: |_| false,
    reach: Reach::Tree,
    tools: &["cargo", "cargo-nextest"],
    is_id: cargo::FRAMEWORK.is_id,
    is_test_file: cargo::FRAMEWORK.is_test_file,
    is_runner_config: cargo::FRAMEWORK.is_runner_config,
    litter: cargo::FRAMEWORK.litter,
};

/// What makes a project one of nextest's.
pub const CONFIG: &str = ".config/nextest.toml";

/// A profile of the same name in the project would win over ours.
const PROFILE: &str = "redgreen-4c1f9a7e";
const REPORT: &str = "**/nextest/redgreen-4c1f9a7e/report.xml";
/// Output is kept of tests that pass too: libtest's own word in it tells them from one that ended its process.
const SETTINGS: Injected = Injected {
    path: "nextest.toml",
    text: "[profile.redgreen-4c1f9a7e]\nretries = 0\nfail-fast = false\n\n[profile.redgreen-4c1f9a7e.junit]\npath = \"report.xml\"\n\
           store-success-output = true\nstore-failure-output = true\n",
};
/// Unlocks libtest's JSON for doc tests alone: for cargo as a whole, build scripts would run again.
const RUSTDOC: Injected =
    Injected { path: "rustdoc", text: "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n" };

const BUILD: &str = "build";
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

fn detect(folder: &Folder) -> Evidence {
    if folder.has("Cargo.toml") && folder.has(CONFIG) { Evidence::Sure } else { Evidence::None }
}

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, Unable> {
    let (Some(cargo), Some(_)) = (facts.tool("cargo"), facts.tool("cargo-nextest")) else {
        return Err(Unable::Missing(Missing {
            what: "cargo-nextest is not installed".to_owned(),
            evidence: format!("the project has a {CONFIG}, and no cargo-nextest was found on PATH"),
            next: "cargo install --locked cargo-nextest".to_owned(),
        }));
    };
    let settings = format!("redgreen:{}", facts.scratch(SETTINGS.path));
    let nextest = |command: &str| Call::new([cargo, "nextest", command, "--workspace", "--tool-config-file", &settings]);
    let run = nextest("run").args(["--profile", PROFILE]);
    let mut invocation = Invocation::new("cargo nextest run", Call::default());
    invocation.inject.push(SETTINGS);
    let messages = ["test", "--workspace", "--no-run", "--message-format=json"];
    invocation.before.push(Step { name: BUILD, call: Call::new([cargo]).args(messages) });
    invocation.reports.push(ReportAt::Tree(REPORT));
    let with_doc = |invocation: &mut Invocation| {
        let rustdoc = facts.scratch(RUSTDOC.path);
        invocation.inject.push(RUSTDOC);
        invocation.before.push(Step { name: "rustdoc", call: Call::new(["chmod", "+x", &rustdoc]) });
        let call = Call::new([cargo, "test", "--workspace", "--doc", "--", "-Z", "unstable-options", "--format", "json"]);
        invocation.after.push(Step { name: DOC, call: call.env("RUSTDOC", rustdoc) });
    };
    invocation.call = match selection {
        Selection::All => {
            with_doc(&mut invocation);
            run
        }
        Selection::Files(paths) => match targets(paths) {
            Some(targets) => run.args(targets.iter().flat_map(|target| ["--test", target])),
            None => run,
        },
        // A doc test's id has no line, so that rustdoc cannot be told to run it alone.
        Selection::One(id) if id.starts_with("doc::") => {
            with_doc(&mut invocation);
            run.args(["-E", "none()"])
        }
        Selection::One(id) => run.args(["-E", &expression(id)]),
        Selection::List => nextest("list").args(["--message-format", "json"]),
        Selection::Coverage => return Err(Unable::Unsupported("coverage of a run by nextest is not measured")),
    };
    Ok(invocation)
}

/// The targets of files that are one each; none when a file is only part of one.
fn targets(paths: &[String]) -> Option<Vec<String>> {
    let target = |path: &String| {
        let (folder, name) = path.rsplit_once('/')?;
        let alone = folder == "tests" || folder.ends_with("/tests") && !folder.contains("src");
        alone.then(|| name.strip_suffix(".rs").map(str::to_owned))?
    };
    paths.iter().map(target).collect()
}

/// An id is the package, perhaps a target, and the test's path; a target that does not exist would be an error.
fn expression(id: &str) -> String {
    let mut parts = id.splitn(3, "::");
    let (package, second, rest) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    match (second, rest) {
        (Some(second), Some(rest)) => format!("package(={package}) and (test(={second}::{rest}) or test(={rest}))"),
        (Some(test), None) => format!("package(={package}) and test(={test})"),
        (None, _) => format!("test(={package})"),
    }
}

fn parse(captured: &Captured) -> Report {
    let mut report = captured.report(FRAMEWORK.name, DECIDES);
    if let Some(step) = captured.failed_step() {
        let build = build::parse(&step.stdout, &String::from_utf8_lossy(&step.stderr), step.exit);
        return Report { runner: report.runner, ..cargo::report(build, Vec::new()) };
    }
    let documents: Vec<junit::Document> = captured.files(".xml").map(junit::parse).collect();
    junit::add(&mut report, &junit::NEXTEST, &documents, |path| captured.relative(path));
    if report.decided.is_some() {
        report.errors_outside.push(bounded_tail(&String::from_utf8_lossy(&captured.stderr)));
    }
    if report.decided == Some(Outcome::DidNotCompile) {
        report.stage(Stage::Build, false);
    }
    add_doc_tests(&mut report, captured);
    report.conclude();
    report
}

fn add_doc_tests(report: &mut Report, captured: &Captured) {
    let Some(step) = captured.after.iter().find(|step| step.name == DOC) else { return };
    let seen = libtest::Seen { exit: step.exit, stdout: &step.stdout, cut: false };
    let doc = libtest::parse_doc(DOC, seen);
    let words = String::from_utf8_lossy(&step.stderr);
    if doc.tests.is_empty() && (step.exit == Exit::Code(0) || words.contains("no library targets found")) {
        return;
    }
    if report.decided == Some(Outcome::NoTests) && !doc.tests.is_empty() {
        // There is no other test than these.
        report.decided = None;
        report.errors_outside.clear();
        report.exit = Exit::Code(0);
    }
    report.exit = Exit::worse(report.exit, doc.exit);
    report.finished &= doc.finished;
    for flag in doc.flags {
        report.flag(flag);
    }
    report.tests.extend(doc.tests);
}

fn list(captured: &Captured) -> Vec<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Listed {
        rust_suites: BTreeMap<String, Suite>,
    }
    #[derive(Deserialize)]
    struct Suite {
        #[serde(default)]
        testcases: BTreeMap<String, serde_json::Value>,
    }
    let Ok(listed) = serde_json::from_slice::<Listed>(&captured.stdout) else { return Vec::new() };
    let ids = |(binary, suite): (String, Suite)| suite.testcases.into_keys().map(move |name| format!("{binary}::{name}"));
    listed.rust_suites.into_iter().flat_map(ids).collect()
}

#[cfg(test)]
mod tests;
