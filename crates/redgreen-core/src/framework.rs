//! The test frameworks redgreen understands, one row each: how a project that uses it is known, which files are tests
//! and which decide how tests run, what a run leaves lying about, and how its structured report is read.
//!
//! A verdict is never read from prose: each module below turns a framework's machine-readable output into a
//! [`Report`](crate::report::Report). A new framework is one file, one row and captured samples.

pub mod cargo;
pub mod pytest;

/// What a message in a report may take; the rest is of no use to a reader and would fill prompts and notes.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// One framework.
#[derive(Debug)]
pub struct Framework {
    pub kind: Kind,
    pub name: &'static str,
    /// What detection looks for, for a person whose project was not recognised.
    pub looks_for: &'static str,
    pub detect: fn(&Root) -> Evidence,
    /// Whether a path, relative to the project and with `/`, holds tests or only serves them.
    pub is_test_file: fn(&str) -> bool,
    /// Whether a path can change which tests run or how they end, without being a test.
    pub is_runner_config: fn(&str) -> bool,
    /// What a run leaves behind, as lines of a `.gitignore`.
    pub litter: &'static [&'static str],
}

pub const FRAMEWORKS: &[Framework] = &[pytest::FRAMEWORK, cargo::FRAMEWORK];

/// Which of the closed set a row is, for those who must do something different for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Pytest,
    Cargo,
}

/// How sure a project's root makes us of a framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    None,
    /// The language's manifest, which many a project of another language has too (a linter's `pyproject.toml`).
    Likely,
    /// The framework's own configuration, or tests.
    Sure,
}

/// What is known of a project before anything runs.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// Paths relative to the root, with `/`: the root's own files, and those of the folders in [`LISTED_FOLDERS`].
    pub files: Vec<String>,
    /// The files named in [`READ_MANIFESTS`] with their text, as far as they exist.
    pub manifests: Vec<(String, String)>,
}

/// The folders whose files detection wants to see beside the root's own.
pub const LISTED_FOLDERS: &[&str] = &["tests", "test"];
/// The manifests whose text detection wants to see.
pub const READ_MANIFESTS: &[&str] = &["pyproject.toml", "setup.cfg", "tox.ini"];

impl Root {
    fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file == path)
    }

    fn says(&self, manifest: &str, text: &str) -> bool {
        self.manifests.iter().any(|(name, content)| name == manifest && content.contains(text))
    }
}

/// The frameworks of a project. One that is merely likely counts only when no other is sure.
pub fn detect(root: &Root) -> Vec<&'static Framework> {
    let with = |wanted: Evidence| FRAMEWORKS.iter().filter(move |row| (row.detect)(root) == wanted).collect::<Vec<_>>();
    let sure = with(Evidence::Sure);
    if sure.is_empty() { with(Evidence::Likely) } else { sure }
}

/// The end of a text, within `MESSAGE_BYTES_MAX`: runners put what matters last.
fn bounded_tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(MESSAGE_BYTES_MAX);
    let start = (start..=text.len()).find(|&index| text.is_char_boundary(index)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default().to_owned()
}

/// The beginning of a text, within `MESSAGE_BYTES_MAX`.
fn bounded_head(text: &str) -> String {
    let text = text.trim();
    let end = text.len().min(MESSAGE_BYTES_MAX);
    let end = (0..=end).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
