//! Collects the facts about a project that the frameworks need: files, a few texts, and available
//! tools.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::framework::FRAMEWORKS;
use redgreen_core::framework::facts::{ACTIVE_ENVIRONMENT, Folder, LISTED_FOLDERS, MANIFESTS};
use redgreen_core::framework::invoke::Selection;

use super::{Place, Settings, python};

/// Larger files are not read for detection.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The number of texts per folder. A project is identified by fewer.
const TEXTS_MAX: usize = 64;
/// The maximum depth of packages below the root.
const DEPTH_MAX: usize = 3;
/// With more packages the project has to configure its tests.
const FOLDERS_MAX: usize = 100;
/// The maximum number of visited folders.
const VISITS_MAX: usize = 5_000;

/// Folders with dependencies or build output.
const FOREIGN: &[&str] = &[
    "node_modules",
    "target",
    "vendor",
    "build",
    "dist",
    "venv",
    "env",
    "_build",
    "deps",
    "testdata",
    "fixtures",
    "third_party",
    "site-packages",
    "__pycache__",
];

/// The selected files with their texts, as far as they are readable.
pub(super) fn chosen(folder: &Path, selection: &Selection) -> Vec<(String, String)> {
    let Selection::Files(paths) = selection else { return Vec::new() };
    let is_small = |path: &Path| {
        fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() <= TEXT_BYTES_MAX)
    };
    let text = |path: &String| {
        fs::read_to_string(Some(folder.join(path)).filter(|path| is_small(path))?).ok()
    };
    paths.iter().filter_map(|path| Some((path.clone(), text(path)?))).collect()
}

/// The root first, then the packages below it, sorted by path.
pub(super) fn folders(project: &Path) -> Result<Vec<Folder>> {
    let mut folders = vec![folder(project, "")?];
    for path in below(project)? {
        if folders.len() > FOLDERS_MAX {
            break;
        }
        if MANIFESTS.iter().any(|manifest| project.join(&path).join(manifest).is_file()) {
            folders.push(folder(project, &path)?);
        }
    }
    Ok(folders)
}

/// The root with all test files below it.
pub(super) fn with_all_tests(project: &Path) -> Result<Folder> {
    let mut files = Vec::new();
    for folder in below(project)? {
        let paths = names(&project.join(&folder), EntryKind::Files)?
            .into_iter()
            .map(|name| format!("{folder}/{name}"));
        files.extend(paths.filter(|path| FRAMEWORKS.iter().any(|row| (row.is_test_file)(path))));
    }
    with(project, "", files)
}

/// The folders of a project, sorted by path, except foreign ones and those that are too deep.
fn below(project: &Path) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    let mut waiting = vec![(PathBuf::new(), 0)];
    let mut visits = 0;
    while let Some((below, depth)) = waiting.pop() {
        visits += 1;
        if depth == DEPTH_MAX || visits > VISITS_MAX {
            continue;
        }
        for name in names(&project.join(&below), EntryKind::Folders)? {
            if name.starts_with('.') || FOREIGN.contains(&name.as_str()) {
                continue;
            }
            let path = below.join(&name);
            folders.push(path.to_string_lossy().into_owned());
            waiting.push((path, depth + 1));
        }
    }
    folders.sort();
    Ok(folders)
}

pub(super) fn folder(project: &Path, path: &str) -> Result<Folder> {
    with(project, path, Vec::new())
}

/// A folder with its own files, those of folders that are always listed, and more.
fn with(project: &Path, path: &str, more: Vec<String>) -> Result<Folder> {
    let place = project.join(path);
    let mut files = names(&place, EntryKind::Files)?;
    for listed in LISTED_FOLDERS {
        let inside = place.join(listed);
        if inside.is_dir() {
            files.extend(
                names(&inside, EntryKind::Files)?
                    .into_iter()
                    .map(|name| format!("{listed}/{name}")),
            );
        }
    }
    let more: Vec<String> = more.into_iter().filter(|path| !files.contains(path)).collect();
    files.extend(more);
    let mut texts = Vec::new();
    for name in
        files.iter().filter(|name| FRAMEWORKS.iter().any(|row| (row.reads)(name))).take(TEXTS_MAX)
    {
        let path = place.join(name);
        if fs::metadata(&path).is_ok_and(|facts| facts.is_file() && facts.len() <= TEXT_BYTES_MAX) {
            let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            texts.push((name.clone(), String::from_utf8_lossy(&text).into_owned()));
        }
    }
    Ok(Folder { path: path.to_owned(), files, texts })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Files,
    Folders,
}

fn names(folder: &Path, want: EntryKind) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let entry = entry.with_context(|| format!("list {}", folder.display()))?;
        let kind = entry.file_type().with_context(|| format!("list {}", folder.display()))?;
        // A link to a folder may form a loop or lead out of the project.
        let wanted = match want {
            EntryKind::Folders => kind.is_dir(),
            EntryKind::Files => !entry.path().is_dir(),
        };
        if wanted {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The paths of the available tools.
pub(super) fn tools(
    names: &[&str],
    place: Place<'_>,
    folder: &Path,
    settings: &Settings,
) -> Vec<(String, String)> {
    // In a room, package folders are only mounted while a program runs.
    let exists = |path: &Path| match place {
        Place::Open(_) | Place::Fenced(_) => path.exists(),
        Place::Room(room, _) => room.real_path(path).exists(),
    };
    let found = |name: &&str| {
        let path = match name.strip_prefix(ACTIVE_ENVIRONMENT) {
            Some(inside) => {
                settings.virtual_env.as_ref().map(|environment| environment.join(inside))
            }
            None if name.contains('/') => above(place.folder(), folder)
                .map(|place| place.join(name))
                .find(|path| exists(path)),
            None => match place {
                Place::Open(_) | Place::Fenced(_) => on_path(name, settings.path.as_deref()),
                Place::Room(room, _) => room.tool(name),
            },
        };
        let path = path.filter(|path| exists(path))?;
        Some(((*name).to_owned(), path.to_str()?.to_owned()))
    };
    names.iter().filter_map(found).collect()
}

/// The import folders that replace those of an editable install: the room's own, or PYTHONPATH.
pub(super) fn imports(place: Place<'_>, settings: &Settings) -> Vec<String> {
    match place {
        Place::Open(_) | Place::Fenced(_) => texts(
            settings
                .variables
                .iter()
                .filter(|(name, _)| name == python::PATH)
                .flat_map(|(_, value)| std::env::split_paths(value)),
        ),
        Place::Room(room, _) => texts(room.imports()),
    }
}

fn texts(paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
    paths.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect()
}

/// The folder and its parents, up to the project's root.
fn above<'a>(project: &'a Path, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
    folder.ancestors().take_while(move |place| place.starts_with(project))
}

fn on_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_an_agent_follow_pythonpath() {
        let settings = Settings {
            timeout: std::time::Duration::ZERO,
            cargo_target_dir: None,
            virtual_env: None,
            secrets: Vec::new(),
            services: Vec::new(),
            path: None,
            variables: vec![
                ("OTHER".into(), "/x".into()),
                ("PYTHONPATH".into(), "/w/src:/w/lib".into()),
            ],
        };
        assert_eq!(imports(Place::Open(Path::new("/w")), &settings), ["/w/src", "/w/lib"]);
    }
}
