//! Executes an [`Invocation`]: writes injected files, runs the steps before, starts the runner and
//! collects its reports. Independent of frameworks.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redgreen_core::coverage::Coverage;
use redgreen_core::framework::captured::{Capture, StepEnd};
use redgreen_core::framework::facts::Facts;
use redgreen_core::framework::invoke::{
    Call, CoverageAt, Invocation, Missing, ReportAt, ReporterFile, SCRATCH, Stale, Step, matches,
};
use redgreen_core::report::Exit;

use super::{Run, TAIL_BYTES_MAX};
use crate::failure::Failure;
use crate::foreign;
use crate::process::{Output, Program};

/// A larger file is not a report.
const REPORT_BYTES_MAX: u64 = 256 << 20;
/// The number of report files read from a worktree.
const TREE_REPORTS_MAX: usize = 20_000;
/// The number of worktree entries searched for reports.
const TREE_ENTRIES_MAX: usize = 500_000;
/// The maximum time between Python reading a source and writing its bytecode.
const COMPILE_SECONDS_MAX: i64 = 10;
/// Folders of packages and of git: they contain no reports, but most of the files.
const TREE_SKIPPED: &[&str] = &["node_modules", ".git", ".venv", "venv", "site-packages"];

/// The result of an invocation.
pub(super) struct InvocationResult {
    pub(super) captured: Capture,
    pub(super) coverage: Option<Coverage>,
    /// The end of each program's output, for people.
    pub(super) words: String,
}

pub(super) fn perform(
    run: &Run<'_>,
    facts: &Facts,
    invocation: &Invocation,
) -> Result<InvocationResult> {
    let folder = Path::new(&facts.root);
    for injected in &invocation.inject {
        inject(run.scratch, injected)?;
    }
    remove_stale(folder, invocation)?;
    let older = stamps(folder, invocation)?;
    let mut captured = Capture { root: facts.root.clone(), ..Capture::default() };
    let mut words = String::new();
    for step in &invocation.before {
        let end = take(run, folder, step, &mut words)?;
        let exit = end.exit;
        captured.steps.push(end);
        if exit != Exit::Code(0) {
            captured.exit = if exit == Exit::TimedOut { exit } else { Exit::NotStarted };
            return Ok(InvocationResult { captured, coverage: None, words });
        }
    }
    if !invocation.call.words.is_empty() {
        let chosen =
            invocation.choice.iter().flat_map(|choice| (choice.args)(&captured, &choice.files));
        let output = output(run, folder, &invocation.call.clone().args(chosen))?;
        words.push_str(&said(&output));
        (captured.exit, captured.cut) = (output.exit, output.cut);
        (captured.stdout, captured.stderr) = (output.stdout, output.stderr);
    } else {
        captured.exit = Exit::Code(0);
    }
    for report in &invocation.reports {
        captured.reports.extend(read_reports(run, folder, report, &older)?);
    }
    if captured.reports.is_empty() && captured.exit != Exit::TimedOut {
        require(run, folder, invocation)?;
    }
    for step in &invocation.after {
        captured.after.push(take(run, folder, step, &mut words)?);
    }
    let coverage = match &invocation.coverage {
        Some(at) => match at.built_in {
            Some(built_in) => of_modules(folder, at, built_in)?,
            None => read_report(&run.scratch.join(&at.file))?
                .and_then(|bytes| Coverage::read(at.format, &bytes))
                .map(|coverage| coverage.relative_to(at.below.as_ref().unwrap_or(&facts.root))),
        },
        None => None,
    };
    Ok(InvocationResult { captured, coverage, words })
}

/// The merged coverage of all modules with a report.
fn of_modules(folder: &Path, at: &CoverageAt, built_in: &str) -> Result<Option<Coverage>> {
    let mut whole: Option<Coverage> = None;
    for (name, path) in in_tree(folder, &at.file)? {
        let Some(coverage) =
            read_report(&path)?.and_then(|bytes| Coverage::read(at.format, &bytes))
        else {
            continue;
        };
        let module = name.split(built_in).next().unwrap_or_default();
        whole.get_or_insert_default().merge(coverage.renamed(|path| format!("{module}{path}")));
    }
    Ok(whole)
}

/// Writes an injected file to the scratch folder.
pub(super) fn inject(scratch: &Path, injected: &ReporterFile) -> Result<PathBuf> {
    let text = injected.text.replace(SCRATCH, &scratch.to_string_lossy());
    let path = foreign::write(scratch, injected.path, text.as_bytes());
    let path = path.with_context(|| format!("write {}", injected.path))?;
    if text.starts_with("#!") {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
            .with_context(|| format!("make {} executable", injected.path))?;
    }
    Ok(path)
}

/// Runs a step before or after the tests.
fn take(run: &Run<'_>, folder: &Path, step: &Step, words: &mut String) -> Result<StepEnd> {
    let output = output(run, folder, &step.call)?;
    words.push_str(&said(&output));
    let (stdout, stderr) = (output.stdout, output.stderr);
    Ok(StepEnd { name: step.name.to_owned(), exit: output.exit, stdout, stderr })
}

fn output(run: &Run<'_>, folder: &Path, call: &Call) -> Result<Output> {
    run.output(&program(run, folder, call))
}

pub(super) fn program(run: &Run<'_>, folder: &Path, call: &Call) -> Program {
    let (name, args) =
        call.words.split_first().map_or(("", &[][..]), |(name, args)| (name.as_str(), args));
    let program = run.program(name).cwd(folder).args(args);
    call.env.iter().fold(program, |program, (name, value)| program.env(name, value))
}

/// The end of a program's output. The whole may be large and is only shown to people.
fn said(output: &Output) -> String {
    let end = |bytes: &[u8]| {
        let start = bytes.len().saturating_sub(TAIL_BYTES_MAX);
        String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned()
    };
    [end(&output.stdout), end(&output.stderr)].join("\n")
}

