//! The installed software of this machine: the system, the programs on the PATH with their
//! installations, toolchains and package caches. Sandboxed programs see this and the files they
//! work on. Home folders, other checkouts and documents stay hidden.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use redgreen_core::guard;

use super::Stamp;
use crate::config::Environment;

/// System folders. Most sandboxes mount a new `/proc` and `/dev`.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/sys",
    "/nix",
    "/gnu",
    "/snap",
    "/var/lib/alternatives",
    "/var/lib/ca-certificates",
    "/var/lib/flatpak",
    "/var/lib/gems",
    "/var/lib/snapd/snap",
];
/// Contains one folder per installed program. Some users keep checkouts here, too.
const OPTIONAL: &str = "/opt";
/// System files that root can read and no test needs.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/NetworkManager/system-connections",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/gitconfig",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/machine-id",
    "/etc/netplan",
    "/etc/openvpn",
    "/etc/pki/tls/private",
    "/etc/ppp",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/etc/wpa_supplicant",
];
/// A folder with one of these next to its `bin` is an installation.
const INSTALLATION: &[&str] = &["lib", "lib64", "libexec", "pyvenv.cfg", "conda-meta"];
/// The folders of an installation that shares its parent folder with other data, such as
/// `~/.local`.
const PARTS: &[&str] = &["bin", "sbin", "lib", "lib64", "libexec"];
/// Folders of the home, relative to it, in which many programs are installed and keep their data.
const SHARED: &[&str] = &["", ".local", ".cargo", "go"];
const NODE_MODULES: &str = "node_modules";
/// The number of files read per PATH folder.
const ENTRIES_MAX: usize = 10_000;
/// A longer first line is not a valid shebang.
const SHEBANG_BYTES_MAX: u64 = 256;
/// How many links are followed from one program to another: a script to its environment, the
/// environment to its interpreter.
const LEADS_MAX: usize = 4;
/// The parts of cargo's home that a build needs. Excludes its credentials.
const CARGO_PARTS: &[&str] = &["bin", "env", "git", "registry"];
/// Cargo's settings, which may contain a token.
const CARGO_SETTINGS: &[&str] = &["config", "config.toml"];
const CARGO_TOKENS: &[&str] = &["token", "secret-key"];

/// Paths that a sandboxed program sees, and hidden paths inside of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    pub shown: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
}

/// Collects paths. `private` folders are never shown as a whole.
struct Scan<'a> {
    home: Option<&'a Path>,
    private: Vec<PathBuf>,
    shown: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    /// The files that the result depends on.
    seen: BTreeMap<PathBuf, Probe>,
}

/// The observed state of a folder or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// Its content was read; the stamp from before that.
    Inside(Option<Stamp>),
    /// Only whether it exists.
    Exists(bool),
}

/// The last result. A scan takes thousands of system calls, and every verdict needs one.
static LAST: Mutex<Option<LastScan>> = Mutex::new(None);

struct LastScan {
    /// Other inputs of the scan.
    asked: String,
    seen: BTreeMap<PathBuf, Probe>,
    installed: Installed,
}

impl Installed {
    /// Scans the machine. Every program on the PATH outside the system folders is examined.
    /// `private` are the user's checkout and git's folder.
    ///
    /// The result is cached until one of the folders changes. If a program is replaced in place by
    /// one from another installation, only the next process notices.
    pub fn look(environment: &Environment, private: &[&Path]) -> Self {
        let Environment {
            home,
            path,
            toolchains,
            stores,
            rustup_home,
            cargo_home,
            virtual_env,
            ..
        } = environment;
        let places = (home, path, toolchains, stores, rustup_home, cargo_home, virtual_env);
        let asked = format!("{places:?} {private:?}");
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let is_still = |known: &&LastScan| known.seen.iter().all(|(path, seen)| seen.holds(path));
        if let Some(known) = last.as_ref().filter(|known| known.asked == asked).filter(is_still) {
            return known.installed.clone();
        }
        let begun = SystemTime::now();
        let (installed, seen) = Self::look_now(environment, private);
        let is_settled = seen.values().all(|seen| seen.is_settled(begun));
        *last = is_settled.then(|| LastScan { asked, seen, installed: installed.clone() });
        installed
    }

