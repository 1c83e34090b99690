//! Runs cargo's tests in parts: one build of everything that keeps going past what does not compile, then each test
//! binary as cargo would start it, then the doc tests of each library.

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, bail};
use redgreen_core::coverage::{Coverage, Format};
use redgreen_core::framework::cargo::build::{self, Build, Package, TargetKind, TestBinary};
use redgreen_core::framework::cargo::libtest::{self, Binary, Seen};
use redgreen_core::framework::cargo::{self, JSON, doc_prefix, id_prefix};
use redgreen_core::framework::invoke::{Call, Selection, Unable};
use redgreen_core::report::Exit;

use super::invocation::{inject, missing, program, read_report};
use super::{Ran, Run, facts, is_missing, tail, text};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Output, Program};

/// Unlocks libtest's JSON.
const UNLOCK: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const MANIFEST_BYTES_MAX: u64 = 4 << 20;

pub(super) fn run(run: &Run<'_>, selection: &Selection) -> Result<Option<Ran>> {
    // What is missing is said before anything is built.
    let coverage = match selection {
        Selection::Coverage => Some(llvm_cov(run)?),
        Selection::All | Selection::Files(_) | Selection::One(_) | Selection::List => None,
    };
    // Cargo takes most of the time of a run that has nothing to build; both only read the manifests.
    let (packages, build) = thread::scope(|scope| {
        let packages = scope.spawn(|| packages(run));
        let build = build_all(run);
        (packages.join().unwrap_or_else(|panic| resume_unwind(panic)), build)
    });
    let packages = packages?;
    let build = build?.compared_with(&packages);
    if *selection == Selection::List {
        let listed = list(run, &packages, &build)?;
        return Ok(Some(Ran { report: cargo::report(build, Vec::new()), listed, coverage: None }));
    }
    let mut words = build.words.clone();
    let mut binaries = Vec::new();
    for (number, binary) in build.binaries.iter().enumerate() {
        let prefix = prefix_of(&packages, binary);
        let Some(filter) = filter(selection, &prefix) else { continue };
        let ran = run_binary(run, &packages, &build, Chosen { binary, number, prefix: &prefix, filter })?;
        words.push('\n');
        words.push_str(&ran.words);
        binaries.push(ran.binary);
    }
    for package in packages.iter().filter(|package| package.has_doc_tests()) {
        // A doc test's id has no line, so that rustdoc cannot be told to run it alone.
        if filter(selection, &doc_prefix(&package.name)).is_some() {
            binaries.extend(run_doc_tests(run, package, &build)?);
        }
    }
    let mut report = cargo::report(build, binaries);
    report.command = "cargo test --workspace --no-fail-fast".to_owned();
    report.output_tail = tail(&words);
    let coverage = match coverage {
        Some((call, lcov)) => measure(run, &call, &lcov)?,
        None => None,
    };
    Ok(Some(Ran { report, listed: Vec::new(), coverage }))
}

/// How the lines that tests reach are measured, and where they will be told.
fn llvm_cov(run: &Run<'_>) -> Result<(Call, PathBuf)> {
    let lcov = run.scratch.join("lcov.info");
    let installed = !facts::tools(cargo::FRAMEWORK.tools, run.place, run.workdir, run.settings).is_empty();
    match cargo::llvm_cov(installed, &[], &text(&lcov)?) {
        Ok(call) => Ok((call, lcov)),
        Err(Unable::Missing(what)) => Err(missing(&what).into()),
        Err(Unable::Unsupported(why)) => bail!(why),
    }
}

/// Unknown when the tool wrote nothing.
fn measure(run: &Run<'_>, call: &Call, lcov: &Path) -> Result<Option<Coverage>> {
    run.output(&program(run, run.workdir, call))?;
    let root = text(run.workdir)?;
    let lines = read_report(lcov)?.and_then(|bytes| Coverage::read(Format::Lcov, &bytes));
    Ok(lines.map(|lines| lines.relative_to(&root)))
}

/// Every test, by its binary's own word for it; none is run.
fn list(run: &Run<'_>, packages: &[Package], build: &Build) -> Result<Vec<String>> {
    const LIST: [&str; 3] = ["--list", "--format", "terse"];
    let mut listed = Vec::new();
    for binary in &build.binaries {
        let prefix = prefix_of(packages, binary);
        if has_harness(binary) {
            let package = packages.iter().find(|package| package.id == binary.package_id);
            let program = environment(run, package, build, binary).args(LIST);
            listed.extend(libtest::parse_list(&prefix, &run.output(&program)?.stdout));
        } else {
            listed.push(prefix);
        }
    }
    for package in packages.iter().filter(|package| package.has_doc_tests()) {
        let program = cargo(run).args(["test", "--doc", "--package", &package.id, "--"]).args(LIST);
        listed.extend(libtest::parse_doc_list(&doc_prefix(&package.name), &cargo_output(run, &program)?.stdout));
    }
    Ok(listed)
}