/// Distinguishes a runner that is not installed from one that failed before its report.
fn require(run: &Run<'_>, folder: &Path, invocation: &Invocation) -> Result<()> {
    for probe in &invocation.probes {
        let probed = output(run, folder, &probe.call)?;
        if !probed.success() {
            let words = probed.stderr_text();
            return Err(missing(&probe.missing)
                .evidence(words.trim().lines().last().unwrap_or_default())
                .into());
        }
    }
    Ok(())
}

pub(super) fn missing(missing: &Missing) -> Failure {
    let failure = Failure::environment(&missing.what).next(&missing.next);
    if missing.evidence.is_empty() { failure } else { failure.evidence(&missing.evidence) }
}

/// The content of reports by name. A report that is too large is ignored.
fn read_reports(
    run: &Run<'_>,
    folder: &Path,
    report: &ReportAt,
    older: &Stamps,
) -> Result<Vec<(String, Vec<u8>)>> {
    let paths = match report {
        ReportAt::Scratch(name) => vec![(name.clone(), run.scratch.join(name))],
        ReportAt::ScratchTree(pattern) => in_tree(run.scratch, pattern)?,
        ReportAt::Tree(pattern) | ReportAt::Source(pattern) => in_tree(folder, pattern)?,
        ReportAt::Fresh(pattern) => {
            let is_fresh =
                |path: &PathBuf| stamp(path).is_some_and(|stamp| older.get(path) != Some(&stamp));
            in_tree(folder, pattern)?.into_iter().filter(|(_, path)| is_fresh(path)).collect()
        }
    };
    let mut reports = Vec::new();
    for (name, path) in paths {
        if let Some(bytes) = read_report(&path)? {
            reports.push((name, bytes));
        }
    }
    Ok(reports)
}

/// `None` if it does not exist, is too large, or a test replaced it by something else.
pub(super) fn read_report(path: &Path) -> Result<Option<Vec<u8>>> {
    foreign::read(path, REPORT_BYTES_MAX).with_context(|| format!("read report {}", path.display()))
}

/// Removes reports of an older run, which would be mistaken for this run's if it wrote none.
fn remove_stale(folder: &Path, invocation: &Invocation) -> Result<()> {
    let reports = invocation.reports.iter().filter_map(|report| match report {
        ReportAt::Scratch(_)
        | ReportAt::ScratchTree(_)
        | ReportAt::Fresh(_)
        | ReportAt::Source(_) => None,
        ReportAt::Tree(pattern) => Some(Stale::Always(pattern)),
    });
    for stale in reports.chain(invocation.stale.iter().copied()) {
        let (pattern, is_stale): (_, fn(&Path) -> bool) = match stale {
            Stale::Always(pattern) => (pattern, |_| true),
            Stale::Bytecode(pattern) => (pattern, |path| !is_of_its_source(path)),
        };
        for (_, path) in in_tree(folder, pattern)?.into_iter().filter(|(_, path)| is_stale(path)) {
            fs::remove_file(&path)
                .with_context(|| format!("remove {} of an older run", path.display()))?;
        }
    }
    Ok(())
}

/// Whether bytecode was written so long after its source changed that it cannot be from an older
/// version. Both times are ctimes, which no program can set.
fn is_of_its_source(bytecode: &Path) -> bool {
    let source = || {
        let module = bytecode.file_name()?.to_str()?.split('.').next()?;
        fs::metadata(bytecode.parent()?.parent()?.join(format!("{module}.py"))).ok()
    };
    let (Some(source), Ok(bytecode)) = (source(), fs::symlink_metadata(bytecode)) else {
        return false;
    };
    bytecode.is_file() && source.ctime().saturating_add(COMPILE_SECONDS_MAX) < bytecode.ctime()
}

/// Changes whenever a file is written or replaced: inode, size, mtime and ctime.
type Stamp = (u64, u64, (i64, i64), (i64, i64));
type Stamps = HashMap<PathBuf, Stamp>;

fn stamp(path: &Path) -> Option<Stamp> {
    let facts = fs::metadata(path).ok()?;
    let (written, changed) =
        ((facts.mtime(), facts.mtime_nsec()), (facts.ctime(), facts.ctime_nsec()));
    Some((facts.ino(), facts.len(), written, changed))
}

/// The existing files that could be mistaken for reports of this run.
fn stamps(folder: &Path, invocation: &Invocation) -> Result<Stamps> {
    let mut stamps = Stamps::new();
    for report in &invocation.reports {
        let ReportAt::Fresh(pattern) = report else { continue };
        let found = in_tree(folder, pattern)?.into_iter();
        stamps.extend(found.filter_map(|(_, path)| stamp(&path).map(|stamp| (path, stamp))));
    }
    Ok(stamps)
}

/// The matching files of the worktree, by relative path.
fn in_tree(folder: &Path, pattern: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), folder.to_owned())];
    let mut seen = 0;
    while let Some((below, path)) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            ensure!(
                seen <= TREE_ENTRIES_MAX,
                "more than {TREE_ENTRIES_MAX} files in {}",
                folder.display()
            );
            let name = entry.file_name().to_string_lossy().into_owned();
            let within = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !TREE_SKIPPED.contains(&name.as_str()) => {
                    waiting.push((within, entry.path()));
                }
                Ok(kind) if kind.is_file() && matches(pattern, &within) => {
                    found.push((within, entry.path()));
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    ensure!(
        found.len() <= TREE_REPORTS_MAX,
        "more than {TREE_REPORTS_MAX} files {pattern} in {}",
        folder.display()
    );
    found.sort();
    Ok(found)
}
