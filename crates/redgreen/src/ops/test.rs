//! `redgreen test`: the tests of the user's checkout, or of any folder: all, some files, or some
//! ids.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redgreen_core::coverage::Coverage;
use redgreen_core::format::junit;
use redgreen_core::framework::invoke::Selection;
use redgreen_core::report::{Counts, Outcome, Report};
use serde::Serialize;

use crate::config::{Environment, File, TestInputs};
use crate::failure::{Code, Failure};
use crate::foreign;
use crate::git::Git;
use crate::process::Stop;
use crate::runner::{self, Settings, Suite};

/// The maximum number of files in a named folder.
const FILES_MAX: usize = 10_000;
/// The maximum number of suggestions for an unknown id.
const MEANT_MAX: usize = 3;

/// A project with tests.
pub struct Tests {
    pub root: PathBuf,
    pub suite: Suite,
    start: PathBuf,
    settings: Settings,
    stop: Stop,
}

/// The result of a test run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestRun {
    pub version: u32,
    pub project: String,
    pub outcome: Outcome,
    pub counts: Counts,
    /// Absent if it was not requested, or no tool could measure it.
    pub coverage: Option<CoverageSummary>,
    pub report: Report,
}

/// Lines that can be covered, and covered lines.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CoverageSummary {
    pub percent: f64,
    pub lines: usize,
    pub hit: usize,
    /// The file with the most uncovered lines first.
    pub files: Vec<CoveredFile>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CoveredFile {
    pub path: String,
    pub lines: usize,
    pub hit: usize,
}

/// The list of tests.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestNames {
    pub version: u32,
    pub tests: Vec<String>,
    /// Frameworks that cannot list their tests without running them.
    pub unlisted: Vec<String>,
}

/// The project is the repository that contains `start`, or `start` itself without one.
pub fn open(
    start: &Path,
    environment: &Environment,
    timeout: Duration,
    stop: &Stop,
) -> Result<Tests> {
    if !start.is_dir() {
        return Err(Failure::environment(format!("there is no folder {}", start.display())).into());
    }
    let start = start.canonicalize().with_context(|| format!("find {}", start.display()))?;
    let root = Git::open_until(&start, stop).map_or_else(|_| start.clone(), |git| git.root);
    let file = File::read(&root, environment)?;
    super::trust::check(&root, environment)?;
    let TestInputs { variables, secrets, services, .. } = file.test.provided()?;
    let settings = Settings {
        timeout,
        cargo_target_dir: None,
        virtual_env: runner::python::environment(&root, environment, stop)?,
        path: environment.path.clone(),
        variables,
        secrets,
        services,
    };
    let suite = runner::suite(&root, &file.test)?;
    Ok(Tests { suite, root, start, settings, stop: stop.clone() })
}

impl Tests {
    /// Runs the named tests, or all. An id or file without a test is an error, not a success.
    pub fn run(&self, named: &[String]) -> Result<TestRun> {
        if named.is_empty() {
            return Ok(self.tested(self.select(&Selection::All, self.settings.timeout)?, None));
        }
        let deadline = Instant::now() + self.settings.timeout;
        let mut reports = Vec::new();
        for selection in self.selections(named)? {
            let left = deadline.saturating_duration_since(Instant::now());
            let report = self.select(&selection, left)?;
            if report.tests.is_empty()
                && matches!(report.outcome, Outcome::NoTests | Outcome::UsageError)
            {
                return Err(self.unmatched(&selection, &report).into());
            }
            reports.push(report);
        }
        Ok(self.tested(Report::merge(reports), None))
    }

    /// Runs everything and measures coverage.
    pub fn coverage(&self) -> Result<TestRun> {
        let (report, coverage) = self.suite.coverage(&self.root, &self.settings, &self.stop)?;
        Ok(self.tested(report, coverage.as_ref()))
    }

    pub fn list(&self) -> Result<TestNames> {
        let mut listed = TestNames { version: 1, tests: Vec::new(), unlisted: Vec::new() };
        for part in self.suite.parts() {
            let tests = part.list(&self.root, &self.settings, &self.stop)?;
            if tests.is_empty() {
                listed.unlisted.push(part.describe());
            }
            listed.tests.extend(tests);
        }
        if listed.tests.is_empty() {
            return Err(Failure::environment(format!(
                "{} lists no tests",
                listed.unlisted.join("and ")
            ))
            .evidence(
                "no tests exist, they do not load, or the runner cannot list them without running \
                 them",
            )
            .next("redgreen test")
            .into());
        }
        Ok(listed)
    }

    fn select(&self, selection: &Selection, timeout: Duration) -> Result<Report> {
        let settings = Settings { timeout, ..self.settings.clone() };
        self.suite.run(&self.root, selection, &settings, &self.stop)
    }

