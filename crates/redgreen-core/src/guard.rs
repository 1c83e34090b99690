//! Rules for files that leave the machine: names, sizes and contents, as values. The `guard` module
//! of the `redgreen` crate resolves paths and reads files.

pub mod secret;
pub mod tokens;

use std::fmt;

/// Larger files are not sent.
pub const FILE_BYTES_MAX: u64 = 100_000;
/// Maximum tokens of all files of a run together.
pub const TOKENS_MAX: u64 = 200_000;
/// Maximum tokens of files per request if the model's context window is unknown.
pub const TOKENS_PER_REQUEST: u64 = 130_000;
/// Maximum number of files. More are a mistake, such as a folder of packages.
pub const FILES_MAX: usize = 2_000;
/// Claude counts 15 to 20 % more tokens than `o200k_base`, which redgreen uses to count.
const MARGIN_PERCENT: u64 = 20;

/// Names of files that are never sent: a whole name, or a part of one.
const SECRET_NAMES: &[(&str, Match)] = &[
    (".env", Match::Whole),
    (".env.", Match::Start),
    (".envrc", Match::Whole),
    (".netrc", Match::Whole),
    (".pgpass", Match::Whole),
    (".npmrc", Match::Whole),
    (".pypirc", Match::Whole),
    (".git-credentials", Match::Whole),
    (".htpasswd", Match::Whole),
    (".dockercfg", Match::Whole),
    ("credentials", Match::Part),
    ("secret", Match::Part),
    ("id_rsa", Match::Start),
    ("id_dsa", Match::Start),
    ("id_ecdsa", Match::Start),
    ("id_ed25519", Match::Start),
    (".pem", Match::End),
    (".key", Match::End),
    (".p12", Match::End),
    (".pfx", Match::End),
    (".jks", Match::End),
    (".keystore", Match::End),
    (".kdbx", Match::End),
    (".asc", Match::End),
    (".tfvars", Match::End),
    (".tfstate", Match::End),
    (".ovpn", Match::End),
];
/// Folders that contain only secrets.
const SECRET_FOLDERS: &[&str] =
    &[".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud"];
/// Templates that only show the expected variables.
const HARMLESS_NAMES: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist"];

#[derive(Clone, Copy, Debug)]
enum Match {
    Whole,
    Start,
    End,
    Part,
}

/// The reason why a file is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    /// It resolves to a path outside the project.
    Outside,
    /// It is inside the project, but its path contains `..`.
    ParentFolder,
    /// It is reached through a symbolic link.
    Link,
    /// It is neither a file nor a folder, or cannot be read.
    Unreadable(String),
    /// It is in the `.git` folder.
    Git,
    SecretName(&'static str),
    Secret(secret::SecretMatch),
    TooLarge(u64),
    NotText,
    TooManyFiles,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotFound => out.write_str("file not found"),
            Refusal::Outside => out.write_str("it resolves outside the project root"),
            Refusal::ParentFolder => {
                out.write_str("its path contains `..`; name the file by its plain path")
            }
            Refusal::Link => {
                out.write_str("it is reached through a symbolic link, which may lead anywhere")
            }
            Refusal::Unreadable(why) => write!(out, "it cannot be read: {why}"),
            Refusal::Git => out.write_str("it is inside the .git folder"),
            Refusal::SecretName(name) => write!(out, "its name looks like a secret (`{name}`)"),
            Refusal::Secret(found) => {
                write!(out, "line {} looks like a credential ({})", found.line, found.rule)
            }
            Refusal::TooLarge(bytes) => {
                write!(
                    out,
                    "it has {bytes} bytes; a file of more than 100 KB ({FILE_BYTES_MAX} bytes) is not sent"
                )
            }
            Refusal::NotText => out.write_str("it is not UTF-8 text"),
            Refusal::TooManyFiles => write!(out, "there are more than {FILES_MAX} files in it"),
        }
    }
}

/// The pattern that makes a path look like a secret, by its names alone.
pub fn secret_name(path: &str) -> Option<&'static str> {
    let lower = path.to_lowercase();
    let mut parts = lower.split('/').rev().filter(|part| !part.is_empty());
    let name = parts.next()?;
    if let Some(folder) = secret_folder(path) {
        return Some(folder);
    }
    if HARMLESS_NAMES.contains(&name) {
        return None;
    }
    let known = |(pattern, how): &&(&'static str, Match)| match how {
        Match::Whole => name == *pattern,
        Match::Start => name.starts_with(pattern),
        Match::End => name.ends_with(pattern),
        Match::Part => name.contains(pattern),
    };
    SECRET_NAMES.iter().find(known).map(|(pattern, _)| *pattern)
}

/// The parent folder of a path that contains only secrets.
pub fn secret_folder(path: &str) -> Option<&'static str> {
    let lower = path.to_lowercase();
    let above = || lower.rsplit('/').filter(|part| !part.is_empty()).skip(1);
    SECRET_FOLDERS.iter().find(|folder| above().any(|part| part == **folder)).copied()
}

/// The token count with a margin for the tokenizer that counts most.
pub fn with_margin(tokens: u64) -> u64 {
    tokens.saturating_add(tokens.saturating_mul(MARGIN_PERCENT) / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_secrets_by_name() {
        for (path, pattern) in [
            (".env", Some(".env")),
            ("deploy/.env.production", Some(".env.")),
            (".env.example", None),
            ("src/environment.py", None),
            ("tls/server.KEY", Some(".key")),
            ("a/server.pem", Some(".pem")),
            ("docs/my-secret-plan.md", Some("secret")),
            ("id_rsa.pub", Some("id_rsa")),
            (".ssh/config", Some(".ssh")),
            ("src/keyboard.rs", None),
            ("config/credentials.yml.enc", Some("credentials")),
            ("", None),
        ] {
            assert_eq!(secret_name(path), pattern, "{path}");
        }
    }
}
