//! macOS, which has neither `O_PATH` nor `openat2`.

use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, getpath, open, openat};

/// Opens a folder to continue from it.
pub const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The current path of an open file.
pub fn path_of(file: &impl AsFd) -> Result<PathBuf> {
    Ok(PathBuf::from(OsString::from_vec(getpath(file)?.into_bytes())))
}

/// A path to an open folder, valid until somebody moves it.
pub fn way_to(folder: &impl AsFd) -> Result<PathBuf> {
    path_of(folder)
}

/// Opens a file below a folder, through links that stay below it. Links are resolved first and not
/// followed afterwards, so a link that is added meanwhile makes it fail.
pub fn open_beneath(root: &Path, inside: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let real = resolve(&root.join(inside))?;
    let elsewhere =
        || Error::new(ErrorKind::PermissionDenied, format!("{} leads elsewhere", inside.display()));
    let within = real.strip_prefix(root).map_err(|_| elsewhere())?;
    let mut folder = open(root, FOLDER, Mode::empty())?;
    let mut parts = within.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(elsewhere()) };
        if parts.peek().is_none() {
            return Ok(openat(&folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)?);
        }
        folder = openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(folder)
}

/// The real path of an existing file, or of one that could be created in an existing folder.
fn resolve(path: &Path) -> Result<PathBuf> {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => Ok(real),
        (Err(error), Some(parent), Some(name))
            if error.kind() == ErrorKind::NotFound && !path.is_symlink() =>
        {
            Ok(parent.canonicalize()?.join(name))
        }
        (Err(error), ..) => Err(error),
    }
}
