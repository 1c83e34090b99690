//! The environment variables that redgreen reads.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::Result;

use super::{Models, Store, layers, stores};
use crate::failure::Failure;

/// Coding agents name the project to their hooks with these.
const HOST_PROJECTS: [&str; 2] = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];

/// The relevant part of the environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub project_root: Option<PathBuf>,
    /// The index that git commits, for its hooks.
    pub index_file: Option<PathBuf>,
    /// The projects that a coding agent names to its hooks.
    pub host_projects: Vec<PathBuf>,
    pub max_retries: Option<u32>,
    pub script: Option<PathBuf>,
    /// Use the built-in script, whatever agent is configured.
    pub mock: bool,
    pub model: Option<String>,
    pub models: Models,
    pub worktrees: Option<PathBuf>,
    pub virtual_env: Option<PathBuf>,
    pub kill_at: Option<String>,
    pub path: Option<OsString>,
    /// The user's editor.
    pub editor: Option<String>,
    pub home: Option<PathBuf>,
    /// The user's folders for settings and for state.
    pub settings: Option<PathBuf>,
    pub state: Option<PathBuf>,
    /// Trust the project's commands without asking.
    pub trust: bool,
    pub of_worker: bool,
    pub cargo_home: Option<PathBuf>,
    pub rustup_home: Option<PathBuf>,
    pub stores: Vec<Store>,
    /// Toolchains installed for this user.
    pub toolchains: Vec<PathBuf>,
    /// The names of variables that look like credentials. Programs started by an agent do not get
    /// them.
    pub secrets: Vec<OsString>,
}

/// Whether a CI system parses commands in our output: GitHub Actions (and compatible systems),
/// Azure Pipelines, TeamCity.
#[expect(clippy::disallowed_methods, reason = "`config` reads the environment")]
pub fn ci_reads_output() -> bool {
    let systems = ["GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];
    systems.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A variable of the CI system about the event that started it.
#[expect(clippy::disallowed_methods, reason = "`config` reads the environment")]
pub fn ci_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether the terminal cannot move its cursor, as in an editor's shell window.
#[expect(clippy::disallowed_methods, reason = "`config` reads the environment")]
pub fn terminal_is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

impl Environment {
    /// Reads all variables we use. An invalid number is an error.
    #[expect(clippy::disallowed_methods, reason = "`config` reads the environment")]
    pub fn read() -> Result<Self> {
        let text = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let path = |name: &str| text(name).map(PathBuf::from);
        let home = directories::BaseDirs::new().map(|known| known.home_dir().to_owned());
        let in_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let (settings, state) = layers::own_folders();
        let max_retries = match text("TDD_MAX_RETRIES") {
            None => None,
            Some(value) => Some(
                value.to_str().and_then(|value| value.trim().parse().ok()).ok_or_else(|| {
                    Failure::usage(format!(
                        "TDD_MAX_RETRIES is {value:?}; it must be a whole number"
                    ))
                    .next("TDD_MAX_RETRIES=3 redgreen run …")
                })?,
            ),
        };
        Ok(Self {
            project_root: path("TDD_PROJECT_ROOT"),
            index_file: path("GIT_INDEX_FILE"),
            host_projects: HOST_PROJECTS.iter().filter_map(|name| path(name)).collect(),
            max_retries,
            script: path("REDGREEN_SCRIPT"),
            mock: text("AGENTOS_MOCK_LLM").is_some_and(|value| value == "1"),
            model: text("TDD_MODEL").and_then(|value| value.into_string().ok()),
            models: Models::read(|name| text(name).and_then(|value| value.into_string().ok())),
            worktrees: path("REDGREEN_WORKTREES"),
            virtual_env: path("VIRTUAL_ENV").map(stores::without_detours),
            kill_at: text("REDGREEN_KILL_AT").and_then(|value| value.into_string().ok()),
            path: text("PATH"),
            editor: text("VISUAL")
                .or_else(|| text("EDITOR"))
                .and_then(|value| value.into_string().ok()),
            settings,
            state,
            trust: text("REDGREEN_TRUST").is_some_and(|value| value == "1"),
            of_worker: text("REDGREEN_OF_WORKER").is_some(),
            cargo_home: path("CARGO_HOME").or_else(|| in_home(".cargo")),
            rustup_home: path("RUSTUP_HOME").or_else(|| in_home(".rustup")),
            stores: stores::stores(home.as_deref(), text),
            toolchains: stores::toolchains(home.as_deref(), text),
            home,
            secrets: std::env::vars_os()
                .map(|(name, _)| name)
                .filter(|name| is_secret(name))
                .collect(),
        })
    }

    /// Whether a program is on the PATH.
    pub fn has_program(&self, name: &str) -> bool {
        self.find_program(name).is_some()
    }

    /// The file of a program on the PATH.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let folders = self.path.clone().unwrap_or_default();
        std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
    }
}

/// Our variables that another program may see.
pub fn variables(allowed: impl Fn(&str) -> bool) -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(&allowed)).collect()
}

/// The value of a variable named in the settings.
#[expect(clippy::disallowed_methods, reason = "`config` reads the environment")]
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The folder in a variable. Only absolute paths count, as the XDG specification says.
#[expect(clippy::disallowed_methods, reason = "`config` reads the environment")]
pub fn folder(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Whether a variable contains a credential, judged by its name.
fn is_secret(name: &OsStr) -> bool {
    const WORDS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"];
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.split(['_', '-', '.']).any(|word| WORDS.contains(&word) || word == "APIKEY")
}