    fn look_now(environment: &Environment, private: &[&Path]) -> (Self, BTreeMap<PathBuf, Probe>) {
        let home = environment.home.as_deref();
        let private = private.iter().copied().chain(home);
        let private =
            private.flat_map(|path| [path.to_owned(), path.canonicalize().unwrap_or_default()]);
        let mut look = Scan {
            home,
            private: private.filter(|path| path.is_absolute()).collect(),
            shown: SYSTEM.iter().map(PathBuf::from).collect(),
            hidden: BTreeSet::new(),
            seen: BTreeMap::new(),
        };
        look.hidden =
            SYSTEM_SECRETS.iter().map(PathBuf::from).filter(|path| look.exists(path)).collect();
        look.note(Path::new(OPTIONAL));
        for entry in fs::read_dir(OPTIONAL).into_iter().flatten().flatten() {
            look.whole(&entry.path());
        }
        let path = environment.path.clone().unwrap_or_default();
        for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
            look.programs(&folder);
        }
        for folder in
            environment.toolchains.iter().chain(environment.stores.iter().map(|store| &store.from))
        {
            look.whole(folder);
        }
        look.shown.extend(environment.rustup_home.clone());
        if let Some(home) = &environment.cargo_home {
            CARGO_SETTINGS.iter().for_each(|name| look.note(&home.join(name)));
            let parts: Vec<PathBuf> =
                cargo_parts(home).into_iter().filter(|part| look.exists(part)).collect();
            look.shown.extend(parts);
        }
        if let Some(environment) = &environment.virtual_env {
            look.program(&environment.join("bin/python"), LEADS_MAX);
            look.whole(environment);
        }
        let seen = std::mem::take(&mut look.seen);
        (look.done(), seen)
    }

    /// Adds what these programs need.
    #[must_use]
    pub fn with_programs<'a>(
        mut self,
        programs: impl IntoIterator<Item = &'a Path>,
        home: Option<&Path>,
        private: &[&Path],
    ) -> Self {
        let mut look = Scan {
            home,
            private: private.iter().copied().chain(home).map(Path::to_owned).collect(),
            shown: BTreeSet::new(),
            hidden: BTreeSet::new(),
            seen: BTreeMap::new(),
        };
        for program in programs {
            look.program(program, LEADS_MAX);
        }
        let more = look.done();
        self.shown.extend(more.shown);
        self.hidden.extend(more.hidden);
        self
    }
}

impl Probe {
    fn holds(&self, path: &Path) -> bool {
        match self {
            Self::Inside(stamp) => Stamp::of(path) == *stamp,
            Self::Exists(exists) => path.exists() == *exists,
        }
    }

    fn is_settled(&self, moment: SystemTime) -> bool {
        match self {
            Self::Inside(stamp) => stamp.is_none_or(|stamp| stamp.is_settled(moment)),
            Self::Exists(_) => true,
        }
    }
}

