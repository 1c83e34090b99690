//! The environment of a trial: absolute paths of tools, package folders, and the changes of both
//! since the last accepted tree.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Result;
use redgreen_core::change::{Change, Class, Kind, named_modules, names_modules, shadowed_module};
use redgreen_core::syntax::{Language, imports};
use redgreen_core::verdict::{Code, Reason};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{TrialContext, created_files};
use crate::git::Git;
use crate::room::{
    ChangeKind, Dependencies, DependencyChange, DependencyFolder, RoomEnvironment, RoomFacts,
    Search, Tools, editable, hex,
};
use crate::sandbox::Installed;

/// Programs that verdicts depend on.
const TOOLS: &[&str] =
    &["python3", "python", "node", "cargo", "go", "java", "mvn", "ruby", "php", "elixir", "bats"];
/// Folders of installed packages, in the root or next to any manifest.
pub const FOLDERS: &[&str] = &["node_modules", ".venv", "venv", "vendor", "deps"];
/// Beyond this many, what manifests name is not looked for.
const MANIFESTS_MAX: usize = 50;
/// How deep below the root they are looked for.
const DEPTH_MAX: usize = 3;
/// How much of each end of a program identifies it.
const END_BYTES: u64 = 64 << 10;
/// The number of files named in a message before the rest is counted.
const NAMED_MAX: usize = 3;

/// The stored part of the environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentRecord {
    /// The checkout of the packages. Those of another checkout cannot be compared.
    checkout: PathBuf,
    /// Name, path and identity.
    tools: BTreeMap<String, (PathBuf, String)>,
    packages: Dependencies,
}

impl EnvironmentRecord {
    /// Whether tests run with the same tools and packages. They may be installed anew: a CI system
    /// does that for every run.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.checkout == other.checkout
            && self.tools == other.tools
            && self.packages.is_equivalent(&other.packages)
    }
}

/// The environment of a trial.
pub struct TrialEnvironment {
    pub surroundings: RoomEnvironment,
    pub seen: EnvironmentRecord,
}

/// Scans the environment. `known` is an earlier scan.
pub(super) fn look(
    ground: TrialContext<'_>,
    head: &str,
    known: Option<&EnvironmentRecord>,
) -> Result<TrialEnvironment> {
    let environment = ground.environment;
    let home = environment.home.as_deref();
    let path = environment.path.clone().unwrap_or_default();
    let search = Search { path: &path, folder: ground.checkout, home, refused: &[] };
    let mut folders = installed(ground, head)?;
    for place in ground.file.worktree.copy.iter().chain(&ground.file.worktree.link) {
        let from = ground.checkout.join(place);
        if from.exists() && !folders.iter().any(|known| known.place.as_ref() == Some(place)) {
            folders.push(DependencyFolder {
                place: Some(place.clone()),
                from: from.canonicalize().unwrap_or(from),
            });
        }
    }
    let files = ground.git.tree_files(head)?;
    for place in ground.private.map(created_files::listed).unwrap_or_default() {
        if !files.iter().any(|file| file.path.starts_with(&place)) {
            let from = ground.checkout.join(&place);
            folders.push(DependencyFolder { place: Some(place), from });
        }
    }
    // Used in place, but scanned as well.
    let outside = environment.virtual_env.as_ref().filter(|folder| folder.is_dir());
    folders.extend(outside.map(|folder| DependencyFolder { place: None, from: folder.clone() }));
    let (tools, dependencies) = thread::scope(|scope| {
        let tools = scope.spawn(|| Tools::resolve(TOOLS, &search, ground.stop));
        let dependencies = Dependencies::look(folders, known.map(|known| &known.packages));
        (tools.join().unwrap_or_else(|panic| resume_unwind(panic)), dependencies)
    });
    let (tools, dependencies) = (tools?, dependencies?);
    let known = tools
        .found
        .iter()
        .map(|tool| (tool.name.clone(), (tool.path.clone(), identity(&tool.path))));
    let checkout = ground.checkout.to_owned();
    let seen =
        EnvironmentRecord { checkout, tools: known.collect(), packages: dependencies.clone() };
    let checkouts = [ground.checkout, &ground.git.root]
        .map(|path| [path.to_owned(), path.canonicalize().unwrap_or_default()]);
    let checkouts: Vec<PathBuf> =
        checkouts.into_iter().flatten().filter(|path| path.is_absolute()).collect();
    let environments = dependencies.folders.iter().map(|folder| &folder.from);
    let environments: Vec<PathBuf> =
        environments.chain(tools.found.iter().flat_map(|tool| &tool.needs)).cloned().collect();
    let editable = editable(&environments, &checkouts);
    // Programs see installed software and what the room needs. Everything else on this machine is
    // private.
    let private = [ground.git.root.as_path(), ground.git.common_dir.as_path(), ground.checkout];
    let interpreters: Vec<PathBuf> =
        dependencies.folders.iter().map(|one| one.from.join("bin/python")).collect();
    let programs = tools
        .found
        .iter()
        .map(|tool| tool.path.as_path())
        .chain(interpreters.iter().map(PathBuf::as_path));
    let installed = Installed::look(environment, &private).with_programs(programs, home, &private);
    let mut hidden = vec![PathBuf::from("/")];
    hidden.extend(home.map(Path::to_owned));
    hidden.extend(installed.hidden);
    hidden.extend([
        ground.git.root.clone(),
        ground.git.common_dir.clone(),
        ground.checkout.to_owned(),
    ]);
    hidden.push(ground.workshop.to_owned());
    let surroundings = RoomEnvironment {
        tools,
        dependencies,
        hidden,
        shown: installed.shown,
        cargo_home: environment.cargo_home.clone(),
        rustup_home: environment.rustup_home.clone(),
        stores: environment.stores.clone(),
        build: None,
        editable,
    };
    Ok(TrialEnvironment { surroundings, seen })
}

