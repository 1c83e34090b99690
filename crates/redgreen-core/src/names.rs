//! Names that come from outside: from notes, journals, refs and files that another person may have written. Each is a
//! type that holds nothing but a valid name, so a name that was read can be put into a path, a ref or a command line.
//! Reading a note or a journal fails at the first name that is not valid.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The longest branch name that is accepted; file systems take no more than 255 bytes for a part of one.
const BRANCH_BYTES_MAX: usize = 200;
/// The longest name of a conversation. Agents use UUIDs and words of a similar length.
const SESSION_BYTES_MAX: usize = 200;
/// The longest label.
const LABEL_CHARS_MAX: usize = 300;
/// The longest path of a file in a run's folder.
const FILE_BYTES_MAX: usize = 200;
/// How much of a name that is not valid is repeated in the error.
const SHOWN_CHARS_MAX: usize = 60;
/// Where the branches of runs are.
pub const RUN_BRANCH_PREFIX: &str = "redgreen/";

/// Why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    what: &'static str,
    found: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} is not {}", self.found, self.what)
    }
}

impl std::error::Error for Invalid {}

/// A type for one kind of name: how it is called in errors, and the rule.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:path) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn parse(text: &str) -> Result<Self, Invalid> {
                if $rule(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(Invalid { what: $what, found: text.chars().take(SHOWN_CHARS_MAX).collect() })
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.pad(&self.0)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<String> for $name {
            fn eq(&self, other: &String) -> bool {
                self.0 == *other
            }
        }

        impl PartialEq<$name> for str {
            fn eq(&self, other: &$name) -> bool {
                self == other.0
            }
        }

        impl PartialEq<$name> for &str {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }
    };
}

name!(
    /// The full id of a commit or a tree, as git writes it.
    Oid,
    "the id of a git object",
    is_oid
);
name!(
    /// `20261115-224849-k3x9`: the time a run began, and four letters.
    RunId,
    "the id of a run",
    is_run_id
);
name!(
    /// The short name of a branch.
    Branch,
    "the name of a branch",
    is_branch
);
name!(
    /// The short name of a branch that a run works on. It is below `redgreen/`, so it is never a branch of the user's.
    RunBranch,
    "the name of a branch below redgreen/",
    is_run_branch
);
name!(
    /// `<run>/<number>-<why>`: salvaged work, below `refs/redgreen/salvage/`.
    SalvageName,
    "the name of salvaged work",
    is_salvage_name
);
name!(
    /// By which an agent takes a conversation up again. It becomes a word of a command line.
    SessionId,
    "the id of an agent's session",
    is_session_id
);
name!(
    /// A file in a run's folder, from there: `reports/3.json`.
    RunFile,
    "a file in a run's folder",
    is_run_file
);
name!(
    /// A file of the project, from its root, with `/`: `tests/test_roman.py`.
    ProjectFile,
    "the path of a file in the project",
    is_project_file
);
name!(
    /// One line for a person: an agent's name, perhaps with its version.
    Label,
    "one line of printable text",
    is_label
);

impl AsRef<Path> for RunFile {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl AsRef<Path> for ProjectFile {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl AsRef<Path> for RunId {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl RunId {
    /// Its end, which is enough to name the run.
    pub fn tail(&self) -> &str {
        self.0.rsplit('-').next().unwrap_or(&self.0)
    }
}

impl RunBranch {
    /// As a branch, which every branch of a run is.
    pub fn to_branch(&self) -> Branch {
        Branch(self.0.clone())
    }

    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl Branch {
    pub fn full_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

/// The id that git uses for "no object".
impl Default for Oid {
    fn default() -> Self {
        Self("0".repeat(40))
    }
}

impl Label {
    /// The text as a label: control characters become blanks, and the rest is cut.
    pub fn of(text: &str) -> Self {
        let plain = |letter: char| if is_printable(letter) { letter } else { ' ' };
        Self(text.chars().take(LABEL_CHARS_MAX).map(plain).collect())
    }
}

#[cfg(test)]
impl Oid {
    /// A short name in place of an id, which tests of the state compare by name only.
    pub(crate) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

fn is_oid(text: &str) -> bool {
    const SHA1: usize = 40;
    const SHA256: usize = 64;
    matches!(text.len(), SHA1 | SHA256) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_run_id(text: &str) -> bool {
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    let parts: Vec<&str> = text.split('-').collect();
    matches!(*parts.as_slice(), [day, time, tail]
        if digits(day, 8) && digits(time, 6) && tail.len() == 4 && letters(tail))
}

/// The rules of `git check-ref-format --branch`, and no character that a terminal would act on.
fn is_branch(text: &str) -> bool {
    const FORBIDDEN: &[char] = &[' ', '~', '^', ':', '?', '*', '[', '\\'];
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    !text.starts_with('-')
        && text != "@"
        && text != "HEAD"
        && text.len() <= BRANCH_BYTES_MAX
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text.chars().all(|letter| is_printable(letter) && !FORBIDDEN.contains(&letter))
        && text.split('/').all(part)
}

fn is_run_branch(text: &str) -> bool {
    text.starts_with(RUN_BRANCH_PREFIX) && is_branch(text)
}

fn is_salvage_name(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'-';
    let parts = text.split_once('/').and_then(|(run, rest)| Some((run, rest.split_once('-')?)));
    parts.is_some_and(|(run, (number, why))| {
        is_run_id(run) && number.parse::<u64>().is_ok() && !why.is_empty() && why.bytes().all(word)
    })
}

fn is_session_id(text: &str) -> bool {
    // Not `-x`, which a program takes for an option. Some agents use paths or addresses.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@=+".contains(&byte);
    text.len() <= SESSION_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(plain)
        && !text.contains("..")
}

fn is_run_file(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain);
    text.len() <= FILE_BYTES_MAX && text.split('/').all(part)
}

/// Neither git's own nor outside, on any file system.
fn is_project_file(text: &str) -> bool {
    let outside = |part: &str| part.is_empty() || part.trim_end_matches(['.', ' ']).is_empty();
    let part = |part: &str| !outside(part) && !part.starts_with('-') && !part.to_ascii_lowercase().starts_with(".git");
    text.len() <= FILE_BYTES_MAX
        && text.chars().all(|letter| is_printable(letter) && !['\\', ':'].contains(&letter))
        && text.split('/').all(part)
}

fn is_label(text: &str) -> bool {
    text.chars().count() <= LABEL_CHARS_MAX && text.chars().all(is_printable)
}

/// Neither a control character nor one that reorders or hides text.
fn is_printable(letter: char) -> bool {
    let invisible =
        matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !letter.is_control() && !invisible
}

#[cfg(test)]
mod tests;
