//! House rules that no compiler checks. Each rule is a function from a file to its violations and
//! runs over every file that git tracks or would add. The examples next to each rule prove that it
//! can fail.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redgreen::process::{Limits, Program, Stop};

mod code;
mod dependencies;
mod docs;
mod layers;
mod source;
mod text;

/// Files that record what others wrote (captured output, sample projects) need not follow our style
/// rules.
const RECORDED: &str = "testdata/";
const GIT_LIMITS: Limits = Limits { wall: Duration::from_secs(60), output_bytes_max: 16 << 20 };

/// A text file. Its path is relative to the root and uses `/`.
struct File {
    path: String,
    text: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_recorded(&self) -> bool {
        self.path.contains(RECORDED)
    }

    /// Every line with its number, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    fn fault(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// Every text file that git tracks, and new files it does not ignore, so that violations show
/// before the first commit.
fn files() -> Vec<File> {
    let root = root();
    // In a container another user often owns the checkout; listing it is harmless.
    let output = Program::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .cwd(&root)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .output(GIT_LIMITS, &Stop::default())
        .unwrap();
    assert!(output.success(), "tidy needs a git checkout: {}", output.stderr_text());
    assert!(!output.cut, "git lists more files than tidy reads");
    let names = output.stdout_text();
    let mut names: Vec<&str> = names.split_terminator('\0').collect();
    names.sort_unstable();
    names.dedup();
    // A deleted file may still be in the index, and a binary file has no lines.
    names
        .into_iter()
        .filter_map(|name| Some(File::new(name, &std::fs::read_to_string(root.join(name)).ok()?)))
        .collect()
}

fn file(path: &str) -> File {
    let text = std::fs::read_to_string(root().join(path));
    File::new(path, &text.unwrap_or_else(|error| panic!("{path}: {error}")))
}

/// Checks the rule on the whole tree.
#[track_caller]
fn holds(rule: impl Fn(&File) -> Vec<String>) {
    let files = files();
    assert!(files.len() > 10, "git lists only {} files", files.len());
    clean(&files.iter().flat_map(rule).collect::<Vec<_>>());
}

#[track_caller]
fn clean(faults: &[String]) {
    assert!(faults.is_empty(), "{} to fix:\n{}", faults.len(), faults.join("\n"));
}

/// Compares the line numbers of an example's violations.
#[track_caller]
fn check(rule: impl Fn(&File) -> Vec<String>, path: &str, text: &str, expected: &[usize]) {
    lines_are(&rule(&File::new(path, text)), path, expected);
}

#[track_caller]
fn lines_are(faults: &[String], path: &str, expected: &[usize]) {
    let place = |fault: &String| fault.strip_prefix(path)?.split(':').nth(1)?.parse().ok();
    let lines: Vec<Option<usize>> = faults.iter().map(place).collect();
    let expected: Vec<Option<usize>> = expected.iter().copied().map(Some).collect();
    assert_eq!(lines, expected, "{faults:#?}");
}
