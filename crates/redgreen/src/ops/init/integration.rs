//! `redgreen init --with`: settings of coding agents, and git hooks, that call redgreen. First
//! computes the new files, so that they can be shown, then writes them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redgreen_core::hook::Host;
use redgreen_core::install::{self, added, removed};
use redgreen_core::text::shell_word;
use serde::Serialize;

use super::{EXECUTABLE, PRE_PUSH};
use crate::engine::Project;
use crate::failure::Failure;
use crate::foreign;

/// The largest settings file that is changed.
const BYTES_MAX: u64 = 4 << 20;
/// The name of an existing git hook.
const CHAINED: &str = "before-redgreen";

/// The program that will call redgreen.
#[derive(Clone, Copy, Debug)]
pub enum Caller {
    Agent(Host),
    Git,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// A file and its change.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// Relative to the root of the checkout, or the full path of a git hook.
    pub path: String,
    #[serde(skip)]
    pub old: Option<String>,
    #[serde(skip)]
    pub new: Option<String>,
    pub diff: String,
    /// Where the existing file is kept meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chained: Option<PathBuf>,
}

/// The changes, without files that stay the same.
pub fn plan(project: &Project, with: Caller, way: Direction) -> Result<Vec<Edit>> {
    let edits = match with {
        Caller::Agent(host) => settings(&project.git.root, host, way)?,
        Caller::Git => hooks(project, way)?,
    };
    Ok(edits.into_iter().filter(|edit| edit.old != edit.new).collect())
}

fn settings(root: &Path, host: Host, way: Direction) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for part in install::parts(host) {
        let old = read(&root.join(part.path))?;
        let new = match (way, &old) {
            (Direction::In, old) => added(&part, old.as_deref()).map(Some),
            (Direction::Out, Some(old)) => removed(&part, old),
            (Direction::Out, None) => Ok(None),
        };
        let new = new.map_err(|why| {
            let path = shell_word(part.path);
            Failure::usage(why)
                .next(format!("review {path}, then: redgreen init --with {}", host.as_str()))
        })?;
        edits.push(edit(part.path.to_owned(), old, new, None));
    }
    Ok(edits)
}

fn edit(path: String, old: Option<String>, new: Option<String>, chained: Option<PathBuf>) -> Edit {
    let diff = install::difference(
        &path,
        old.as_deref().unwrap_or_default(),
        new.as_deref().unwrap_or_default(),
    );
    Edit { path, old, new, diff, chained }
}

fn read(path: &Path) -> Result<Option<String>> {
    let act = || format!("read {}", path.display());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(act),
        Ok(_) => {}
    }
    let bytes = foreign::read(path, BYTES_MAX).with_context(act)?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let unreadable = || {
        Failure::usage(format!(
            "{} is not a plain text file, so it cannot be changed",
            path.display()
        ))
    };
    Ok(Some(text.ok_or_else(unreadable)?))
}

/// The first lines of redgreen's hook.
const HOOK_HEAD: &str = include_str!("../git-hook.sh");

/// Git hooks: staged files, in milliseconds; pushed commits, with their tests.
const HOOKS: &[(&str, &str)] = &[
    ("pre-commit", concat!(include_str!("../git-hook.sh"), include_str!("../pre-commit.sh"))),
    ("pre-push", concat!(include_str!("../git-hook.sh"), include_str!("../chained-pre-push.sh"))),
];

fn hooks(project: &Project, way: Direction) -> Result<Vec<Edit>> {
    let folder = project.git.hooks_folder()?;
    let mut edits = Vec::new();
    for (name, script) in HOOKS {
        let path = folder.join(name);
        let kept = folder.join(format!("{name}.{CHAINED}"));
        let (old, before) = (read(&path)?, read(&kept)?);
        let is_ours = old.as_deref().is_some_and(|text| text == *script);
        let shown = path.display().to_string();
        match way {
            // The hook of `init --hook pre-push` does the same: it would only run twice.
            Direction::In if is_ours || old.as_deref() == Some(PRE_PUSH) => {}
            Direction::In if old.is_some() && before.is_some() => {
                return Err(Failure::usage(format!("{} already exists", kept.display()))
                    .evidence(format!("{shown} would be kept there"))
                    .next(format!("mv {0} {0}.old", shell_word(&kept.to_string_lossy())))
                    .into());
            }
            Direction::In => {
                // One of another version would run as well, if it was kept.
                let is_older = old.as_deref().is_some_and(|text| text.starts_with(HOOK_HEAD));
                let chained = (old.is_some() && !is_older).then_some(kept);
                edits.push(edit(shown, old, Some((*script).to_owned()), chained));
            }
            Direction::Out if is_ours => {
                let chained = before.is_some().then_some(kept);
                edits.push(edit(shown, old, before, chained));
            }
            Direction::Out => {}
        }
    }
    Ok(edits)
}

/// Performs the planned changes.
pub fn write(project: &Project, way: Direction, edits: &[Edit]) -> Result<()> {
    let root = &project.git.root;
    for edit in edits {
        let path = root.join(&edit.path);
        let act = || format!("write {}", path.display());
        if Path::new(&edit.path).is_absolute() {
            write_hook(way, &path, edit).with_context(act)?;
            continue;
        }
        match &edit.new {
            Some(text) => {
                drop(foreign::write(root, &edit.path, text.as_bytes()).with_context(act)?);
            }
            None => {
                fs::remove_file(&path).with_context(act)?;
                // Also removes folders that were created for it, if they are empty.
                for folder in
                    path.ancestors().skip(1).take_while(|folder| *folder != root.as_path())
                {
                    if fs::remove_dir(folder).is_err() {
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

fn write_hook(way: Direction, path: &Path, edit: &Edit) -> std::io::Result<()> {
    match (way, &edit.chained, &edit.new) {
        (Direction::In, chained, Some(text)) => {
            if let Some(kept) = chained {
                fs::rename(path, kept)?;
            }
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)?;
            fs::set_permissions(path, fs::Permissions::from_mode(EXECUTABLE))
        }
        (Direction::Out, Some(kept), _) => fs::rename(kept, path),
        (Direction::Out, None, _) => fs::remove_file(path),
        (Direction::In, _, None) => Ok(()),
    }
}
