//! Line coverage in one form for all tools. Missing output means "unknown", never 0 %.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::format::{cobertura, go_cover, jacoco, lcov};

/// Maximum line number; limits the memory that a hostile report can use.
pub const LINE_MAX: u32 = 4_000_000;

/// The coverable lines of every file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// By path, as the tool wrote it.
    pub files: BTreeMap<String, FileCoverage>,
}

/// The number of hits of each line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCoverage {
    pub lines: BTreeMap<u32, u64>,
}

/// The report formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Lcov,
    Cobertura,
    GoCover,
    Jacoco,
}

impl Coverage {
    /// Reads a report; `None` if it contains no lines.
    pub fn read(format: Format, bytes: &[u8]) -> Option<Coverage> {
        let coverage = match format {
            Format::Lcov => lcov::parse(bytes),
            Format::Cobertura => cobertura::parse(bytes),
            Format::GoCover => go_cover::parse(bytes),
            Format::Jacoco => jacoco::parse(bytes),
        };
        (coverage.found() > 0).then_some(coverage)
    }

    pub fn found(&self) -> usize {
        self.files.values().map(FileCoverage::found).sum()
    }

    pub fn hit(&self) -> usize {
        self.files.values().map(FileCoverage::hit).sum()
    }

    /// The coverage of some files. Tools write paths relative to the root or to a parent folder, so
    /// the ends are compared.
    pub fn of_files(&self, paths: &[String]) -> Coverage {
        let is_one = |known: &str| {
            paths.iter().any(|path| {
                known
                    .strip_suffix(path.as_str())
                    .is_some_and(|above| above.is_empty() || above.ends_with('/'))
            })
        };
        let named = self.files.iter().filter(|(known, _)| is_one(known));
        Coverage { files: named.map(|(path, file)| (path.clone(), file.clone())).collect() }
    }

    /// `None` if there are no coverable lines.
    #[expect(clippy::cast_precision_loss, reason = "a ratio of line counts")]
    pub fn percent(&self) -> Option<f64> {
        (self.found() > 0).then(|| self.hit() as f64 * 100.0 / self.found() as f64)
    }

    /// Adds hits to a line: tools can name a file or a line more than once.
    pub fn add(&mut self, file: &str, line: u32, hits: u64) {
        if line == 0 || line > LINE_MAX {
            return;
        }
        let lines = match self.files.get_mut(file) {
            Some(known) => &mut known.lines,
            None => &mut self.files.entry(file.to_owned()).or_default().lines,
        };
        let known = lines.entry(line).or_default();
        *known = known.saturating_add(hits);
    }

    /// Merges the coverage of several tools.
    pub fn merge(&mut self, other: Coverage) {
        for (path, file) in other.files {
            for (line, hits) in file.lines {
                self.add(&path, line, hits);
            }
        }
    }

    /// The same with paths relative to a folder if they are inside it.
    #[must_use]
    pub fn relative_to(self, root: &str) -> Coverage {
        let inside = |path: &str| path.strip_prefix(root)?.strip_prefix('/').map(str::to_owned);
        self.renamed(|path| inside(&path).unwrap_or(path))
    }

    /// The same with other paths.
    #[must_use]
    pub fn renamed(self, name: impl Fn(String) -> String) -> Coverage {
        Coverage { files: self.files.into_iter().map(|(path, file)| (name(path), file)).collect() }
    }
}

impl FileCoverage {
    pub fn found(&self) -> usize {
        self.lines.len()
    }

    pub fn hit(&self) -> usize {
        self.lines.values().filter(|&&hits| hits > 0).count()
    }
}