/// Which program this is: its size, and a hash of both ends. Two builds of a large program differ
/// there, and reading all of it takes too long for every verdict.
fn identity(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut ends = Vec::new();
        file.by_ref().take(END_BYTES).read_to_end(&mut ends)?;
        file.seek(SeekFrom::Start(size.saturating_sub(END_BYTES)))?;
        file.take(END_BYTES).read_to_end(&mut ends)?;
        Ok(format!("{size} {}", hex(&Sha256::digest(&ends))))
    };
    read().unwrap_or_default()
}

/// Package folders that are not in git.
fn installed(ground: TrialContext<'_>, head: &str) -> Result<Vec<DependencyFolder>> {
    let places = installed_places(ground.git, ground.checkout, head)?;
    let folders = places.into_iter().map(|place| {
        let from = ground.checkout.join(&place);
        // Follow links: the real folder counts.
        DependencyFolder { place: Some(place), from: from.canonicalize().unwrap_or(from) }
    });
    Ok(folders.collect())
}

/// Where a checkout has what a tree does not hold and installing it brought: folders of packages,
/// and modules that a manifest names, such as one with the version. From its root.
pub fn installed_places(git: &Git, checkout: &Path, tree: &str) -> Result<Vec<PathBuf>> {
    let files = git.tree_files(tree)?;
    let mut places = vec![PathBuf::new()];
    for file in files.iter() {
        let folder = file.path.parent().unwrap_or(Path::new(""));
        if folder.components().count() <= DEPTH_MAX && !places.iter().any(|known| known == folder) {
            places.push(folder.to_owned());
        }
    }
    let is_held = |place: &Path| files.iter().any(|file| file.path.starts_with(place));
    let places = places.iter().flat_map(|place| FOLDERS.iter().map(|name| place.join(name)));
    let mut found: Vec<PathBuf> =
        places.filter(|place| checkout.join(place).is_dir() && !is_held(place)).collect();
    let manifests =
        files.iter().filter_map(|file| file.path.to_str()).filter(|path| names_modules(path));
    let asked: Vec<(&str, &str)> = manifests.take(MANIFESTS_MAX).map(|path| (tree, path)).collect();
    let texts = if asked.is_empty() { Vec::new() } else { git.read_texts(&asked)? };
    for ((_, manifest), text) in asked.iter().zip(texts) {
        let folder = Path::new(manifest).parent().unwrap_or(Path::new(""));
        for module in text.map(|text| named_modules(&text)).unwrap_or_default() {
            let place = folder.join(module);
            let is_file =
                checkout.join(&place).symlink_metadata().is_ok_and(|facts| facts.is_file());
            // A file that git does not ignore is uncommitted work.
            if is_file && !is_held(&place) && !found.contains(&place) && git.is_ignored(&place)? {
                found.push(place);
            }
        }
    }
    Ok(found)
}

