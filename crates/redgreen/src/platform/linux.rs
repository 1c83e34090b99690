//! Linux.

use std::io::Result;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use rustix::io::Errno;

/// Opens a folder only to go on from it.
pub const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Where an open file is now.
pub fn path_of(file: &impl AsFd) -> Result<PathBuf> {
    std::fs::read_link(way_to(file)?)
}

/// A path that leads to an open folder, wherever it is moved.
pub fn way_to(folder: &impl AsFd) -> Result<PathBuf> {
    Ok(Path::new("/proc/self/fd").join(folder.as_fd().as_raw_fd().to_string()))
}

/// Opens a file below a folder, through links that stay below it.
pub fn open_beneath(root: &Path, inside: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let folder = open(root, FOLDER, Mode::empty())?;
    let flags = flags | OFlags::CLOEXEC;
    match openat2(&folder, inside, flags, mode, ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS)
    {
        Ok(file) => Ok(file),
        // Some containers do not have this call. The caller has looked where the path leads.
        Err(Errno::NOSYS) => Ok(open(root.join(inside), flags | OFlags::NOFOLLOW, mode)?),
        Err(error) => Err(error.into()),
    }
}
