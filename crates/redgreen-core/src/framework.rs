//! The supported test frameworks, one row each. A row says how to detect the framework, how to run
//! it, how to parse its output, which files are tests and which files configure the test run.
//!
//! redgreen never reads a verdict from prose: each module parses a framework's machine-readable
//! output into a [`Report`]. A new framework needs one file with its row, an entry in
//! [`FRAMEWORKS`], and captured samples; see `docs/FRAMEWORKS.md`.

pub mod bats;
pub mod captured;
pub mod cargo;
pub mod command;
mod cpp;
pub mod ctest;
pub mod exunit;
pub mod facts;
pub mod go;
pub mod gradle;
pub mod identity;
pub mod invoke;
mod java;
pub mod javascript;
pub mod jest;
pub mod maven;
pub mod minitest;
pub mod mocha;
pub mod nextest;
pub mod node;
pub mod phpunit;
pub mod pytest;
mod python;
pub mod rspec;
mod ruby;
pub mod unittest;
pub mod vitest;

use crate::coverage::Coverage;
use crate::report::{Report, Test};
use captured::Capture;
use facts::{Evidence, Facts, Folder, Reach};
use identity::FOLDER_MARK;
pub use identity::{Home, Identity, identity};
use invoke::{CannotRun, Invocation, Selection};

/// One framework.
#[derive(Debug)]
pub struct Framework {
    pub name: &'static str,
    pub how: Execution,
    /// What detection looks for; shown to users whose project was not recognised.
    pub looks_for: &'static str,
    pub detect: fn(&Folder) -> Evidence,
    /// Selects the files whose text [`Framework::detect`] and the invocation read, by path within
    /// the folder.
    pub reads: fn(&str) -> bool,
    pub reach: Reach,
    /// The programs an invocation may choose from: see [`Facts::tools`].
    pub tools: &'static [&'static str],
    /// Whether a test id can belong to this framework. Projects with several frameworks use it to
    /// route a test to the right one.
    pub is_id: fn(&str) -> bool,
    /// Parses a test id of this framework.
    pub read: fn(&str) -> Identity<'_>,
    /// Whether a path holds tests or test support. The path is relative to the project and uses
    /// `/`.
    pub is_test_file: fn(&str) -> bool,
    /// Whether a path that is not a test can change which tests run or how they end.
    pub is_runner_config: fn(&str) -> bool,
    /// Files that a run leaves behind, as lines of a `.gitignore`.
    pub litter: &'static [&'static str],
}

/// How to run a framework and read its results.
#[derive(Debug)]
pub enum Execution {
    /// One process, with steps before and after it.
    Process(Process),
    /// Several processes that depend on each other; see `runner/cargo.rs` in the `redgreen` crate.
    Cargo,
    /// The command that the user configured: [`command`].
    Command,
}

/// Describes a run of one process as data.
#[derive(Debug)]
pub struct Process {
    pub invoke: fn(&Facts, &Selection) -> Result<Invocation, CannotRun>,
    pub parse: fn(&Capture) -> Report,
    /// The test ids that a run of [`Selection::List`] printed.
    pub list: fn(&Capture) -> Vec<String>,
}

/// Ordered by priority: Java, JavaScript, Python, then the rest.
pub const FRAMEWORKS: &[Framework] = &[
    maven::FRAMEWORK,
    gradle::FRAMEWORK,
    vitest::FRAMEWORK,
    jest::FRAMEWORK,
    mocha::FRAMEWORK,
    node::FRAMEWORK,
    pytest::FRAMEWORK,
    unittest::FRAMEWORK,
    cargo::FRAMEWORK,
    nextest::FRAMEWORK,
    go::FRAMEWORK,
    phpunit::FRAMEWORK,
    ctest::FRAMEWORK,
    rspec::FRAMEWORK,
    minitest::FRAMEWORK,
    bats::FRAMEWORK,
    exunit::FRAMEWORK,
];

/// A framework in one folder of a project.
#[derive(Clone, Debug)]
pub struct Detection {
    pub row: &'static Framework,
    pub folder: Folder,
    /// Set only for [`command::FRAMEWORK`].
    pub command: Option<command::Command>,
    /// Restricts a full run to the files that the user names, by path within the folder. Empty
    /// means all files.
    pub files: Vec<String>,
}