/// Messages about tools that changed since the last accepted tree: they were upgraded, or the shell
/// is a different one.
pub(super) fn other_tools(before: &EnvironmentRecord, now: &EnvironmentRecord) -> Vec<String> {
    let other = before.tools.iter().filter_map(|(name, (was, _))| {
        let (is, _) = now.tools.get(name).filter(|(is, _)| is != was)?;
        Some(format!("measured again: `{name}` changed from {} to {}", was.display(), is.display()))
    });
    other.collect()
}

/// Changes of packages since the last accepted tree.
pub(super) fn changed(
    before: &EnvironmentRecord,
    now: &EnvironmentRecord,
    tools: &Tools,
    change: &Change,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let declared = change.paths.iter().any(|changed| changed.class == Class::Manifest);
    let changes = match before.checkout == now.checkout {
        true => before.packages.compared_with(&now.packages),
        false => Vec::new(),
    };
    // New packages are allowed unless they affect existing ones. Other versions of existing
    // packages are only allowed if a manifest changed.
    let is_news = |one: &&DependencyChange| match one.how {
        ChangeKind::Added => before.packages.is_affected_by(one, &tools.path, &now.checkout),
        ChangeKind::Removed | ChangeKind::Modified => true,
        ChangeKind::Touched | ChangeKind::Bytecode => false,
    };
    let told: Vec<&DependencyChange> =
        changes.iter().filter(|_| !declared).filter(is_news).collect();
    if let Some(first) = told.first() {
        let names: Vec<String> =
            told.iter().take(NAMED_MAX).map(|one| one.path.display().to_string()).collect();
        let more = told.len().saturating_sub(NAMED_MAX);
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        let word = match first.how {
            ChangeKind::Added => "is new",
            ChangeKind::Removed => "is gone",
            ChangeKind::Modified | ChangeKind::Touched | ChangeKind::Bytecode => "was changed",
        };
        let sentence = format!("{}{rest} {word}", names.join(", "));
        reasons.push(Reason::new(Code::EnvironmentChanged, sentence));
    }
    reasons
}

/// New files that shadow a part of the test runner, or of the standard library where a test uses
/// it.
pub(super) fn planted(
    git: &Git,
    facts: &RoomFacts,
    head: &str,
    change: &Change,
) -> Result<Vec<Reason>> {
    let mut reasons = Vec::new();
    for path in &facts.planted {
        let shown = path.display().to_string();
        let sentence = format!("{shown} would shadow a module of the test runner");
        reasons.push(Reason::new(Code::EnvironmentPlanted, sentence).place(Some(&shown), None));
    }
    let added = change.paths.iter().filter(|changed| changed.kind == Kind::Added);
    let shadows: Vec<(&str, &str)> = added
        .filter_map(|changed| Some((changed.path.as_str(), shadowed_module(&changed.path)?)))
        .collect();
    if shadows.is_empty() {
        return Ok(reasons);
    }
    let mut imported = Vec::new();
    for file in git.tree_files(head)?.iter() {
        let Some(path) =
            file.path.to_str().filter(|path| path.contains("test") && path.ends_with(".py"))
        else {
            continue;
        };
        let text = git.read_file(head, path)?.unwrap_or_default();
        imported.extend(
            imports(Language::Python, &String::from_utf8_lossy(&text))
                .into_iter()
                .map(|one| one.module),
        );
    }
    for (path, module) in shadows {
        if imported.iter().any(|name| name.split('.').next() == Some(module)) {
            let sentence =
                format!("{path} would shadow Python's own module {module}, which tests use");
            reasons.push(Reason::new(Code::EnvironmentPlanted, sentence).place(Some(path), None));
        }
    }
    Ok(reasons)
}
