//! Runs cargo's tests in parts: one build that continues after compile errors, then each test
//! binary as cargo would start it, then the doc tests of each library.

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, bail};
use redgreen_core::coverage::{Coverage, Format};
use redgreen_core::framework::cargo::build::{self, Build, Package, TargetKind, TestBinary};
use redgreen_core::framework::cargo::libtest::{self, Binary, LibtestOutput};
use redgreen_core::framework::cargo::{self, JSON, doc_prefix, id_prefix};
use redgreen_core::framework::invoke::{Call, CannotRun, Selection};
use redgreen_core::report::Exit;

use super::invocation::{inject, missing, program, read_report};
use super::{Run, RunOutput, facts, is_missing, tail, text};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Output, Program};

/// Enables libtest's JSON output on stable Rust.
const UNLOCK: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const MANIFEST_BYTES_MAX: u64 = 4 << 20;

pub(super) fn run(run: &Run<'_>, selection: &Selection) -> Result<Option<RunOutput>> {
    // Report missing tools before building.
    let coverage = match selection {
        Selection::Coverage => Some(llvm_cov(run)?),
        Selection::All | Selection::Files(_) | Selection::One(_) | Selection::List => None,
    };
    // Without changes to build, cargo itself takes most of the time. Both commands only read the
    // manifests, so run them in parallel.
    let (packages, build) = thread::scope(|scope| {
        let packages = scope.spawn(|| packages(run));
        let build = build_all(run);
        (packages.join().unwrap_or_else(|panic| resume_unwind(panic)), build)
    });
    let packages = packages?;
    let mut build = build?.compared_with(&packages);
    if packages.iter().any(Package::links_std) {
        build.std_folder = std_folder(run)?;
    }
    if *selection == Selection::List {
        let listed = list(run, &packages, &build)?;
        return Ok(Some(RunOutput {
            report: cargo::report(build, Vec::new()),
            listed,
            coverage: None,
        }));
    }
    let mut words = build.words.clone();
    let mut binaries = Vec::new();
    for (number, binary) in build.binaries.iter().enumerate() {
        let prefix = prefix_of(&packages, binary);
        let Some(filter) = filter(selection, &prefix) else { continue };
        let ran = run_binary(
            run,
            &packages,
            &build,
            SelectedBinary { binary, number, prefix: &prefix, filter },
        )?;
        words.push('\n');
        words.push_str(&ran.words);
        binaries.push(ran.binary);
    }
    for package in packages.iter().filter(|package| package.has_doc_tests()) {
        if let Some(filters) = doc_filters(selection, &package.name) {
            binaries.extend(run_doc_tests(run, package, &build, &filters)?);
        }
    }
    let mut report = cargo::report(build, binaries);
    report.command = "cargo test --workspace --no-fail-fast".to_owned();
    report.output_tail = tail(&words);
    let coverage = match coverage {
        Some((call, lcov)) => measure(run, &call, &lcov)?,
        None => None,
    };
    Ok(Some(RunOutput { report, listed: Vec::new(), coverage }))
}

/// The coverage command and the path of its report.
fn llvm_cov(run: &Run<'_>) -> Result<(Call, PathBuf)> {
    let lcov = run.scratch.join("lcov.info");
    let installed =
        !facts::tools(cargo::FRAMEWORK.tools, run.place, run.workdir, run.settings).is_empty();
    match cargo::llvm_cov(installed, &[], &text(&lcov)?) {
        Ok(call) => Ok((call, lcov)),
        Err(CannotRun::Missing(what)) => Err(missing(&what).into()),
        Err(CannotRun::Unsupported(why)) => bail!(why),
    }
}

/// `None` if the tool wrote no report.
fn measure(run: &Run<'_>, call: &Call, lcov: &Path) -> Result<Option<Coverage>> {
    run.output(&program(run, run.workdir, call))?;
    let root = text(run.workdir)?;
    let lines = read_report(lcov)?.and_then(|bytes| Coverage::read(Format::Lcov, &bytes));
    Ok(lines.map(|lines| lines.relative_to(&root)))
}

/// Lists all tests by asking each binary. Runs none.
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
        listed.extend(libtest::parse_doc_list(
            &doc_prefix(&package.name),
            &cargo_output(run, &program)?.stdout,
        ));
    }
    Ok(listed)
}

