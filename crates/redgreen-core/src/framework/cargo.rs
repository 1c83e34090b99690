//! cargo test, taken apart: one build with cargo's JSON messages ([`build`]), then each test binary on its own with
//! libtest's JSON ([`libtest`]), then the doc tests of each library.
//!
//! Test ids, unique within a workspace and unchanged when another package joins it:
//!
//! | where the test is | id |
//! |---|---|
//! | unit test of a library | `roman::tests::one` |
//! | integration test `tests/numerals.rs` | `roman/tests/numerals::one` |
//! | unit test of a binary | `roman/bin/roman::tests::one` |
//! | doc test | `roman/doc::src/lib.rs - parse`, the second one of the same item `… - parse #2` |
//!
//! The first word is the package's name; a `/` before the first `::` says that it is not the library.

pub mod build;
pub mod libtest;

use super::facts::{Evidence, Folder, Reach};
use super::invoke::{Call, Injected, Missing, Unable};
use super::{Framework, Home, How, Identity, file_name, nextest};
use crate::report::{Exit, Outcome, Report, Stage};
use build::{Build, TargetKind};
use libtest::Binary;

pub const FRAMEWORK: Framework = Framework {
    name: "cargo",
    how: How::Cargo,
    looks_for: "Cargo.toml",
    detect,
    reads: |_| false,
    reach: Reach::Tree,
    tools: &["cargo-llvm-cov"],
    // No name of a package or a target has a dot, unlike a class of Java's or a file of Python's.
    is_id: |id| id.split_once("::").is_some_and(|(target, _)| !target.contains(['.', '\\'])),
    read: read_id,
    is_test_file,
    is_runner_config,
    litter: &["/target/"],
};

/// Builds what `cargo test --no-run` builds, into the same files; but that stops at the first target that does not
/// compile, and a new test file of a RED step would hide the results of all old ones.
pub const BUILD: &[&str] =
    &["build", "--workspace", "--tests", "--examples", "--profile", "test", "--keep-going", "--message-format=json"];

/// libtest's JSON, which is unstable: the variable that unlocks it is set for test binaries alone, never for the
/// compiler.
pub const JSON: &[&str] = &["-Z", "unstable-options", "--format", "json", "--report-time"];

/// Cargo hands doc tests to rustdoc. Unlocking JSON for cargo as a whole would make build scripts that watch the
/// variable run again, and half the dependencies compile twice; this stands in for rustdoc and unlocks only it.
pub const RUSTDOC: Injected = Injected { path: "rustdoc", text: "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n" };

/// A run of all tests by cargo-llvm-cov, which builds and runs them once more; `runner` is what it is to run them with.
pub fn llvm_cov(installed: bool, runner: &[&str], lcov: &str) -> Result<Call, Unable> {
    if !installed {
        return Err(Unable::Missing(Missing {
            what: "cargo-llvm-cov is not installed".to_owned(),
            evidence: "coverage of Rust is measured with it, and it was not found on PATH".to_owned(),
            next: "rustup component add llvm-tools && cargo install --locked cargo-llvm-cov".to_owned(),
        }));
    }
    let call = Call::new(["cargo", "llvm-cov"]).args(runner.iter().copied());
    // A failing test must not keep the others' lines from being told.
    Ok(call.args(["--workspace", "--ignore-run-fail", "--lcov", "--output-path", lcov]))
}

/// What a test binary's ids begin with.
pub fn id_prefix(package: &str, kind: TargetKind, target: &str) -> String {
    match kind {
        TargetKind::Lib => package.to_owned(),
        TargetKind::Bin => format!("{package}/bin/{target}"),
        TargetKind::Test => format!("{package}/tests/{target}"),
        TargetKind::Example => format!("{package}/examples/{target}"),
        TargetKind::Bench => format!("{package}/benches/{target}"),
    }
}

/// What a package's doc tests begin with.
pub fn doc_prefix(package: &str) -> String {
    format!("{package}/doc")
}

/// Puts the build and everything that was run into one report.
pub fn report(build: Build, binaries: Vec<Binary>) -> Report {
    let mut report = Report { runner: FRAMEWORK.name.to_owned(), exit: build.exit, ..Report::default() };
    match build.succeeded {
        // Without this line cargo did not get as far as building: a manifest, a flag, a dependency it cannot have.
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
        report.errors_outside.push(format!("something else than cargo wrote to its output: {doubt}"));
    }
    if let Some(succeeded) = build.succeeded {
        report.stage(Stage::Build, succeeded);
    }
    report.load_errors.extend(build.errors);
    report.finished =
        build.succeeded.is_some() && build.doubt.is_none() && binaries.iter().all(|binary| binary.finished);
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

/// Unit tests live beside the code, so that a file in `src` is not a test file although it may hold tests.
/// `roman/tests/numerals::one`, `roman::kit::tests::one`, `roman/doc::src/lib.rs - to_roman #2`.
fn read_id(id: &str) -> Identity<'_> {
    let (target, test) = id.split_once("::").unwrap_or(("", id));
    let (package, inside) = target.split_once('/').unwrap_or((target, ""));
    if let Some((path, name)) = test.split_once(" - ").filter(|_| inside == "doc" && !package.is_empty()) {
        let (name, number) = name.split_once(" #").map_or((name, None), |(name, number)| (name, Some(number)));
        let home = path.strip_suffix(".rs").map_or(Home::Unknown, Home::Target);
        return Identity::of(home, name.split("::").collect(), number);
    }
    Identity::of(Home::Target(inside), test.split("::").collect(), None)
}

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
    let nextest = path.strip_suffix(nextest::CONFIG).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'));
    matches!(name, "Cargo.toml" | "Cargo.lock" | "build.rs" | "rust-toolchain" | "rust-toolchain.toml")
        || (in_cargo_folder && matches!(name, "config" | "config.toml"))
        || nextest
}

#[cfg(test)]
mod tests;
