//! Covers sockets of other programs: a mount that cannot be written to does not keep a program from
//! connecting.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::sandbox::plan::{Kind, Place, Plan};

/// The kernel's list of Unix sockets with their paths.
const SOCKETS: &str = "/proc/net/unix";
/// With more visible sockets than this, setup fails.
const COVERS_MAX: usize = 1024;

impl Plan {
    /// Mounts something harmless over every visible socket. A read-only mount does not prevent
    /// connecting to a socket.
    pub(in crate::sandbox) fn cover_sockets(&mut self) -> Result<()> {
        // Without the list no socket can be found; hidden folders still protect.
        let list = fs::read(SOCKETS).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        let is_socket = |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket())
        };
        let paths =
            list.lines().filter_map(|line| Some(PathBuf::from(line.get(line.find(" /")? + 1..)?)));
        let paths = paths.filter_map(|path| path.canonicalize().ok()).filter(is_socket);
        let mut seen: Vec<PathBuf> = paths.filter(|path| self.shows(path)).collect();
        seen.sort();
        seen.dedup();
        ensure!(seen.len() <= COVERS_MAX, "there are {} sockets in visible folders", seen.len());
        self.places.extend(seen.into_iter().map(|path| Place { path, kind: Kind::Cover }));
        Ok(())
    }

    fn shows(&self, path: &Path) -> bool {
        if self.proxy.as_ref().is_some_and(|proxy| path.starts_with(proxy)) {
            return false;
        }
        match self.places.iter().rev().find(|place| path.starts_with(&place.path)) {
            Some(place) => match &place.kind {
                Kind::Empty | Kind::Cover | Kind::Scratch => false,
                Kind::Show { .. } | Kind::Write => true,
            },
            None => !self.bare,
        }
    }
}