/// Which tests of a binary to run; `None` if none is selected.
fn filter<'a>(selection: &'a Selection, prefix: &str) -> Option<Filter<'a>> {
    match selection {
        Selection::All | Selection::List | Selection::Coverage => Some(Filter::All),
        Selection::One(id) => id.strip_prefix(prefix)?.strip_prefix("::").map(Filter::Exact),
        Selection::Files(paths) => {
            let paths = paths.iter().filter(|path| cargo::read_example(path).1.is_none());
            let stem = prefix.split_once('/').map_or("", |(_, target)| target);
            if stem.is_empty() || stem.starts_with("bin/") {
                // Unit tests can be in any source file.
                let in_code = |path: &String| path.starts_with("src/") || path.contains("/src/");
                return paths.into_iter().any(in_code).then_some(Filter::All);
            }
            // `demo/tests/calc` is built from `tests/calc.rs` or `tests/calc/…`.
            let meant = |path: &String| {
                path.contains(&format!("{stem}.rs")) || path.contains(&format!("{stem}/"))
            };
            paths.into_iter().any(meant).then_some(Filter::All)
        }
    }
}

/// The rustdoc filters for the examples of a package; `None` if none is selected.
fn doc_filters(selection: &Selection, package: &str) -> Option<Vec<String>> {
    match selection {
        Selection::All | Selection::List | Selection::Coverage => Some(Vec::new()),
        // A doc test's id has no line number, so rustdoc cannot run it alone.
        Selection::One(id) => id.starts_with(&format!("{}::", doc_prefix(package))).then(Vec::new),
        Selection::Files(paths) => {
            Some(cargo::example_filters(paths)).filter(|filters| !filters.is_empty())
        }
    }
}

#[derive(Clone, Copy)]
enum Filter<'a> {
    All,
    Exact(&'a str),
}

/// A test binary to run.
#[derive(Clone, Copy)]
struct SelectedBinary<'a> {
    binary: &'a TestBinary,
    number: usize,
    prefix: &'a str,
    filter: Filter<'a>,
}

struct BinaryRun {
    binary: Binary,
    /// Its other output, for people.
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
            .evidence("the project has a Cargo.toml, but cargo is not on the PATH")
            .next("install Rust: https://rustup.rs")
            .into()),
        other => other,
    }
}

/// Empty if the manifest is broken; the build reports that.
fn packages(run: &Run<'_>) -> Result<Vec<Package>> {
    let program = cargo(run).args(["metadata", "--no-deps", "--format-version", "1"]);
    Ok(build::parse_packages(&cargo_output(run, &program)?.stdout))
}

/// Where the toolchain's own shared libraries are, as cargo tells the programs that it starts.
fn std_folder(run: &Run<'_>) -> Result<Option<String>> {
    let output = run.output(&run.program("rustc").args(["--print", "target-libdir"]));
    match output {
        Ok(output) if output.exit == Exit::Code(0) => {
            Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
        }
        Ok(_) => Ok(None),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn build_all(run: &Run<'_>) -> Result<Build> {
    let output = cargo_output(run, &cargo(run).args(cargo::BUILD))?;
    let mut build = build::parse(&output.stdout, &output.stderr_text(), output.exit);
    if output.cut || output.exit == Exit::TimedOut {
        build.succeeded = None;
    }
    Ok(build)
}

fn run_binary(
    run: &Run<'_>,
    packages: &[Package],
    build: &Build,
    chosen: SelectedBinary<'_>,
) -> Result<BinaryRun> {
    let SelectedBinary { binary, number, prefix, filter } = chosen;
    let package = packages.iter().find(|package| package.id == binary.package_id);
    let program = environment(run, package, build, binary);
    if !has_harness(binary) {
        let output = run.output(&program)?;
        let binary = libtest::without_harness(prefix, output.exit);
        return Ok(BinaryRun { binary, words: tail(&output.stderr_text()) });
    }
    let log = run.scratch.join(format!("libtest-{number}.log"));
    let program = program.args(JSON).arg("--logfile").arg(&log).env(UNLOCK.0, UNLOCK.1);
    let program = match filter {
        Filter::All => program,
        Filter::Exact(name) => program.args(["--exact", name]),
    };
    let output = run.output(&program)?;
    let binary = libtest::parse(prefix, seen(&output), &read_report(&log)?.unwrap_or_default());
    Ok(BinaryRun { binary, words: tail(&output.stderr_text()) })
}

fn seen(output: &Output) -> LibtestOutput<'_> {
    LibtestOutput { exit: output.exit, stdout: &output.stdout, cut: output.cut }
}

/// A test binary in the environment that cargo would give it.
fn environment(
    run: &Run<'_>,
    package: Option<&Package>,
    build: &Build,
    binary: &TestBinary,
) -> Program {
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
        program =
            program.env("CARGO_PKG_NAME", &package.name).env("CARGO_PKG_VERSION", &package.version);
    }
    for script in build.scripts.iter().filter(|script| script.package_id == binary.package_id) {
        program =
            script.env.iter().fold(program, |program, (name, value)| program.env(name, value));
        program = program.env("OUT_DIR", &script.out_dir);
    }
    let own = build.programs.iter().filter(|built| built.package_id == binary.package_id);
    match binary.kind {
        TargetKind::Test | TargetKind::Bench => own.fold(program, |program, built| {
            program.env(format!("CARGO_BIN_EXE_{}", built.name), &built.executable)
        }),
        TargetKind::Lib | TargetKind::Bin | TargetKind::Example => program,
    }
}

