//! Modification points: the files that a task says will change, as text or as an object. If a point
//! names a file, the change is checked against it.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModificationPoint {
    /// Relative to the project root; `None` if the text names no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The task's text, for the agents.
    pub words: String,
}

impl ModificationPoint {
    /// Parses a point written as text, such as `src/auth.py:login: check the password`.
    pub fn of_text(text: &str) -> Self {
        Self { file: path_in(text), words: text.trim().to_owned() }
    }

    /// Whether a changed path is the file, or is below it if it is a folder.
    pub fn is_touched(&self, changed: &[String]) -> bool {
        let Some(file) = &self.file else { return true };
        let file = file.trim_end_matches('/');
        changed.iter().any(|path| {
            path.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// The first word that must be a path: it has a folder or a file extension.
fn path_in(text: &str) -> Option<String> {
    let ends = |letter: char| letter.is_whitespace() || "`'\",;()<>[]".contains(letter);
    text.split(ends).map(plain).find(|word| is_path(word)).map(str::to_owned)
}

/// Strips a place in the file and the full stop of a sentence.
fn plain(word: &str) -> &str {
    let word = word.split([':', '#']).next().unwrap_or(word);
    word.trim_end_matches('.').trim_start_matches("./")
}

fn is_path(word: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || "/._-+@".contains(letter);
    let inside =
        !word.starts_with('/') && word.split('/').all(|part| !part.is_empty() && part != "..");
    let name = word.rsplit('/').next().unwrap_or(word);
    let ending = name
        .rsplit_once('.')
        .map_or("", |(stem, ending)| if stem.is_empty() { "" } else { ending });
    let is_file = (1..=5).contains(&ending.len())
        && ending.chars().all(|letter| letter.is_ascii_alphabetic());
    !word.is_empty() && word.chars().all(fits) && inside && is_file
}

#[test]
fn a_point_names_its_file() {
    for (text, file) in [
        ("src/auth.py:login: check the password", Some("src/auth.py")),
        ("src/auth.py:12-30", Some("src/auth.py")),
        ("Change `./lib/parse.ts`, and nothing else.", Some("lib/parse.ts")),
        ("temperature.py", Some("temperature.py")),
        ("add a function to temperature.py.", Some("temperature.py")),
        ("every handler", None),
        ("version 1.2 and/or later", None),
        ("../outside.py", None),
    ] {
        assert_eq!(ModificationPoint::of_text(text).file.as_deref(), file, "{text}");
    }
    let point =
        |file: &str| ModificationPoint { file: Some(file.to_owned()), words: String::new() };
    let changed = ["src/auth.py".to_owned(), "tests/test_a.py".to_owned()];
    assert!(point("src/auth.py").is_touched(&changed) && point("tests/").is_touched(&changed));
    assert!(!point("src/auth").is_touched(&changed) && !point("src/other.py").is_touched(&changed));
    assert!(ModificationPoint::of_text("every handler").is_touched(&[]));
}
