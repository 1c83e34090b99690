//! How to drive an agent that is a separate program. Known agents are rows of `agents.toml`; a
//! project adds its own as `[agent.custom.<name>]`, with the same keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use redgreen_core::agent_output::Dialect;
use serde::Deserialize;

/// Everything about one program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// The display name.
    #[serde(default)]
    pub title: String,
    pub command: Command,
    #[serde(default)]
    pub speaks: Protocol,
    #[serde(default)]
    pub prompt: PromptBy,
    /// Arguments of a new conversation. `{session}` is an id of our choice.
    #[serde(default)]
    pub new: Vec<String>,
    /// Arguments to continue a conversation. If empty, every turn begins a new one.
    #[serde(default)]
    pub resume: Vec<String>,
    /// Arguments to continue a copy of a conversation.
    #[serde(default)]
    pub fork: Vec<String>,
    /// Arguments to select a model: `{model}`.
    #[serde(default)]
    pub model: Vec<String>,
    /// Arguments with and without our sandbox.
    #[serde(default)]
    pub fenced: Vec<String>,
    #[serde(default)]
    pub unfenced: Vec<String>,
    /// Variables it may see in addition to the common ones. `NAME*` is a prefix.
    #[serde(default)]
    pub env: Vec<String>,
    /// Hosts of its model: names, with `*` for a label or a part of it, or `host:port`. Hosts in
    /// its variables and copied settings are added automatically.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// More hosts if a variable is set.
    #[serde(default)]
    pub hosts_with: BTreeMap<String, Vec<String>>,
    /// Variables to set.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Its own folders in the user's home, which it may write to. Created if missing.
    #[serde(default)]
    pub folders: Vec<String>,
    /// Its own files in the home. Ignored if missing.
    #[serde(default)]
    pub files: Vec<String>,
    /// Variables with which the user moves one of these folders.
    #[serde(default)]
    pub moved: BTreeMap<String, String>,
    #[serde(default)]
    pub home: Option<Home>,
    /// Whether it may use our file and terminal services over ACP.
    #[serde(default = "default_true")]
    pub services: bool,
    /// The mode of an ACP session.
    #[serde(default)]
    pub mode: Option<String>,
    /// Prefixes of files that it leaves in the worktree's root.
    #[serde(default)]
    pub litter: Vec<String>,
    /// Evidence of a login: one of these variables or files in the home.
    #[serde(default)]
    pub login_env: Vec<String>,
    #[serde(default)]
    pub login_files: Vec<String>,
    /// How to log in, for people.
    #[serde(default)]
    pub login: String,
    #[serde(default)]
    pub install: String,
}

/// A shell command, or a list of arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Command {
    Line(String),
    Words(Vec<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Acp,
    #[serde(untagged)]
    Prints(Dialect),
}

impl Default for Protocol {
    fn default() -> Self {
        Self::Prints(Dialect::Text)
    }
}

/// How it gets the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    #[default]
    Stdin,
    /// As the path of a file in the last argument.
    File,
    /// As the last argument.
    Argument,
    /// On stdin, as a line of Claude Code's `--input-format stream-json`. Stdin stays open, so the
    /// user's messages reach it during the turn.
    StreamJson,
}

/// A settings folder for this run, so that no turn changes the user's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Home {
    pub variable: String,
    /// The user's own folder, relative to the home.
    pub from: String,
    /// Files shared with the user as links, because logins are renewed in them.
    #[serde(default)]
    pub link: Vec<String>,
    /// Copied files.
    #[serde(default)]
    pub copy: Vec<String>,
}

impl Row {
    /// What a project requests with its own agent, apart from hosts: the command with its
    /// arguments, and the user's data it gets.
    pub fn requests(&self) -> Vec<(&'static str, String)> {
        let words =
            [&self.new, &self.resume, &self.fork, &self.model, &self.fenced, &self.unfenced];
        let words = words
            .into_iter()
            .filter(|words| !words.is_empty())
            .map(|words| words.join(" "))
            .collect();
        let set = self.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        // Show both, because the variable overrides the folder: the user must not approve only a
        // harmless folder.
        let place = |home: &Home, part: &str| {
            format!("${0}/{part}, or ~/{1}/{part} if {0} is not set", home.variable, home.from)
        };
        let of_home = |home: &Home| {
            home.link.iter().chain(&home.copy).map(|part| place(home, part)).collect()
        };
        let all: [(&'static str, Vec<String>); 7] = [
            ("agent.custom", vec![self.command.line()]),
            ("agent.custom words", words),
            ("agent.custom.set", set),
            ("agent.custom.env", self.env.clone()),
            ("agent.custom.folders", self.folders.clone()),
            ("agent.custom.files", self.files.clone()),
            ("agent.custom.home", self.home.as_ref().map(of_home).unwrap_or_default()),
        ];
        all.into_iter()
            .flat_map(|(key, values)| values.into_iter().map(move |value| (key, value)))
            .collect()
    }
}

fn default_true() -> bool {
    true
}

/// Whether a variable matches one of these: `NAME`, `NAME*` or `*NAME`.
pub fn is_known(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(start), _) => name.starts_with(start),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name == pattern,
    })
}