impl Scan<'_> {
    fn done(self) -> Installed {
        let is_there = |path: &&PathBuf| path.symlink_metadata().is_ok();
        let folders: BTreeSet<&PathBuf> = self
            .shown
            .iter()
            .filter(|path| path.symlink_metadata().is_ok_and(|facts| facts.is_dir()))
            .collect();
        // A visible folder includes its content, so list only the folder: each sandbox checks every
        // path.
        let is_in_one = |path: &&PathBuf| {
            let folder = path.parent().map(Path::to_path_buf);
            folder.is_some_and(|folder| folders.contains(&folder)) && !self.hidden.contains(*path)
        };
        Installed {
            shown: self
                .shown
                .iter()
                .filter(|path| !is_in_one(path))
                .filter(is_there)
                .cloned()
                .collect(),
            hidden: self.hidden.iter().filter(is_there).cloned().collect(),
        }
    }

    /// Records a path before its content is read.
    fn note(&mut self, path: &Path) {
        if !matches!(self.seen.get(path), Some(Probe::Inside(_))) {
            self.seen.insert(path.to_owned(), Probe::Inside(Stamp::of(path)));
        }
    }

    fn exists(&mut self, path: &Path) -> bool {
        let exists = path.exists();
        self.seen.entry(path.to_owned()).or_insert(Probe::Exists(exists));
        exists
    }

    /// A folder of the PATH and the installations of its programs.
    fn programs(&mut self, folder: &Path) {
        if is_system(folder) || self.contains_private(folder) {
            return;
        }
        self.note(folder);
        self.whole(folder);
        self.around(folder);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            self.program(&entry.path(), LEADS_MAX);
        }
    }

    /// A program: its real installation and that of its interpreter.
    fn program(&mut self, file: &Path, leads: usize) {
        let Ok(real) = file.canonicalize() else { return };
        if leads == 0 || is_system(&real) || !real.is_file() {
            return;
        }
        self.shown.extend([file.to_owned(), real.clone()]);
        if let Some(folder) = file.parent().filter(|folder| !is_system(folder)) {
            self.around(folder);
        }
        if let Some(folder) = real.parent() {
            self.around(folder);
        }
        if let Some(interpreter) = interpreter(&real) {
            self.program(&interpreter, leads - 1);
        }
    }

    /// The installation that a folder of programs belongs to.
    fn around(&mut self, folder: &Path) {
        if self.contains_private(folder) {
            return;
        }
        if let Some(packages) = node_modules(folder) {
            self.whole(&packages);
            return;
        }
        let is_bin = folder.ends_with("bin") || folder.ends_with("sbin");
        let Some(above) = folder.parent().filter(|_| is_bin) else {
            // In any other folder, only the program itself is shown.
            return;
        };
        if self.is_shared(above) {
            let parts: Vec<PathBuf> = PARTS
                .iter()
                .map(|part| above.join(part))
                .filter(|part| self.exists(part))
                .collect();
            self.shown.extend(parts);
        } else if INSTALLATION.iter().any(|mark| self.exists(&above.join(mark))) {
            self.whole(above);
            self.base_of(above);
        } else {
            self.shown.insert(folder.to_owned());
        }
    }

    /// The interpreter of a virtual environment.
    fn base_of(&mut self, environment: &Path) {
        let file = environment.join("pyvenv.cfg");
        self.note(&file);
        let text = fs::read_to_string(file).unwrap_or_default();
        let home = text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "home").then(|| PathBuf::from(value.trim()))
        });
        if let Some(home) = home.filter(|home| home.is_absolute() && !is_system(home)) {
            let real = home.canonicalize().unwrap_or_else(|_| home.clone());
            self.around(&home);
            self.around(&real);
        }
    }

    /// A whole folder, except for entries of its root that are named like a secret.
    fn whole(&mut self, folder: &Path) {
        if self.contains_private(folder)
            || self.exists(&folder.join(".git"))
            || !self.shown.insert(folder.to_owned())
        {
            return;
        }
        self.note(folder);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if real != folder && !is_system(&real) {
            self.whole(&real);
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            let name = entry.file_name();
            let is_secret = name.to_str().is_some_and(|name| guard::secret_name(name).is_some());
            if is_secret && entry.path().is_file() {
                self.hidden.insert(entry.path());
            }
        }
    }

    /// Whether different programs share the folder with other data.
    fn is_shared(&mut self, folder: &Path) -> bool {
        let at_home =
            self.home.is_some_and(|home| SHARED.iter().any(|name| folder == home.join(name)));
        at_home || self.contains_private(folder) || self.exists(&folder.join(".git"))
    }

    /// Whether the folder contains private data.
    fn contains_private(&self, folder: &Path) -> bool {
        self.private.iter().any(|private| private.starts_with(folder))
    }
}

/// The parts of cargo's home that a build needs: no credentials, and settings only if they contain
/// no token.
pub fn cargo_parts(home: &Path) -> Vec<PathBuf> {
    let is_token = |line: &str| {
        let key = line.split('=').next().unwrap_or_default().trim().trim_matches('"');
        CARGO_TOKENS.iter().any(|token| key == *token || key.ends_with(&format!(".{token}")))
    };
    let is_plain = |text: &str| guard::secret::find(text).is_empty() && !text.lines().any(is_token);
    let settings = CARGO_SETTINGS.iter().map(|name| home.join(name));
    let settings =
        settings.filter(|file| fs::read_to_string(file).is_ok_and(|text| is_plain(&text)));
    CARGO_PARTS.iter().map(|part| home.join(part)).chain(settings).collect()
}

/// Whether everything below is visible anyway.
fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// The outermost `node_modules` folder of a program. Its packages use each other.
fn node_modules(folder: &Path) -> Option<PathBuf> {
    let at =
        folder.components().position(|part| part == Component::Normal(OsStr::new(NODE_MODULES)))?;
    Some(folder.components().take(at + 1).collect())
}