    /// Files run together, and each id separately.
    fn selections(&self, named: &[String]) -> Result<Vec<Selection>> {
        let mut files = Vec::new();
        let mut selections = Vec::new();
        for name in named {
            let Some(path) = self.path(name) else {
                let one = Selection::One(name.clone());
                if !self.suite.concerns(&one) {
                    return Err(self.unmatched(&one, &Report::default()).into());
                }
                if !selections.contains(&one) {
                    selections.push(one);
                }
                continue;
            };
            let found = self.files(&path)?;
            if found.is_empty() {
                return Err(self
                    .unmatched(&Selection::Files(vec![name.clone()]), &Report::default())
                    .into());
            }
            files.extend(found);
        }
        files.sort();
        files.dedup();
        if !files.is_empty() {
            selections.insert(0, Selection::Files(files));
        }
        Ok(selections)
    }

    /// A typed file or folder: relative to the current folder, or to the root of the project.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let places = [self.start.join(name), self.root.join(name)];
        let path = places.iter().find_map(|place| place.canonicalize().ok())?;
        Some(path.strip_prefix(self.root.canonicalize().ok()?).ok()?.to_owned())
    }

    /// The test files of a path, relative to the root of the project.
    fn files(&self, path: &Path) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut waiting = vec![path.to_owned()];
        while let Some(path) = waiting.pop() {
            let place = self.root.join(&path);
            if place.is_dir() {
                for entry in
                    fs::read_dir(&place).with_context(|| format!("list {}", place.display()))?
                {
                    let name =
                        entry.with_context(|| format!("list {}", place.display()))?.file_name();
                    if serves_only(&name.to_string_lossy()) {
                        continue;
                    }
                    waiting.push(path.join(name));
                }
            } else if let Some(path) = path.to_str()
                && self.suite.concerns(&Selection::Files(vec![path.to_owned()]))
            {
                found.push(path.to_owned());
            }
            if found.len() + waiting.len() > FILES_MAX {
                return Err(Failure::usage(format!(
                    "{} contains more than {FILES_MAX} files",
                    place.display()
                ))
                .next("redgreen test")
                .into());
            }
        }
        Ok(found)
    }

    fn unmatched(&self, selection: &Selection, report: &Report) -> Failure {
        let frameworks = self.suite.describe();
        let failure = match selection {
            Selection::One(id) => {
                let failure =
                    Failure::usage(format!("no tests matched: {frameworks} has no test {id:?}"));
                self.meant(id)
                    .into_iter()
                    .fold(failure, |failure, id| failure.evidence(format!("did you mean {id}")))
            }
            Selection::Files(paths) => Failure::usage(format!(
                "no tests matched: {frameworks} runs none in {}",
                paths.join(", ")
            )),
            Selection::All | Selection::List | Selection::Coverage => {
                Failure::usage("no tests matched")
            }
        };
        let failure = match report.output_tail.trim().lines().last() {
            Some(line) => failure.evidence(format!("{}: {line}", report.command)),
            None => failure,
        };
        failure.next("redgreen test --list")
    }

    /// Ids that are similar to an unknown one.
    fn meant(&self, id: &str) -> Vec<String> {
        let known = self.suite.list(&self.root, &self.settings, &self.stop).unwrap_or_default();
        let mut near: Vec<(usize, String)> = known
            .into_iter()
            .filter_map(|known| {
                let typos = if known.contains(id) { 0 } else { strsim::osa_distance(&known, id) };
                (typos <= id.chars().count() / 4).then_some((typos, known))
            })
            .collect();
        near.sort();
        near.into_iter().take(MEANT_MAX).map(|(_, id)| id).collect()
    }

    fn tested(&self, report: Report, coverage: Option<&Coverage>) -> TestRun {
        TestRun {
            version: 1,
            project: self.root.display().to_string(),
            outcome: report.outcome,
            counts: report.counts(),
            coverage: coverage.and_then(covered),
            report,
        }
    }
}

impl TestRun {
    pub fn code(&self) -> Code {
        match self.outcome {
            Outcome::Passed | Outcome::Skipped => Code::Done,
            Outcome::Failed
            | Outcome::Errored
            | Outcome::DidNotCompile
            | Outcome::Crashed
            | Outcome::TimedOut => Code::No,
            Outcome::NoTests | Outcome::UsageError => Code::Environment,
        }
    }

    /// Writes the report as JUnit XML.
    pub fn write_junit(&self, project: &Path, path: &Path) -> Result<()> {
        let text = junit::write(&self.report);
        foreign::write_named(project, path, text.as_bytes())
            .with_context(|| format!("write {}", path.display()))
    }
}

/// Files in a test folder that are not run by name.
fn serves_only(name: &str) -> bool {
    name.starts_with('.')
        || name.starts_with("__")
        || matches!(name, "conftest.py" | "node_modules" | "target")
}

fn covered(coverage: &Coverage) -> Option<CoverageSummary> {
    let mut files: Vec<CoveredFile> = coverage
        .files
        .iter()
        .map(|(path, file)| CoveredFile {
            path: path.clone(),
            lines: file.found(),
            hit: file.hit(),
        })
        .collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.lines.saturating_sub(file.hit)));
    Some(CoverageSummary {
        percent: coverage.percent()?,
        lines: coverage.found(),
        hit: coverage.hit(),
        files,
    })
}
