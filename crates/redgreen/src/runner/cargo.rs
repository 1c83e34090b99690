//! Runs cargo's tests in parts: one build of everything that keeps going past what does not compile, then each test
//! binary as cargo would start it, then the doc tests of each library.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::framework::cargo::build::{self, Build, Package, TargetKind, TestBinary};
use redgreen_core::framework::cargo::libtest::{self, Binary, Seen};
use redgreen_core::framework::cargo::{self, doc_prefix, id_prefix};
use redgreen_core::report::{Exit, Report};

use super::{Run, is_missing, read_report, tail};
use crate::failure::Failure;
use crate::process::{Output, Program};

/// libtest's JSON is unstable; the variable that unlocks it is set for test binaries alone, never for the compiler.
const UNLOCK: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const JSON: [&str; 5] = ["-Z", "unstable-options", "--format", "json", "--report-time"];

/// Cargo hands doc tests to rustdoc. Unlocking JSON for cargo as a whole would make build scripts that watch the
/// variable run again, and half the dependencies compile twice; this stands in for rustdoc and unlocks only it.
const RUSTDOC: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

pub(super) fn run(run: &Run<'_>) -> Result<Report> {
    let packages = packages(run)?;
    let build = build_all(run)?;
    let mut words = build.words.clone();
    let mut binaries = Vec::new();
    for (number, binary) in build.binaries.iter().enumerate() {
        let ran = run_binary(run, &packages, &build, binary, number)?;
        words.push('\n');
        words.push_str(&ran.words);
        binaries.push(ran.binary);
    }
    for package in packages.iter().filter(|package| package.has_doc_tests()) {
        binaries.extend(run_doc_tests(run, package, &build)?);
    }
    let mut report = cargo::report(build, binaries);
    report.command = "cargo test --workspace --no-fail-fast".to_owned();
    report.output_tail = tail(&words);
    Ok(report)
}

struct Ran {
    binary: Binary,
    /// What it printed beside its report, for a person.
    words: String,
}

fn cargo(run: &Run<'_>) -> Program {
    let program = run.program("cargo").env("CARGO_TERM_COLOR", "never");
    match &run.settings.cargo_target_dir {
        Some(folder) => program.env("CARGO_TARGET_DIR", folder),
        None => program,
    }
}

fn cargo_output(run: &Run<'_>, program: &Program) -> Result<Output> {
    match run.output(program) {
        Err(error) if is_missing(&error) => Err(Failure::environment("cargo is not installed")
            .evidence("the project has a Cargo.toml, and no cargo was found on PATH")
            .next("install Rust: https://rustup.rs")
            .into()),
        other => other,
    }
}

/// None when the manifest is broken; the build then says so.
fn packages(run: &Run<'_>) -> Result<Vec<Package>> {
    let program = cargo(run).args(["metadata", "--no-deps", "--format-version", "1"]);
    Ok(build::parse_packages(&cargo_output(run, &program)?.stdout))
}

fn build_all(run: &Run<'_>) -> Result<Build> {
    // Builds what `cargo test --no-run` builds, into the same files; but that stops at the first target that does not
    // compile, and a new test file of a RED step would hide the results of all old ones.
    let program = cargo(run)
        .args(["build", "--workspace", "--tests", "--examples", "--profile", "test", "--keep-going"])
        .arg("--message-format=json");
    let output = cargo_output(run, &program)?;
    let mut build = build::parse(&output.stdout, &output.stderr_text(), output.exit);
    if output.cut || output.exit == Exit::TimedOut {
        build.succeeded = None;
    }
    Ok(build)
}

fn run_binary(run: &Run<'_>, packages: &[Package], build: &Build, binary: &TestBinary, number: usize) -> Result<Ran> {
    let package = packages.iter().find(|package| package.id == binary.package_id);
    let name = package.map_or(binary.target.as_str(), |package| package.name.as_str());
    let prefix = id_prefix(name, binary.kind, &binary.target);
    let program = environment(run, package, build, binary);
    if !has_harness(binary)? {
        let output = run.output(&program)?;
        return Ok(Ran { binary: libtest::without_harness(&prefix, output.exit), words: tail(&output.stderr_text()) });
    }
    let log = run.scratch.join(format!("libtest-{number}.log"));
    let output = run.output(&program.args(JSON).arg("--logfile").arg(&log).env(UNLOCK.0, UNLOCK.1))?;
    let binary = libtest::parse(&prefix, seen(&output), &read_report(&log)?);
    Ok(Ran { binary, words: tail(&output.stderr_text()) })
}