/// The framework that can run the same tests if this one is not installed. A project may name
/// pytest while its tests use only unittest.
pub fn otherwise(found: &Detection) -> Option<Detection> {
    let is_pytest = found.row.name == pytest::FRAMEWORK.name && found.command.is_none();
    (is_pytest && python::runs_in_unittest(&found.folder))
        .then(|| Detection { row: &unittest::FRAMEWORK, ..found.clone() })
}

/// Detects the frameworks of a project, from its root (first) and the packages below it.
///
/// Several sure matches run side by side, unless the run of a parent folder with the same framework
/// already covers them. A likely match counts only at the root and only if nothing is sure. The
/// `test` script of a `package.json` counts only if nothing else matches.
pub fn detect(folders: &[Folder]) -> Vec<Detection> {
    let mut found: Vec<Detection> = Vec::new();
    for folder in folders {
        let mut rows = with(Evidence::Sure, folder);
        rows.retain(|new| !found.iter().any(|known| known.reaches(new)));
        found.append(&mut rows);
    }
    let Some(root) = folders.first().filter(|_| found.is_empty()) else { return found };
    let likely = with(Evidence::Likely, root);
    if likely.is_empty() { command::of_script(root).into_iter().collect() } else { likely }
}

fn with(wanted: Evidence, folder: &Folder) -> Vec<Detection> {
    let rows = FRAMEWORKS.iter().filter(|row| (row.detect)(folder) == wanted);
    rows.map(|row| Detection { row, folder: folder.clone(), command: None, files: Vec::new() })
        .collect()
}

impl Detection {
    fn reaches(&self, other: &Detection) -> bool {
        let below = self.folder.inside(&other.folder.path).is_some();
        // Workspace members have no nextest configuration of their own, but nextest runs them
        // anyway.
        let members =
            self.row.name == nextest::FRAMEWORK.name && other.row.name == cargo::FRAMEWORK.name;
        below && self.row.reach == Reach::Tree && (members || self.row.name == other.row.name)
    }

    /// Converts a report of this folder to project terms: paths start at the root, and ids name
    /// their folder.
    pub fn outward(&self, mut report: Report) -> Report {
        if self.folder.path.is_empty() {
            return report;
        }
        let place = |file: &mut Option<String>| {
            if let Some(file) = file.as_mut().filter(|file| !file.starts_with('/')) {
                *file = self.folder.within(file);
            }
        };
        let name = |id: &mut String| *id = self.outward_id(id);
        report.tests.iter_mut().for_each(|test: &mut Test| {
            place(&mut test.file);
            name(&mut test.id);
        });
        report.load_errors.iter_mut().for_each(|error| place(&mut error.file));
        report.planned.iter_mut().flatten().for_each(name);
        report
    }

    pub fn outward_id(&self, id: &str) -> String {
        if self.folder.path.is_empty() {
            id.to_owned()
        } else {
            format!("{}{FOLDER_MARK}{id}", self.folder.path)
        }
    }

    /// Converts paths like [`Found::outward`].
    pub fn outward_lines(&self, coverage: Coverage) -> Coverage {
        coverage
            .renamed(|path| if path.starts_with('/') { path } else { self.folder.within(&path) })
    }

    /// The part of a selection that concerns this framework in this folder; `None` if there is
    /// none.
    pub fn inward(&self, selection: &Selection) -> Option<Selection> {
        match selection {
            Selection::All if !self.files.is_empty() => Some(Selection::Files(self.files.clone())),
            Selection::All | Selection::List | Selection::Coverage => Some(selection.clone()),
            Selection::One(id) => {
                let id = match self.folder.path.as_str() {
                    "" => id.as_str(),
                    folder => id.strip_prefix(folder)?.strip_prefix(FOLDER_MARK)?,
                };
                (self.row.is_id)(id).then(|| Selection::One(id.to_owned()))
            }
            Selection::Files(paths) => {
                let inside = paths.iter().filter_map(|path| self.folder.inside(path));
                // Rust's unit tests are in the same file as the code.
                let is_rust =
                    [cargo::FRAMEWORK.name, nextest::FRAMEWORK.name].contains(&self.row.name);
                let beside = |path: &str| is_rust && cargo::read_example(path).0.ends_with(".rs");
                let is_own = |path: &&str| (self.row.is_test_file)(path) || beside(path);
                let own: Vec<String> = inside.filter(is_own).map(str::to_owned).collect();
                (!own.is_empty()).then_some(Selection::Files(own))
            }
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
