//! Names from outside: from notes, journals, refs and files that another person may have written.
//! Each type contains only valid names, so a parsed name is safe in a path, a ref or a command
//! line. Reading a note or a journal fails at the first invalid name.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Maximum length of a branch name; file systems allow at most 255 bytes per component.
const BRANCH_BYTES_MAX: usize = 200;
/// Maximum length of a session id. Agents use UUIDs and names of a similar length.
const SESSION_BYTES_MAX: usize = 200;
/// Maximum length of a label.
const LABEL_CHARS_MAX: usize = 300;
/// Maximum length of a path in a run's folder.
const FILE_BYTES_MAX: usize = 200;
/// How much of an invalid name an error shows.
const SHOWN_CHARS_MAX: usize = 60;
/// The prefix of run branches.
pub const RUN_BRANCH_PREFIX: &str = "redgreen/";

/// The reason why a text is not a valid name.
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

/// Defines a type for one kind of name: its description for errors, and its rule.
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
    /// `20261115-224849-k3x9`: the start time of a run, and four random characters.
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
    /// The short name of a branch that a run works on. It starts with `redgreen/`, so it is never a
    /// branch of the user.
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
    /// The id that an agent uses to resume a conversation. It is passed on a command line.
    SessionId,
    "the id of an agent's session",
    is_session_id
);
name!(
    /// A file in a run's folder, relative to it: `reports/3.json`.
    RunFile,
    "a file in a run's folder",
    is_run_file
);
name!(
    /// A file of the project, relative to its root, with `/`: `tests/test_roman.py`.
    ProjectFile,
    "the path of a file in the project",
    is_project_file
);
name!(
    /// One line for display: an agent's name, possibly with its version.
    Label,
    "one line of printable text",
    is_label
);

name!(
    /// `k3x9m2p7qrst`: a job in the queue, from the digest of its submission.
    JobId,
    "the id of a job",
    is_job_id
);
name!(
    /// A word that a worker has and a job may ask for: `gpu`, `linux`.
    Tag,
    "a label: at most 32 of a-z, 0-9, - and _, starting with a letter or a digit",
    is_tag
);
name!(
    /// The name of an agent or a model, which becomes a word of a command line.
    AgentName,
    "the name of an agent or a model",
    is_agent_name
);
name!(
    /// The address of a repository that any worker can clone: HTTPS, SSH or a local path. It
    /// carries no credential, and git takes it neither for an option nor for the name of a program.
    Repository,
    "the address of a repository: https://, ssh://, git@host:path, file:// or an absolute path, without a password",
    is_repository
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
    /// The last part, which is enough to identify the run.
    pub fn tail(&self) -> &str {
        self.0.rsplit('-').next().unwrap_or(&self.0)
    }
}

impl JobId {
    const LETTERS: usize = 12;
    /// Without letters and digits that look alike.
    const ALPHABET: &'static [u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

    /// The id that belongs to the digest of a submission: the same submission is the same job.
    pub fn of_digest(digest: &[u8]) -> Self {
        let letter =
            |byte: &u8| char::from(*Self::ALPHABET.get(usize::from(byte % 32)).unwrap_or(&b'a'));
        let letters: String =
            digest.iter().map(letter).chain(std::iter::repeat('a')).take(Self::LETTERS).collect();
        Self(letters)
    }

    /// Its beginning, which is enough to name the job.
    pub fn head(&self) -> &str {
        self.0.get(..6).unwrap_or(&self.0)
    }
}

impl RunBranch {
    /// Converts to a branch; every run branch is one.
    pub fn to_branch(&self) -> Branch {
        Branch(self.0.clone())
    }

