//! The clean room: a tree written from its stored objects into an environment that only we control,
//! for the runs that decide a verdict. Hooks, filters, attributes and configuration of the
//! repository have no effect.
//!
//! It only reports facts in `RoomFacts`; they are judged elsewhere.

mod answers;
mod compose;
mod dependencies;
mod editable;
mod home;
mod layout;
mod manifest;
mod mirror;
mod tools;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::config::{Access, Store};
use crate::git::Git;
use crate::process::{Attention, Limits, Program, Stop};
use crate::sandbox::{BindMount, Fence, Network, Outlet, Sandbox, SandboxResult, cargo_parts};

pub use compose::{Configuration, DropReason, DroppedFile};
pub use dependencies::{
    ChangeKind, Dependencies, DependencyChange, DependencyFolder, is_scribbled_in,
};
pub use editable::editable;
pub use home::{furnish as furnish_home, variables as home_variables};
pub use manifest::hex;
pub use mirror::{mirror, originals};
pub use tools::{Search, Tool, Tools};

use compose::Overlay;
use layout::Layout;
use manifest::Manifest;

/// The maximum number of processes in a room. Stops a runaway program before it affects the
/// machine.
const PROCESSES_MAX: u32 = 4096;

/// The name of Go's build cache.
pub const GO_CACHE: &str = "go";

/// The inputs of a room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The last accepted tree. Differences are attributed to the candidate. `None`: everything is.
    pub base: Option<String>,
    /// Paths taken from another tree. If they do not exist there, they are removed.
    pub frozen: Vec<FrozenPath>,
    /// Paths that are left out.
    pub removed: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenPath {
    pub tree: String,
    /// A file, or a folder with its content.
    pub path: PathBuf,
}

/// The environment of a room.
#[derive(Clone, Debug, Default)]
pub struct RoomEnvironment {
    pub tools: Tools,
    pub dependencies: Dependencies,
    /// The user's home, repositories and our own state, which programs in the room cannot see.
    pub hidden: Vec<PathBuf>,
    /// Installed software that stays visible inside hidden folders.
    pub shown: Vec<PathBuf>,
    pub cargo_home: Option<PathBuf>,
    pub rustup_home: Option<PathBuf>,
    /// Package caches that tools share between projects.
    pub stores: Vec<Store>,
    /// Build output, see `build_folder`.
    pub build: Option<PathBuf>,
    /// Folders of the checkout, relative to its root, that Python imports from; see [`editable`].
    pub editable: Vec<PathBuf>,
}

/// What was observed while creating and using a room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomFacts {
    /// The candidate's tree id, verified against its files.
    pub tree: String,
    /// The tree of the files in the room.
    pub laid_out: String,
    pub dropped: Vec<DroppedFile>,
    /// Frozen paths that the candidate changed.
    pub frozen: Vec<PathBuf>,
    /// New modules that would shadow a part of the test runner.
    pub planted: Vec<PathBuf>,
    /// Configuration files of tools.
    pub configuration: Vec<Configuration>,
    /// Submodules, which are empty folders in the room.
    pub submodules: Vec<PathBuf>,
    /// Git LFS pointer files.
    pub pointers: Vec<PathBuf>,
    pub tools: Vec<(String, PathBuf)>,
    /// The number of files written. Unchanged files are not written again.
    pub written: usize,
}

/// A folder with a tree, in which programs run.
#[derive(Debug)]
pub struct Room {
    place: PathBuf,
    layout: Layout,
    surroundings: RoomEnvironment,
    /// Trees that were read and verified.
    known: Vec<(String, Arc<Manifest>)>,
    /// Whether packages are in place since the tree was written.
    placed: Mutex<bool>,
    pub facts: RoomFacts,
}

impl Room {
    /// Writes a tree to `place`, a folder of ours that does not exist or contains an older room.
    pub fn materialise(
        git: &Git,
        tree: &str,
        place: &Path,
        options: &Options,
        surroundings: RoomEnvironment,
    ) -> Result<Self> {
        let act = || format!("make a room in {}", place.display());
        crate::git::remove_folder(place).with_context(act)?;
        fs::create_dir_all(place).with_context(act)?;
        let place = place.canonicalize().with_context(act)?;
        if let Some(build) = &surroundings.build {
            fs::create_dir_all(build).with_context(|| format!("create {}", build.display()))?;
        }
        let packages = surroundings
            .dependencies
            .folders
            .iter()
            .filter_map(|folder| folder.place.clone())
            .collect();
        let layout = Layout::new(place.join("tree"), packages).with_context(act)?;
        let mut room = Self {
            place,
            layout,
            surroundings,
            known: Vec::new(),
            placed: Mutex::default(),
            facts: RoomFacts::default(),
        };
        room.change_to(git, tree, options)?;
        Ok(room)
    }

