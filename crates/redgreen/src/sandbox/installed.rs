//! What is installed on this machine: the system, the programs on the PATH with what they belong to, toolchains and
//! stores of packages. Fenced programs see this, what their work needs, and nothing else: a home, another checkout or a
//! document is not installed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use redgreen_core::guard;

use crate::config::Environment;

/// Folders of the system. `/proc` and `/dev` are given anew by every fence that can.
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
/// Programs are installed here, each in a folder of its own; some people keep checkouts here, too.
const OPTIONAL: &str = "/opt";
/// What root could read of the system and no test needs.
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
/// A folder with one of these beside its `bin` is one installation.
const INSTALLATION: &[&str] = &["lib", "lib64", "libexec", "pyvenv.cfg", "conda-meta"];
/// What belongs to the programs in a `bin` whose folder holds other things as well, such as `~/.local`.
const PARTS: &[&str] = &["bin", "sbin", "lib", "lib64", "libexec"];
/// From the home: many programs are installed into it, and keep their data there.
const SHARED: &[&str] = &["", ".local", ".cargo", "go"];
const NODE_MODULES: &str = "node_modules";
/// Looked at in one folder of the PATH.
const ENTRIES_MAX: usize = 10_000;
/// A longer first line names no interpreter.
const SHEBANG_BYTES_MAX: u64 = 256;
/// How often one program leads to another: a script to its environment, that to its interpreter.
const LEADS_MAX: usize = 4;
/// Parts of cargo's home that a build needs. Not its credentials.
const CARGO_PARTS: &[&str] = &["bin", "env", "git", "registry"];
/// Settings of cargo; a token may stand in them.
const CARGO_SETTINGS: &[&str] = &["config", "config.toml"];
const CARGO_TOKENS: &[&str] = &["token", "secret-key"];

/// Places that a fenced program sees, and those in them that it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    pub shown: Vec<PathBuf>,
    pub hidden: Vec<PathBuf>,
}

/// Gathers places; `private` folders are never shown as a whole.
struct Look<'a> {
    home: Option<&'a Path>,
    private: Vec<PathBuf>,
    shown: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
}

