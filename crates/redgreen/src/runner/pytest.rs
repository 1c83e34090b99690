//! Runs pytest with our plugin, which writes the report to a path of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::framework::pytest;
use redgreen_core::report::Report;

use super::{Run, is_missing, read_report, tail};
use crate::failure::Failure;
use crate::process::{Output, Program};

const PLUGIN: &str = include_str!("../../reporters/redgreen_pytest.py");
/// Where projects keep their virtual environment.
const VENV_FOLDERS: &[&str] = &[".venv", "venv"];
/// Folders whose bytecode belongs to installed packages, or to no one.
const FOREIGN_FOLDERS: &[&str] = &[".git", ".venv", "venv", "node_modules", "site-packages"];
/// Deeper folders are not looked into.
const BYTECODE_DEPTH_MAX: usize = 32;
/// The interpreters on PATH, the first that exists.
const PYTHONS: &[&str] = &["python3", "python"];

pub(super) fn run(run: &Run<'_>) -> Result<Report> {
    let plugins = run.scratch.join("plugins");
    fs::create_dir_all(&plugins).context("create a folder for the pytest plugin")?;
    fs::write(plugins.join("redgreen_pytest.py"), PLUGIN).context("write the pytest plugin")?;
    let stream = run.scratch.join("pytest.jsonl");
    forget_bytecode(run.workdir, BYTECODE_DEPTH_MAX)?;
    let (python, output) = start(run, &plugins, &stream)?;
    if !stream.exists() {
        require_pytest(run, &python)?;
    }
    let mut report = pytest::parse(&read_report(&stream)?, output.exit);
    report.command = "python -m pytest".to_owned();
    report.output_tail = tail(&[output.stdout_text(), output.stderr_text()].join("\n"));
    Ok(report)
}

/// Bytecode in the worktree may be of a source that was there before: Python compares whole seconds and sizes only.
/// (A cache folder of our own would be safe too, but python and pytest themselves would be compiled in every run.)
fn forget_bytecode(folder: &Path, depth: usize) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries.filter_map(Result::ok) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let (path, name) = (entry.path(), entry.file_name());
        if name == "__pycache__" && is_folder {
            fs::remove_dir_all(&path).with_context(|| format!("remove {}", path.display()))?;
        } else if is_folder && depth > 0 && !FOREIGN_FOLDERS.iter().any(|foreign| name == *foreign) {
            forget_bytecode(&path, depth - 1)?;
        }
    }
    Ok(())
}

fn start(run: &Run<'_>, plugins: &Path, stream: &Path) -> Result<(PathBuf, Output)> {
    for python in pythons(run) {
        match run.output(&command(run, &python, plugins, stream)) {
            Ok(output) => return Ok((python, output)),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Failure::environment("no python found to run pytest with")
        .evidence(format!(
            "looked for {} in the project, $VIRTUAL_ENV, {} on PATH",
            VENV_FOLDERS.join(", "),
            PYTHONS.join(", ")
        ))
        .next("install python 3, or create a virtual environment: python3 -m venv .venv")
        .into())
}

/// The project's own interpreter if it has one, then the user's.
fn pythons(run: &Run<'_>) -> Vec<PathBuf> {
    let own = VENV_FOLDERS.iter().map(|folder| run.workdir.join(folder));
    let inside = own.chain(run.settings.virtual_env.clone()).map(|venv| venv.join("bin/python"));
    inside.filter(|python| python.exists()).chain(PYTHONS.iter().map(PathBuf::from)).collect()
}

fn command(run: &Run<'_>, python: &Path, plugins: &Path, stream: &Path) -> Program {
    let mut cache = std::ffi::OsString::from("cache_dir=");
    cache.push(run.scratch.join("pytest-cache"));
    let mut root = std::ffi::OsString::from("--rootdir=");
    root.push(run.workdir);
    run.program(python)
        // `python -m pytest` and not `pytest`: it puts the project's root on the path, on which many projects rely.
        .args(["-m", "pytest", "-p", "redgreen_pytest", "--continue-on-collection-errors"])
        // A project's own `-x` would leave planned tests without a result.
        .arg("--maxfail=0")
        // A cache outside the worktree rather than none: `--ff` in a project's addopts is an error without one.
        .arg("-o")
        .arg(cache)
        // Test ids are relative to this folder, wherever a configuration file lies.
        .arg(root)
        .env("PYTHONPATH", plugins)
        .env("REDGREEN_REPORT", stream)
        .env("PYTHONDONTWRITEBYTECODE", "1")
}

/// Tells a missing pytest from one that did not get as far as our plugin.
fn require_pytest(run: &Run<'_>, python: &Path) -> Result<()> {
    let probe = run.output(&run.program(python).args(["-c", "import pytest"]))?;
    if probe.success() {
        return Ok(());
    }
    let words = probe.stderr_text();
    Err(Failure::environment(format!("{} cannot import pytest", python.display()))
        .evidence(words.trim().lines().last().unwrap_or_default())
        .next(format!("{} -m pip install pytest", python.display()))
        .into())
}
