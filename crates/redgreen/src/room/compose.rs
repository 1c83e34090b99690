//! Selects the files of a room: those of the candidate, without generated ones, with the frozen
//! paths in place. Reports suspicious files; they are judged elsewhere.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::manifest::{Manifest, SUBMODULE, lay_over};

/// Files that only tools create. With one of them, foreign code runs before any test.
const INSTALLED: &[&str] = &["pth", "egg-link"];
const INSTALLED_FOLDERS: &[&str] = &["dist-info", "egg-info"];
const BYTECODE: &[&str] = &["pyc", "pyo"];
const BYTECODE_FOLDER: &str = "__pycache__";
/// A module with one of these names shadows the real one if its folder comes first.
const RUNNER_MODULES: &[&str] = &[
    "_pytest",
    "coverage",
    "hypothesis",
    "mock",
    "pluggy",
    "pytest",
    "pytest_asyncio",
    "sitecustomize",
    "unittest",
    "usercustomize",
];
/// Files that configure what a tool runs, from where, or how.
const CONFIGURATION: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".nvmrc",
    ".pnpmfile.cjs",
    ".pytest.ini",
    ".pytest.toml",
    ".python-version",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "mise.toml",
    "pytest.ini",
    "pytest.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "tox.ini",
];

/// A file of the candidate that is not in the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedFile {
    pub path: PathBuf,
    pub why: DropReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Compiled Python, which may not match its source.
    Bytecode,
    /// Package metadata or a path file that the candidate added.
    Installed,
    /// A link that leads out of the room.
    LinkOut,
    /// Conflicts with a frozen file or with packages.
    InTheWay,
    /// Removed by the caller.
    Removed,
}

/// A configuration file of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    pub path: PathBuf,
    /// Whether the candidate added or changed it.
    pub changed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Composition {
    pub(super) files: Manifest,
    pub(super) dropped: Vec<DroppedFile>,
    /// Paths where the candidate differed from the frozen state.
    pub(super) frozen: Vec<PathBuf>,
    pub(super) planted: Vec<PathBuf>,
    pub(super) configuration: Vec<Configuration>,
    pub(super) submodules: Vec<PathBuf>,
}

/// A path taken from another tree. Removed if it does not exist there.
pub(super) struct Overlay<'a> {
    pub(super) path: &'a Path,
    pub(super) from: &'a Manifest,
}