/// The interpreter in the first line of a script.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(SHEBANG_BYTES_MAX).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    Some(PathBuf::from(name)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Checks which paths below a home are visible.
    #[test]
    fn shows_programs_with_their_installations_only() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let file = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        for path in [
            "home/.local/share/keyrings/login",
            "home/.local/lib/python3/x.py",
            "home/.local/share/claude/versions/2",
            "home/.local/share/pipx/venvs/ruff/lib/x",
            "home/.cargo/bin/cargo",
            "home/.cargo/credentials.toml",
            "home/.cargo/registry/x",
            "home/go/bin/gopls",
            "home/go/src/other/.env",
            "home/.nvm/versions/v20/lib/node_modules/npm/x.js",
            "home/.ssh/id",
            "agents/node_modules/claude/cli.js",
            "agents/.env",
            "checkout/bin/run",
            "checkout/lib/x",
            "checkout/.env",
            "pythons/3.12/bin/python3",
            "pythons/3.12/lib/x",
            "pythons/.env",
        ] {
            file(path, "x");
        }
        let base = root.join("pythons/3.12/bin");
        file(
            "home/.local/share/pipx/venvs/ruff/pyvenv.cfg",
            &format!("home = {}\n", base.display()),
        );
        fs::create_dir_all(root.join("home/.local/share/pipx/venvs/ruff/bin")).unwrap();
        file(
            "home/.local/share/pipx/venvs/ruff/bin/ruff",
            &format!("#!{}/home/.local/share/pipx/venvs/ruff/bin/python\n", root.display()),
        );
        let link = |to: &str, at: &str| {
            fs::create_dir_all(root.join(at).parent().unwrap()).unwrap();
            symlink(root.join(to), root.join(at)).unwrap();
        };
        link("home/.local/share/pipx/venvs/ruff/bin/ruff", "home/.local/bin/ruff");
        link("home/.local/share/claude/versions/2", "home/.local/bin/claude");
        link("agents/node_modules/claude/cli.js", "agents/node_modules/.bin/claude");
        link("home/.nvm/versions/v20/lib/node_modules/npm/x.js", "home/.nvm/versions/v20/bin/npm");
        let folders = [
            "home/.local/bin",
            "home/.cargo/bin",
            "home/go/bin",
            "agents/node_modules/.bin",
            "home/.nvm/versions/v20/bin",
            "checkout/bin",
            "home",
        ];
        let path = std::env::join_paths(folders.iter().map(|folder| root.join(folder))).unwrap();
        let environment = Environment {
            path: Some(path),
            home: Some(root.join("home")),
            cargo_home: Some(root.join("home/.cargo")),
            ..Environment::default()
        };
        let installed = Installed::look(&environment, &[&root.join("checkout")]);
        let is_seen =
            |path: &str| installed.shown.iter().any(|shown| root.join(path).starts_with(shown));
        for path in [
            "home/.local/bin/ruff",
            "home/.local/lib/python3/x.py",
            "home/.local/share/claude/versions/2",
            "home/.local/share/pipx/venvs/ruff/lib/x",
            "home/.cargo/bin/cargo",
            "home/.cargo/registry/x",
            "home/go/bin/gopls",
            "agents/node_modules/claude/cli.js",
            "home/.nvm/versions/v20/lib/node_modules/npm/x.js",
            "checkout/bin/run",
            "pythons/3.12/lib/x",
        ] {
            assert!(is_seen(path), "{path} is hidden: {installed:#?}");
        }
        for path in [
            "home/.local/share/keyrings/login",
            "home/.cargo/credentials.toml",
            "home/go/src/other/.env",
            "home/.ssh/id",
            "agents/.env",
            "checkout/.env",
            "pythons/.env",
        ] {
            assert!(!is_seen(path), "{path} is visible: {installed:#?}");
        }
    }
    #[test]
    fn finds_programs_installed_later() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["tools/bin/one", "other/bin/two"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "x").unwrap();
        }
        let environment =
            Environment { path: Some(root.join("tools/bin").into()), ..Environment::default() };
        let is_seen = |path: &str| {
            let installed = Installed::look(&environment, &[]);
            installed.shown.iter().any(|shown| root.join(path).starts_with(shown))
        };
        // Recently touched folders are not cached.
        std::thread::sleep(std::time::Duration::from_millis(2_100));
        assert!(is_seen("tools/bin/one") && !is_seen("tools/lib/x") && !is_seen("other/bin/two"));
        symlink(root.join("other/bin/two"), root.join("tools/bin/two")).unwrap();
        assert!(is_seen("other/bin/two"));
        fs::create_dir(root.join("tools/lib")).unwrap();
        assert!(is_seen("tools/lib/x"));
    }
}