/// Folders of the home that the XDG specification has variables for.
const XDG: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
];

/// The path of a folder or file of the program: in the home, unless a variable moves it.
pub fn own_place(home: Option<&Path>, row: &Row, path: &str) -> Option<PathBuf> {
    moved(home, row, path, super::folder)
}

fn moved(
    home: Option<&Path>,
    row: &Row,
    path: &str,
    folder: impl Fn(&str) -> Option<PathBuf>,
) -> Option<PathBuf> {
    let own = row.moved.iter().map(|(variable, from)| (variable.as_str(), from.as_str()));
    let elsewhere = own.chain(XDG).find_map(|(variable, from)| {
        let rest = Path::new(path).strip_prefix(from).ok()?;
        Some(folder(variable)?.join(rest))
    });
    // Joining an empty path would add a trailing slash.
    elsewhere.map(|path| path.components().collect()).or_else(|| Some(home?.join(path)))
}

/// The source of the table of agents.
const ROWS: &str = include_str!("../../agents.toml");

/// The names of the known agents, in order. Every start of redgreen needs them for its help, and
/// nothing else of the table.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = ROWS
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'))
        .filter(|name| is_plain(name))
        .collect();
    names.sort_unstable();
    names
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The known agents by name.
pub fn table() -> Result<&'static BTreeMap<String, Row>> {
    static TABLE: OnceLock<BTreeMap<String, Row>> = OnceLock::new();
    if let Some(known) = TABLE.get() {
        return Ok(known);
    }
    let rows = toml::from_str(ROWS).context("read our own table of agents")?;
    Ok(TABLE.get_or_init(|| rows))
}

impl Command {
    /// The whole command, for people.
    pub fn line(&self) -> String {
        match self {
            Command::Line(line) => line.clone(),
            Command::Words(words) => words.join(" "),
        }
    }
}

impl Row {
    /// Programs and files that the command names by absolute paths.
    pub fn named_files(&self) -> Vec<PathBuf> {
        let words: Vec<&str> = match &self.command {
            Command::Line(line) => line.split([' ', '\t', '\n', ';', '&', '|', '(', ')']).collect(),
            Command::Words(words) => words.iter().map(String::as_str).collect(),
        };
        let paths = words.iter().map(|word| PathBuf::from(word.trim_matches(['"', '\''])));
        paths.filter(|path| path.is_absolute() && path.is_file()).collect()
    }

    /// The program to find on the PATH; `None` for a shell command.
    pub fn program(&self) -> Option<&str> {
        match &self.command {
            Command::Line(_) => None,
            Command::Words(words) => words.first().map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use redgreen_core::egress::Entry;

    use super::*;

    #[test]
    fn names_match_the_table() {
        assert_eq!(names(), table().unwrap().keys().collect::<Vec<_>>());
    }

    #[test]
    fn every_row_is_valid() {
        let table = table().unwrap();
        for (name, row) in table {
            assert!(
                row.program().is_some() && !row.title.is_empty() && !row.install.is_empty(),
                "{name}"
            );
            assert!(!row.login.is_empty() && !row.env.is_empty(), "{name}");
            for host in row.hosts.iter().chain(row.hosts_with.values().flatten()) {
                assert!(Entry::parse(host).is_some(), "{name}: {host}");
            }
            assert!(!row.hosts.is_empty(), "{name}");
            let chooses = row.new.iter().any(|word| word == "{session}");
            let named =
                |words: &[String]| words.is_empty() || words.iter().any(|word| word == "{session}");
            assert!(named(&row.resume) && named(&row.fork), "{name}");
            assert!(!chooses || !row.resume.is_empty(), "{name}: the session id is not used");
        }
        assert!(table.len() >= 10, "{:?}", table.keys());
    }

    #[test]
    fn a_custom_agent_needs_one_line() {
        let row: Row = toml::from_str("command = \"my-agent --once\"\nprompt = \"file\"").unwrap();
        assert_eq!(
            (row.program(), row.prompt, row.speaks),
            (None, PromptBy::File, Protocol::default())
        );
        let row: Row = toml::from_str("command = [\"x\", \"acp\"]\nspeaks = \"acp\"").unwrap();
        assert_eq!((row.program(), row.speaks), (Some("x"), Protocol::Acp));
        assert!(toml::from_str::<Row>("command = \"x\"\nspeaks = \"klingon\"").is_err());
    }

    #[test]
    fn variables_move_folders_of_an_agent() {
        let row: Row = toml::from_str("command = \"x\"\nmoved = { X_HOME = \".x\" }").unwrap();
        let folder = |name: &str| match name {
            "X_HOME" => Some(PathBuf::from("/x")),
            "XDG_DATA_HOME" => Some(PathBuf::from("/data")),
            _ => None,
        };
        for (path, expected) in [
            (".x", "/x"),
            (".x/login.json", "/x/login.json"),
            (".xy", "/h/.xy"),
            (".local/share/x", "/data/x"),
            (".local/state/x", "/h/.local/state/x"),
            (".config/x", "/h/.config/x"),
        ] {
            let place = moved(Some(Path::new("/h")), &row, path, folder);
            assert_eq!(place.as_deref(), Some(Path::new(expected)), "{path}");
        }
    }
}