pub(super) fn compose(
    candidate: &Manifest,
    base: Option<&Manifest>,
    overlays: &[Overlay<'_>],
    removed: &[PathBuf],
) -> Composition {
    let mut room = Composition { files: candidate.clone(), ..Composition::default() };
    let is_new = |path: &Path| is_changed(path, candidate, base);
    for path in candidate.keys() {
        if let Some(why) = unwanted(path, candidate, is_new(path)) {
            room.files.remove(path);
            room.dropped.push(DroppedFile { path: path.clone(), why });
        }
        if let Some(module) = runner_module(path)
            && is_new(path)
            && !base.is_some_and(|base| is_own(base, path, module))
        {
            room.planted.push(path.clone());
        }
    }
    for overlay in overlays {
        room.lay(overlay);
    }
    for path in removed {
        let below: Vec<PathBuf> =
            room.files.keys().filter(|file| file.starts_with(path)).cloned().collect();
        for path in below {
            room.files.remove(&path);
            room.dropped.push(DroppedFile { path, why: DropReason::Removed });
        }
    }
    let obeyed = room.files.keys().filter(|path| is_configuration(path));
    room.configuration = obeyed
        .map(|path| Configuration {
            path: path.clone(),
            changed: is_changed(path, &room.files, base),
        })
        .collect();
    room.submodules = room
        .files
        .values()
        .filter(|file| file.mode == SUBMODULE)
        .map(|file| file.path.clone())
        .collect();
    room
}

impl Composition {
    fn lay(&mut self, overlay: &Overlay<'_>) {
        let covered = |path: &&PathBuf| path.starts_with(overlay.path);
        let before: BTreeSet<PathBuf> = self.files.keys().filter(covered).cloned().collect();
        let wanted: BTreeSet<PathBuf> = overlay.from.keys().filter(covered).cloned().collect();
        for path in before.difference(&wanted) {
            self.files.remove(path);
            self.frozen.push(path.clone());
        }
        for path in wanted {
            let Some(file) = overlay.from.get(&path) else { continue };
            if self.files.get(&path) == Some(file) {
                continue;
            }
            let gone = lay_over(&mut self.files, file.clone());
            self.dropped.extend(
                gone.into_iter().map(|path| DroppedFile { path, why: DropReason::InTheWay }),
            );
            self.frozen.push(path);
        }
    }
}

fn is_changed(path: &Path, files: &Manifest, base: Option<&Manifest>) -> bool {
    base.is_none_or(|base| base.get(path) != files.get(path))
}

fn unwanted(path: &Path, candidate: &Manifest, is_new: bool) -> Option<DropReason> {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let in_cache = path.iter().any(|part| part == BYTECODE_FOLDER);
    let beside_source = || candidate.contains_key(&path.with_extension("py"));
    if in_cache || (BYTECODE.contains(&extension) && (is_new || beside_source())) {
        return Some(DropReason::Bytecode);
    }
    let installed = INSTALLED.contains(&extension) || path.iter().any(is_installed_folder);
    (installed && is_new).then_some(DropReason::Installed)
}

fn is_installed_folder(name: &OsStr) -> bool {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| INSTALLED_FOLDERS.contains(&extension))
}

/// The runner module that a path belongs to, at the root or in `src`, where Python looks first.
fn runner_module(path: &Path) -> Option<&'static str> {
    let path = path.strip_prefix("src").unwrap_or(path);
    let first = path.iter().next()?;
    let is_file = path.iter().count() == 1;
    let module = if is_file { Path::new(first).file_stem() } else { Some(first) };
    // A compiled module is named like `pytest.cpython-311-x86_64-linux-gnu.so`.
    let module =
        module.and_then(OsStr::to_str).unwrap_or_default().split('.').next().unwrap_or_default();
    let is_code = path
        .extension()
        .is_some_and(|extension| ["py", "pyc", "so"].iter().any(|code| extension == *code));
    RUNNER_MODULES.iter().copied().find(|name| is_code && *name == module)
}

/// Whether the project itself is this part of the runner, such as pluggy: the previous tree has the
/// package, too.
fn is_own(base: &Manifest, path: &Path, module: &str) -> bool {
    let root = if path.starts_with("src") { Path::new("src") } else { Path::new("") };
    base.contains_key(&root.join(module).join("__init__.py"))
}

