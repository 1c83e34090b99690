//! What surrounds an agent's program: what it knows of our environment, what it can write to, what it cannot see.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::model::provider::host_of;

use super::ORDERS;
use crate::agent::Orders;
use crate::agent::network::NetworkRules;
use crate::agent::visible::{Places, Visible, matches};
use crate::config::{self, Environment, agents};
use crate::foreign;
use crate::process::Program;
use crate::sandbox::{Fence, Sandbox};

/// How variables end that send an agent's requests to another server than its maker's.
const SERVERS: &[&str] =
    &["_BASE_URL", "_API_BASE", "_ENDPOINT", "_HOST", "_USE_BEDROCK", "_USE_VERTEX", "_USE_VERTEXAI"];
/// Those of them that switch to another service, and hold no address.
const SWITCHES: &[&str] = &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "GOOGLE_GENAI_USE_VERTEXAI"];

/// What every program may know of our environment: where tools are, how to speak, how to reach the network.
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
/// What tells a program that it was started by one of its own kind; it would take itself for a part of it.
const NEVER: &[&str] = &["CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_ENV_FILE"];
/// Processes of an agent's turn at a time.
const PROCESSES_MAX: u32 = 2048;
/// As for the built-in agent: a file of holes takes git as long to read as a full one.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// What agents fetched, in the workshop.
const CACHE: &str = "agent-caches";
/// Variables that tell package managers where to keep what they fetch, and a folder for each.
const CACHES: &[(&str, &str)] = &[
    ("npm_config_cache", "npm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("DENO_DIR", "deno"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("GOCACHE", "go-build"),
];

/// For whom something is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    /// The agent's own program.
    Program(&'a agents::Row),
    /// A command it has us run: it needs none of the agent's credentials.
    Terminal,
}

/// The places around a run.
#[derive(Clone, Debug)]
pub struct AgentSandbox {
    pub home: Option<PathBuf>,
    /// Where worktrees and build output are.
    pub workshop: PathBuf,
    pub fence: config::Fence,
    pub network: NetworkRules,
    /// What its programs see beside what is their own.
    pub visible: Visible,
}

impl AgentSandbox {
    pub fn new(environment: &Environment, workshop: &Path, fence: config::Fence, visible: Visible) -> Self {
        Self {
            home: environment.home.clone(),
            workshop: workshop.to_owned(),
            fence,
            visible,
            network: NetworkRules::default(),
        }
    }

    /// With these rules for its network; without, nothing can be reached.
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

    /// It may write to the worktree, to what is its own, and to nothing else: not to the repository's refs and objects,
    /// not to the user's checkout. Of the home, it sees what is its own.
    pub(super) fn fence(&self, sandbox: &Sandbox, whose: Whose<'_>, orders: &Orders<'_>) -> Result<Fence> {
        let mut fence = self.visible.fence(sandbox, &Places::of(orders))?;
        let mut writable = vec![orders.worktree.to_owned(), scratch(orders)];
        writable.extend(orders.env.iter().filter(|(name, _)| name == "CARGO_TARGET_DIR").map(|(_, path)| path.into()));
        writable.push(self.workshop.join(CACHE));
        let mut shown = std::mem::take(&mut fence.shown);
        let mut files = Vec::new();
        if let Whose::Program(row) = whose {
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

    /// The program in the worktree, with an environment that only we decide on.
    pub(super) fn surround(
        &self,
        program: Program,
        whose: Whose<'_>,
        orders: &Orders<'_>,
        sandbox: &Sandbox,
        is_fenced: bool,
    ) -> Result<Program> {
        let env = self.environment(whose, orders, sandbox, is_fenced)?;
        let program = program.cwd(orders.worktree).env_clear();
        Ok(env.into_iter().fold(program, |program, (name, value)| program.env(name, value)))
    }

    /// What it knows of our environment, and what we tell it; the later one of a name wins.
    pub(super) fn environment(
        &self,
        whose: Whose<'_>,
        orders: &Orders<'_>,
        sandbox: &Sandbox,
        is_fenced: bool,
    ) -> Result<Vec<(OsString, OsString)>> {
        let own = match whose {
            Whose::Program(row) => row.env.as_slice(),
            Whose::Terminal => &[],
        };
        let mut env = config::variables(|name| passes(own, name));
        let mut set = |name: &str, value: OsString| env.push((name.into(), value));
        // Inside mounts of its own /tmp is nobody else's, and its name is short enough for sockets.
        set("TMPDIR", if sandbox.binds() { "/tmp".into() } else { scratch(orders).into() });
        set("CI", "1".into());
        set("GIT_OPTIONAL_LOCKS", "0".into());
        // Some refuse to work for root unless they are told that somebody watches over them; here that is true.
        if is_fenced {
            set("IS_SANDBOX", "1".into());
        }
        for (variable, folder) in self.caches() {
            set(variable, folder.into());
        }
        if let Whose::Program(row) = whose {
            if let Some(own) = &row.home {
                let folder = own_home(orders, own);
                self.furnish(&folder, own)?;
                set(&own.variable, folder.into());
            }
            row.set.iter().for_each(|(name, value)| set(name, value.into()));
        }
        orders.env.iter().for_each(|(name, value)| set(name, value.into()));
        Ok(env)
    }

    /// The variables that it gets and that say which server it asks, with the host each one names.
    pub(super) fn servers(&self, row: &agents::Row) -> Vec<String> {
        let names_a_server = |name: &str| SERVERS.iter().any(|end| name.ends_with(end));
        let inherited = config::variables(|name| names_a_server(name) && passes(&row.env, name));
        let inherited = inherited.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
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

    /// Where package managers keep what they fetched. The user's own would be poisoned for everybody by one bad agent,
    /// so agents share one for each repository.
    fn caches(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let folder = self.workshop.join(CACHE);
        CACHES.iter().map(move |(variable, name)| (*variable, folder.join(name)))
    }

    /// A place of the program's own, where the user's surroundings moved it to.
    fn own(&self, row: &agents::Row, path: &str) -> Option<PathBuf> {
        agents::own_place(self.home.as_deref(), row, path)
    }

    /// The user's own settings of a program that gets a copy of them.
    fn own_settings(&self, own: &agents::Home) -> Option<PathBuf> {
        config::folder(&own.variable).or_else(|| Some(self.home.as_ref()?.join(&own.from)))
    }

    /// Puts the user's own settings into the program's folder for this run.
    fn furnish(&self, folder: &Path, own: &agents::Home) -> Result<()> {
        let Some(from) = self.own_settings(own) else { return Ok(()) };
        for file in &own.copy {
            let (source, target) = (from.join(file), folder.join(file));
            let act = || format!("copy {}", source.display());
            // The first turn's copy stays: the program may have added to it.
            if source.is_file() && target.symlink_metadata().is_err() {
                foreign::copy(&source.canonicalize().with_context(act)?, folder, file).with_context(act)?;
            }
        }
        for file in &own.link {
            let (source, target) = (from.join(file), folder.join(file));
            // A program that replaced the link by a file of its own keeps that one.
            if source.is_file() && target.symlink_metadata().is_err() {
                let act = || format!("link {}", target.display());
                symlink(&source, foreign::make_way(folder, file.as_ref()).with_context(act)?).with_context(act)?;
            }
        }
        Ok(())
    }
}

/// A name for a conversation: 122 random bits, in the usual form.
pub(super) fn uuid() -> Result<String> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).context("read random bytes")?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    Ok(format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32)))
}

/// A folder for what the turn needs for a while, where `/tmp` is everybody's.
fn scratch(orders: &Orders<'_>) -> PathBuf {
    orders.desk.join("tmp")
}

/// The program's own settings, for all turns of the run.
fn own_home(orders: &Orders<'_>, own: &agents::Home) -> PathBuf {
    // A project names the folder of its own agents: it is one name here, whatever it leads to.
    orders.desk.parent().unwrap_or(orders.desk).join(format!("home{}", own.from.replace('/', "-")))
}

/// Whether a program may know a variable, by its own patterns or those of all programs.
fn passes(own: &[String], name: &str) -> bool {
    !NEVER.contains(&name)
        && (COMMON.iter().any(|pattern| matches(pattern, name)) || own.iter().any(|pattern| matches(pattern, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversations_name_is_a_uuid_of_its_own() {
        let (one, other) = (uuid().unwrap(), uuid().unwrap());
        let shape: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(shape, [8, 4, 4, 4, 12], "{one}");
        assert_ne!(one, other);
    }
}
