//! The files and variables that programs of any agent see: installed software, the worktree without
//! its secrets, and the repository without its private data. Homes, other checkouts and documents
//! are only visible if `agent.allow-read` lists them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use ignore::WalkBuilder;

use super::TurnInput;
use super::place::holds_secrets;
use crate::config::{self, Environment};
use crate::failure::Failure;
use crate::foreign;
use crate::git::Git;
use crate::journal::Store;
use crate::room::furnish_home;
use crate::sandbox::{BindMount, Fence, Installed, Sandbox};

/// Variables for programs without a network: paths of tools, locale.
const TOOLS: &[&str] = &[
    "PATH",
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
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "NVM_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "MIX_HOME",
    "DOTNET_ROOT",
    "SDKMAN_DIR",
    "VOLTA_HOME",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
];
/// Folders of packages and build output. Files with secret names in them are not secret, such as
/// certifi's certificates.
const PACKAGES: &[&str] = &[
    "node_modules",
    ".venv",
    "venv",
    "vendor",
    "deps",
    "target",
    "site-packages",
    "__pycache__",
    ".git",
];
/// The number of worktree entries examined.
const ENTRIES_MAX: usize = 500_000;
/// The maximum number of individually hidden files.
const SECRETS_MAX: usize = 2_000;
/// The visible parts of git's folder if it cannot be replaced by a copy.
const GIT_PARTS: &[&str] =
    &["HEAD", "config", "info", "objects", "packed-refs", "refs", "shallow", "worktrees"];
/// In the private folder of a worktree.
pub const GIT_VIEW: &str = "git-view";
const HOME: &str = "agent-home";
const SET_ASIDE: &str = "set-aside";

/// The same for every turn.
#[derive(Clone, Debug)]
pub struct Visible {
    installed: Arc<Installed>,
    git: Option<Git>,
    environment: Arc<Environment>,
    /// Allowed paths in the project, and elsewhere.
    allowed_inside: Vec<PathBuf>,
    allowed_outside: Vec<PathBuf>,
}

/// The paths of one turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    pub(super) worktree: &'a Path,
    /// Our own state.
    pub(super) records: &'a Path,
    pub(super) aside: &'a Path,
    pub(super) packages: &'a [PathBuf],
}

/// Secret files that are moved out of the worktree while the sandbox cannot hide them.
#[derive(Debug)]
pub(super) struct HiddenSecrets {
    worktree: PathBuf,
    folder: PathBuf,
}

impl Visible {
    /// `allow_read` is set by the user: absolute paths, paths in the home (`~/…`) and paths of the
    /// project.
    pub fn new(environment: &Environment, git: Option<&Git>, allow_read: &[PathBuf]) -> Self {
        let private: Vec<&Path> =
            git.iter().flat_map(|git| [git.root.as_path(), git.common_dir.as_path()]).collect();
        let installed = Arc::new(Installed::look(environment, &private));
        let at_home = |path: &PathBuf| match (path.strip_prefix("~"), &environment.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path.clone(),
        };
        let (outside, inside): (Vec<PathBuf>, Vec<PathBuf>) =
            allow_read.iter().map(at_home).partition(|path| path.is_absolute());
        let of_checkout = git.iter().flat_map(|git| inside.iter().map(|path| git.root.join(path)));
        let allowed_outside = outside.into_iter().chain(of_checkout).collect();
        let environment = Arc::new(environment.clone());
        Self { installed, git: git.cloned(), environment, allowed_inside: inside, allowed_outside }
    }

    /// A read-only sandbox: what programs in the worktree see, and how the repository appears to
    /// them.
    pub(super) fn fence(&self, sandbox: &Sandbox, places: &Places<'_>) -> Result<Fence> {
        let mut hidden = vec![PathBuf::from("/"), places.records.to_owned()];
        hidden.extend(self.environment.home.clone());
        hidden.extend(self.installed.hidden.iter().cloned());
        let mut shown = self.installed.shown.clone();
        shown.extend(places.packages.iter().filter(|path| !self.is_secret_place(path)).cloned());
        shown.extend(self.allowed_outside.iter().cloned());
        let mut bound = Vec::new();
        if let Some(git) = &self.git {
            let is_secret = |path: &Path| self.is_secret(path);
            if sandbox.binds() {
                let view = git.view(
                    places.worktree,
                    &places.aside.join(GIT_VIEW),
                    &is_secret,
                    &self.rules(),
                )?;
                bound.extend(view.map(|from| BindMount { from, to: git.common_dir.clone() }));
            } else if git.is_plain(places.worktree, &is_secret)? {
                shown.extend(GIT_PARTS.iter().map(|part| git.common_dir.join(part)));
            }
        }
        if sandbox.binds() {
            hidden.extend(self.secrets(places.worktree)?);
        }
        Ok(Fence { hidden, shown, bound, ..Fence::default() })
    }

