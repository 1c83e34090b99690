//! The sandbox of an agent's program: its environment, and the files it can write and see.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::model::provider::host_of;

use super::ORDERS;
use crate::agent::TurnInput;
use crate::agent::network::NetworkRules;
use crate::agent::visible::{Places, Visible, matches};
use crate::config::{self, Environment, agents};
use crate::foreign;
use crate::process::Program;
use crate::sandbox::{Fence, Sandbox};

/// Suffixes of variables that send an agent's requests to another server.
const SERVERS: &[&str] = &[
    "_BASE_URL",
    "_API_BASE",
    "_ENDPOINT",
    "_HOST",
    "_USE_BEDROCK",
    "_USE_VERTEX",
    "_USE_VERTEXAI",
];
/// Those that switch to another service and contain no URL.
const SWITCHES: &[&str] =
    &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "GOOGLE_GENAI_USE_VERTEXAI"];

/// Variables for every program: paths of tools, locale, network settings.
const COMMON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "NVM_DIR",
    "GEM_HOME",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_GLOBAL",
];
/// Variables that tell a program that it runs inside another agent of its kind.
const NEVER: &[&str] = &[
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
];
/// The maximum number of processes of an agent's turn.
const PROCESSES_MAX: u32 = 2048;
/// As for the built-in agent: git takes as long to read a sparse file as a full one.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// The agents' package caches, in the workshop.
const CACHE: &str = "agent-caches";
/// Variables for the caches of package managers, and a folder for each.
const CACHES: &[(&str, &str)] = &[
    ("npm_config_cache", "npm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("DENO_DIR", "deno"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("GOCACHE", "go-build"),
];

/// Who uses an environment or a sandbox.
#[derive(Clone, Copy, Debug)]
pub(super) enum User<'a> {
    /// The agent's own program.
    Program(&'a agents::Row),
    /// A command of the agent, which does not need its credentials.
    Terminal,
}

/// The context of a run's agents.
#[derive(Clone, Debug)]
pub struct AgentSandbox {
    pub home: Option<PathBuf>,
    /// The folder of worktrees and build output.
    pub workshop: PathBuf,
    pub fence: config::Fence,
    pub network: NetworkRules,
    /// What its programs see in addition to their own files.
    pub visible: Visible,
}

impl AgentSandbox {
    pub fn new(
        environment: &Environment,
        workshop: &Path,
        fence: config::Fence,
        visible: Visible,
    ) -> Self {
        Self {
            home: environment.home.clone(),
            workshop: workshop.to_owned(),
            fence,
            visible,
            network: NetworkRules::default(),
        }
    }

    /// Sets the network rules. Without them there is no network.
    #[must_use]
    pub fn with_network(self, network: NetworkRules) -> Self {
        Self { network, ..self }
    }

    pub(super) fn sandbox(&self) -> Result<Sandbox> {
        match self.fence {
            config::Fence::Auto => Sandbox::here().cloned(),
            config::Fence::None => Sandbox::open(),
        }
    }

    /// It may only write to the worktree and its own files: not to the repository's refs and
    /// objects, nor to the user's checkout. In the home it only sees its own files.
    pub(super) fn fence(
        &self,
        sandbox: &Sandbox,
        whose: User<'_>,
        orders: &TurnInput<'_>,
    ) -> Result<Fence> {
        let mut fence = self.visible.fence(sandbox, &Places::of(orders))?;
        let mut writable = vec![orders.worktree.to_owned(), scratch(orders)];
        writable.extend(
            orders
                .env
                .iter()
                .filter(|(name, _)| name == "CARGO_TARGET_DIR")
                .map(|(_, path)| path.into()),
        );
        writable.push(self.workshop.join(CACHE));
        let mut shown = std::mem::take(&mut fence.shown);
        let mut files = Vec::new();
        if let User::Program(row) = whose {
            writable.extend(row.folders.iter().filter_map(|folder| self.own(row, folder)));
            files.extend(row.files.iter().filter_map(|file| self.own(row, file)));
            if let Some(own) = &row.home {
                writable.push(own_home(orders, own));
                let from = self.own_settings(own);
                files.extend(own.link.iter().filter_map(|file| Some(from.as_ref()?.join(file))));
            }
            shown.extend(self.visible.programs(&row.named_files()));
            shown.push(orders.desk.join(ORDERS));
        }
        let caches: Vec<PathBuf> = self.caches().map(|(_, folder)| folder).collect();
        for folder in writable.iter().chain(&caches) {
            fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        }
        writable.extend(files.into_iter().filter(|file| file.is_file()));
        let (processes_max, file_bytes_max) = (Some(PROCESSES_MAX), Some(FILE_BYTES_MAX));
        Ok(Fence { writable, shown, processes_max, file_bytes_max, ..fence })
    }

    /// The program in the worktree, with a controlled environment.
    pub(super) fn prepare(
        &self,
        program: Program,
        whose: User<'_>,
        orders: &TurnInput<'_>,
        sandbox: &Sandbox,
        is_fenced: bool,
    ) -> Result<Program> {
        let env = self.environment(whose, orders, sandbox, is_fenced)?;
        let program = program.cwd(orders.worktree).env_clear();
        Ok(env.into_iter().fold(program, |program, (name, value)| program.env(name, value)))
    }

    /// The variables it inherits and those we set. The last value of a name wins.
    pub(super) fn environment(
        &self,
        whose: User<'_>,
        orders: &TurnInput<'_>,
        sandbox: &Sandbox,
        is_fenced: bool,
    ) -> Result<Vec<(OsString, OsString)>> {
        let own = match whose {
            User::Program(row) => row.env.as_slice(),
            User::Terminal => &[],
        };
        let mut env = config::variables(|name| passes(own, name));
        let mut set = |name: &str, value: OsString| env.push((name.into(), value));
        // With private mounts `/tmp` is private, and its path is short enough for sockets.
        set("TMPDIR", if sandbox.binds() { "/tmp".into() } else { scratch(orders).into() });
        set("CI", "1".into());
        set("GIT_OPTIONAL_LOCKS", "0".into());
        // Some programs refuse to run as root unless they are told that they are sandboxed, which
        // is true here.
        if is_fenced {
            set("IS_SANDBOX", "1".into());
        }
        for (variable, folder) in self.caches() {
            set(variable, folder.into());
        }
        if let User::Program(row) = whose {
            if let Some(own) = &row.home {
                let folder = own_home(orders, own);
                self.copy_settings(&folder, own)?;
                set(&own.variable, folder.into());
            }
            row.set.iter().for_each(|(name, value)| set(name, value.into()));
        }
        orders.env.iter().for_each(|(name, value)| set(name, value.into()));
        Ok(env)
    }

    /// The inherited variables that select a server, each with its host.
    pub(super) fn servers(&self, row: &agents::Row) -> Vec<String> {
        let names_a_server = |name: &str| SERVERS.iter().any(|end| name.ends_with(end));
        let inherited = config::variables(|name| names_a_server(name) && passes(&row.env, name));
        let inherited = inherited
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let given = row.set.iter().filter(|(name, _)| names_a_server(name));
        let mut all: BTreeMap<String, OsString> = inherited.collect();
        all.extend(given.map(|(name, value)| (name.clone(), value.into())));
        let shown = |(name, value): (String, OsString)| {
            let value = value.to_string_lossy().into_owned();
            let host = host_of(value.trim());
            (!host.is_empty() && host != "0").then(|| match SWITCHES.contains(&name.as_str()) {
                true => format!("{name} is set"),
                false => format!("{name}: {host}"),
            })
        };
        all.into_iter().filter_map(shown).collect()
    }

    /// The caches of package managers. A malicious agent could poison the user's own, so agents
    /// share one per repository.
    fn caches(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let folder = self.workshop.join(CACHE);
        CACHES.iter().map(move |(variable, name)| (*variable, folder.join(name)))
    }

    /// A path of the program, where the user's environment moved it.
    fn own(&self, row: &agents::Row, path: &str) -> Option<PathBuf> {
        agents::own_place(self.home.as_deref(), row, path)
    }

    /// The user's settings folder of a program that gets a copy.
    fn own_settings(&self, own: &agents::Home) -> Option<PathBuf> {
        config::folder(&own.variable).or_else(|| Some(self.home.as_ref()?.join(&own.from)))
    }

    /// Copies the user's settings to the program's folder of this run.
    fn copy_settings(&self, folder: &Path, own: &agents::Home) -> Result<()> {
        let Some(from) = self.own_settings(own) else { return Ok(()) };
        for file in &own.copy {
            let (source, target) = (from.join(file), folder.join(file));
            let act = || format!("copy {}", source.display());
            // Keep the copy of the first turn: the program may have changed it.
            if source.is_file() && target.symlink_metadata().is_err() {
                foreign::copy(&source.canonicalize().with_context(act)?, folder, file)
                    .with_context(act)?;
            }
        }
        for file in &own.link {
            let (source, target) = (from.join(file), folder.join(file));
            // Keep a file with which the program replaced the link.
            if source.is_file() && target.symlink_metadata().is_err() {
                let act = || format!("link {}", target.display());
                symlink(&source, foreign::make_way(folder, file.as_ref()).with_context(act)?)
                    .with_context(act)?;
            }
        }
        Ok(())
    }
}

/// An id for a conversation: 122 random bits as a UUID.
pub(super) fn uuid() -> Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .context("read random bytes")?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Ok(format!(
        "{}-{}-4{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
}

/// A temporary folder for the turn where `/tmp` is shared.
fn scratch(orders: &TurnInput<'_>) -> PathBuf {
    orders.desk.join("tmp")
}

/// The program's own settings for all turns of the run.
fn own_home(orders: &TurnInput<'_>, own: &agents::Home) -> PathBuf {
    // A project chooses the folder name of its own agents, so make it a single path component.
    orders.desk.parent().unwrap_or(orders.desk).join(format!("home{}", own.from.replace('/', "-")))
}

/// Whether a program may see a variable, by its own or the common patterns.
fn passes(own: &[String], name: &str) -> bool {
    !NEVER.contains(&name)
        && (COMMON.iter().any(|pattern| matches(pattern, name))
            || own.iter().any(|pattern| matches(pattern, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_unique_uuids() {
        let (one, other) = (uuid().unwrap(), uuid().unwrap());
        let shape: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(shape, [8, 4, 4, 4, 12], "{one}");
        assert_ne!(one, other);
    }
}
