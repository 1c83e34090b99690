//! Runs vitest and reads the stream of our `reporters/redgreen-vitest.mjs`. Change both together.

use super::captured::Capture;
use super::facts::{Facts, Reach};
use super::invoke::{CannotRun, Invocation, ReporterFile, Selection};
use super::javascript::{self, Package};
use super::{Execution, Framework, Process};
use crate::report::Report;

pub const FRAMEWORK: Framework = Framework {
    name: "vitest",
    how: Execution::Process(Process { invoke, parse, list }),
    looks_for: "vitest in package.json, or vitest.config.*",
    detect: |folder| PACKAGE.evidence(folder),
    reads: javascript::reads,
    reach: Reach::Tree,
    tools: &[PACKAGE.bin, javascript::PNP, javascript::YARN, "node"],
    is_id: javascript::is_id,
    read: javascript::read_id,
    is_test_file: javascript::is_test_file,
    is_runner_config: |path| PACKAGE.is_config(path) || javascript::is_shared_config(path),
    litter: javascript::LITTER,
};

pub(super) const PACKAGE: Package = Package {
    name: "vitest",
    configs: &["vitest.config.", "vitest.workspace."],
    bin: "node_modules/.bin/vitest",
};

const REPORTER: ReporterFile = ReporterFile {
    path: "redgreen-vitest.mjs",
    text: include_str!("../../reporters/redgreen-vitest.mjs"),
};

/// A pattern that matches no name: files are loaded, but none of their tests run. Vitest 1 cannot
/// list tests.
const NO_NAME: &str = "(?!)";
const COVERAGE_PACKAGE: &str = "@vitest/coverage-v8";

fn invoke(facts: &Facts, selection: &Selection) -> Result<Invocation, CannotRun> {
    let vitest = PACKAGE.call(facts)?;
    let reporter = format!("--reporter={}", facts.scratch(REPORTER.path));
    // Override project settings that would skip tests.
    let call = vitest.args(["run", &reporter, "--allowOnly=false", "--bail=0"]);
    let call = match selection {
        Selection::All => call.args(["--coverage.enabled=false"]),
        Selection::List => call.args(["--coverage.enabled=false", "-t", NO_NAME]),
        Selection::Files(paths) => call.args(["--coverage.enabled=false"]).args(paths),
        Selection::One(id) => {
            let (file, name) = javascript::split_id(id).unwrap_or(("", id));
            // In vitest 1 a file's own suite has an empty name, followed by a space.
            let pattern = javascript::pattern(name).replacen('^', "^ ?", 1);
            let call = call.args(["--coverage.enabled=false", file, "-t", &pattern]);
            javascript::only(call, name)
        }
        Selection::Coverage => {
            let folder = format!(
                "--coverage.reportsDirectory={}",
                facts.scratch(javascript::COVERAGE_FOLDER)
            );
            call.args([
                "--coverage.enabled",
                "--coverage.provider=v8",
                "--coverage.reporter=lcovonly",
                &folder,
            ])
        }
    };
    let mut invocation = javascript::invocation("vitest run", call, facts, &[REPORTER]);
    if *selection == Selection::Coverage {
        javascript::add_coverage(&mut invocation);
        let missing = PACKAGE.missing(facts, COVERAGE_PACKAGE);
        invocation.probes.extend(
            facts.tool("node").map(|node| javascript::probe(node, COVERAGE_PACKAGE, missing)),
        );
    }
    Ok(invocation)
}

fn parse(captured: &Capture) -> Report {
    let stream = javascript::stream(captured);
    let mut report = javascript::report(captured, FRAMEWORK.name, &stream);
    report.planned = javascript::planned(&stream, captured);
    javascript::add_lost(&mut report);
    report.conclude();
    report
}

fn list(captured: &Capture) -> Vec<String> {
    javascript::planned(&javascript::stream(captured), captured).unwrap_or_default()
}

#[cfg(test)]
mod tests;
