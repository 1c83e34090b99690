//! Runs `cargo test` in parts: one build with cargo's JSON messages ([`build`]), then each test
//! binary separately with libtest's JSON ([`libtest`]), then the doc tests of each library.
//!
//! Test ids are unique within a workspace and do not change when another package joins it:
//!
//! | test | id |
//! |---|---|
//! | unit test of a library | `roman::tests::one` |
//! | integration test `tests/numerals.rs` | `roman/tests/numerals::one` |
//! | unit test of a binary | `roman/bin/roman::tests::one` |
//! | doc test | `roman/doc::src/lib.rs - parse`, the second one of the same item `… - parse #2` |
//!
//! The first word is the package name. A `/` before the first `::` marks a target other than the
//! library.

pub mod build;
pub mod libtest;

use super::facts::{Evidence, Folder, Reach};
use super::invoke::{Call, CannotRun, Missing, ReporterFile};
use super::{Execution, Framework, Home, Identity, file_name, nextest};
use crate::report::{Exit, Outcome, Report, Stage};
use build::{Build, TargetKind};
use libtest::Binary;

pub const FRAMEWORK: Framework = Framework {
    name: "cargo",
    how: Execution::Cargo,
    looks_for: "Cargo.toml",
    detect,
    reads: |_| false,
    reach: Reach::Tree,
    tools: &["cargo-llvm-cov"],
    // Package and target names contain no dot, unlike Java classes and Python files.
    is_id: |id| id.split_once("::").is_some_and(|(target, _)| !target.contains(['.', '\\'])),
    read: read_id,
    is_test_file,
    is_runner_config,
    litter: &["/target/"],
};

/// Builds the same files as `cargo test --no-run`. That command stops at the first target that does
/// not compile, so a new test file in RED would hide the results of all existing tests.
pub const BUILD: &[&str] = &[
    "build",
    "--workspace",
    "--tests",
    "--examples",
    "--profile",
    "test",
    "--keep-going",
    "--message-format=json",
];

/// Selects libtest's unstable JSON format. The variable that unlocks it is set only for test
/// binaries, never for the compiler.
pub const JSON: &[&str] = &["-Z", "unstable-options", "--format", "json", "--report-time"];

/// Wraps rustdoc, which runs the doc tests for cargo. Setting the variable for all of cargo would
/// rerun build scripts that watch it and compile half the dependencies twice, so only rustdoc gets
/// it.
pub const RUSTDOC: ReporterFile =
    ReporterFile { path: "rustdoc", text: "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n" };

/// A run of all tests with cargo-llvm-cov, which rebuilds and reruns them. `runner` is the
/// subcommand that runs the tests.
pub fn llvm_cov(installed: bool, runner: &[&str], lcov: &str) -> Result<Call, CannotRun> {
    if !installed {
        return Err(CannotRun::Missing(Missing {
            what: "cargo-llvm-cov is not installed".to_owned(),
            evidence: "it measures the coverage of Rust, but was not found on PATH".to_owned(),
            next: "rustup component add llvm-tools && cargo install --locked cargo-llvm-cov"
                .to_owned(),
        }));
    }
    let call = Call::new(["cargo", "llvm-cov"]).args(runner.iter().copied());
    // A failing test must not prevent the coverage report of the others.
    Ok(call.args(["--workspace", "--ignore-run-fail", "--lcov", "--output-path", lcov]))
}

/// The prefix of a test binary's ids.
pub fn id_prefix(package: &str, kind: TargetKind, target: &str) -> String {
    match kind {
        TargetKind::Lib => package.to_owned(),
        TargetKind::Bin => format!("{package}/bin/{target}"),
        TargetKind::Test => format!("{package}/tests/{target}"),
        TargetKind::Example => format!("{package}/examples/{target}"),
        TargetKind::Bench => format!("{package}/benches/{target}"),
    }
}

/// The prefix of a package's doc test ids.
pub fn doc_prefix(package: &str) -> String {
    format!("{package}/doc")
}

/// Separates the file from the item of a doc test, as rustdoc writes it.
const EXAMPLE_MARK: &str = " - ";

/// Selects the doc tests of an item in a selection of files; an empty name selects the whole file.
pub fn example(file: &str, item: &str) -> String {
    format!("{file}{EXAMPLE_MARK}{item}")
}

/// Splits a selected entry into its file and, for a doc test, the item.
pub fn read_example(selected: &str) -> (&str, Option<&str>) {
    match selected.split_once(EXAMPLE_MARK) {
        Some((file, item)) => (file, Some(item)),
        None => (selected, None),
    }
}