impl Installed {
    /// Looks around, once for many fences: every program on the PATH outside of the system is looked at. `private` are
    /// the user's checkout and git's folder.
    pub fn look(environment: &Environment, private: &[&Path]) -> Self {
        let home = environment.home.as_deref();
        let private = private.iter().copied().chain(home);
        let private = private.flat_map(|path| [path.to_owned(), path.canonicalize().unwrap_or_default()]);
        let mut look = Look {
            home,
            private: private.filter(|path| path.is_absolute()).collect(),
            shown: SYSTEM.iter().map(PathBuf::from).collect(),
            hidden: SYSTEM_SECRETS.iter().map(PathBuf::from).filter(|path| path.exists()).collect(),
        };
        for entry in fs::read_dir(OPTIONAL).into_iter().flatten().flatten() {
            look.whole(&entry.path());
        }
        let path = environment.path.clone().unwrap_or_default();
        for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
            look.programs(&folder);
        }
        for folder in environment.toolchains.iter().chain(environment.stores.iter().map(|store| &store.from)) {
            look.whole(folder);
        }
        look.shown.extend(environment.rustup_home.clone());
        look.cargo(environment.cargo_home.as_deref());
        if let Some(environment) = &environment.virtual_env {
            look.program(&environment.join("bin/python"), LEADS_MAX);
            look.whole(environment);
        }
        look.done()
    }

    /// The same with what these programs need.
    #[must_use]
    pub fn with_programs<'a>(
        mut self,
        programs: impl IntoIterator<Item = &'a Path>,
        home: Option<&Path>,
        private: &[&Path],
    ) -> Self {
        let mut look = Look {
            home,
            private: private.iter().copied().chain(home).map(Path::to_owned).collect(),
            shown: BTreeSet::new(),
            hidden: BTreeSet::new(),
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

impl Look<'_> {
    fn done(self) -> Installed {
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        Installed {
            shown: self.shown.into_iter().filter(is_there).collect(),
            hidden: self.hidden.into_iter().filter(is_there).collect(),
        }
    }

    /// A folder of the PATH: itself, and what its programs belong to.
    fn programs(&mut self, folder: &Path) {
        if is_system(folder) || self.holds_private(folder) {
            return;
        }
        self.whole(folder);
        self.around(folder);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
            self.program(&entry.path(), LEADS_MAX);
        }
    }

    /// A program: the installation that it really lies in, and its interpreter's.
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

    /// What belongs to a folder of programs.
    fn around(&mut self, folder: &Path) {
        if self.holds_private(folder) {
            return;
        }
        if let Some(packages) = node_modules(folder) {
            self.whole(&packages);
            return;
        }
        let is_bin = folder.ends_with("bin") || folder.ends_with("sbin");
        let Some(above) = folder.parent().filter(|_| is_bin) else {
            // A program that lies anywhere else is shown by itself.
            return;
        };
        if self.is_shared(above) {
            self.shown.extend(PARTS.iter().map(|part| above.join(part)).filter(|part| part.exists()));
        } else if INSTALLATION.iter().any(|mark| above.join(mark).exists()) {
            self.whole(above);
            self.base_of(above);
        } else {
            self.shown.insert(folder.to_owned());
        }
    }

    /// The interpreter that a virtual environment was made with.
    fn base_of(&mut self, environment: &Path) {
        let text = fs::read_to_string(environment.join("pyvenv.cfg")).unwrap_or_default();
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

    /// A folder with all that is in it, but for what is called like a secret in its root.
    fn whole(&mut self, folder: &Path) {
        if self.holds_private(folder) || folder.join(".git").exists() || !self.shown.insert(folder.to_owned()) {
            return;
        }
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

    fn cargo(&mut self, home: Option<&Path>) {
        let Some(home) = home else { return };
        self.shown.extend(CARGO_PARTS.iter().map(|part| home.join(part)));
        let is_plain = |text: &str| {
            let is_token = |line: &str| {
                let key = line.split('=').next().unwrap_or_default().trim().trim_matches('"');
                CARGO_TOKENS.iter().any(|token| key == *token || key.ends_with(&format!(".{token}")))
            };
            guard::secret::find(text).is_empty() && !text.lines().any(is_token)
        };
        let settings = CARGO_SETTINGS.iter().map(|name| home.join(name));
        self.shown.extend(settings.filter(|file| fs::read_to_string(file).is_ok_and(|text| is_plain(&text))));
    }

    /// Programs of many kinds share it with other things.
    fn is_shared(&self, folder: &Path) -> bool {
        let at_home = self.home.is_some_and(|home| SHARED.iter().any(|name| folder == home.join(name)));
        at_home || self.holds_private(folder) || folder.join(".git").exists()
    }

    /// To show it would show what is the user's.
    fn holds_private(&self, folder: &Path) -> bool {
        self.private.iter().any(|private| private.starts_with(folder))
    }
}

/// Whether everything below is shown anyway.
fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// The outermost folder of packages that a program of one lies in; they use each other.
fn node_modules(folder: &Path) -> Option<PathBuf> {
    let at = folder.components().position(|part| part == Component::Normal(OsStr::new(NODE_MODULES)))?;
    Some(folder.components().take(at + 1).collect())
}

/// The program that the first line of a script names.
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

    /// Which of these places below a home are seen: `+` or `-` before each, after what the home holds.
    #[test]
    fn programs_are_seen_with_what_they_belong_to_and_nothing_else() {
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
        file("home/.local/share/pipx/venvs/ruff/pyvenv.cfg", &format!("home = {}\n", base.display()));
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
        let is_seen = |path: &str| installed.shown.iter().any(|shown| root.join(path).starts_with(shown));
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
            assert!(is_seen(path), "{path} is not seen: {installed:#?}");
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
            assert!(!is_seen(path), "{path} is seen: {installed:#?}");
        }
    }
}