    /// The branch of a job's run. `slug` is made of letters, digits and single dashes.
    pub(crate) fn of_job(slug: &str, id: &JobId) -> Self {
        Self(format!("{RUN_BRANCH_PREFIX}{slug}-{}", id.head()))
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

/// Git's id for "no object".
impl Default for Oid {
    fn default() -> Self {
        Self("0".repeat(40))
    }
}

impl Label {
    /// Converts a text to a label: control characters become blanks, and long text is cut.
    pub fn of(text: &str) -> Self {
        let plain = |letter: char| if is_printable(letter) { letter } else { ' ' };
        Self(text.chars().take(LABEL_CHARS_MAX).map(plain).collect())
    }
}

#[cfg(test)]
impl Oid {
    /// A short name in place of an id, for tests of the state that only compare names.
    pub(crate) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

fn is_oid(text: &str) -> bool {
    const SHA1: usize = 40;
    const SHA256: usize = 64;
    matches!(text.len(), SHA1 | SHA256)
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_run_id(text: &str) -> bool {
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let letters =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
    let parts: Vec<&str> = text.split('-').collect();
    matches!(*parts.as_slice(), [day, time, tail]
        if digits(day, 8) && digits(time, 6) && tail.len() == 4 && letters(tail))
}

/// The rules of `git check-ref-format --branch`, without characters that control a terminal.
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
    // `-x` would be parsed as an option. Some agents use paths or URLs.
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

fn is_job_id(text: &str) -> bool {
    text.len() == JobId::LETTERS && text.bytes().all(|byte| JobId::ALPHABET.contains(&byte))
}

fn is_tag(text: &str) -> bool {
    const BYTES_MAX: usize = 32;
    let plain =
        |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase() || b"-_".contains(&byte);
    (1..=BYTES_MAX).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with(['-', '_'])
}

fn is_agent_name(text: &str) -> bool {
    const BYTES_MAX: usize = 100;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@".contains(&byte);
    text.len() <= BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(plain)
        && !text.contains("..")
}

fn is_repository(text: &str) -> bool {
    const BYTES_MAX: usize = 500;
    // `ext::sh -c …` and its like name a program; blanks and control characters hide where an
    // address ends. An address with a query could carry a token.
    let plain = |letter: char| {
        is_printable(letter) && !letter.is_whitespace() && !"\\\"'`$;|&<>?#*".contains(letter)
    };
    let sane = text.len() <= BYTES_MAX
        && text.chars().all(plain)
        && !text.contains("::")
        && !text.split('/').any(|part| part == "..");
    sane && (is_web_address(text) || is_ssh_address(text) || is_local_address(text))
}

/// A user name in the address of a web server is a token as often as not.
fn is_web_address(text: &str) -> bool {
    text.strip_prefix("https://")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(host, path)| is_host(host) && is_repository_path(path))
}

/// `ssh://git@host/path` or `git@host:path`.
fn is_ssh_address(text: &str) -> bool {
    let parts = match text.strip_prefix("ssh://") {
        Some(rest) => rest.split_once('/'),
        None if text.contains("://") || text.starts_with('/') => None,
        None => text.split_once(':').filter(|(who, _)| who.contains('@')),
    };
    parts.is_some_and(|(who, path)| {
        let (user, host) = who.split_once('@').unwrap_or(("git", who));
        is_word(user) && is_host(host) && is_repository_path(path)
    })
}

fn is_local_address(text: &str) -> bool {
    text.strip_prefix("file://").unwrap_or(text).strip_prefix('/').is_some_and(is_repository_path)
}

fn is_repository_path(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('-') && !path.contains(['@', ':'])
}

fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !name.is_empty()
        && !name.starts_with(['-', '.'])
        && name.bytes().all(plain)
        && port.parse::<u16>().is_ok()
}

fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain)
}

/// Neither in git's own folder nor outside the project, on any file system.
fn is_project_file(text: &str) -> bool {
    let outside = |part: &str| part.is_empty() || part.trim_end_matches(['.', ' ']).is_empty();
    let part = |part: &str| {
        !outside(part) && !part.starts_with('-') && !part.to_ascii_lowercase().starts_with(".git")
    };
    text.len() <= FILE_BYTES_MAX
        && text.chars().all(|letter| is_printable(letter) && !['\\', ':'].contains(&letter))
        && text.split('/').all(part)
}

fn is_label(text: &str) -> bool {
    text.chars().count() <= LABEL_CHARS_MAX && text.chars().all(is_printable)
}

/// Neither a control character nor one that reorders or hides text.
fn is_printable(letter: char) -> bool {
    let invisible = matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !letter.is_control() && !invisible
}

#[cfg(test)]
mod tests;