/// The filters that make rustdoc run the selected doc tests and few others. rustdoc names them
/// `src/kit.rs - kit::Roman::parse (line 3)`, and the modules of a file are not known here.
pub fn example_filters(selected: &[String]) -> Vec<String> {
    let mut filters = Vec::new();
    for (file, item) in selected.iter().map(|one| read_example(one)) {
        match item {
            None => {}
            Some("") => {
                // The path before `src` depends on the version of cargo, so the filter starts at
                // `src`.
                let inside =
                    file.rfind("src/").and_then(|at| file.get(at..)).unwrap_or(file_name(file));
                filters.push(format!("{inside}{EXAMPLE_MARK}"));
            }
            Some(item) => {
                filters
                    .extend([format!("{EXAMPLE_MARK}{item} (line "), format!("::{item} (line ")]);
            }
        }
    }
    filters
}

/// Combines the build and all test runs into one report.
pub fn report(build: Build, binaries: Vec<Binary>) -> Report {
    let mut report =
        Report { runner: FRAMEWORK.name.to_owned(), exit: build.exit, ..Report::default() };
    match build.succeeded {
        // Without this message cargo failed before the build: a bad manifest, flag or dependency.
        None => {
            report.decided = Some(Outcome::UsageError);
            report.errors_outside.push(format!("cargo could not start to build: {}", build.words));
        }
        Some(false) if build.errors.is_empty() => {
            report.load_errors.push(build::unexplained(&build.words));
        }
        Some(_) => {}
    }
    if let Some(doubt) = &build.doubt {
        report.decided = Some(Outcome::Crashed);
        report
            .errors_outside
            .push(format!("cargo's output contains messages of another program: {doubt}"));
    }
    if let Some(succeeded) = build.succeeded {
        report.stage(Stage::Build, succeeded);
    }
    report.load_errors.extend(build.errors);
    report.finished = build.succeeded.is_some()
        && build.doubt.is_none()
        && binaries.iter().all(|binary| binary.finished);
    for binary in binaries {
        report.exit = Exit::worse(report.exit, binary.exit);
        for flag in binary.flags {
            report.flag(flag);
        }
        report.tests.extend(binary.tests);
    }
    report.conclude();
    report
}

fn detect(folder: &Folder) -> Evidence {
    match folder.has("Cargo.toml") && !folder.has(nextest::CONFIG) {
        true => Evidence::Sure,
        false => Evidence::None,
    }
}

/// Parses `roman/tests/numerals::one`, `roman::kit::tests::one`, `roman/doc::src/lib.rs - to_roman
/// #2` and, for doc tests of the crate itself, `roman/doc::src/lib.rs - #2`.
fn read_id(id: &str) -> Identity<'_> {
    let (target, test) = id.split_once("::").unwrap_or(("", id));
    let (package, inside) = target.split_once('/').unwrap_or((target, ""));
    if inside == "doc" && !package.is_empty() {
        let (name, number) =
            test.split_once(" #").map_or((test, None), |(name, number)| (name, Some(number)));
        let (path, name) =
            name.split_once(EXAMPLE_MARK).unwrap_or((name.trim_end_matches(" -"), ""));
        let home = path.strip_suffix(".rs").map_or(Home::Unknown, Home::Target);
        return Identity::of(
            home,
            name.split("::").filter(|name| !name.is_empty()).collect(),
            number,
        );
    }
    Identity::of(Home::Target(inside), test.split("::").collect(), None)
}

/// Unit tests are in the same file as the code, so a file in `src` is not a test file even if it
/// contains tests.
fn is_test_file(path: &str) -> bool {
    let folders = path.split('/').rev().skip(1);
    let (mut in_tests, mut in_src) = (false, false);
    for folder in folders {
        in_tests |= folder == "tests" || folder == "benches";
        in_src |= folder == "src";
    }
    let name = file_name(path);
    let beside = in_src && matches!(name, "tests.rs" | "test.rs");
    beside || (in_tests && !name.is_empty() && (!in_src || path.ends_with(".rs")))
}

fn is_runner_config(path: &str) -> bool {
    let name = file_name(path);
    let in_cargo_folder = path.starts_with(".cargo/") || path.contains("/.cargo/");
    let nextest = path
        .strip_suffix(nextest::CONFIG)
        .is_some_and(|folder| folder.is_empty() || folder.ends_with('/'));
    matches!(
        name,
        "Cargo.toml" | "Cargo.lock" | "build.rs" | "rust-toolchain" | "rust-toolchain.toml"
    ) || (in_cargo_folder && matches!(name, "config" | "config.toml"))
        || nextest
}

#[cfg(test)]
mod tests;