    /// Moves secrets out of the worktree if this sandbox cannot hide them. They return when the
    /// value is dropped.
    pub(super) fn set_aside(
        &self,
        sandbox: &Sandbox,
        places: &Places<'_>,
    ) -> Result<Option<HiddenSecrets>> {
        if sandbox.binds() {
            return Ok(None);
        }
        HiddenSecrets::new(places, &self.secrets(places.worktree)?).map(Some)
    }

    /// The complete environment of a program of the built-in agent: selected variables, the run's
    /// own home, and ours.
    pub(super) fn environment(
        &self,
        places: &Places<'_>,
        scratch: PathBuf,
    ) -> Result<Vec<(OsString, OsString)>> {
        let home = self.home(places)?;
        let around = &self.environment;
        let mut env = config::variables(|name| TOOLS.iter().any(|pattern| matches(pattern, name)));
        let mut set = |name: &str, value: OsString| env.push((name.into(), value));
        set("HOME", home.clone().into());
        set("TMPDIR", scratch.into());
        set("CI", "1".into());
        set("GIT_OPTIONAL_LOCKS", "0".into());
        set("GIT_CONFIG_GLOBAL", "/dev/null".into());
        set("GIT_CONFIG_NOSYSTEM", "1".into());
        let folders = [("CARGO_HOME", &around.cargo_home), ("RUSTUP_HOME", &around.rustup_home)];
        for (name, folder) in folders {
            folder.iter().for_each(|folder| set(name, folder.clone().into()));
        }
        for (name, value) in crate::room::home_variables(&home, &around.stores) {
            set(name, value);
        }
        Ok(env)
    }

    /// The home of such a program.
    pub(super) fn home(&self, places: &Places<'_>) -> Result<PathBuf> {
        let home = places.aside.join(HOME);
        if !home.is_dir() {
            fs::create_dir_all(places.aside)
                .with_context(|| format!("create {}", places.aside.display()))?;
            furnish_home(&home, &self.environment.stores)?;
        }
        Ok(home)
    }

    /// The files that these programs need to run.
    pub(super) fn programs(&self, files: &[PathBuf]) -> Vec<PathBuf> {
        let private: Vec<&Path> = self
            .git
            .iter()
            .flat_map(|git| [git.root.as_path(), git.common_dir.as_path()])
            .collect();
        let home = self.environment.home.as_deref();
        Installed::default().with_programs(files.iter().map(PathBuf::as_path), home, &private).shown
    }

    /// The path of a cassette without an absolute path: with our records, not in the project.
    pub(super) fn cassette(&self, named: &Path) -> Option<PathBuf> {
        let git = self.git.as_ref().filter(|_| config::is_inside(named))?;
        Some(Store::new(&git.common_dir).cassettes().join(named))
    }

    /// All files of the worktree with a secret name.
    fn secrets(&self, worktree: &Path) -> Result<Vec<PathBuf>> {
        let is_looked_into = |entry: &ignore::DirEntry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            !is_folder
                || entry.depth() == 0
                || !PACKAGES.iter().any(|name| entry.file_name() == *name)
        };
        let walk =
            WalkBuilder::new(worktree).standard_filters(false).filter_entry(is_looked_into).build();
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in walk.filter_map(Result::ok).take(ENTRIES_MAX) {
            let inside = entry.path().strip_prefix(worktree).unwrap_or(entry.path());
            let is_file = !entry.file_type().is_some_and(|kind| kind.is_dir());
            if is_file && self.is_secret(inside) {
                found.push(entry.path().to_owned());
            }
        }
        if found.len() > SECRETS_MAX {
            let what =
                format!("more than {SECRETS_MAX} files of the project are named like secrets");
            let example = found.first().map(|path| path.display().to_string()).unwrap_or_default();
            return Err(Failure::usage(what)
                .evidence(format!("such as {example}"))
                .next(format!(
                    "add folders without secrets to agent.allow-read in {}",
                    config::FILE
                ))
                .into());
        }
        Ok(found)
    }

    /// Whether a path of the project is hidden from agents because of its name.
    fn is_secret(&self, inside: &Path) -> bool {
        holds_secrets(inside)
            && !self.allowed_inside.iter().any(|allowed| inside.starts_with(allowed))
    }

    /// The input of [`Self::is_secret`].
    fn rules(&self) -> String {
        self.allowed_inside.iter().map(|path| format!("{}\n", path.display())).collect()
    }

    fn is_secret_place(&self, path: &Path) -> bool {
        let name = path.file_name().map(Path::new).unwrap_or(path);
        holds_secrets(name) && !self.allowed_outside.iter().any(|allowed| path.starts_with(allowed))
    }
}