/// The folders of the shared libraries: next to the binary, its parent, those of build scripts, and
/// the toolchain's, which the tests of a macro crate are linked with.
fn library_path(build: &Build, binary: &TestBinary) -> OsString {
    let executable = Path::new(&binary.executable);
    let beside = executable.ancestors().skip(1).take(2).map(Path::to_path_buf);
    let linked = build.scripts.iter().flat_map(|script| &script.linked_paths);
    // Strip the kind from `native=/folder`.
    let linked = linked.map(|path| {
        PathBuf::from(path.split_once('=').map_or(path.as_str(), |(_, folder)| folder))
    });
    let own = build.std_folder.iter().map(PathBuf::from);
    let folders: Vec<_> = beside.chain(linked).chain(own).map(PathBuf::into_os_string).collect();
    folders.join(std::ffi::OsStr::new(":"))
}

/// Whether a target uses the libtest harness, according to the manifest. An earlier test may have
/// damaged or replaced the manifest: then the default applies, and its content is shown to nobody.
fn has_harness(binary: &TestBinary) -> bool {
    let section = match binary.kind {
        TargetKind::Lib => "lib",
        TargetKind::Bin => "bin",
        TargetKind::Test => "test",
        TargetKind::Example => "example",
        TargetKind::Bench => "bench",
    };
    // The manifest may be a link.
    let path = Path::new(&binary.manifest_path).canonicalize();
    let bytes = path
        .and_then(|path| foreign::read(&path, MANIFEST_BYTES_MAX))
        .ok()
        .flatten()
        .unwrap_or_default();
    let manifest: toml::Table = String::from_utf8_lossy(&bytes).parse().unwrap_or_default();
    let without =
        |target: &toml::Value| target.get("harness").and_then(toml::Value::as_bool) == Some(false);
    let named = |target: &toml::Value| {
        target.get("name").and_then(toml::Value::as_str) == Some(&binary.target)
    };
    match manifest.get(section) {
        Some(toml::Value::Array(targets)) => {
            !targets.iter().any(|target| named(target) && without(target))
        }
        Some(target) => !without(target),
        None => true,
    }
}

/// A library's doc tests. `None` if the library did not compile, which the build already reported.
fn run_doc_tests(
    run: &Run<'_>,
    package: &Package,
    build: &Build,
    filters: &[String],
) -> Result<Option<Binary>> {
    if build.succeeded.is_none() {
        return Ok(None);
    }
    let rustdoc = inject(run.scratch, &cargo::RUSTDOC)?;
    let program = cargo(run)
        .args(["test", "--doc", "--package", &package.id, "--"])
        .args(JSON)
        .args(filters)
        .env("RUSTDOC", rustdoc);
    let output = cargo_output(run, &program)?;
    let binary = libtest::parse_doc(&doc_prefix(&package.name), seen(&output));
    let explained =
        build.succeeded == Some(false) && binary.tests.is_empty() && output.exit != Exit::TimedOut;
    Ok((!explained).then_some(binary))
}
