//! Pipes and devices in git's folder. Git reads the files of its folder without looking what they
//! are, so a pipe there blocks each of its calls until their time is up. Git itself never makes
//! one: it comes with a repository that was copied as a folder.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use redgreen_core::text::in_quotes;

use crate::failure::Failure;

/// The folders whose own files git reads. Loose objects are left out: there can be a million.
const FLAT: &[&str] = &["", "info", "objects/info", "objects/pack"];
/// The folders that git reads as a whole.
const DEEP: &[&str] = &["worktrees", "refs", "logs", "rebase-merge", "rebase-apply"];
/// The number of folders to look into. The others are left to the time limits of git's calls.
const FOLDERS_MAX: usize = 10_000;

/// Refuses a repository in which a call of git would block.
pub(super) fn refuse_special_files(common_dir: &Path) -> Result<()> {
    let Some(found) = special_file(common_dir) else { return Ok(()) };
    let place = in_quotes(&found.to_string_lossy());
    Err(Failure::environment(format!("{} is a pipe or a device", found.display()))
        .evidence("git expects a file there, and would wait forever")
        .next(format!("ls -l {place}, and if it is not yours: rm {place}"))
        .into())
}

fn special_file(common_dir: &Path) -> Option<PathBuf> {
    let mut flat = FLAT.iter().map(|name| common_dir.join(name));
    if let Some(found) = flat.find_map(|folder| look(&folder, &mut Vec::new())) {
        return Some(found);
    }
    let mut waiting: Vec<PathBuf> = DEEP.iter().map(|name| common_dir.join(name)).collect();
    for _ in 0..FOLDERS_MAX {
        let found = look(&waiting.pop()?, &mut waiting);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The first pipe or device in a folder; collects its subfolders. Links are followed to files, as
/// git does, but not to folders.
fn look(folder: &Path, folders: &mut Vec<PathBuf>) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let Ok(own) = entry.file_type() else { continue };
        let kind = match own.is_symlink() {
            true => fs::metadata(entry.path()).map_or(own, |facts| facts.file_type()),
            false => own,
        };
        if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() {
            return Some(entry.path());
        }
        if own.is_dir() {
            folders.push(entry.path());
        }
    }
    None
}