fn seen(output: &Output) -> Seen<'_> {
    Seen { exit: output.exit, stdout: &output.stdout, cut: output.cut }
}

/// A test binary in the surroundings cargo would give it.
fn environment(run: &Run<'_>, package: Option<&Package>, build: &Build, binary: &TestBinary) -> Program {
    let manifest = Path::new(&binary.manifest_path);
    let folder = manifest.parent().unwrap_or(run.workdir);
    let mut program = run
        .program(&binary.executable)
        .cwd(folder)
        .env("CARGO", "cargo")
        .env("CARGO_MANIFEST_DIR", folder)
        .env("CARGO_MANIFEST_PATH", manifest)
        .env("LD_LIBRARY_PATH", library_path(build, binary));
    if let Some(package) = package {
        program = program.env("CARGO_PKG_NAME", &package.name).env("CARGO_PKG_VERSION", &package.version);
    }
    if let Some(folder) = &run.settings.cargo_target_dir {
        program = program.env("CARGO_TARGET_DIR", folder);
    }
    for script in build.scripts.iter().filter(|script| script.package_id == binary.package_id) {
        program = script.env.iter().fold(program, |program, (name, value)| program.env(name, value));
        program = program.env("OUT_DIR", &script.out_dir);
    }
    let own = build.programs.iter().filter(|built| built.package_id == binary.package_id);
    match binary.kind {
        TargetKind::Test | TargetKind::Bench => {
            own.fold(program, |program, built| program.env(format!("CARGO_BIN_EXE_{}", built.name), &built.executable))
        }
        TargetKind::Lib | TargetKind::Bin | TargetKind::Example => program,
    }
}

/// Where the shared libraries of the build are: beside the binary, one above, and where build scripts say.
fn library_path(build: &Build, binary: &TestBinary) -> OsString {
    let executable = Path::new(&binary.executable);
    let beside = executable.ancestors().skip(1).take(2).map(Path::to_path_buf);
    let linked = build.scripts.iter().flat_map(|script| &script.linked_paths);
    // `native=/folder` and the like; the kind does not matter here.
    let linked = linked.map(|path| PathBuf::from(path.split_once('=').map_or(path.as_str(), |(_, folder)| folder)));
    let folders: Vec<_> = beside.chain(linked).map(PathBuf::into_os_string).collect();
    folders.join(std::ffi::OsStr::new(":"))
}

/// Whether a target leaves its `main` to libtest. Only the manifest knows.
fn has_harness(binary: &TestBinary) -> Result<bool> {
    let section = match binary.kind {
        TargetKind::Lib => "lib",
        TargetKind::Bin => "bin",
        TargetKind::Test => "test",
        TargetKind::Example => "example",
        TargetKind::Bench => "bench",
    };
    let text = fs::read_to_string(&binary.manifest_path).with_context(|| format!("read {}", binary.manifest_path))?;
    let manifest: toml::Table = text.parse().with_context(|| format!("read {}", binary.manifest_path))?;
    let without = |target: &toml::Value| target.get("harness").and_then(toml::Value::as_bool) == Some(false);
    let named = |target: &toml::Value| target.get("name").and_then(toml::Value::as_str) == Some(&binary.target);
    Ok(match manifest.get(section) {
        Some(toml::Value::Array(targets)) => !targets.iter().any(|target| named(target) && without(target)),
        Some(target) => !without(target),
        None => true,
    })
}

/// A library's doc tests; none when the library did not compile, which the build has already told.
fn run_doc_tests(run: &Run<'_>, package: &Package, build: &Build) -> Result<Option<Binary>> {
    if build.succeeded.is_none() {
        return Ok(None);
    }
    let rustdoc = stand_in(run)?;
    let program = cargo(run).args(["test", "--doc", "--package", &package.id, "--"]).args(JSON).env("RUSTDOC", rustdoc);
    let output = cargo_output(run, &program)?;
    let binary = libtest::parse_doc(&doc_prefix(&package.name), seen(&output));
    let explained = build.succeeded == Some(false) && binary.tests.is_empty() && output.exit != Exit::TimedOut;
    Ok((!explained).then_some(binary))
}

fn stand_in(run: &Run<'_>) -> Result<PathBuf> {
    let path = run.scratch.join("rustdoc");
    fs::write(&path, RUSTDOC).context("write the stand-in for rustdoc")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
        .context("make the stand-in for rustdoc executable")?;
    Ok(path)
}