/// Which of a binary's tests to run: all, or the one of this name; `None` when none is meant.
fn filter<'a>(selection: &'a Selection, prefix: &str) -> Option<Filter<'a>> {
    match selection {
        Selection::All | Selection::List | Selection::Coverage => Some(Filter::All),
        Selection::One(id) => id.strip_prefix(prefix)?.strip_prefix("::").map(Filter::Exact),
        Selection::Files(paths) => {
            let stem = prefix.split_once('/').map_or("", |(_, target)| target);
            if stem.is_empty() || stem.starts_with("bin/") {
                // Unit tests are in the code's own files, any of them.
                let in_code = |path: &String| path.starts_with("src/") || path.contains("/src/");
                return paths.iter().any(in_code).then_some(Filter::All);
            }
            // `demo/tests/calc` is built from `tests/calc.rs` or `tests/calc/…`.
            let meant = |path: &String| path.contains(&format!("{stem}.rs")) || path.contains(&format!("{stem}/"));
            paths.iter().any(meant).then_some(Filter::All)
        }
    }
}

#[derive(Clone, Copy)]
enum Filter<'a> {
    All,
    Exact(&'a str),
}

/// A test binary that is to be run.
#[derive(Clone, Copy)]
struct Chosen<'a> {
    binary: &'a TestBinary,
    number: usize,
    prefix: &'a str,
    filter: Filter<'a>,
}

struct RanBinary {
    binary: Binary,
    /// What it printed beside its report, for a person.
    words: String,
}

fn prefix_of(packages: &[Package], binary: &TestBinary) -> String {
    let package = packages.iter().find(|package| package.id == binary.package_id);
    let name = package.map_or(binary.target.as_str(), |package| package.name.as_str());
    id_prefix(name, binary.kind, &binary.target)
}

fn cargo(run: &Run<'_>) -> Program {
    run.program("cargo").env("CARGO_TERM_COLOR", "never")
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
    let output = cargo_output(run, &cargo(run).args(cargo::BUILD))?;
    let mut build = build::parse(&output.stdout, &output.stderr_text(), output.exit);
    if output.cut || output.exit == Exit::TimedOut {
        build.succeeded = None;
    }
    Ok(build)
}

fn run_binary(run: &Run<'_>, packages: &[Package], build: &Build, chosen: Chosen<'_>) -> Result<RanBinary> {
    let Chosen { binary, number, prefix, filter } = chosen;
    let package = packages.iter().find(|package| package.id == binary.package_id);
    let program = environment(run, package, build, binary);
    if !has_harness(binary) {
        let output = run.output(&program)?;
        let binary = libtest::without_harness(prefix, output.exit);
        return Ok(RanBinary { binary, words: tail(&output.stderr_text()) });
    }
    let log = run.scratch.join(format!("libtest-{number}.log"));
    let program = program.args(JSON).arg("--logfile").arg(&log).env(UNLOCK.0, UNLOCK.1);
    let program = match filter {
        Filter::All => program,
        Filter::Exact(name) => program.args(["--exact", name]),
    };
    let output = run.output(&program)?;
    let binary = libtest::parse(prefix, seen(&output), &read_report(&log)?.unwrap_or_default());
    Ok(RanBinary { binary, words: tail(&output.stderr_text()) })
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

/// Whether a target leaves its `main` to libtest. Only the manifest knows; one that an earlier test damaged or replaced says
/// nothing, and what it holds is shown to nobody.
fn has_harness(binary: &TestBinary) -> bool {
    let section = match binary.kind {
        TargetKind::Lib => "lib",
        TargetKind::Bin => "bin",
        TargetKind::Test => "test",
        TargetKind::Example => "example",
        TargetKind::Bench => "bench",
    };
    // A project may have a link there.
    let path = Path::new(&binary.manifest_path).canonicalize();
    let bytes = path.and_then(|path| foreign::read(&path, MANIFEST_BYTES_MAX)).ok().flatten().unwrap_or_default();
    let manifest: toml::Table = String::from_utf8_lossy(&bytes).parse().unwrap_or_default();
    let without = |target: &toml::Value| target.get("harness").and_then(toml::Value::as_bool) == Some(false);
    let named = |target: &toml::Value| target.get("name").and_then(toml::Value::as_str) == Some(&binary.target);
    match manifest.get(section) {
        Some(toml::Value::Array(targets)) => !targets.iter().any(|target| named(target) && without(target)),
        Some(target) => !without(target),
        None => true,
    }
}

/// A library's doc tests; none when the library did not compile, which the build has already told.
fn run_doc_tests(run: &Run<'_>, package: &Package, build: &Build) -> Result<Option<Binary>> {
    if build.succeeded.is_none() {
        return Ok(None);
    }
    let rustdoc = inject(run.scratch, &cargo::RUSTDOC)?;
    let program = cargo(run).args(["test", "--doc", "--package", &package.id, "--"]).args(JSON).env("RUSTDOC", rustdoc);
    let output = cargo_output(run, &program)?;
    let binary = libtest::parse_doc(&doc_prefix(&package.name), seen(&output));
    let explained = build.succeeded == Some(false) && binary.tests.is_empty() && output.exit != Exit::TimedOut;
    Ok((!explained).then_some(binary))
}
