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
use super::{Framework, How, file_name};
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
    // Found by cargo's own runner.
    tools: &[],
    // No name of a package or a target has a dot, unlike a class of Java's or a file of Python's.
    is_id: |id| id.split_once("::").is_some_and(|(target, _)| !target.contains(['.', '\\'])),
    is_test_file,
    is_runner_config,
    litter: &["/target/"],
};

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
    if let Some(succeeded) = build.succeeded {
        report.stage(Stage::Build, succeeded);
    }
    report.load_errors.extend(build.errors);
    report.finished = build.succeeded.is_some() && binaries.iter().all(|binary| binary.finished);
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
    if folder.has("Cargo.toml") { Evidence::Sure } else { Evidence::None }
}

/// Unit tests live beside the code, so that a file in `src` is not a test file although it may hold tests.
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
    let nextest = path == ".config/nextest.toml" || path.ends_with("/.config/nextest.toml");
    matches!(name, "Cargo.toml" | "Cargo.lock" | "build.rs" | "rust-toolchain" | "rust-toolchain.toml")
        || (in_cargo_folder && matches!(name, "config" | "config.toml"))
        || nextest
}

#[cfg(test)]
mod tests;
