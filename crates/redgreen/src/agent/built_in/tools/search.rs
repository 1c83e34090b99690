//! Searches files by name and content with ripgrep's libraries. Skips git-ignored files.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use ignore::WalkBuilder;
use redgreen_core::tool::{Glob, Grep};

use super::Answer;
use crate::agent::place::{Place, off_limits};

/// The number of files searched per call.
const FILES_MAX: usize = 50_000;
const FOUND_FILES_MAX: usize = 200;
const FOUND_LINES_MAX: usize = 100;
/// The limit per file, so that a generated one does not crowd out the others.
const FOUND_IN_FILE_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 200;
const FILE_BYTES_MAX: u64 = 4 << 20;

pub(super) fn glob(place: &Place, glob: &Glob) -> Answer {
    let start = place.find(glob.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(&glob.pattern)?;
    let mut found: Vec<String> = files(place, &start)
        .filter(|path| path.strip_prefix(&start).is_ok_and(|below| matcher.is_match(below)))
        .map(|path| place.shown(&path))
        .collect();
    found.sort();
    let count = found.len();
    found.truncate(FOUND_FILES_MAX);
    Ok(match count {
        0 => "no file matches".to_owned(),
        _ if count > FOUND_FILES_MAX => {
            format!("{}\nand {} more", found.join("\n"), count - FOUND_FILES_MAX)
        }
        _ => found.join("\n"),
    })
}

pub(super) fn grep(place: &Place, grep: &Grep) -> Answer {
    let start = place.find(grep.path.as_deref().unwrap_or("."))?;
    let wanted = grep.glob.as_deref().map(matcher).transpose()?;
    let regex =
        RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(&grep.pattern).map_err(
            |error| format!("{:?} is not a valid regular expression: {error}", grep.pattern),
        )?;
    let mut searcher =
        SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build();
    let mut found: Vec<String> = Vec::new();
    let mut cut = false;
    for path in files(place, &start) {
        let shown = place.shown(&path);
        let name = Path::new(path.file_name().unwrap_or_default());
        let is_wanted =
            wanted.as_ref().is_none_or(|glob| glob.is_match(&shown) || glob.is_match(name));
        if !is_wanted || path.metadata().is_ok_and(|facts| facts.len() > FILE_BYTES_MAX) {
            continue;
        }
        let mut in_file = 0;
        let sink = Lossy(|number, line| {
            in_file += 1;
            cut = cut || in_file > FOUND_IN_FILE_MAX || found.len() >= FOUND_LINES_MAX;
            if in_file > FOUND_IN_FILE_MAX || found.len() >= FOUND_LINES_MAX {
                return Ok(false);
            }
            let line: String = line.trim_end().chars().take(LINE_CHARS_MAX).collect();
            found.push(format!("{shown}:{number}:{line}"));
            Ok(true)
        });
        // Ignore files that cannot be read.
        searcher.search_path(&regex, &path, sink).ok();
        if found.len() >= FOUND_LINES_MAX && cut {
            break;
        }
    }
    if found.is_empty() {
        return Ok("no line matches".to_owned());
    }
    if cut {
        found.push("there are more matches; narrow the search".to_owned());
    }
    Ok(found.join("\n"))
}

/// All files of the project that git does not ignore and a model may see, relative to the root.
pub(super) fn all(place: &Place) -> Vec<String> {
    files(place, place.root()).map(|path| place.shown(&path)).collect()
}

fn files(place: &Place, start: &Path) -> impl Iterator<Item = PathBuf> {
    let root = place.root().to_owned();
    let walk = WalkBuilder::new(start)
        .hidden(false)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            entry.path().strip_prefix(&root).is_ok_and(|inside| off_limits(inside).is_none())
        })
        .build();
    let entries = walk.filter_map(Result::ok).take(FILES_MAX);
    entries
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| format!("{pattern:?} is not a valid pattern: {error}"))
}