impl<'a> Places<'a> {
    pub(super) fn of(orders: &TurnInput<'a>) -> Self {
        Self {
            worktree: orders.worktree,
            records: orders.private,
            aside: orders.aside,
            packages: orders.packages,
        }
    }
}

impl HiddenSecrets {
    fn new(places: &Places<'_>, secrets: &[PathBuf]) -> Result<Self> {
        let aside =
            Self { worktree: places.worktree.to_owned(), folder: places.aside.join(SET_ASIDE) };
        // A killed process left them here.
        aside.put_back(Restore::Missing);
        for secret in secrets {
            let Ok(inside) = secret.strip_prefix(&aside.worktree) else { continue };
            let act = || format!("set aside {}", inside.display());
            let target = aside.folder.join(inside);
            fs::create_dir_all(target.parent().unwrap_or(&aside.folder)).with_context(act)?;
            take(secret, &target).with_context(act)?;
        }
        Ok(aside)
    }

    fn put_back(&self, back: Restore) {
        let walk = WalkBuilder::new(&self.folder).standard_filters(false).build();
        for entry in walk
            .filter_map(Result::ok)
            .filter(|entry| !entry.file_type().is_some_and(|kind| kind.is_dir()))
        {
            let Ok(inside) = entry.path().strip_prefix(&self.folder) else { continue };
            if back == Restore::Missing && self.worktree.join(inside).symlink_metadata().is_ok() {
                continue;
            }
            // A file that cannot be returned stays and is tried again at the next turn.
            if let Ok(target) = foreign::make_way(&self.worktree, inside) {
                take(entry.path(), &target).ok();
            }
        }
    }
}

impl Drop for HiddenSecrets {
    fn drop(&mut self) {
        self.put_back(Restore::All);
    }
}

/// Which files to return: only missing ones, or all, replacing files that the agent created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restore {
    Missing,
    All,
}

/// Moves a file, possibly to another file system.
fn take(from: &Path, to: &Path) -> std::io::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    if from.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else {
        fs::copy(from, to)?;
    }
    fs::remove_file(from)
}

/// Matches `NAME`, `NAME*` or `*NAME`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_suffix('*'), pattern.strip_prefix('*')) {
        (Some(start), _) => name.starts_with(start),
        (None, Some(end)) => name.ends_with(end),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_names_prefixes_and_suffixes() {
        for (pattern, name, known) in [
            ("PATH", "PATH", true),
            ("PATH", "PATHS", false),
            ("LC_*", "LC_ALL", true),
            ("*_API_KEY", "MISTRAL_API_KEY", true),
            ("*_API_KEY", "API_KEY_OF_MINE", false),
        ] {
            assert_eq!(matches(pattern, name), known, "{pattern} {name}");
        }
    }

    #[test]
    fn returns_secrets_whatever_replaced_them() {
        let folder = tempfile::tempdir().unwrap();
        let (worktree, aside) = (folder.path().join("worktree"), folder.path().join("aside"));
        for path in
            ["config/secrets.yaml", ".env", "node_modules/x/cacert.pem", "src/secrets.py", ".git"]
        {
            fs::create_dir_all(worktree.join(path).parent().unwrap()).unwrap();
            fs::write(worktree.join(path), path).unwrap();
        }
        let visible = Visible::new(&Environment::default(), None, &[]);
        let places = Places { worktree: &worktree, records: &aside, aside: &aside, packages: &[] };
        let secrets = visible.secrets(&worktree).unwrap();
        assert_eq!(secrets.len(), 2, "{secrets:?}");
        let set_aside = HiddenSecrets::new(&places, &secrets).unwrap();
        assert!(!worktree.join(".env").exists() && worktree.join("src/secrets.py").exists());
        fs::write(worktree.join(".env"), "another").unwrap();
        fs::remove_dir_all(worktree.join("config")).unwrap();
        // The agent replaces a folder by a link to one of the user, which has a file of this name.
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("secrets.yaml"), "mine").unwrap();
        std::os::unix::fs::symlink(&other, worktree.join("config")).unwrap();
        drop(set_aside);
        assert_eq!(fs::read_to_string(other.join("secrets.yaml")).unwrap(), "mine");
        for path in ["config/secrets.yaml", ".env"] {
            assert_eq!(fs::read_to_string(worktree.join(path)).unwrap(), path);
        }
        // A killed process does not return them; the next one does.
        std::mem::forget(HiddenSecrets::new(&places, &secrets).unwrap());
        assert!(!worktree.join(".env").exists());
        drop(HiddenSecrets::new(&places, &[]).unwrap());
        assert_eq!(fs::read_to_string(worktree.join(".env")).unwrap(), ".env");
        let allowed = Visible::new(&Environment::default(), None, &["config".into()]);
        assert_eq!(allowed.secrets(&worktree).unwrap(), [worktree.join(".env")]);
    }
}