fn is_configuration(path: &Path) -> bool {
    CONFIGURATION.iter().any(|name| path.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::TreeFile;

    /// Rows such as `a.py=1`: a path and its content.
    fn files(rows: &[&str]) -> Manifest {
        let file = |row: &&str| {
            let (path, id) = row.split_once('=').unwrap_or((row, "1"));
            (
                PathBuf::from(path),
                TreeFile { path: path.into(), mode: 0o100_644, id: id.to_owned(), size: Some(1) },
            )
        };
        rows.iter().map(file).collect()
    }

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().filter_map(|path| path.to_str()).collect()
    }

    fn left(room: &Composition) -> Vec<&str> {
        room.files.keys().filter_map(|path| path.to_str()).collect()
    }

    #[test]
    fn drops_new_generated_files() {
        let base = files(&["a.py", "vendor/x.pth", "old.pyc", "x.dist-info/METADATA"]);
        let candidate = files(&[
            "a.py",
            "a.pyc",
            "__pycache__/a.cpython-311.pyc",
            "vendor/x.pth",
            "old.pyc",
            "new.pyc",
            "evil.pth",
            "x.dist-info/METADATA",
            "y-1.0.dist-info/entry_points.txt",
            "z.egg-link",
        ]);
        let room = compose(&candidate, Some(&base), &[], &[]);
        assert_eq!(left(&room), ["a.py", "old.pyc", "vendor/x.pth", "x.dist-info/METADATA"]);
        assert_eq!(
            room.dropped.iter().filter(|dropped| dropped.why == DropReason::Bytecode).count(),
            3
        );
        assert_eq!(
            room.dropped.iter().filter(|dropped| dropped.why == DropReason::Installed).count(),
            3
        );
    }

    #[test]
    fn reports_modules_that_shadow_the_runner() {
        let planted =
            |path: &str| !compose(&files(&[path]), Some(&files(&[])), &[], &[]).planted.is_empty();
        for path in [
            "pytest.py",
            "_pytest/__init__.py",
            "src/pluggy/x.py",
            "unittest.so",
            "sitecustomize.py",
        ] {
            assert!(planted(path), "{path}");
        }
        for path in [
            "tests/pytest.py",
            "pytest.ini",
            "docs/pytest/a.md",
            "unittest/data.json",
            "mypytest.py",
        ] {
            assert!(!planted(path), "{path}");
        }
        let known = files(&["pytest.py"]);
        assert!(compose(&known, Some(&known), &[], &[]).planted.is_empty());
    }

    #[test]
    fn a_project_that_is_part_of_the_runner_may_change_it() {
        let base = files(&["src/pluggy/__init__.py=1", "src/pluggy/_hooks.py=1", "conftest.py"]);
        for (path, planted) in [
            ("src/pluggy/_hooks.py=2", false),
            ("src/pluggy/_new.py=1", false),
            ("pluggy/__init__.py=1", true),
            ("src/pytest/__init__.py=1", true),
            ("sitecustomize.py=1", true),
        ] {
            let room = compose(&files(&["src/pluggy/__init__.py=1", path]), Some(&base), &[], &[]);
            assert_eq!(!room.planted.is_empty(), planted, "{path}");
        }
    }

    #[test]
    fn restores_frozen_paths() {
        let red = files(&["tests/a.py=red", "tests/b.py=red", "pytest.ini=red"]);
        let candidate = files(&["src.py", "tests=link", "pytest.ini=evil", "conftest.py"]);
        let overlay = |path: &'static str| Overlay { path: Path::new(path), from: &red };
        let overlays = [overlay("tests"), overlay("pytest.ini"), overlay("conftest.py")];
        let room = compose(&candidate, Some(&red), &overlays, &[]);
        assert_eq!(left(&room), ["pytest.ini", "src.py", "tests/a.py", "tests/b.py"]);
        assert_eq!(
            names(&room.frozen),
            ["tests", "tests/a.py", "tests/b.py", "pytest.ini", "conftest.py"]
        );
        assert_eq!(
            room.configuration,
            [Configuration { path: "pytest.ini".into(), changed: false }]
        );
    }

    #[test]
    fn removes_paths_with_their_content() {
        let room = compose(&files(&["a/b", "a/c/d", "ab"]), None, &[], &["a".into()]);
        assert_eq!(left(&room), ["ab"]);
        assert!(
            room.dropped.iter().all(|dropped| dropped.why == DropReason::Removed)
                && room.dropped.len() == 2
        );
    }

    #[test]
    fn lists_configuration_files() {
        let base = files(&["rust-toolchain.toml=1", "web/.npmrc=1"]);
        let candidate =
            files(&["rust-toolchain.toml=1", "web/.npmrc=2", ".cargo/config.toml", "config.toml"]);
        let room = compose(&candidate, Some(&base), &[], &[]);
        let told: Vec<_> = room
            .configuration
            .iter()
            .map(|told| (told.path.to_str().unwrap(), told.changed))
            .collect();
        assert_eq!(
            told,
            [(".cargo/config.toml", true), ("rust-toolchain.toml", false), ("web/.npmrc", true)]
        );
    }
}