    /// Changes the room to another tree. Writes only files that differ or that a run changed, and
    /// removes what a run left behind, also in its home and temporary folder.
    pub fn change_to(&mut self, git: &Git, tree: &str, options: &Options) -> Result<()> {
        self.clear_scratch()?;
        self.clear_home()?;
        let candidate = self.read(git, tree)?;
        let base = options.base.as_deref().map(|base| self.read(git, base)).transpose()?;
        let mut trees: Vec<(&str, Arc<Manifest>)> = Vec::new();
        for frozen in &options.frozen {
            if !trees.iter().any(|(known, _)| *known == frozen.tree) {
                trees.push((&frozen.tree, self.read(git, &frozen.tree)?));
            }
        }
        let overlay = |frozen: &'_ FrozenPath| {
            let (_, from) = trees.iter().find(|(known, _)| *known == frozen.tree)?;
            Some((frozen.path.clone(), from.as_ref()))
        };
        let overlays: Vec<_> = options.frozen.iter().filter_map(overlay).collect();
        let overlays: Vec<_> = overlays.iter().map(|(path, from)| Overlay { path, from }).collect();
        let composed = compose::compose(&candidate, base.as_deref(), &overlays, &options.removed);
        let laid = self.layout.apply(git, composed.files).context("lay out the room")?;
        self.placed = Mutex::new(false);
        let mut dropped = composed.dropped;
        dropped.extend(
            laid.covered.into_iter().map(|path| DroppedFile { path, why: DropReason::InTheWay }),
        );
        dropped.extend(
            laid.links_out.into_iter().map(|path| DroppedFile { path, why: DropReason::LinkOut }),
        );
        let tools =
            self.surroundings.tools.found.iter().map(|tool| (tool.name.clone(), tool.path.clone()));
        self.facts = RoomFacts {
            tree: tree.to_owned(),
            laid_out: manifest::tree_id(self.layout.files(), tree.len()),
            dropped,
            frozen: composed.frozen,
            planted: composed.planted,
            configuration: composed.configuration,
            submodules: composed.submodules,
            pointers: laid.pointers,
            tools: tools.collect(),
            written: laid.written,
        };
        Ok(())
    }

    fn read(&mut self, git: &Git, tree: &str) -> Result<Arc<Manifest>> {
        if let Some((_, known)) = self.known.iter().find(|(known, _)| known == tree) {
            return Ok(Arc::clone(known));
        }
        let manifest = Arc::new(manifest::checked(tree, git.tree_files(tree)?.to_vec())?);
        self.known.push((tree.to_owned(), Arc::clone(&manifest)));
        Ok(manifest)
    }

    /// The root of the tree.
    pub fn folder(&self) -> &Path {
        self.layout.root()
    }

    /// A folder of the room that is not part of the tree.
    pub fn scratch(&self) -> PathBuf {
        self.place.join("tmp")
    }

    /// Empties `$TMPDIR`.
    fn clear_scratch(&self) -> Result<()> {
        let (place, act) = (self.scratch(), || "clear the room's temporary folder");
        crate::git::remove_folder(&place).with_context(act)?;
        fs::create_dir(&place).with_context(act)
    }

    /// Makes the home as it was before any run.
    fn clear_home(&self) -> Result<()> {
        let home = self.place.join("home");
        crate::git::remove_folder(&home).context("clear the room's home")?;
        home::furnish(&home, &self.surroundings.stores)
    }

    /// A folder of the room that no program in it can see.
    pub fn kept(&self) -> PathBuf {
        self.place.join("kept")
    }

    /// The folders besides the tree, with the names under which programs know them.
    pub fn folders(&self) -> Vec<(PathBuf, &'static str)> {
        let own = [(self.place.join("home"), "$HOME"), (self.scratch(), "$TMPDIR")];
        own.into_iter()
            .chain(self.build().map(|build| (build.to_owned(), "$CARGO_TARGET_DIR")))
            .collect()
    }

    pub fn build(&self) -> Option<&Path> {
        self.surroundings.build.as_deref()
    }

    /// The folders of the room that an environment imports from.
    pub fn imports(&self) -> Vec<PathBuf> {
        // Collect the components: to Python a path with a trailing slash is a different one.
        let inside = self
            .surroundings
            .editable
            .iter()
            .map(|below| self.folder().join(below).components().collect());
        inside.collect()
    }

    /// The complete environment of a program in the room.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let around = &self.surroundings;
        let mut all: Vec<(&str, OsString)> = vec![
            ("PATH", around.tools.path_variable()),
            ("HOME", self.place.join("home").into()),
            ("TMPDIR", self.place.join("tmp").into()),
            ("LANG", "C.UTF-8".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("PYTHONNOUSERSITE", "1".into()),
        ];
        let folders = [("CARGO_HOME", &around.cargo_home), ("RUSTUP_HOME", &around.rustup_home)];
        let folders = folders.into_iter().chain([("CARGO_TARGET_DIR", &around.build)]);
        all.extend(folders.filter_map(|(name, folder)| Some((name, folder.clone()?.into()))));
        all.extend(around.stores.iter().filter_map(|store| match store.way {
            Access::Named(variable) => Some((variable, store.from.clone().into())),
            Access::Linked | Access::Laid => None,
        }));
        // Without a cache, Go would compile its standard library for every verdict.
        let go = around.build.as_ref().filter(|_| around.tools.get("go").is_some());
        all.extend(go.map(|build| ("GOCACHE", build.join(GO_CACHE).into())));
        if around.tools.get("java").is_some() {
            all.extend(home::java(&self.place.join("home")));
        }
        if let Some(cargo) = around.tools.get("cargo") {
            // By absolute path: a rustup proxy that comes first on a test's PATH would choose
            // another compiler.
            for (name, program) in [("CARGO", "cargo"), ("RUSTC", "rustc"), ("RUSTDOC", "rustdoc")]
            {
                let program = cargo.path.with_file_name(program);
                all.extend(program.is_file().then(|| (name, program.into())));
            }
        }
        all.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// A program in the room: a tool by its absolute path, or a file by the given path.
    pub fn program(&self, name: impl AsRef<OsStr>) -> Program {
        let name = name.as_ref();
        let tool = name.to_str().and_then(|name| self.surroundings.tools.get(name));
        let name = tool.map_or_else(|| name.to_owned(), |tool| tool.path.clone().into());
        let program = Program::new(name).env_clear().cwd(self.folder());
        self.environment()
            .into_iter()
            .fold(program, |program, (name, value)| program.env(name, value))
    }

    /// A resolved tool, or a program on the remaining PATH.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        let tools = &self.surroundings.tools;
        let on_path =
            || tools.path.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        tools.get(name).map(|tool| tool.path.clone()).or_else(on_path)
    }

    /// The real path of a file in the room: package folders are elsewhere.
    pub fn real_path(&self, path: &Path) -> PathBuf {
        let below = |folder: &DependencyFolder| {
            let inside = path.strip_prefix(self.folder().join(folder.place.as_ref()?)).ok()?;
            Some(folder.from.join(inside))
        };
        self.surroundings
            .dependencies
            .folders
            .iter()
            .find_map(below)
            .unwrap_or_else(|| path.to_owned())
    }

    /// The sandbox of the room: the room is writable, its dependencies are visible, the user's
    /// files are hidden.
    pub fn fence(&self, sandbox: &Sandbox, network: Network) -> Fence {
        let around = &self.surroundings;
        let mut writable =
            vec![self.folder().to_owned(), self.place.join("home"), self.place.join("tmp")];
        writable.extend(around.build.clone());
        let mut shown: Vec<PathBuf> =
            around.tools.found.iter().flat_map(|tool| tool.needs.iter().cloned()).collect();
        shown.extend(around.shown.iter().cloned());
        shown.extend(around.tools.path.iter().cloned());
        shown.extend(around.cargo_home.iter().flat_map(|home| cargo_parts(home)));
        shown.extend(around.stores.iter().map(|store| store.from.clone()));
        let present = || around.dependencies.folders.iter().filter(|folder| folder.from.is_dir());
        let bound = match sandbox.binds() {
            true => present()
                .filter(|one| !one.is_scribbled_in())
                .filter_map(|one| {
                    Some(BindMount {
                        from: one.from.clone(),
                        to: self.folder().join(one.place.as_ref()?),
                    })
                })
                .collect(),
            false => Vec::new(),
        };
        shown.extend(present().map(|folder| folder.from.clone()));
        shown.extend(present().flat_map(DependencyFolder::originals));
        Fence {
            writable,
            hidden: around.hidden.clone(),
            shown,
            bound,
            network,
            outlet: None,
            processes_max: Some(PROCESSES_MAX),
            file_bytes_max: None,
        }
    }

    /// Runs a program in the room and leaves no process behind.
    pub fn run(
        &self,
        sandbox: &Sandbox,
        program: &Program,
        request: &Request<'_>,
    ) -> Result<SandboxResult> {
        self.attended(sandbox, program, request, Attention::None)
    }

    /// Like `run`, for a program whose output is read while it runs.
    pub fn attended(
        &self,
        sandbox: &Sandbox,
        program: &Program,
        request: &Request<'_>,
        attention: Attention<'_>,
    ) -> Result<SandboxResult> {
        self.place_dependencies(sandbox)?;
        let mut fence = self.fence(sandbox, request.network);
        fence.writable.extend(request.extra.iter().cloned());
        fence.outlet = request.outlet.cloned();
        let offline = if request.network == Network::Full { "false" } else { "true" };
        let program = program.clone().env("CARGO_NET_OFFLINE", offline);
        sandbox.attended(&program, &fence, request.limits, request.stop, attention)
    }

    /// Removes the room with its content. Build output stays.
    pub fn remove(self) -> Result<()> {
        crate::git::remove_folder(&self.place)
            .with_context(|| format!("remove {}", self.place.display()))
    }

    /// Changes of the package folders since they were scanned.
    pub fn dependency_changes(&self) -> Result<Vec<DependencyChange>> {
        self.surroundings.dependencies.changes()
    }

    /// Creates mount points for packages, or links where mounts are not available.
    fn place_dependencies(&self, sandbox: &Sandbox) -> Result<()> {
        // Two programs may run in the room at the same time.
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        if *placed {
            return Ok(());
        }
        for folder in
            self.surroundings.dependencies.folders.iter().filter(|folder| folder.from.exists())
        {
            let Some(below) = &folder.place else { continue };
            let place = self.folder().join(below);
            let act = || format!("bring in {}", below.display());
            // An earlier run may have created something here.
            if place.is_symlink() || place.is_file() {
                fs::remove_file(&place).with_context(act)?;
            }
            crate::git::remove_folder(&place).with_context(act)?;
            fs::create_dir_all(place.parent().unwrap_or(&self.place)).with_context(act)?;
            if folder.from.is_file() {
                fs::copy(&folder.from, &place).with_context(act)?;
            } else if folder.is_scribbled_in() {
                mirror(&folder.from, &place, below).with_context(act)?;
            } else if sandbox.binds() {
                fs::create_dir(&place).with_context(act)?;
            } else {
                symlink(&folder.from, &place).with_context(act)?;
            }
        }
        *placed = true;
        Ok(())
    }
}

/// How to run a program in a room.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub network: Network,
    /// The way to services outside.
    pub outlet: Option<&'a Outlet>,
    /// More writable paths, such as a private folder for a report.
    pub extra: &'a [PathBuf],
    pub limits: Limits,
    pub stop: &'a Stop,
}

/// The folder for build output of one toolchain and one room, which can be reused.
pub fn build_folder(root: &Path, room: &Path, tools: &Tools) -> PathBuf {
    let mut hash = Sha256::new();
    hash.update(room.as_os_str().as_bytes());
    for tool in &tools.found {
        hash.update(tool.path.as_os_str().as_bytes());
        // A toolchain that was updated in place gets a new folder.
        if let Ok(facts) = tool.path.metadata() {
            hash.update(format!(" {} {} {}\n", facts.ino(), facts.size(), facts.mtime()));
        }
    }
    let mut name = hex(&hash.finalize());
    name.truncate(16);
    root.join(name)
}
